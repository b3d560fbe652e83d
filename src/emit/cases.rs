//! Rows for vectors and lockstep: random ones and corners, for a program bound to an engine.
use crate::engine::Engine;
use crate::engine::widths::OUTPUT_FRACTION;
use crate::isa::{Family, Program};
use crate::num::IntFormat;
use crate::program::{BindError, Binding, Loaded, bind};
use crate::simulate::record::Recorder;
use crate::simulate::{Parameters, Rows, Stall};

/// Largest real result that a norm's output scale is taken for.
const NORM_RANGE: f64 = 8.0;
/// Largest gamma in real units.
const GAMMA_RANGE: f64 = 1.0;
/// Epsilon of the norms, in real units.
const EPS: f64 = 1e-5;
/// Largest k of a row's scale in cases that use one.
const K_MAX: u32 = 3;

/// A program with rows to run.
#[derive(Clone, Debug)]
pub struct Case {
    pub loaded: Loaded,
    pub parameters: Parameters,
    pub x: Vec<i32>,
    pub keep: Option<Vec<u8>>,
    pub k: Option<Vec<u8>>,
    pub seed: u64,
}

/// Splitmix64: reproducible numbers, the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub fn within(&mut self, low: i64, high: i64) -> i64 {
        let span = (high - low) as u64 + 1;
        low + (self.bits() % span) as i64
    }
}

/// Formats and scales of a case.
pub fn binding(
    engine: &Engine,
    program: &Program,
    row_len: u32,
    formats: (IntFormat, IntFormat),
    k_max: u32,
) -> Binding {
    let (input_format, output_format) = formats;
    let most = output_format.max() as f64;
    let half = if output_format.is_signed { most } else { most / 2.0 };
    let is_softmax = program.family == Family::Softmax;
    let gamma_most = libm::exp2(f64::from(engine.widths.input - 1)) - 1.0;
    Binding {
        row_len,
        input_format,
        output_format,
        input_scale: NORM_RANGE / input_format.max() as f64,
        output_scale: if is_softmax { 1.0 / most } else { NORM_RANGE / half },
        gamma_scale: if program.has_gamma { GAMMA_RANGE / gamma_most } else { 1.0 },
        eps: if is_softmax { 0.0 } else { EPS },
        k_max,
    }
}

impl Case {
    /// Rows of every kind in turn; `seed` decides them.
    ///
    /// # Errors
    /// The engine cannot hold the program with these formats and this row length.
    pub fn new(
        engine: &Engine,
        program: &Program,
        row_len: u32,
        n_rows: usize,
        formats: (IntFormat, IntFormat),
        seed: u64,
    ) -> Result<Self, BindError> {
        let mut random = Random(seed);
        let k_max = if random.bits() % 2 == 0 { 0 } else { K_MAX };
        let loaded = bind(program, engine, &binding(engine, program, row_len, formats, k_max))?;
        let n = row_len as usize;
        let mut x = Vec::with_capacity(n * n_rows);
        let first_kind = random.bits() as usize;
        for row in 0..n_rows {
            let kind = (first_kind + row) % KINDS;
            x.extend(row_of(kind, n, formats.0, &mut random));
        }
        let keep = (program.family == Family::Softmax).then(|| {
            let mut keep = vec![];
            for row in 0..n_rows {
                let kept = match row % 4 {
                    0 => 8,
                    1 => 5,
                    2 => 1,
                    _ => 0,
                };
                keep.extend((0..n).map(|_| u8::from(random.bits() % 8 < kept)));
            }
            keep
        });
        let k = (k_max > 0)
            .then(|| (0..n_rows).map(|_| random.within(0, i64::from(k_max)) as u8).collect());
        let parameters = parameters_of(engine, &loaded, &mut random);
        Ok(Self { loaded, parameters, x, keep, k, seed })
    }

    pub fn rows(&self) -> Rows<'_> {
        Rows {
            row_len: self.loaded.binding.row_len as usize,
            x: &self.x,
            keep: self.keep.as_deref(),
            k: self.k.as_deref(),
        }
    }

    /// `softmax s8 to u8, N = 17`.
    pub fn title(&self) -> String {
        let b = &self.loaded.binding;
        format!("{} {} to {}, N = {}", self.loaded.name, b.input_format, b.output_format, b.row_len)
    }

    /// Loads and runs the case with pauses of probability `stall` on both sides, and gives its output
    /// codes. With `disturbs`, first drops a row of a wrong length, then resets in mid-row and starts
    /// again from the descriptor alone.
    pub fn play(&self, recorder: &mut Recorder, stall: f64, disturbs: bool) -> Vec<i32> {
        let rows = self.rows();
        let mut random = Random(self.seed ^ 0x5eed);
        let mut pauses = || match stall > 0.0 {
            true => Stall::random(stall, random.bits()),
            false => Stall::none(),
        };
        let mut out = vec![0; self.x.len()];
        recorder.load(&self.loaded, &self.parameters, false);
        if disturbs {
            let chunks = self.loaded.last_index as usize + 1;
            recorder.wrong_row(chunks + 2);
            if chunks > 1 {
                recorder.wrong_row(chunks - 1);
            }
            let beats = rows.n_rows() * chunks;
            let stop = 1 + self.seed as usize % beats;
            recorder.run(&rows, &mut pauses(), Some(stop), &mut out);
            recorder.reset(1 + self.seed as usize % 3);
            recorder.load(&self.loaded, &self.parameters, true);
        }
        recorder.run(&rows, &mut pauses(), None, &mut out);
        recorder.idle(disturbs);
        recorder.idle(false);
        let b = &self.loaded.binding.output_format;
        let up = 32 - b.bits;
        if b.is_signed {
            out.iter_mut().for_each(|y| *y = *y << up >> up);
        }
        out
    }
}

const KINDS: usize = 8;

fn row_of(kind: usize, n: usize, format: IntFormat, random: &mut Random) -> Vec<i32> {
    let (low, high) = (format.min(), format.max());
    let spot = random.within(0, n as i64 - 1) as usize;
    let constant = random.within(low, high);
    (0..n)
        .map(|k| match kind {
            0 => (0..8).map(|_| random.within(low / 6, high / 6)).sum::<i64>() / 2,
            1 => random.within(low, high),
            2 => low,
            3 => high,
            4 => constant,
            5 => [low, high][k % 2],
            6 if k == spot => high,
            6 => random.within(-3, 3),
            _ if k == spot => low,
            _ => 0,
        })
        .map(|v| v.clamp(low, high) as i32)
        .collect()
}

fn parameters_of(engine: &Engine, loaded: &Loaded, random: &mut Random) -> Parameters {
    let n = loaded.binding.row_len as usize;
    let most = (1i64 << (engine.widths.input - 1)) - 1;
    let one = 1i64 << OUTPUT_FRACTION;
    let beta_most = ((1i64 << (loaded.binding.output_format.bits - 2)) - 1) * one;
    let gamma = |r: &mut Random, k| if k % 7 == 6 { -most } else { r.within(-most, most) };
    let mut all = Parameters::default();
    for k in 0..n {
        if loaded.has_gamma {
            all.gamma.push(gamma(random, k) as i32);
        }
        if loaded.has_beta {
            all.beta.push((random.within(-beta_most, beta_most) + one / 2) as i32);
        }
    }
    all
}

//! The engine's codes are those of the specification in exact integers: no code may differ.
use fixed::types::{I27F5, I59F5};
use mive::config;
use mive::engine::widths::{GUARD, OUTPUT_FRACTION};
use mive::engine::{Engine, Widths};
use mive::isa::Family;
use mive::num::IntFormat;
use mive::program::{Binding, Loaded, bind, library};
use mive::pwl::{Function, Table};
use mive::reference::exact::{
    Affine, Codes, Epsilon, Form, LineTable, Mean, Norm, Points, Row, Softmax,
};
use mive::rtl::step::{Mode, Num};
use mive::simulate::{Parameters, Rows, Session, Simulator, Stall};
use num_bigint::BigInt;
use std::path::Path;

/// The engine's affine path takes a block exponent.
const HAS_BLOCK_EXPONENT: bool = true;

const CONFIGS: [&str; 5] = ["tiny", "edge", "edge16", "server", "long"];

fn engine(name: &str) -> Engine {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("hw_configs/{name}.toml"));
    Engine::describe(&config::load(&path).expect("a shipped configuration"))
}

struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    fn within(&mut self, lo: i64, hi: i64) -> i32 {
        (lo + (self.word() % (hi - lo + 1) as u64) as i64) as i32
    }
}

fn lines(t: &Table) -> LineTable<'_> {
    let halves = u32::from(t.function == Function::ReciprocalRoot);
    LineTable {
        slope: &t.slope,
        intercept: &t.intercept,
        intercept_shift: t.intercept_shift,
        segment_bits: t.segments.ilog2() - halves,
        input_bits: t.input_bits,
        output_bits: t.output_bits,
        slope_bits: t.slope_bits,
    }
}

fn points(w: &Widths) -> Points {
    Points {
        multiplier: w.p,
        guard: GUARD,
        exp_fraction: w.exp_fraction,
        octaves: (1 << w.exponent) - 1,
        sum_fraction: w.sum_fraction,
        stored_fraction: w.stored_fraction,
        accumulator_fraction: w.accumulator_fraction,
        scalar_fraction: w.scalar - 2,
        log_extra: w.log_extra,
        output: w.output,
        output_fraction: OUTPUT_FRACTION,
        shift_max: (1 << w.shift) - 1,
    }
}

/// 2^up / n rounded half up, in integers.
fn inverse(up: u32, n: u32) -> i64 {
    (((1i128 << up) * 2 + i128::from(n)).div_euclid(2 * i128::from(n))) as i64
}

/// Half an LSB of the exponential's argument, F fraction bits, as much as an immediate holds.
fn half_lsb(w: &Widths, sh: u32) -> i64 {
    (1i64 << (sh - w.exp_fraction - 1 + w.accumulator_fraction)).min((1 << (w.scalar - 1)) - 1)
}

/// The specification of a bound program, row by row.
fn specify(engine: &Engine, loaded: &Loaded, parameters: &Parameters, rows: &Rows) -> Vec<i32> {
    let (w, at, t) = (&engine.widths, points(&engine.widths), &engine.tables);
    let constant = |name: &str| {
        loaded.constants.iter().find(|(n, _)| n == name).map(|c| c.1).expect("a constant")
    };
    let whole = |name: &str| constant(name) as i64;
    let scaled =
        |name: &str, bits: u32| (constant(name) * (bits as f64).exp2() + 0.5).floor() as i64;
    let format = loaded.binding.output_format;
    let is_softmax = loaded.family == Family::Softmax;
    let codes = Codes { format, has_zero_point: !is_softmax && !format.is_signed };
    let fraction = at.scalar_fraction;
    let softmax = is_softmax.then(|| Softmax {
        at,
        codes,
        lowest: -(1 << (w.input - 1)),
        exp2: lines(&t.exp2),
        m: whole("M"),
        sh: whole("sh") as u32,
        half: half_lsb(w, whole("sh") as u32),
        form: if loaded.name.ends_with("stored") {
            let shift = i64::from(w.p) - 2 - whole("ec") - i64::from(w.sum_fraction);
            let reciprocal = lines(t.reciprocal.as_ref().expect("the program was bound"));
            Form::Stored { reciprocal, c: scaled("c", fraction), shift }
        } else {
            // The specification has the exponential at the output's top, the program at the sum's.
            let fraction = w.accumulator_fraction + w.log_extra;
            let above = i64::from(w.sum_fraction) - i64::from(w.output + OUTPUT_FRACTION);
            let offset = scaled("offset", fraction) - (above << fraction);
            Form::LogSumExp { log2: lines(&t.log2), offset }
        },
    });
    let n = loaded.binding.row_len;
    let norm = (!is_softmax).then(|| Norm {
        at,
        codes,
        rsqrt: lines(&t.rsqrt),
        has_newton_step: engine.config.newton_steps > 0,
        variance_fraction: whole("VF") as u32,
        eps: Epsilon {
            m: whole("eps_m"),
            e: whole("eps_e") as u32,
            i: (loaded.binding.k_max > 0).then(|| whole("eps_i") as u32),
        },
        c: scaled("c", fraction),
        ec: whole("ec"),
        mean: loaded.name.starts_with("layernorm").then(|| {
            let up = whole("j") as u32;
            let fine = fraction + w.accumulator_fraction - up;
            let n64 = i64::from(n);
            Mean {
                n: n64,
                places: n.ilog2(),
                inverse: inverse(fraction + n.ilog2(), n),
                up,
                inverse_fine: inverse(fine, n),
            }
        }),
        affine: loaded.has_gamma.then(|| Affine {
            h_fraction: whole("HF"),
            has_block_exponent: HAS_BLOCK_EXPONENT,
            gamma: &parameters.gamma,
            beta: loaded.has_beta.then_some(parameters.beta.as_slice()),
        }),
    });
    let mut all = vec![];
    for (r, x) in rows.x.chunks(rows.row_len).enumerate() {
        let from = r * rows.row_len;
        let keep: Option<Vec<bool>> = (rows.keep)
            .map(|keep| keep[from..from + rows.row_len].iter().map(|&k| k != 0).collect());
        let k = rows.k.map_or(0, |k| u32::from(k[r]));
        let row = Row { x, keep: keep.as_deref(), k };
        all.extend(match (&softmax, &norm) {
            (Some(s), _) => s.row(&row),
            (_, Some(s)) => s.row(&row),
            _ => unreachable!("a program is softmax or norm"),
        });
    }
    all
}

/// Rows that stress the datapath, and random ones.
fn rows_of(n: usize, format: IntFormat, random: &mut Random) -> Vec<(&'static str, Vec<i32>)> {
    let (lo, hi) = (format.min() as i32, format.max() as i32);
    let each = |f: &mut dyn FnMut(usize) -> i32| (0..n).map(f).collect::<Vec<i32>>();
    let mut r = |lo: i32, hi: i32| random.within(i64::from(lo), i64::from(hi));
    vec![
        ("zeros", each(&mut |_| 0)),
        ("ones", each(&mut |_| 1)),
        ("lowest", each(&mut |_| lo)),
        ("highest", each(&mut |_| hi)),
        ("alternating", each(&mut |i| if i % 2 == 0 { lo } else { hi })),
        ("outlier", each(&mut |i| if i == n / 2 { hi } else { 0 })),
        ("low outlier", each(&mut |i| if i == n / 3 { lo } else { 1 })),
        ("lowest but one", each(&mut |i| if i == n - 1 { hi } else { lo })),
        ("tiny variance", each(&mut |i| hi - (i == 0) as i32)),
        ("ramp", each(&mut |i| lo + (i as i64 * i64::from(hi - lo) / n as i64) as i32)),
        ("power", each(&mut |i| if i % 4 == 0 { hi / 2 + 1 } else { 0 })),
        ("small", each(&mut |_| r(-3, 3))),
        ("random", each(&mut |_| r(lo, hi))),
        ("middling", each(&mut |_| r(lo, hi) / 8 + r(lo, hi) / 8)),
    ]
}

struct Case<'a> {
    binding: Binding,
    masks: bool,
    k: bool,
    simulator: &'a Simulator,
}

/// Compares one bound program; gives the codes compared and the differences found.
fn compare(
    engine: &Engine,
    program: &str,
    case: &Case,
    random: &mut Random,
) -> (usize, Vec<String>) {
    let b = &case.binding;
    let shipped = library::shipped(program).expect("a shipped program");
    let Ok(loaded) = bind(&shipped, engine, b) else { return (0, vec![]) };
    let n = b.row_len as usize;
    let patterns = rows_of(n, b.input_format, random);
    let x: Vec<i32> = patterns.iter().flat_map(|(_, x)| x.iter().copied()).collect();
    let keep: Vec<u8> = (0..x.len())
        .map(|i| match i / n % 4 {
            0 => 0,
            1 => (i % 3 == 0) as u8,
            2 => (random.word() % 2) as u8,
            _ => 1,
        })
        .collect();
    let k: Vec<u8> = (0..patterns.len())
        .map(|r| ((7 * r as u64 + 3) % (u64::from(b.k_max) + 1)) as u8)
        .collect();
    let top = b.input_format.max();
    let w = &engine.widths;
    let held = 1i64 << (w.beta - 1);
    let parameters = Parameters {
        gamma: (0..n)
            .map(|i| if i % 5 == 0 { top as i32 } else { random.within(-top - 1, top) })
            .collect(),
        beta: (0..n)
            .map(|i| if i % 7 == 3 { 64 } else { random.within(-held / 4, held / 4) })
            .collect(),
    };
    let keep = (case.masks).then_some(keep.as_slice());
    let rows = Rows { row_len: n, x: &x, keep, k: case.k.then_some(k.as_slice()) };
    let mut session = case.simulator.session(&loaded, &parameters, patterns.len(), Mode::Results);
    let mut y = vec![0; x.len()];
    session.run(&rows, &mut Stall::none(), &mut y);
    let exact = specify(engine, &loaded, &parameters, &rows);
    let mut wrong = vec![];
    for (r, (name, _)) in patterns.iter().enumerate() {
        let (got, want) = (&y[r * n..(r + 1) * n], &exact[r * n..(r + 1) * n]);
        let count = got.iter().zip(want).filter(|(a, b)| a != b).count();
        if let Some(i) = (0..n).find(|&i| got[i] != want[i]) {
            wrong.push(format!(
                "{} {program} N={n} {} to {} in_scale={} out_scale={} eps={} k={:?} masks={} row `{name}`: {count} codes differ; \
                 element {i} (x={}): engine {}, specification {}",
                engine.config.name, b.input_format, b.output_format, b.input_scale, b.output_scale,
                b.eps, rows.k.map(|k| k[r]), case.masks, x[r * n + i], got[i], want[i]
            ));
        }
    }
    (y.len(), wrong)
}

fn check(config: &str) {
    let engine = engine(config);
    let simulator = Simulator::new(&engine);
    let mut random = Random(0x1234_5678_9abc_def1);
    let lanes = engine.widths.lanes;
    let n_max = engine.config.n_max;
    let mut lengths: Vec<u32> =
        [1, 2, 3, lanes.saturating_sub(1), lanes, lanes + 1, 3 * lanes + 2, 64, 200.min(n_max)]
            .to_vec();
    lengths.push(if n_max > 4096 { 1000 } else { n_max.min(768) });
    lengths.sort_unstable();
    lengths.dedup();
    let (mut compared, mut wrong) = (0, vec![]);
    for (program, _) in library::SHIPPED {
        let is_softmax = program.starts_with("softmax");
        let before = compared;
        for &n in lengths.iter().filter(|&&n| n > 0 && n <= n_max) {
            for &input in &engine.config.input_formats {
                for &output in &engine.config.output_formats {
                    let unit = 2.0 / (1u64 << input.bits) as f64;
                    let variants: &[(f64, f64, f64)] = if is_softmax {
                        &[(8.0, 1.0, 0.0), (0.7, 1.0, 0.0), (100.0, 0.6, 0.0)]
                    } else {
                        &[
                            (4.0, 8.0, 1e-5),
                            (4.0, 8.0, 0.0),
                            (0.001, 4.0, 1e-12),
                            (1.0, 3.99999, 1e6),
                            (1e-5, 1e-3, 1e-3),
                            (1.0, 4.000000004, 0.0),
                        ]
                    };
                    for (v, &(reach, out_reach, eps)) in variants.iter().enumerate() {
                        let full = (1u64 << output.bits) as f64;
                        let out_scale =
                            if is_softmax { out_reach / full } else { out_reach * 2.0 / full };
                        let has_k = (v + n as usize) % 2 == 1;
                        let binding = Binding {
                            row_len: n,
                            input_format: input,
                            output_format: output,
                            input_scale: reach * unit,
                            output_scale: out_scale,
                            gamma_scale: if program.contains('_') && !is_softmax {
                                1.5 * unit
                            } else {
                                1.0
                            },
                            eps,
                            k_max: if has_k { [3, 15, 8][(n as usize / 2 + v) % 3] } else { 0 },
                        };
                        let masks = is_softmax && v != 0;
                        let case = Case { binding, masks, k: has_k, simulator: &simulator };
                        let (c, w) = compare(&engine, program, &case, &mut random);
                        compared += c;
                        wrong.extend(w);
                    }
                }
            }
        }
        println!("{config} {program}: {} codes", compared - before);
    }
    assert!(compared > 10_000, "{compared} codes were compared");
    assert!(
        wrong.is_empty(),
        "{} rows differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n")
    );
}

#[test]
fn tiny_is_exact() {
    check(CONFIGS[0]);
}

#[test]
fn edge_is_exact() {
    check(CONFIGS[1]);
}

#[test]
fn edge16_is_exact() {
    check(CONFIGS[2]);
}

#[test]
fn server_is_exact() {
    check(CONFIGS[3]);
}

#[test]
fn long_is_exact() {
    check(CONFIGS[4]);
}

/// Rows as long as the engine takes, and one element fewer.
#[test]
fn longest_rows_are_exact() {
    for (name, programs) in [
        ("edge", &["softmax", "layernorm_affine", "rmsnorm"][..]),
        ("server", &["softmax_stored", "layernorm", "rmsnorm_gamma"]),
        ("long", &["softmax", "layernorm"]),
    ] {
        let engine = engine(name);
        let simulator = Simulator::new(&engine);
        let mut random = Random(99);
        for program in programs {
            let is_softmax = program.starts_with("softmax");
            let input_format = engine.config.input_formats[0];
            let unit = 2.0 / (1u64 << input_format.bits) as f64;
            let binding = Binding {
                row_len: engine.config.n_max - u32::from(*program != "softmax"),
                input_format,
                output_format: if is_softmax { IntFormat::U8 } else { IntFormat::S8 },
                input_scale: 8.0 * unit,
                output_scale: if is_softmax { 1.0 / 255.0 } else { 8.0 / 128.0 },
                gamma_scale: if program.contains('_') && !is_softmax { unit } else { 1.0 },
                eps: 1e-5,
                k_max: 0,
            };
            let case = Case { binding, masks: is_softmax, k: false, simulator: &simulator };
            let (compared, wrong) = compare(&engine, program, &case, &mut random);
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
            println!("{name} {program}: {compared} codes");
        }
    }
}

/// A masked element counts in no block exponent: what stands under the mask changes no kept result.
#[test]
fn a_masked_element_has_no_magnitude() {
    let engine = engine("edge");
    let simulator = Simulator::new(&engine);
    let n = 40;
    let binding = Binding {
        row_len: n as u32,
        input_format: IntFormat::S8,
        output_format: IntFormat::S8,
        input_scale: 1.0 / 16.0,
        output_scale: 1.0 / 32.0,
        gamma_scale: 1.0 / 64.0,
        eps: 1e-5,
        k_max: 0,
    };
    let program = library::shipped("layernorm_affine").expect("a shipped program");
    let loaded = bind(&program, &engine, &binding).expect("edge holds it");
    let parameters = Parameters { gamma: vec![127; n], beta: vec![16; n] };
    let keep: Vec<u8> = (0..n).map(|i| u8::from(i % 7 != 3)).collect();
    let [clean, hidden] = [0, -128].map(|under| {
        let x: Vec<i32> =
            (0..n).map(|i| if i % 7 == 3 { under } else { (i * 5 % 13) as i32 - 6 }).collect();
        let rows = Rows { row_len: n, x: &x, keep: Some(&keep), k: None };
        let mut y = vec![0; n];
        let mut session = simulator.session(&loaded, &parameters, 1, Mode::Results);
        session.run(&rows, &mut Stall::none(), &mut y);
        y
    });
    let kept = |y: &[i32]| -> Vec<i32> { (0..n).filter(|i| i % 7 != 3).map(|i| y[i]).collect() };
    assert_eq!(kept(&clean), kept(&hidden));
}

/// Rows of any storage type give the same codes: a partial chunk, several rows a stream, an idle stream.
#[test]
fn narrow_codes_agree() {
    let engine = engine("edge");
    let simulator = Simulator::new(&engine);
    let (n, n_rows) = (21, 11);
    let binding = Binding {
        row_len: n as u32,
        input_format: IntFormat::S8,
        output_format: IntFormat::U8,
        input_scale: 1.0 / 16.0,
        output_scale: 1.0 / 255.0,
        gamma_scale: 1.0,
        eps: 0.0,
        k_max: 0,
    };
    let program = library::shipped("softmax").expect("a shipped program");
    let loaded = bind(&program, &engine, &binding).expect("edge holds it");
    let x: Vec<i8> = (0..n * n_rows).map(|i| (i * 83 % 256) as u8 as i8).collect();
    fn run<T: Num, O: Num>(session: &mut Session<'_>, row_len: usize, x: &[T]) -> Vec<i64> {
        let mut y = vec![O::of(0); x.len()];
        let rows = Rows { row_len, x, keep: None, k: None };
        session.run(&rows, &mut Stall::none(), &mut y);
        y.iter().map(|y| y.wide()).collect()
    }
    let mut session = simulator.session(&loaded, &Parameters::default(), 4, Mode::Results);
    let wide: Vec<i32> = x.iter().map(|&x| x.into()).collect();
    let expected = run::<i32, i32>(&mut session, n, &wide);
    assert!(expected.iter().any(|&y| y > 127));
    assert_eq!(run::<i8, u8>(&mut session, n, &x), expected);
    assert_eq!(run::<i8, i16>(&mut session, n, &x), expected);
}

/// Row scales and a huge epsilon: what still fits runs, what would not outweigh a variance is refused.
#[test]
fn huge_epsilon_with_row_scales() {
    let engine = engine("server");
    let binding = Binding {
        row_len: 32,
        input_format: IntFormat::S8,
        output_format: IntFormat::S8,
        input_scale: 1.0 / 128.0,
        output_scale: 4.0 / 128.0,
        gamma_scale: 1.0,
        eps: 1e6,
        k_max: 12,
    };
    let program = library::shipped("layernorm").expect("a shipped program");
    let refusal = bind(&program, &engine, &binding).expect_err("the accumulator cannot hold it");
    assert!(refusal.to_string().contains("give a smaller eps or one scale"), "{refusal}");
    assert!(bind(&program, &engine, &Binding { k_max: 3, ..binding }).is_ok());
}

/// The output rounding against a second oracle: fixed-point numbers with 5 fraction bits.
#[test]
fn rounding_agrees_with_fixed() {
    let half = BigInt::from(1 << (OUTPUT_FRACTION - 1));
    for (format, has_zero_point) in [
        (IntFormat::S8, false),
        (IntFormat::U8, false),
        (IntFormat::U8, true),
        (IntFormat::S16, false),
    ] {
        let codes = Codes { format, has_zero_point };
        for raw in -70_000i32..70_000 {
            let zero = if has_zero_point { 128 } else { 0 };
            // Half up: the floor of the value and one half.
            let v = I59F5::from(I27F5::from_bits(raw)) + I59F5::from_bits(16);
            let want = (v.floor().to_num::<i64>() + zero).clamp(format.min(), format.max());
            let got = codes.of(&BigInt::from(raw), &half, OUTPUT_FRACTION);
            assert_eq!(i64::from(got), want, "{format} {raw}");
        }
    }
}

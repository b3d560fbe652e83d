//! Populations of rows whose errors are quoted: real tensors, normal rows with named seeds, stress
//! tensors and adversarial rows.
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::RunError;
use crate::num::IntFormat;
use crate::tensor::{write_npy_f64, write_npy_int};

/// Which rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Population {
    /// Real activations, pooled by operator.
    Public,
    /// N(0, sigma) rows of 64 to 4096 elements, or of 131072.
    Normal,
    /// Rows of N(0, sigma 2^-k), k from 0 to 15, each with its own scale.
    RowScale,
    /// Tensors that broke other implementations, where their result is defined.
    Stress,
    /// Rows of codes made to break this one.
    Adversarial,
}

impl Population {
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Normal => "normal",
            Self::RowScale => "row_scale",
            Self::Stress => "stress",
            Self::Adversarial => "adversarial",
        }
    }
}

/// One tensor with what belongs to it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub name: String,
    pub row_len: usize,
    pub x: PathBuf,
    pub gamma: Option<PathBuf>,
    pub beta: Option<PathBuf>,
    pub keep: Option<PathBuf>,
    pub eps: Option<f64>,
    pub input_scale: Option<f64>,
    /// Each row has a power-of-two part of the tensor's scale.
    pub row_scale: bool,
}

/// xorshift64*, seeded by a name.
struct Random(u64);

impl Random {
    fn named(name: &str) -> Self {
        let hash = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        Self(name.bytes().fold(0xcbf2_9ce4_8422_2325, hash) | 1)
    }

    /// Uniform over (0, 1).
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 12;
        (bits as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// N(0, 1), by Box and Muller; libm is the same on every machine.
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }
}

fn parameters(
    folder: &Path,
    name: &str,
    n: usize,
) -> Result<(Option<PathBuf>, Option<PathBuf>), RunError> {
    let mut random = Random::named(&format!("{name} parameters"));
    let gamma: Vec<f64> = (0..n).map(|_| 1.0 + 0.25 * random.normal()).collect();
    let beta: Vec<f64> = (0..n).map(|_| 0.3 * random.normal()).collect();
    let paths = (folder.join(format!("{name}_gamma.npy")), folder.join(format!("{name}_beta.npy")));
    write_npy_f64(&paths.0, &[n], &gamma)?;
    write_npy_f64(&paths.1, &[n], &beta)?;
    Ok((Some(paths.0), Some(paths.1)))
}

/// (row length, rows) of the normal population. A row of 4096 has at most 255 different codes, and one of
/// them beside a tie is up to 1 % of its elements: a share needs many rows.
const NORMAL: [(usize, usize); 5] = [(64, 256), (256, 96), (768, 48), (1024, 32), (4096, 16)];
const NORMAL_LONG: [(usize, usize); 2] = [(4096, 4), (131_072, 2)];

/// Rows of N(0, 1) for norms and N(0, 3) for softmax. The seed's name is the case's.
///
/// # Errors
/// A folder that takes no files.
pub fn normal(folder: &Path, is_softmax: bool, is_long: bool) -> Result<Vec<Case>, RunError> {
    let shapes: &[(usize, usize)] = if is_long { &NORMAL_LONG } else { &NORMAL };
    let (what, sigma) = if is_softmax { ("scores", 3.0) } else { ("rows", 1.0) };
    drawn(folder, "normal", shapes, what, |_| sigma)
}

/// (row length, rows) of rows with their own scale.
const SCALED: [(usize, usize); 2] = [(100, 96), (768, 32)];
const SCALED_LONG: [(usize, usize); 2] = [(768, 32), (4096, 16)];

/// Rows of N(0, 2^-k) for norms and N(0, 6 * 2^-k) for softmax, k from 0 to 15 in turn.
///
/// # Errors
/// A folder that takes no files.
pub fn row_scaled(folder: &Path, is_softmax: bool, is_long: bool) -> Result<Vec<Case>, RunError> {
    let shapes: &[(usize, usize)] = if is_long { &SCALED_LONG } else { &SCALED };
    let (what, sigma) = if is_softmax { ("scores", 6.0) } else { ("rows", 1.0) };
    let mut cases =
        drawn(folder, "scaled", shapes, what, |row| sigma * 0.5f64.powi((row % 16) as i32))?;
    cases.iter_mut().for_each(|c| c.row_scale = true);
    Ok(cases)
}

/// Tensors of N(0, sigma of the row); the seed's name is the case's.
fn drawn(
    folder: &Path,
    population: &str,
    shapes: &[(usize, usize)],
    what: &str,
    sigma: impl Fn(usize) -> f64,
) -> Result<Vec<Case>, RunError> {
    let case = |&(n, rows): &(usize, usize)| {
        let name = format!("{population}_{what}_{n}");
        let mut random = Random::named(&name);
        let x: Vec<f64> = (0..n * rows).map(|i| sigma(i / n) * random.normal()).collect();
        let path = folder.join(format!("{name}.npy"));
        write_npy_f64(&path, &[rows, n], &x)?;
        let (gamma, beta) = parameters(folder, &name, n)?;
        Ok(Case { row_len: n, x: path, gamma, beta, name, ..Case::default() })
    };
    shapes.iter().map(case).collect()
}

/// Rows of codes at the edges of the format, and for norms rows whose epsilon outweighs their variance.
///
/// # Errors
/// A folder that takes no files.
pub fn adversarial(
    folder: &Path,
    is_softmax: bool,
    format: IntFormat,
    lengths: &[usize],
) -> Result<Vec<Case>, RunError> {
    let (lo, hi) = (format.min() as i32, format.max() as i32);
    let mut cases = vec![];
    let mut add = |name: String, n: usize, scale: f64, eps: Option<f64>, rows: Vec<Vec<i32>>| {
        let path = folder.join(format!("{name}.npy"));
        write_npy_int(&path, format, &[rows.len(), n], &rows.concat())?;
        let (gamma, beta) = parameters(folder, &name, n)?;
        let (input_scale, row_scale) = (Some(scale), false);
        let keep = None;
        cases.push(Case {
            name,
            row_len: n,
            x: path,
            gamma,
            beta,
            keep,
            eps,
            input_scale,
            row_scale,
        });
        Ok::<(), RunError>(())
    };
    let span = if is_softmax { 8.0 } else { 4.0 } / f64::from(hi);
    if !is_softmax {
        // Standard deviations of a third of the format, and of 4^-1 to 4^-3 of it.
        let mut random = Random::named("quiet");
        let mut rows = |n: usize| -> Vec<Vec<i32>> {
            let sigma = |r: usize| f64::from(hi) / 3.0 * 0.25f64.powi(r as i32);
            let code = |sigma: f64, v: f64| (sigma * v).round().clamp(lo.into(), hi.into()) as i32;
            (0..4).map(|r| (0..n).map(|_| code(sigma(r), random.normal())).collect()).collect()
        };
        for (name, n, scale, eps) in [
            ("quiet", 100, 1e-5 / f64::from(hi), 1e-3),
            ("quieter", 7, 1e-30 / f64::from(hi), 1e-5),
            ("even", 100, 1.0 / f64::from(hi), 0.3),
        ] {
            add(format!("{name}_{format}_{n}"), n, scale, Some(eps), rows(n))?;
        }
    }
    for &n in lengths {
        let row = |f: &dyn Fn(usize) -> i32| (0..n).map(f).collect::<Vec<i32>>();
        let flat = vec![
            row(&|_| 0),
            row(&|_| 1),
            row(&|_| hi),
            row(&|_| lo),
            row(&|i| if i % 2 == 0 { hi } else { lo }),
            row(&|i| if i % 2 == 0 { hi } else { hi - 1 }),
            row(&|i| if i % 2 == 0 { lo } else { lo + 1 }),
            row(&|i| if i < n / 2 { lo } else { hi }),
            row(&|i| if i % 3 == 0 { 5 } else { -3 }),
        ];
        add(format!("flat_{format}_{n}"), n, span, None, flat)?;
        let one = |at: usize, peak: i32, rest: i32| row(&|i| if i == at { peak } else { rest });
        let peaks = vec![
            one(0, hi, 0),
            one(n - 1, hi, 0),
            one(n / 2, lo, 0),
            one(0, 1, 0),
            one(n - 1, -1, 0),
            one(n / 2, hi, lo),
            one(0, lo, hi),
            one(n - 1, hi - 1, hi),
            one(0, lo + 1, lo),
        ];
        add(format!("peak_{format}_{n}"), n, span, None, peaks)?;
        if is_softmax && n >= 4096 {
            // A sink that holds much of the weight and a tail that holds the rest.
            let gaps = [2.0, 5.0, 6.5, 7.6, 8.0, 8.3, 8.7, 9.0, 10.0, 12.0, 15.0];
            let sink = |gap: f64| one(1, hi, hi - (gap / span).min(f64::from(hi - lo)) as i32);
            add(format!("sinks_{format}_{n}"), n, span, None, gaps.map(sink).to_vec())?;
        }
    }
    Ok(cases)
}

/// Tensors of a folder that its meta.json gives for an operator and whose results are defined.
///
/// # Errors
/// A description that cannot be read.
pub fn described(folder: &Path, operator: &str) -> Result<Vec<Case>, RunError> {
    let path = folder.join("meta.json");
    let wrong = |found: String| {
        let place = path.display().to_string();
        RunError::request(place, found, "a description of tensors", "check the folder's path")
    };
    let text = std::fs::read_to_string(&path).map_err(|e| wrong(e.to_string()))?;
    let meta: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let list = meta["tensors"].as_array().or(meta["cases"].as_array());
    let list = list.ok_or_else(|| wrong("no list `tensors` or `cases`".into()))?;
    let serves = |case: &Value| {
        let ops = case["ops"].as_array();
        case["op"] == operator || ops.is_some_and(|ops| ops.iter().any(|o| o == operator))
    };
    // A `policy` says that the exact operator leaves the result open.
    let is_defined = |case: &Value| case["policy"].is_null();
    let file = |case: &Value, key: &str| case[key].as_str().map(|name| folder.join(name));
    list.iter()
        .filter(|c| serves(c) && is_defined(c))
        .map(|c| {
            let shape = c["shape"].as_array();
            let row_len = shape.and_then(|s| s.last()).and_then(Value::as_u64);
            Ok(Case {
                name: c["name"].as_str().unwrap_or_default().to_string(),
                row_len: row_len.ok_or_else(|| wrong("no shape".into()))? as usize,
                x: file(c, "x").ok_or_else(|| wrong("no `x`".into()))?,
                gamma: file(c, "gamma"),
                beta: file(c, "beta"),
                keep: file(c, "keep_mask"),
                eps: c["eps"].as_f64(),
                input_scale: c["int8_scale"].as_f64(),
                row_scale: false,
            })
        })
        .collect()
}

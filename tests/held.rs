//! Engines drawn at random hold what they do not refuse: no result is more than 1 LSB off.
use std::path::Path;

use mive::config::HwConfig;
use mive::engine::Engine;
use mive::report::{Request, RunError, run_tensor};
use mive::tensor::write_npy_f64;

/// Engines that are drawn.
const ENGINES: u64 = 40;

/// Splitmix64.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.word() % n
    }

    /// Uniform over -1 to 1.
    fn signed(&mut self) -> f64 {
        self.word() as f64 / 2f64.powi(63) - 1.0
    }
}

/// Writes six rows of a magnitude from 10^-3 to 10^3, whose scales may be far apart.
fn rows(random: &mut Random, path: &Path, n: usize) {
    let magnitude = 10f64.powf(3.0 * random.signed());
    let are_apart = random.below(2) == 0;
    let mut x = vec![];
    for _ in 0..6 {
        let k = if are_apart { random.below(16) as i32 } else { 0 };
        x.extend((0..n).map(|_| random.signed() * magnitude * 0.5f64.powi(k)));
    }
    write_npy_f64(path, &[6, n], &x).expect("a tensor");
}

#[test]
fn what_is_not_refused_is_held_to_one_lsb() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let mut random = Random(7);
    let mut n_run = 0;
    for seed in 0..ENGINES {
        let config = HwConfig::random(seed, 8);
        let engine = Engine::describe(&config);
        let n = 1 + random.below(u64::from(config.n_max).min(20)) as usize;
        rows(&mut random, &path("x.npy"), n);
        let parameter = |random: &mut Random, name: &str, middle: f64| {
            let values: Vec<f64> = (0..n).map(|_| middle + 0.5 * random.signed()).collect();
            write_npy_f64(path(name), &[n], &values).expect("a tensor");
            Some(path(name))
        };
        let gamma = parameter(&mut random, "g.npy", 1.0);
        let beta = parameter(&mut random, "b.npy", 0.0);
        for operator in ["softmax", "layernorm", "rmsnorm", "layernorm g", "rmsnorm g"] {
            let (operator, is_affine) = match operator.split_once(' ') {
                Some((operator, _)) => (operator, true),
                None => (operator, false),
            };
            let is_softmax = operator == "softmax";
            for &out_format in &config.output_formats {
                let request = Request {
                    operator: operator.into(),
                    input: path("x.npy"),
                    gamma: gamma.clone().filter(|_| is_affine),
                    beta: beta.clone().filter(|_| is_affine && operator == "layernorm"),
                    eps: (!is_softmax).then(|| 10f64.powf(7.0 * random.signed() - 4.0)),
                    row_scale: random.below(2) == 0,
                    out_format: Some(out_format),
                    jobs: 1,
                    ..Request::default()
                };
                match run_tensor(&request, &engine, &|_| ()) {
                    Ok(figures) => {
                        let (error, _) = figures.held.max_error_lsb().expect("elements");
                        assert!(error <= 1.0, "{error} LSB, {request:?}, {config:?}");
                        n_run += 1;
                    }
                    Err(RunError::Bind(_)) => {}
                    Err(e) => panic!("{e}: {request:?}, {config:?}"),
                }
            }
        }
    }
    println!("{n_run} runs of {ENGINES} engines");
    assert!(n_run > 2 * ENGINES, "{n_run} runs");
}

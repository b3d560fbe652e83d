//! Peak memory of a run beside the size of its files: `cargo run --release --example memory [FILE.csv]`.
//!
//! Tensors of float32 are made in the folder for temporary files (500 MB for the largest run) and run in a child
//! process each, which says what the kernel counted for it. Linux alone counts so. golden/memory.csv is one run.
use std::error::Error;
use std::path::Path;
use std::process::Command;

use mive::config;
use mive::engine::Engine;
use mive::report::{Request, run_tensor};
use mive::tensor::write_npy_f32;

/// Most that a run may take, MiB; what is owed is as much beyond the bytes of its files.
const ALLOWED: f64 = 256.0;

/// (configuration, operator, rows, row length, threads).
const RUNS: [(&str, &str, usize, usize, usize); 9] = [
    ("edge", "softmax", 1_000, 1_000, 2),
    ("edge", "softmax", 10_000, 1_000, 2),
    ("edge", "softmax", 100_000, 1_000, 2),
    ("edge", "layernorm", 100_000, 1_000, 2),
    ("edge16", "layernorm", 100_000, 1_000, 2),
    ("edge", "rmsnorm", 1_562_500, 64, 2),
    ("long", "softmax", 763, 131_072, 2),
    ("edge", "softmax", 10_000, 1_000, 16),
    ("long", "softmax", 76, 131_072, 16),
];

const HEADER: &str = "\
# Peak memory of `mive run` on float32 tensors with an output file, MiB, rounded up; examples/memory.rs wrote it.
# files: bytes of input and output; resident: peak of the process (VmHWM), pages of its files included; met:
# resident is at most 256 MiB.
config,operator,elements,row_len,threads,files,resident,met
";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mark, config, operator, x, threads] = &arguments[..]
        && mark == "child"
    {
        return child(config, operator, Path::new(x), threads.parse()?);
    }
    let folder = tempfile::tempdir()?;
    let mut text = HEADER.to_string();
    let mut is_met = true;
    for (config, operator, rows, row_len, threads) in RUNS {
        let x = folder.path().join("x.npy");
        let value = |i: usize| ((i * 7919 % 10_007) as f32 - 5_000.0) / 800.0;
        write_npy_f32(&x, &[rows, row_len], &(0..rows * row_len).map(value).collect::<Vec<_>>())?;
        let threads = threads.to_string();
        let said = Command::new(std::env::current_exe()?)
            .args(["child", config, operator])
            .arg(&x)
            .arg(&threads)
            .output()?;
        if !said.status.success() {
            return Err(String::from_utf8_lossy(&said.stderr).into_owned().into());
        }
        let resident: f64 = String::from_utf8(said.stdout)?.trim().parse()?;
        let size = |name| std::fs::metadata(folder.path().join(name)).map(|m| m.len() as f64);
        let files = (size("x.npy")? + size("y.npy")?) / f64::from(1 << 20);
        is_met &= resident <= ALLOWED;
        let met = if resident <= ALLOWED { "yes" } else { "no" };
        let line = format!(
            "{config},{operator},{},{row_len},{threads},{:.0},{:.0},{met}\n",
            rows * row_len,
            files.ceil(),
            resident.ceil(),
        );
        eprint!("{line}");
        text += &line;
    }
    match arguments.first() {
        Some(path) => std::fs::write(path, text)?,
        None => print!("{text}"),
    }
    if is_met { Ok(()) } else { Err("more than 256 MiB".into()) }
}

/// Runs a tensor and prints the peak of this process in MiB.
fn child(config: &str, operator: &str, x: &Path, jobs: usize) -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("hw_configs/{config}.toml"));
    let engine = Engine::describe(&config::load(&path)?);
    let request = Request {
        operator: operator.into(),
        input: x.into(),
        output: Some(x.with_file_name("y.npy")),
        jobs,
        ..Request::default()
    };
    run_tensor(&request, &engine, &|_| ())?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).ok_or("Linux is needed")?;
    let kib = peak.split_whitespace().next().ok_or("a number of kB")?;
    println!("{}", kib.parse::<f64>()? / 1024.0);
    Ok(())
}

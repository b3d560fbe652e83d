//! Speed of the simulator against Verilator's model of the same engine, on the same rows, in one run.
//!
//! `cargo run --release --example speed [CONFIG]` writes the ratios to `golden/speed.csv`; it needs verilator
//! and g++. One thread each; outputs and cycles are compared first. Ports of up to 64 bits: 8 lanes of 8
//! bits. Each side runs three times and its best counts: time of its own thread, so that a busy machine
//! weighs on both alike.
use mive::config;
use mive::engine::Engine;
use mive::num::IntFormat;
use mive::program::{Binding, bind, library};
use mive::rtl::step::Mode;
use mive::rtl::verilog::{Dialect, Style, print_all};
use mive::simulate::{Parameters, Rows, Simulator, Stall, writes};
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const ROWS: usize = 2048;
const ROW_LEN: usize = 768;
const RUNS: usize = 3;
/// Repetitions of ours in a run: the kernel counts a thread's time in steps of milliseconds.
const REPETITIONS: usize = 16;
/// Streams of the simulator: as many as serve it best.
const STREAMS: [(Mode, usize); 2] = [(Mode::Results, 1024), (Mode::Full, 256)];

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or("hw_configs/edge.toml".to_string());
    let config = config::load(Path::new(&path))?;
    let engine = Engine::describe(&config);
    let simulator = Simulator::new(&engine);
    let folder = tempfile::tempdir()?;
    let mut files = vec![];
    for (name, text) in print_all(&engine.top, &Style::new(Dialect::SystemVerilog)) {
        std::fs::write(folder.path().join(&name), text)?;
        files.push(name);
    }
    let top = format!("mive_{}", config.name);
    std::fs::write(folder.path().join("main.cpp"), main_cpp(&top))?;
    let built = Command::new("verilator")
        .current_dir(&folder)
        .args(["--cc", "--exe", "--build", "-O3", "-CFLAGS", "-O3", "-Wno-fatal", "-j", "2"])
        .args(["--Mdir", "obj", "--top-module", &top, "-o", "sim", "main.cpp"])
        .args(&files)
        .output()?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned().into());
    }
    println!("{}: {ROWS} rows of {ROW_LEN}, s8 in, 8-bit out, one thread each", config.name);
    println!("program      cycles    results / Verilator    full / Verilator");
    let mut table =
        "config,program,rows,row_len,cycles,results_over_verilator,full_over_verilator\n"
            .to_string();
    for (name, out) in
        [("softmax", IntFormat::U8), ("layernorm", IntFormat::S8), ("rmsnorm", IntFormat::S8)]
    {
        let program = library::shipped(name).ok_or("a shipped program")?;
        let binding = Binding {
            row_len: ROW_LEN as u32,
            input_format: IntFormat::S8,
            output_format: out,
            input_scale: 0.05,
            output_scale: if name == "softmax" { 1.0 / 255.0 } else { 5.0 / 127.0 },
            gamma_scale: 1.0,
            eps: 1e-5,
            k_max: 0,
        };
        let loaded = bind(&program, &engine, &binding)?;
        let mut state = 7u64;
        let x: Vec<i8> = (0..ROWS * ROW_LEN)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 40) as i8
            })
            .collect();
        let mut text = String::new();
        let all = writes(&simulator, &loaded, &Parameters::default());
        writeln!(text, "{} {ROWS} {ROW_LEN}", all.len())?;
        let index_bits = mive::engine::shell::index_bits(&config, &engine.widths);
        for w in &all {
            let address = (i64::from(w.space) << index_bits) + w.index;
            let tail = w.tail.iter().rev().fold(0, |t, &b| 2 * t + b);
            let mask = (1i64 << engine.widths.scalar) - 1;
            writeln!(text, "{address} {} {} {tail}", w.word, w.immediate & mask)?;
        }
        std::fs::write(folder.path().join("setup.txt"), text)?;
        let bytes: Vec<u8> = x.iter().map(|&v| v as u8).collect();
        std::fs::write(folder.path().join("x.bin"), bytes)?;
        let (mut cycles, mut theirs) = (0u64, f64::INFINITY);
        for _ in 0..RUNS {
            let sim = folder.path().join("obj/sim");
            let output = Command::new(sim).current_dir(&folder).output()?;
            let line = String::from_utf8(output.stdout)?;
            let mut parts = line.split_whitespace();
            cycles = parts.next().ok_or("cycles")?.parse()?;
            theirs = theirs.min(parts.next().ok_or("seconds")?.parse()?);
        }
        let want = std::fs::read(folder.path().join("y.bin"))?;
        let rows = Rows { row_len: ROW_LEN, x: &x, keep: None, k: None };
        let mut ratios = vec![];
        for (mode, streams) in STREAMS {
            let mut session = simulator.session(&loaded, &Parameters::default(), streams, mode);
            let mut out = vec![0u8; x.len()];
            session.run(&rows, &mut Stall::none(), &mut out);
            let mut best = f64::INFINITY;
            for _ in 0..RUNS {
                let start = thread_seconds()?;
                for _ in 0..REPETITIONS {
                    session.run(&rows, &mut Stall::none(), &mut out);
                }
                best = best.min((thread_seconds()? - start) / REPETITIONS as f64);
            }
            ratios.push(theirs / best);
            let differ = out.iter().zip(&want).filter(|(a, b)| a != b).count();
            assert_eq!(differ, 0, "{name}: codes differ from Verilator's");
        }
        let mut one = simulator.session(&loaded, &Parameters::default(), 1, Mode::Results);
        let mut out = vec![0u8; x.len()];
        let report = one.run(&rows, &mut Stall::none(), &mut out);
        assert_eq!(report.row_ends.last(), Some(&cycles), "{name}: cycles differ");
        println!("{name:<12} {cycles:>6} {:>18.1} {:>21.1}", ratios[0], ratios[1]);
        writeln!(
            table,
            "{},{name},{ROWS},{ROW_LEN},{cycles},{:.1},{:.1}",
            config.name, ratios[0], ratios[1]
        )?;
    }
    if config.name == "edge" {
        std::fs::write("golden/speed.csv", table)?;
        println!("golden/speed.csv");
    }
    Ok(())
}

/// Seconds that this thread has run.
fn thread_seconds() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split_whitespace().next().ok_or("schedstat")?.parse()?;
    Ok(nanoseconds / 1e9)
}

/// Drives the model: set-up words, then rows with no pause on either side.
fn main_cpp(top: &str) -> String {
    format!(
        r#"#include "V{top}.h"
#include <ctime>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>
int main() {{
  V{top} dut;
  std::ifstream setup("setup.txt");
  size_t writes, rows, n;
  setup >> writes >> rows >> n;
  auto edge = [&] {{ dut.clk_i = 1; dut.eval(); dut.clk_i = 0; dut.eval(); }};
  dut.rst_ni = 0; dut.clk_i = 0; dut.eval(); edge(); dut.rst_ni = 1; dut.eval();
  dut.s_axis_tuser_keep_i = 0xff; dut.m_axis_tready_i = 1;
  for (size_t i = 0; i < writes; i++) {{
    unsigned long long a, w, m, t;
    setup >> a >> w >> m >> t;
    dut.load_valid_i = 1; dut.load_address_i = a; dut.load_word_i = w;
    dut.load_immediate_i = m; dut.load_tail_i = t;
    dut.eval();
    while (!dut.load_ready_o) edge();
    edge();
  }}
  dut.load_valid_i = 0;
  std::vector<char> x(rows * n), y(rows * n);
  std::ifstream("x.bin", std::ios::binary).read(x.data(), x.size());
  size_t sent = 0, got = 0;
  unsigned long long cycles = 0;
  auto now = [] {{ timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }};
  double start = now();
  while (got < x.size()) {{
    dut.s_axis_tvalid_i = sent < x.size();
    if (sent < x.size()) {{
      QData d; std::memcpy(&d, &x[sent], 8); dut.s_axis_tdata_i = d;
      dut.s_axis_tlast_i = (sent + 8) % n == 0;
    }}
    dut.eval();
    if (dut.s_axis_tvalid_i && dut.s_axis_tready_o) sent += 8;
    if (dut.m_axis_tvalid_o) {{ QData d = dut.m_axis_tdata_o; std::memcpy(&y[got], &d, 8); got += 8; }}
    edge();
    cycles++;
  }}
  double t = now() - start;
  std::ofstream("y.bin", std::ios::binary).write(y.data(), y.size());
  std::printf("%llu %f\n", cycles, t);
}}
"#
    )
}

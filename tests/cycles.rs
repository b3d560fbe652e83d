//! Cycles that the listing derives are those that the simulator takes; listings are as recorded.
use mive::config;
use mive::engine::Engine;
use mive::isa::{assemble, disassembler};
use mive::num::IntFormat;
use mive::program::listing::{cycles, listing};
use mive::program::{Binding, Loaded, bind, library};
use mive::rtl::step::Mode;
use mive::simulate::{Parameters, Rows, Simulator, Stall};
use std::path::{Path, PathBuf};

const CONFIGS: [&str; 5] = ["tiny", "edge", "edge16", "server", "long"];

fn path(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(part)
}

fn engine(name: &str) -> Engine {
    let config = config::load(&path(&format!("hw_configs/{name}.toml")));
    Engine::describe(&config.expect("a shipped configuration"))
}

/// Scales with which every shipped program binds where the engine can hold it.
fn binding(engine: &Engine, row_len: u32, program: &str) -> Binding {
    let is_softmax = program.starts_with("softmax");
    let input = engine.config.input_formats[0];
    Binding {
        row_len,
        input_format: input,
        output_format: if is_softmax { IntFormat::U8 } else { IntFormat::S8 },
        input_scale: 8.0 / (1u64 << (input.bits - 1)) as f64,
        output_scale: if is_softmax { 1.0 / 255.0 } else { 8.0 / 128.0 },
        gamma_scale: if program.contains('_') { 1.0 / input.max() as f64 } else { 1.0 },
        eps: 1e-5,
        k_max: 0,
    }
}

fn bound(engine: &Engine, row_len: u32, program: &str) -> Option<Loaded> {
    let shipped = library::shipped(program).expect("a shipped program");
    bind(&shipped, engine, &binding(engine, row_len, program)).ok()
}

fn measure(simulator: &Simulator, loaded: &Loaded, n_rows: usize) -> Vec<u64> {
    let n = loaded.binding.row_len as usize;
    let x = vec![0; n * n_rows];
    let mut y = vec![0; x.len()];
    let mut session = simulator.session(loaded, &Parameters::default(), 1, Mode::Results);
    let rows = Rows { row_len: n, x: &x, keep: None, k: None };
    session.run(&rows, &mut Stall::none(), &mut y).row_ends
}

fn check(name: &str) {
    let engine = engine(name);
    let simulator = Simulator::new(&engine);
    let (lanes, n_max) = (engine.widths.lanes, engine.config.n_max);
    let mut compared = 0;
    let mut wrong = vec![];
    for (program, _) in library::SHIPPED {
        // Cycles depend on chunks alone: every length up to L + 2, then about each edge of a chunk.
        let edges = (1..=4).flat_map(|c| [c * lanes - 1, c * lanes, c * lanes + 1]);
        let long = [40, 64, 300, 768, 1000, 2049, 40 * lanes, 90 * lanes, 200 * lanes + 1];
        let mut lengths: Vec<u32> = (1..=4 * lanes + 1)
            .filter(|n| lanes <= 8 || *n < 4)
            .chain(edges)
            .chain(long)
            .filter(|&n| n > 0 && n <= n_max)
            .collect();
        lengths.sort_unstable();
        lengths.dedup();
        for n in lengths {
            let Some(loaded) = bound(&engine, n, program) else { continue };
            for n_rows in [1, 2, 3, 8] {
                let (got, want) =
                    (cycles(&loaded, &engine, n_rows), measure(&simulator, &loaded, n_rows));
                compared += 1;
                let first = n_rows > 1 || got.first_row == want[0];
                if got.row_ends != want || !first {
                    wrong.push(format!("{name} {program} N={n} rows={n_rows}: {got:?} {want:?}"));
                }
            }
            if n > 30 * lanes {
                let ends = measure(&simulator, &loaded, 8);
                let per_row = (ends[6] - ends[4]) as f64 / 2.0;
                let got = cycles(&loaded, &engine, 8).per_row;
                if got != per_row {
                    wrong.push(format!("{name} {program} N={n}: {got} a row, {per_row}"));
                }
            }
        }
    }
    assert!(compared > 50, "{compared}");
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n"));
}

#[test]
fn tiny_takes_the_cycles_derived() {
    check(CONFIGS[0]);
}

#[test]
fn edge_takes_the_cycles_derived() {
    check(CONFIGS[1]);
}

#[test]
fn edge16_takes_the_cycles_derived() {
    check(CONFIGS[2]);
}

#[test]
fn server_takes_the_cycles_derived() {
    check(CONFIGS[3]);
}

#[test]
fn long_takes_the_cycles_derived() {
    check(CONFIGS[4]);
}

/// At 8 lanes and rows of 768 or more, a row takes its micro-ops and at most 1 % above them.
#[test]
fn long_rows_meet_the_bound() {
    for name in ["edge", "edge16", "long"] {
        let engine = engine(name);
        for (program, _) in library::SHIPPED {
            for n in [768, 1000, 1024, 2048, 4096] {
                let Some(loaded) = bound(&engine, n, program) else { continue };
                let slots: u32 = loaded.body_slots.iter().sum();
                let least = f64::from(slots * n.div_ceil(8));
                let per_row = cycles(&loaded, &engine, 8).per_row;
                assert!(per_row <= 1.01 * least, "{name} {program} {n}: {per_row}, {least}");
            }
        }
    }
}

/// Assembled, bound and disassembled programs assemble and bind to the same words.
#[test]
fn words_round_trip_as_text() {
    let mut n_programs = 0;
    for name in CONFIGS {
        let engine = engine(name);
        for (program, _) in library::SHIPPED {
            let Some(loaded) = bound(&engine, 64, program) else { continue };
            let family = if program.starts_with("softmax") { "softmax" } else { "norm" };
            let blocks = disassembler::blocks(&loaded.scalar, &loaded.vector);
            let text = format!("program {program}\nfamily {family}\n{blocks}");
            let again = assemble(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let again = bind(&again, &engine, &loaded.binding).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(again.vector_words, loaded.vector_words, "{name} {program}");
            assert_eq!(again.scalar_words, loaded.scalar_words, "{name} {program}");
            n_programs += 1;
        }
    }
    assert!(n_programs >= 20, "{n_programs}");
}

/// Listings of edge are those of `golden/listings`; `MIVE_BLESS=1` records them anew.
#[test]
fn listings_are_as_recorded() {
    let engine = engine("edge");
    for (program, _) in library::SHIPPED {
        let shipped = library::shipped(program).expect("a shipped program");
        let text = match bind(&shipped, &engine, &binding(&engine, 768, program)) {
            Ok(loaded) => listing(&loaded, &engine),
            Err(e) => format!("refused: {e}\n"),
        };
        let golden = path(&format!("golden/listings/{program}.txt"));
        if std::env::var_os("MIVE_BLESS").is_some() {
            std::fs::create_dir_all(path("golden/listings")).expect("a folder");
            std::fs::write(&golden, &text).expect("written");
        }
        let recorded = std::fs::read_to_string(&golden).expect("a recorded listing");
        assert_eq!(recorded, text, "{program}: MIVE_BLESS=1 records it anew");
    }
}

//! Pipeline registers change no result, and the cycles that they cost are those of the formula.
use crate::common::have;
use mive::config::{self, HwConfig, Stage};
use mive::emit::cases::Case;
use mive::engine::Engine;
use mive::program::library;
use mive::program::listing::cycles;
use mive::rtl::step::Mode;
use mive::rtl::verilog::Dialect;
use mive::simulate::{Simulator, Stall};
use mive::tools::lockstep::Backend;
use mive::tools::verify::{Options, verify};
use std::path::Path;

fn shipped(name: &str) -> HwConfig {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("hw_configs/{name}.toml"));
    config::load(&path).expect("a shipped configuration")
}

/// The places of the bits that are set.
fn stages(bits: usize) -> Vec<Stage> {
    let is_set = |k: &usize| bits >> k & 1 == 1;
    (0..Stage::ALL.len()).filter(is_set).map(|k| Stage::ALL[k]).collect()
}

/// Every combination of cuts.
fn combinations(lanes: u32) -> Vec<(Vec<Stage>, u32)> {
    let levels = lanes.next_power_of_two().ilog2();
    let each = |bits| (0..levels.max(1)).map(move |k| (stages(bits), k));
    (0..1 << Stage::ALL.len()).flat_map(each).collect()
}

/// Rows of every program at these lengths, where the engine holds them.
fn cases(engine: &Engine, lengths: &[u32], n_rows: usize) -> Vec<Case> {
    let mut all = vec![];
    for (k, &(name, _)) in library::SHIPPED.iter().enumerate() {
        let program = library::shipped(name).expect("a shipped program");
        let config = &engine.config;
        for (i, &n) in lengths.iter().enumerate() {
            let input = config.input_formats[(k + i) % config.input_formats.len()];
            let output = config.output_formats[(k + i) % config.output_formats.len()];
            let seed = (1000 * k + i) as u64;
            all.extend(Case::new(engine, &program, n, n_rows, (input, output), seed).ok());
        }
    }
    assert!(all.len() >= 4 * lengths.len(), "{} cases", all.len());
    all
}

/// Codes and row ends of a case, bound anew to this engine.
fn run(
    engine: &Engine,
    simulator: &Simulator,
    case: &Case,
    stall: &mut Stall,
) -> (Vec<i32>, Vec<u64>) {
    let program = library::shipped(&case.loaded.name).expect("a shipped program");
    let loaded =
        mive::program::bind(&program, engine, &case.loaded.binding).expect("it bound before");
    let mut session = simulator.session(&loaded, &case.parameters, 1, Mode::Results);
    let rows = case.rows();
    let mut out = vec![0; rows.x.len()];
    let report = session.run(&rows, stall, &mut out);
    if *stall == Stall::none() {
        let derived = cycles(&loaded, engine, rows.n_rows());
        let title = format!("{}, {:?}", case.title(), engine.cuts);
        assert_eq!(derived.row_ends, report.row_ends, "{title}");
        if rows.n_rows() == 1 {
            assert_eq!(derived.first_row, report.row_ends[0], "{title}");
        }
    }
    (out, report.row_ends)
}

fn check(config: &HwConfig, lengths: &[u32], n_rows: usize) {
    let plain = Engine::describe(config);
    let cases = cases(&plain, lengths, n_rows);
    let simulator = Simulator::new(&plain);
    let expected: Vec<Vec<i32>> =
        cases.iter().map(|case| run(&plain, &simulator, case, &mut Stall::none()).0).collect();
    let mut n_cuts = 0;
    for (stages, tree_levels) in combinations(config.lanes) {
        let cut = HwConfig { stages, tree_levels, ..config.clone() };
        let engine = Engine::describe(&cut);
        let simulator = Simulator::new(&engine);
        // A third of the cases each, another third for the next combination.
        let third = cases.iter().zip(&expected).skip(n_cuts as usize % 3).step_by(3);
        for (case, expected) in third {
            for mut stall in [Stall::none(), Stall::random(0.3, n_cuts)] {
                let (got, _) = run(&engine, &simulator, case, &mut stall);
                assert!(got == *expected, "{}: {:?} changes a code", case.title(), engine.cuts);
            }
        }
        n_cuts += 1;
    }
    assert!(n_cuts >= 64, "{n_cuts}");
}

#[test]
fn tiny_stays_the_same() {
    check(&shipped("tiny"), &[1, 2, 3, 4, 5, 17, 64], 3);
}

#[test]
fn edge_stays_the_same() {
    check(&shipped("edge"), &[1, 8, 9, 23, 31, 57, 128, 300], 3);
}

#[test]
fn stored_exponentials_and_wide_words_stay_the_same() {
    let config = HwConfig { lanes: 4, n_max: 512, ..shipped("edge16") };
    check(&config, &[1, 4, 11, 37, 300], 2);
}

#[test]
fn three_lanes_stay_the_same() {
    check(&HwConfig { lanes: 3, n_max: 300, ..shipped("edge") }, &[1, 3, 5, 29, 300], 1);
}

/// In both simulators of Verilog, with pauses, resets in mid-row and rows of a wrong length.
#[test]
fn printed_text_agrees() {
    if !have(&["iverilog", "vvp", "verilator"]) {
        return;
    }
    use Stage::{Leaf, Load, Operands, Output, Product, Scalar};
    let cut = [
        ("tiny", vec![Operands], 0),
        ("tiny", vec![Load, Product, Output], 0),
        ("edge", vec![Load, Operands, Product, Leaf, Output, Scalar], 1),
        ("edge", vec![Product, Leaf], 2),
        ("edge16", vec![Operands, Product, Output], 1),
        ("server", vec![Operands, Product, Leaf, Output, Scalar], 2),
    ];
    for (k, (name, stages, tree_levels)) in cut.into_iter().enumerate() {
        let engine = Engine::describe(&HwConfig { stages, tree_levels, ..shipped(name) });
        let options = Options {
            rows: if name == "tiny" { 18 } else { 6 },
            stall: 0.3,
            seed: 11,
            dialect: [Dialect::SystemVerilog, Dialect::Verilog2005][k % 2],
            backends: vec![Backend::Icarus, Backend::Verilator],
            checks_intervals: true,
        };
        let dir = tempfile::tempdir().expect("a folder");
        let report = verify(&engine, &options, dir.path()).expect("it runs");
        assert_eq!(report.first, None, "{name} {:?}", engine.cuts);
        assert!(report.is_clean() && report.counts[0].cycles > 1000, "{report:?}");
    }
}

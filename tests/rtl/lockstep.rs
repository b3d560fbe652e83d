//! Shipped configurations, cycle by cycle in Icarus and Verilator, with pauses, resets and wrong rows.
use crate::common::{DIALECTS, have};
use mive::config;
use mive::engine::Engine;
use mive::rtl::verilog::Dialect;
use mive::simulate::Simulator;
use mive::tools::lockstep::{Backend, Compiled};
use mive::tools::verify::{Options, record, verify};
use std::path::Path;

const BOTH: [Backend; 2] = [Backend::Icarus, Backend::Verilator];

fn engine(name: &str) -> Engine {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("hw_configs/{name}.toml"));
    Engine::describe(&config::load(&path).expect("a shipped configuration"))
}

fn options(rows: usize, dialect: Dialect, backends: &[Backend]) -> Options {
    Options {
        rows,
        stall: 0.3,
        seed: 7,
        dialect,
        backends: backends.to_vec(),
        checks_intervals: true,
    }
}

fn clean(name: &str, rows: usize, dialect: Dialect, backends: &[Backend]) {
    if !have(&["iverilog", "vvp", "verilator"]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let report =
        verify(&engine(name), &options(rows, dialect, backends), dir.path()).expect("it runs");
    eprintln!("{name} {dialect:?}, {} cases\n{}", report.cases, report.table());
    assert_eq!(report.first, None);
    assert!(report.is_clean() && report.cases > 4, "{report:?}");
    assert!(report.counts[0].cycles > 1000, "{report:?}");
}

#[test]
fn tiny_agrees() {
    for dialect in DIALECTS {
        clean("tiny", 30, dialect, &BOTH);
    }
}

#[test]
fn edge_agrees() {
    for dialect in DIALECTS {
        clean("edge", 24, dialect, &BOTH);
    }
}

#[test]
fn edge16_agrees() {
    clean("edge16", 6, Dialect::SystemVerilog, &BOTH);
}

#[test]
fn long_agrees() {
    clean("long", 9, Dialect::SystemVerilog, &BOTH);
}

#[test]
fn server_agrees() {
    clean("server", 6, Dialect::SystemVerilog, &BOTH);
}

#[test]
fn a_wrong_bit_is_reported() {
    if !have(&["iverilog", "vvp", "verilator"]) {
        return;
    }
    let engine = engine("tiny");
    let simulator = Simulator::new(&engine);
    let o = options(3, Dialect::SystemVerilog, &BOTH);
    let mut recorded = record(&engine, &simulator, &o);
    let layout = recorded.record.layout.clone();
    let data = layout.outputs.iter().find(|w| w.name == "m_axis_tdata").expect("the data");
    let at = layout.outputs.iter().position(|w| w.name == "m_axis_tdata").expect("the data");
    let mask = layout.mask_low + at as u32;
    let beat = (0..recorded.record.cycles()).find(|&c| recorded.record.field(c, mask, 1) == 1);
    let cycle = beat.expect("a beat is offered");
    recorded.record.flip(cycle, data.low + 2);
    for backend in BOTH {
        let dir = tempfile::tempdir().expect("a folder");
        let compiled = Compiled::new(&engine, o.dialect, backend, dir.path()).expect("it compiles");
        let verdict = compiled.play(&recorded.record).expect("it runs");
        assert_eq!(verdict.mismatches, 1, "{backend:?}");
        let first = verdict.first.expect("a difference");
        assert_eq!((first.cycle, first.port.as_str()), (cycle, "m_axis_tdata"), "{backend:?}");
    }
}

//! Row banks of latches and of macros: printed text that is clean and does what registers do.
use crate::common::{DIALECTS, have, lint, lint_but, quiet, write_all};
use mive::config::{BufferKind, HwConfig};
use mive::emit;
use mive::engine::Engine;
use mive::rtl::verilog::Dialect;
use mive::tools::lockstep::Backend;
use mive::tools::verify::{Options, verify};
use std::process::Command;

fn engine(kind: BufferKind) -> Engine {
    Engine::describe(&HwConfig {
        name: "banks".into(),
        lanes: 2,
        n_max: 96,
        buffer_kind: kind,
        ..HwConfig::defaults()
    })
}

#[test]
fn banks_are_clean() {
    if !have(&["verilator", "iverilog", "yosys"]) {
        return;
    }
    for dialect in DIALECTS {
        for kind in BufferKind::ALL {
            let dir = tempfile::tempdir().expect("a folder");
            let engine = engine(*kind);
            let files = write_all(dir.path(), &engine.top, dialect);
            match kind {
                // Latches stand in the one module that is named after them, and are found there.
                BufferKind::Latches => {
                    lint_but(&files, "banks", dialect, " *ram_1r1w_latch*/* %d");
                    let is_sv = dialect == Dialect::SystemVerilog;
                    let read = if is_sv { "read_verilog -sv" } else { "read_verilog" };
                    let list: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
                    let script = format!(
                        "{read} {}; hierarchy -top mive_banks; proc; select -assert-any t:$dlatch",
                        list.join(" ")
                    );
                    quiet(Command::new("yosys").args(["-q", "-p", &script]), false);
                }
                _ => lint(&files, "banks", dialect),
            }
        }
    }
}

#[test]
fn banks_agree() {
    if !have(&["iverilog", "vvp", "verilator"]) {
        return;
    }
    for (kind, dialect) in [
        (BufferKind::Latches, Dialect::SystemVerilog),
        (BufferKind::Latches, Dialect::Verilog2005),
        (BufferKind::Macro, Dialect::SystemVerilog),
    ] {
        let options = Options {
            rows: 6,
            stall: 0.3,
            seed: 5,
            dialect,
            backends: vec![Backend::Icarus, Backend::Verilator],
            checks_intervals: false,
        };
        let dir = tempfile::tempdir().expect("a folder");
        let report = verify(&engine(kind), &options, dir.path()).expect("it runs");
        assert_eq!(report.first, None, "{kind:?} {dialect:?}");
        assert!(report.is_clean() && report.counts[0].cycles > 1000, "{report:?}");
    }
}

/// The folder's own script passes, and says where the banks are.
#[test]
fn folders_name_their_banks() {
    for (kind, word) in
        [(BufferKind::Latches, "ram_1r1w_latch"), (BufferKind::Macro, "ram_1r1w_macro")]
    {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().join("rtl_banks");
        emit::write(&folder, &engine(kind), &emit::Options::default()).expect("it is written");
        let readme = std::fs::read_to_string(folder.join("README.txt")).expect("a text");
        assert!(readme.contains(word), "{readme}");
        assert!(folder.join(format!("rtl/mive_{word}.sv")).is_file());
        if have(&["yosys"]) {
            quiet(Command::new("yosys").current_dir(&folder).args(["-q", "-s", "synth.ys"]), true);
        }
    }
}

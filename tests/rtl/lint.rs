//! Every shipped configuration in both dialects, through three tools without a waiver.
use crate::common::{DIALECTS, have, lint, quiet, write_all};
use mive::config;
use mive::engine::Engine;
use mive::rtl::verilog::Dialect;
use std::path::{Path, PathBuf};
use std::process::Command;

fn configurations() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("hw_configs");
    let entries = std::fs::read_dir(folder).expect("hw_configs is there");
    let mut all: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    all.sort();
    assert!(all.len() >= 5, "{} configurations", all.len());
    all
}

#[test]
fn every_configuration_is_clean() {
    if !have(&["verilator", "iverilog", "yosys"]) {
        return;
    }
    for path in configurations() {
        let engine = Engine::describe(&config::load(&path).expect("a shipped configuration"));
        for dialect in DIALECTS {
            let dir = tempfile::tempdir().expect("a folder");
            let files = write_all(dir.path(), &engine.top, dialect);
            lint(&files, &engine.top.name, dialect);
            memories_are_only_in_the_wrapper(&files, &engine.top.name, dialect);
        }
    }
}

/// Yosys must infer memories nowhere but in the module that a macro replaces.
fn memories_are_only_in_the_wrapper(files: &[PathBuf], top: &str, dialect: Dialect) {
    let read = if dialect == Dialect::SystemVerilog { "read_verilog -sv" } else { "read_verilog" };
    let list: Vec<String> = files.iter().map(|f| format!("\"{}\"", f.display())).collect();
    let script = format!(
        "{read} {}; hierarchy -check -top mive_{top}; proc -norom; memory_collect; \
         select -assert-any t:$mem_v2; select -assert-none t:$mem_v2 *ram_1r1w*/* %d",
        list.join(" ")
    );
    quiet(Command::new("yosys").args(["-q", "-p", &script]), false);
}

//! Area of every shipped configuration by block: `MIVE_LIBERTY=DIR cargo run --release --example areas` writes
//! golden/area.csv.
//!
//! Yosys with sky130hd, in the flow with full adders and in the plain one; hierarchy kept, memories apart.
//! Takes some minutes.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use mive::config;
use mive::engine::Engine;
use mive::estimate::blocks;
use mive::tech::{Flow, Tech};
use mive::tools::library::LibraryFiles;
use mive::tools::synthesis::Target;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tech = Tech::shipped("sky130hd")?;
    let unit = tech.ge_um2().ok_or("an ASIC technology")?;
    let library = LibraryFiles::find(&tech)?;
    let mut text = "config,tech,flow,block,copies,ge\n".to_string();
    for name in ["tiny", "edge", "edge_fast", "edge16", "long", "server"] {
        let engine =
            Engine::describe(&config::load(&root.join(format!("hw_configs/{name}.toml")))?);
        let copies: BTreeMap<String, u64> =
            blocks(&engine).iter().map(|b| (b.name.clone(), b.copies)).collect();
        for flow in [Flow::Area, Flow::Plain] {
            eprintln!("{name}, {} flow", flow.name());
            let folder = tempfile::tempdir()?;
            let target = Target::new(&tech, flow, library.as_ref())?;
            let mut core = 0.0;
            for block in target.measure(&engine.top, folder.path())? {
                let copies = copies.get(&block.block).copied().unwrap_or(1);
                let ge = copies as f64 * block.area / unit;
                core += if block.block == "shell" { 0.0 } else { ge };
                writeln!(text, "{name},sky130hd,{},{},{copies},{ge:.0}", flow.name(), block.block)?;
            }
            writeln!(text, "{name},sky130hd,{},whole_core,1,{core:.0}", flow.name())?;
        }
    }
    std::fs::write(root.join("golden/area.csv"), text)?;
    println!("golden/area.csv");
    Ok(())
}

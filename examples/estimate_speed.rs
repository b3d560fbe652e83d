//! How much faster an estimate is than the synthesis that it stands for: writes golden/estimate_speed.csv.
//!
//! `MIVE_LIBERTY=DIR cargo run --release --example estimate_speed`. One run of Yosys for each configuration, in
//! the area flow of sky130hd on one core; the estimate is the fastest of many, since the machine may be busy
//! with other things. *cold* is the first estimate of a process, with the tables to fit and every block to
//! count; *described* is one with tables and blocks known, of an engine that is described anew; *warm* is one of a configuration whose blocks are known.
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use mive::config;
use mive::engine::Engine;
use mive::estimate::{area, blocks, blocks_of};
use mive::tech::{Flow, Tech};
use mive::tools::library::LibraryFiles;
use mive::tools::synthesis::Target;

/// Times of which the fastest counts.
const TRIES: usize = 2000;

/// Two digits, so that a figure moves only when something changed.
fn rounded(ratio: f64) -> f64 {
    let unit = 10f64.powf(ratio.log10().floor() - 1.0);
    (ratio / unit).round() * unit
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tech = Tech::shipped("sky130hd")?;
    let model = tech.area_model(Some(Flow::Area)).ok_or("costs of the area flow")?;
    let library = LibraryFiles::find(&tech)?;
    let target = Target::new(&tech, Flow::Area, library.as_ref())?;
    let mut text = "config,estimate,times_faster_than_yosys\n".to_string();
    for name in ["tiny", "edge", "edge16", "server"] {
        let config = config::load(&root.join(format!("hw_configs/{name}.toml")))?;
        let start = Instant::now();
        let cold_area = area(&blocks_of(&config), model);
        let cold = start.elapsed();
        let mut warm = Duration::MAX;
        for _ in 0..TRIES {
            let start = Instant::now();
            let again = area(&blocks_of(&config), model);
            warm = warm.min(start.elapsed());
            assert_eq!(again, cold_area);
        }
        let mut described = Duration::MAX;
        for _ in 0..TRIES / 20 {
            let start = Instant::now();
            let again = area(&blocks(&Engine::describe(&config)), model);
            described = described.min(start.elapsed());
            assert_eq!(again, cold_area);
        }
        let engine = Engine::describe(&config);
        let folder = tempfile::tempdir()?;
        let start = Instant::now();
        target.measure(&engine.top, folder.path())?;
        let synthesis = start.elapsed();
        for (state, time) in [("cold", cold), ("described", described), ("warm", warm)] {
            let ratio = rounded(synthesis.as_secs_f64() / time.as_secs_f64());
            writeln!(text, "{name},{state},{ratio}")?;
        }
        println!(
            "{name}: warm {warm:?}, described {described:?}, cold {cold:?}, yosys {synthesis:?}"
        );
    }
    std::fs::write(root.join("golden/estimate_speed.csv"), text)?;
    Ok(())
}

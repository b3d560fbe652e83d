//! The estimate of area against what Yosys measured: the committed runs, the error table that follows from
//! them and from the costs, and engines measured again.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mive::config::HwConfig;
use mive::engine::Engine;
use mive::estimate::{area, blocks, blocks_of};
use mive::num::IntFormat;
use mive::tech::{AreaModel, Flow, SHIPPED, Tech};
use mive::tools::YOSYS;
use mive::tools::calibrate::errors;
use mive::tools::library::{FOLDERS, LibraryFiles};
use mive::tools::samples::{self, HELD_OUT, Sample};
use mive::tools::synthesis::{Target, text_hash};
use proptest::prelude::*;
use rayon::prelude::*;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every built-in technology with each of its models.
fn models() -> Vec<(Tech, AreaModel)> {
    let techs = SHIPPED.iter().map(|(name, _)| Tech::shipped(name).expect("a built-in technology"));
    techs.flat_map(|t| t.area.clone().into_iter().map(move |m| (t.clone(), m))).collect()
}

fn runs(tech: &Tech, flow: Flow) -> BTreeMap<u64, Sample> {
    let path = root().join(format!("golden/runs/{}_{}.csv", tech.name, flow.name()));
    let samples = samples::read(&path).expect("committed runs");
    assert!(!samples.is_empty(), "{} has no line", path.display());
    samples
}

const REPEAT: &str = "measure them again with `mive calibrate --tech T --runs golden/runs --out tech`, \
                      then MIVE_BLESS=1 cargo test --test area";

/// The committed runs are of the engines that this program describes.
#[test]
fn the_runs_are_of_these_engines() {
    let mut texts: BTreeMap<u64, String> = BTreeMap::new();
    for (tech, model) in models() {
        for sample in runs(&tech, model.flow).into_values() {
            let earlier = texts.entry(sample.seed).or_insert(sample.rtl.clone());
            assert_eq!(*earlier, sample.rtl, "{}, seed {}: {REPEAT}", tech.name, sample.seed);
        }
    }
    let all: Vec<(u64, String)> = texts.into_iter().collect();
    assert!(all.len() > 40);
    let changed: Vec<u64> = all
        .par_iter()
        .filter(|(seed, rtl)| {
            let config = HwConfig::random(*seed, samples::MOST_LANES);
            text_hash(&Engine::describe(&config).top) != *rtl
        })
        .map(|(seed, _)| *seed)
        .collect();
    assert!(changed.is_empty(), "seeds {changed:?} are other engines now: {REPEAT}");
}

/// Held-out configurations, and the error in percent of the core's area (mean and worst) that is allowed.
fn target(tech: &Tech, flow: Flow) -> (u32, f64, f64) {
    match (tech.name.as_str(), flow) {
        ("sky130hd", Flow::Area) => (200, 3.0, 8.0),
        (_, Flow::Fpga) => (40, 8.0, f64::INFINITY),
        _ => (40, 5.0, 12.0),
    }
}

/// golden/area_accuracy.csv is what the runs and the costs give; MIVE_BLESS=1 writes it.
#[test]
fn the_error_table_is_as_recorded_and_meets_its_targets() {
    let mut text =
        "tech,flow,block,configurations,mean_percent,worst_percent,bias_percent\n".to_string();
    for (tech, model) in models() {
        let samples = runs(&tech, model.flow);
        let held_out: Vec<&Sample> = samples.values().filter(|s| s.seed >= HELD_OUT).collect();
        let table = errors(&held_out, &model, tech.ge_um2().unwrap_or(1.0));
        for (block, e) in &table {
            let _ = writeln!(
                text,
                "{},{},{block},{},{:.2},{:.2},{:.2}",
                tech.name,
                model.flow.name(),
                e.count,
                e.mean,
                e.worst,
                e.bias
            );
        }
        let (count, mean, worst) = target(&tech, model.flow);
        let core = table["whole_core"];
        let what = format!("{} {}", tech.name, model.flow.name());
        assert!(core.count >= count, "{what}: {} configurations, {count} wanted", core.count);
        assert!(core.mean <= mean && core.worst <= worst, "{what}: {core:?}");
        let said = model.core_error_percent;
        let is_said = (said[0] - core.mean).abs() < 0.006 && (said[1] - core.worst).abs() < 0.006;
        assert!(is_said, "{what}: the technology says {said:?}, the runs give {core:?}");
    }
    let path = root().join("golden/area_accuracy.csv");
    if std::env::var_os("MIVE_BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&path, &text).expect("golden/area_accuracy.csv");
    }
    let recorded = std::fs::read_to_string(&path).expect("golden/area_accuracy.csv");
    assert_eq!(recorded, text, "MIVE_BLESS=1 records the table anew");
}

/// The library of a technology, where it is on this machine.
fn library(tech: &Tech) -> Option<LibraryFiles> {
    if std::env::var_os(FOLDERS).is_none() {
        // Safe: the tests of this file read the variable and nothing else sets it.
        unsafe { std::env::set_var(FOLDERS, root().join("../shared/tech")) };
    }
    LibraryFiles::find(tech).ok().flatten()
}

/// Measures the three smallest held-out engines again.
fn measure_again(name: &str, must: bool) {
    let tech = Tech::shipped(name).expect("a built-in technology");
    let is_required = std::env::var("MIVE_REQUIRE_TOOLS").is_ok_and(|v| v == "1");
    let library = library(&tech);
    if YOSYS.find().is_err() || library.is_none() {
        assert!(!(is_required && must), "yosys or the library of {name} is not there");
        eprintln!("SKIPPED: yosys or the library of {name} is not there; nothing was measured");
        return;
    }
    let target = Target::new(&tech, Flow::Area, library.as_ref()).expect("a target");
    let all = runs(&tech, Flow::Area);
    let mut held_out: Vec<&Sample> = all.values().filter(|s| s.seed >= HELD_OUT).collect();
    let size = |s: &Sample| s.blocks.values().sum::<f64>();
    held_out.sort_by(|a, b| size(a).total_cmp(&size(b)));
    for sample in &held_out[..3] {
        let again = samples::measure(sample.seed, &target).expect("a measurement");
        assert_eq!(&again, *sample, "{name}: {REPEAT}");
    }
}

#[test]
fn three_engines_measure_the_same_again_in_osu018() {
    measure_again("osu018", true);
}

#[test]
fn three_engines_measure_the_same_again_in_sky130hd() {
    measure_again("sky130hd", false);
}

/// Estimated area of the whole engine in the yardstick.
fn estimated(config: &HwConfig) -> f64 {
    let tech = Tech::shipped("sky130hd").expect("the yardstick");
    let model = tech.area_model(None).expect("costs");
    let area = area(&blocks_of(config), model);
    area.core() + area.shell()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// One more lane or a wider word never shrinks the engine. (A longer row may: the accumulator, at most 60
    /// bits wide, can lose fraction bits to it.)
    #[test]
    fn more_is_never_smaller(seed in any::<u64>()) {
        let config = HwConfig::random(seed, 31);
        let before = estimated(&config);
        let wide = |formats: &[IntFormat]| {
            formats.iter().map(|f| IntFormat { bits: 16, ..*f }).fold(vec![], |mut all, f| {
                if !all.contains(&f) {
                    all.push(f);
                }
                all
            })
        };
        let larger = [
            HwConfig { lanes: config.lanes + 1, ..config.clone() },
            HwConfig { multiplier_bits: config.multiplier_bits + 1, ..config.clone() },
            HwConfig { input_formats: wide(&config.input_formats), element_bits: 16, ..config.clone() },
            HwConfig {
                output_formats: wide(&config.output_formats),
                multiplier_bits: config.multiplier_bits.max(19),
                ..config.clone()
            },
        ];
        for more in larger {
            if more.validate().is_ok() {
                let after = estimated(&more);
                prop_assert!(after >= before, "{before} GE, then {after} GE\n{config:?}\n{more:?}");
            }
        }
    }
}

/// An estimate of an engine whose blocks are known takes microseconds.
#[test]
fn a_warm_estimate_is_fast() {
    let tech = Tech::shipped("sky130hd").expect("the yardstick");
    let model = tech.area_model(None).expect("costs");
    let config = HwConfig::defaults();
    let one = || area(&blocks_of(&config), model).core();
    let cold = one();
    // The fastest of many: the machine may be busy with other things.
    let fastest = (0..200)
        .map(|_| {
            let start = std::time::Instant::now();
            assert_eq!(one(), cold);
            start.elapsed()
        })
        .min()
        .expect("a run");
    assert!(fastest.as_micros() <= 100, "{fastest:?}");
}

/// What the process keeps is what it would count anew.
#[test]
fn known_blocks_are_those_of_the_engine() {
    for seed in 0..12 {
        let config = HwConfig::random(seed, 32);
        let fresh = blocks(&Engine::describe(&config));
        assert_eq!(blocks_of(&config)[..], fresh[..]);
        let renamed = HwConfig { name: "another".into(), ..config };
        assert_eq!(blocks_of(&renamed)[..], fresh[..], "the name has no part in it");
    }
}

#[test]
fn every_model_has_a_cost_for_every_block() {
    let engine = Engine::describe(&HwConfig::defaults());
    for (tech, model) in models() {
        for block in blocks(&engine) {
            assert!(model.costs.contains_key(&block.name), "{}: {}", tech.name, block.name);
        }
    }
    let paths: Vec<PathBuf> = std::fs::read_dir(root().join("tech"))
        .expect("the folder of technologies")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    assert_eq!(paths.len(), SHIPPED.len(), "a technology file that is not built in");
}

//! Energy: the toggles are those of the netlist's own words, and `mive estimate` says what it knows.
use std::path::Path;
use std::process::{Command, Output};

use mive::config;
use mive::engine::Engine;
use mive::estimate::activity::{Bits, Event, Phase, activity, walk};
use mive::gates::blast;
use mive::gates::graph::WordKind;
use mive::program::library;
use mive::report::activations::Activations;
use mive::report::{Request, workload};
use mive::simulate::Simulator;
use mive::tech::power::Cells;
use mive::tech::{Flow, SHIPPED, Tech};
use mive::tools::YOSYS;
use mive::tools::energy::judge;
use mive::tools::energy_samples::{EnergySample, EnergySamples, measure, path, read, work};
use mive::tools::library::LibraryFiles;
use mive::tools::meter::{MeterError, meter};
use mive::tools::netlist::Netlist;
use mive::tools::samples::HELD_OUT;
use mive::tools::synthesis::Target;
use serde_json::Value;

fn engine(name: &str) -> Engine {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("hw_configs/{name}.toml"));
    Engine::describe(&config::load(&path).expect("a shipped configuration"))
}

/// Toggles of flip-flops as the stepper's words show them in every cycle, against those of the graph, which
/// steps its flip-flops itself.
#[test]
fn state_toggles_are_those_of_the_stepper() {
    for (name, op, n) in [("tiny", "softmax", 64), ("edge", "layernorm_affine", 100)] {
        let engine = engine(name);
        let program = library::shipped(op).expect("a shipped program");
        let rows = Activations::new(&program, n).expect("rows");
        let work = workload(&rows.request, &engine, 64).expect("work");
        let counted = activity(&engine, &work);
        let simulator = Simulator::new(&engine);
        let graph = blast::flat(&engine.top);
        let mut is_live: Vec<Vec<bool>> =
            graph.words.iter().map(|w| vec![false; (w.width * w.lanes) as usize]).collect();
        for r in &graph.registers {
            is_live[r.place.word as usize][r.place.bit as usize] = true;
        }
        let words: Vec<(Bits, &Vec<bool>)> = (graph.words.iter().zip(&is_live))
            .filter(|(w, live)| w.kind == WordKind::State && live.contains(&true))
            .map(|(w, live)| {
                let block = &graph.blocks[w.block as usize];
                let path = match block.path.as_str() {
                    "" => w.name.clone(),
                    path => format!("{path}.{}", w.name),
                };
                let first = block.copy * w.lanes;
                (Bits::new(&simulator, &path, w.width, w.lanes, first), live)
            })
            .collect();
        let (mut before, mut toggles, mut cycles) = (vec![], 0u64, 0u64);
        walk(&simulator, &work, &mut |phase, stepper| {
            if !matches!(phase, Phase::Before | Phase::Counted) {
                return;
            }
            let now: Vec<u64> = words
                .iter()
                .flat_map(|(bits, live)| {
                    let bits = bits.read(stepper);
                    bits.into_iter().zip(*live).filter(|(_, live)| **live).map(|(b, _)| b)
                })
                .collect();
            if phase == Phase::Counted {
                cycles += 1;
                let pairs = now.iter().zip(&before);
                toggles +=
                    pairs.map(|(a, b): (&u64, &u64)| u64::from((a ^ b).count_ones())).sum::<u64>();
            }
            before = now;
        });
        assert_eq!(counted.total()[Event::State], toggles, "{name} {op}");
        assert!(toggles > 10_000, "{toggles}");
        assert_eq!(counted.rows, 16);
        assert_eq!(counted.cycles_per_row, cycles as f64 / 2.0);
        let bits = graph.registers.len() as u64;
        assert_eq!(counted.total()[Event::Clock], bits * cycles * 8);
    }
}

/// The distance of rows is the one that the closed form gives.
#[test]
fn the_counted_cycles_are_those_of_the_steady_state() {
    for (op, n, per_row) in [("softmax", 768, 384.0), ("layernorm_affine", 768, 288.0)] {
        let engine = engine("edge");
        let program = library::shipped(op).expect("a shipped program");
        let rows = Activations::new(&program, n).expect("rows");
        let work = workload(&rows.request, &engine, 64).expect("work");
        assert_eq!(activity(&engine, &work).cycles_per_row, per_row, "{op}");
    }
}

/// Rows of one number move less than rows that vary.
#[test]
fn quiet_rows_toggle_less() {
    let engine = engine("tiny");
    let folder = tempfile::tempdir().expect("a folder");
    let mut toggles = vec![];
    for spread in [0.0, 1.0] {
        let path = folder.path().join(format!("rows_{spread}.npy"));
        let values: Vec<f64> = (0..4 * 64).map(|k| 1.0 + spread * f64::from(k * 37 % 64)).collect();
        mive::tensor::write_npy_f64(&path, &[4, 64], &values).expect("a tensor");
        let request = Request { operator: "rmsnorm".into(), input: path, ..Request::default() };
        let work = workload(&request, &engine, 64).expect("work");
        toggles.push(activity(&engine, &work).blocks["lane"][Event::And]);
    }
    assert!(toggles[0] * 2 < toggles[1], "{toggles:?}");
}

fn mive(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mive"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("mive starts")
}

fn good(arguments: &[&str]) -> String {
    let output = mive(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

const SOFTMAX: [&str; 6] = ["estimate", "hw_configs/tiny.toml", "--op", "softmax", "--n", "64"];

#[test]
fn the_json_has_energy_and_power() {
    let more = ["--tech", "ihp-sg13g2", "--clock-ps", "5000", "--json"];
    let all: Value = serde_json::from_str(&good(&[&SOFTMAX[..], &more].concat())).expect("JSON");
    let energy = &all["energy"];
    let number = |v: &Value| v.as_f64().unwrap_or_else(|| panic!("{v} in {all}"));
    let row = number(&energy["per_row_pj"]);
    assert!(row > 0.0 && number(&energy["clock_per_row_pj"]) < row);
    assert!((number(&energy["per_element_pj"]) - row / 64.0).abs() < 1e-9 * row);
    let blocks = energy["blocks_per_row_pj"].as_object().expect("blocks");
    let sum: f64 = blocks.values().map(number).sum();
    assert!((sum - row).abs() < 1e-6 * row, "{sum} {row}");
    let cycles = number(&all["cycles"]["per_row"]);
    assert_eq!(number(&energy["cycles_per_row"]), cycles);
    let leakage = number(&energy["leakage_uw"]) * 1e-3;
    let power = row / (cycles * 5000.0) * 1e3 + leakage;
    assert!((number(&all["power_mw"]) - power).abs() < 1e-9 * power);
    for name in ["per_row_pj", "per_element_pj"] {
        assert!(energy.get(format!("{name}_error_percent")).is_some(), "{energy}");
    }
    assert!(all.get("power_mw_error_percent").is_some());
}

#[test]
fn power_needs_a_clock_and_energy_a_table() {
    let more = ["--tech", "ihp-sg13g2", "--json"];
    let all: Value = serde_json::from_str(&good(&[&SOFTMAX[..], &more].concat())).expect("JSON");
    assert!(all["power_mw"].is_null() && all["energy"]["per_row_pj"].is_f64(), "{all}");
    let text = good(&[&SOFTMAX[..], &["--tech", "ihp-sg13g2"]].concat());
    for part in
        ["energy of a row", "of an element", "give --clock-ps", "8 rows of data/softmax_x.npy"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.lines().all(|l| l.chars().count() <= 110), "{text}");
    let text = good(&[&SOFTMAX[..], &["--tech", "osu018"]].concat());
    assert!(text.contains("energy: none, as osu018 has no table of energies"), "{text}");
    let all: Value =
        serde_json::from_str(&good(&[&SOFTMAX[..], &["--tech", "osu018", "--json"]].concat()))
            .expect("JSON");
    assert!(all["energy"].is_null() && all["power_mw"].is_null());
    assert!(all["energy_missing"].as_str().is_some_and(|s| s.contains("osu018")), "{all}");
}

#[test]
fn rows_of_another_length_are_refused() {
    let more = ["--tech", "ihp-sg13g2", "--input", "data/softmax_x.npy"];
    let output = mive(&[&SOFTMAX[..], &more].concat());
    let errors = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("rows of 88") && errors.contains("--n 88"), "{errors}");
    let output = mive(&["estimate", "hw_configs/tiny.toml", "--input", "data/softmax_x.npy"]);
    assert_eq!(output.status.code(), Some(2));
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn runs(tech: &Tech) -> EnergySamples {
    read(&path(&root().join("golden/runs"), &tech.name)).expect("golden/runs")
}

/// The error of every technology's energies over the engines that had no part in the fit equals
/// golden/energy_accuracy.csv; MIVE_BLESS=1 writes it there.
#[test]
fn the_accuracy_is_the_blessed_one_and_meets_the_target() {
    let mut text = "# Energy estimated from the netlist against the synthesised netlist, cell by cell, on the same \
                    rows: percent, over engines that were not fitted to.\ntech,part,count,mean,worst,bias\n"
        .to_string();
    for (name, _) in SHIPPED {
        let tech = Tech::shipped(name).expect("a built-in technology");
        let (Some(model), Some(unit)) = (&tech.energy, tech.ge_um2()) else { continue };
        let table = judge(&runs(&tech), model, unit).expect("rows");
        for (part, e) in &table {
            let (mean, worst, bias) = (e.mean, e.worst, e.bias);
            text += &format!("{name},{part},{},{mean:.2},{worst:.2},{bias:+.2}\n", e.count);
        }
        let row = table["row"];
        assert!(row.count >= 24, "{name}: {} held-out rows", row.count);
        assert!(row.mean <= 15.0, "{name}: {row:?}");
        assert_eq!(
            row.count, model.held_out,
            "{name}: engines have another text than in golden/runs"
        );
        let [mean, worst] = model.error_percent.expect("an error");
        assert!(
            (mean - row.mean).abs() < 0.01 && (worst - row.worst).abs() < 0.01,
            "{name}: {row:?}"
        );
    }
    let golden = root().join("golden/energy_accuracy.csv");
    if std::env::var_os("MIVE_BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&golden, &text).expect("golden/energy_accuracy.csv");
    }
    let held = std::fs::read_to_string(golden).expect("golden/energy_accuracy.csv");
    assert_eq!(held, text, "another result than golden/energy_accuracy.csv; MIVE_BLESS=1 takes it");
}

/// The cost of a clock, most of the energy, is that of the library's flip-flop.
#[test]
fn fitted_costs_are_near_those_of_cells() {
    let tech = Tech::shipped("ihp-sg13g2").expect("a built-in technology");
    let costs = tech.energy.expect("energies").costs_fj;
    // The clock of a flip-flop, both edges and its pin: sg13g2_dfrbpq_1 by hand from its Liberty tables at a slew
    // of 0.05 ns: (11.04 + 10.81) / 2 + (21.10 + 10.70) / 2 - 0.2 + 2.77 * 1.44 fJ.
    assert!((costs["clock"] / 30.6 - 1.0).abs() < 0.1, "{costs:?}");
    assert_eq!(costs.len(), Event::ALL.len());
    assert!(costs.values().all(|c| (0.0..100.0).contains(c)), "{costs:?}");
}

/// Yosys and the library, where both are.
fn ground() -> Option<(Tech, LibraryFiles)> {
    let tech = Tech::shipped("ihp-sg13g2").expect("a built-in technology");
    let shared = root().join("../shared/tech/ihp-sg13g2/sg13g2_stdcell_typ_1p20V_25C.lib.gz");
    let found = match LibraryFiles::find(&tech) {
        Ok(library) => library,
        Err(_) => LibraryFiles::read(&[shared]).ok(),
    };
    match (found, YOSYS.find()) {
        (Some(library), Ok(_)) => Some((tech, library)),
        _ => {
            eprintln!("SKIPPED: no Yosys or no Liberty file of IHP SG13G2; nothing was metered");
            None
        }
    }
}

/// A held-out engine synthesised and metered again gives what golden/runs holds.
#[test]
fn a_sample_is_metered_again() {
    let Some((tech, library)) = ground() else { return };
    let cells = Cells::of(&library.group);
    let target = Target::new(&tech, Flow::Area, Some(&library)).expect("a target");
    let samples = runs(&tech);
    let size = |s: &&EnergySample| s.blocks.values().map(|m| m.area_um2).sum::<f64>();
    let smallest =
        samples.values().filter(|s| s.seed >= HELD_OUT).min_by(|a, b| size(a).total_cmp(&size(b)));
    let smallest = smallest.expect("samples");
    let again = measure(smallest.seed, &[&smallest.program], &target, &cells).expect("a sample");
    assert_eq!((&again[0].rtl, again[0].n), (&smallest.rtl, smallest.n));
    for (block, m) in &smallest.blocks {
        let new = again[0].blocks[block];
        for (a, b) in [(m.row_pj, new.row_pj), (m.leakage_nw, new.leakage_nw)] {
            assert!((a - b).abs() <= 1e-3 * a + 1e-3, "{block}: {m:?} {new:?}");
        }
    }
}

/// The netlist that is metered computes what the simulator computes, and one with another cell does not.
#[test]
fn a_wrong_netlist_is_noticed() {
    let Some((tech, library)) = ground() else { return };
    let cells = Cells::of(&library.group);
    let target = Target::new(&tech, Flow::Area, Some(&library)).expect("a target");
    let engine = engine("tiny");
    let folder = tempfile::tempdir().expect("a folder");
    let json = target.netlist(&engine.top, folder.path()).expect("a netlist");
    let (top, prefix) = Target::names(&engine.top);
    let work = work(&engine, "rmsnorm", 16).expect("rows").expect("formats");
    let run = |json: &str| {
        let mut netlist = Netlist::read(json, (&top, &prefix), &cells).expect("a netlist");
        meter(&engine, &work, &mut netlist, cells.voltage)
    };
    let right = run(&json).expect("the same outputs");
    assert!(right.row_pj() > 100.0, "{right:?}");
    let wrong = json.replacen("sg13g2_nand2_1", "sg13g2_nor2_1", 20);
    assert_ne!(wrong, json);
    assert!(matches!(run(&wrong), Err(MeterError::Differs { .. })), "a wrong netlist passes");
}

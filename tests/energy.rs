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
    for part in ["pJ a row", "pJ an element", "give --clock-ps", "8 rows of data/softmax_x.npy"] {
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

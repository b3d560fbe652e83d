//! `mive estimate`, `mive synth` and `mive calibrate` as their users meet them.
use std::path::Path;
use std::process::{Command, Output};

use mive::tech::{SHIPPED, Tech};
use serde_json::Value;

fn mive(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mive"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("MIVE_LIBERTY", "no/such/folder")
        .output()
        .expect("mive starts")
}

fn good(arguments: &[&str]) -> String {
    let output = mive(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&good(&[arguments, &["--json"]].concat())).expect("strict JSON")
}

/// The one error of a run that must fail with status 2.
fn refusal(arguments: &[&str]) -> String {
    let output = mive(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed something");
    assert!(errors.starts_with("error: ") && errors.matches("error:").count() == 1, "{errors}");
    errors
}

/// Built-in technologies that have been calibrated.
fn calibrated() -> Vec<Tech> {
    let techs = SHIPPED.iter().map(|(name, _)| Tech::shipped(name).expect("a built-in technology"));
    techs.filter(|t| !t.area.is_empty()).collect()
}

#[test]
fn the_json_has_its_names() {
    for tech in calibrated() {
        let arguments = ["estimate", "hw_configs/edge.toml", "--tech", &tech.name];
        let all = json(&[&arguments[..], &["--op", "softmax", "--n", "768"]].concat());
        assert_eq!(all["tech"], tech.name.as_str());
        let area = &all["area"];
        let unit = if tech.device.is_some() { "luts" } else { "ge" };
        for part in ["core", "shell"] {
            let name = format!("{part}_{unit}");
            assert!(area[&name].as_f64().is_some_and(|v| v > 0.0), "{name}: {area}");
            assert!(area[format!("{name}_error_percent")].as_f64().is_some(), "{area}");
        }
        let blocks = area["blocks"].as_object().expect("blocks");
        let sum: f64 = blocks.values().filter_map(Value::as_f64).sum();
        let core = area[format!("core_{unit}")].as_f64().expect("a number");
        let shell = area[format!("shell_{unit}")].as_f64().expect("a number");
        assert!((sum - core - shell).abs() < 1e-6 * sum, "{area}");
        if let Some(one) = tech.ge_um2() {
            let um2 = area["core_um2"].as_f64().expect("a number");
            assert!((um2 - core * one).abs() < 1e-6 * um2);
        }
        let bits = area["memory_bits"].as_object().expect("memories");
        assert_eq!(bits["bank_a"].as_u64(), Some(512 * 72));
        assert_eq!(all["cycles"]["per_row"].as_f64(), Some(4.0 * 96.0));
        assert!(all["cycles"]["first_row"].as_u64().is_some_and(|c| c > 384));
    }
}

#[test]
fn the_text_states_its_source_and_its_error() {
    for tech in calibrated() {
        let text = good(&["estimate", "hw_configs/tiny.toml", "--tech", &tech.name]);
        for part in [&tech.name, "Yosys", "core", "shell", "at worst", "bank_a", "flip-flops"] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(text.lines().all(|l| l.chars().count() <= 110), "{text}");
    }
}

#[test]
fn cycles_need_an_operator_and_a_length() {
    let config = "hw_configs/edge.toml";
    assert!(json(&["estimate", config])["cycles"].is_null());
    assert!(refusal(&["estimate", config, "--op", "softmax"]).contains("--n"));
    let unknown = refusal(&["estimate", config, "--op", "softmin", "--n", "8"]);
    assert!(unknown.contains("softmin") && unknown.contains("layernorm_affine"), "{unknown}");
    let long = refusal(&["estimate", config, "--op", "softmax", "--n", "5000"]);
    assert!(long.contains("5000") && long.contains("4096"), "{long}");
    assert!(refusal(&["estimate", config, "--op", "softmax", "--n", "0"]).contains('0'));
}

#[test]
fn unknown_technologies_and_flows_are_refused() {
    let config = "hw_configs/edge.toml";
    let unknown = refusal(&["estimate", config, "--tech", "sky90"]);
    assert!(unknown.contains("sky90") && unknown.contains("sky130hd"), "{unknown}");
    let missing = refusal(&["estimate", config, "--tech", "no/tech.toml"]);
    assert!(missing.contains("no/tech.toml"), "{missing}");
    let other = refusal(&["estimate", config, "--tech", "hw_configs/edge.toml"]);
    assert!(other.contains("hw_configs/edge.toml"), "{other}");
    for arguments in
        [["synth", config, "--tech", "sky90"], ["calibrate", "--fpga", "sky130hd", "--json"]]
    {
        refusal(&arguments);
    }
}

#[test]
fn a_library_that_is_nowhere_is_named_with_a_way_out() {
    for arguments in [
        &["synth", "hw_configs/tiny.toml", "--tech", "sky130hd"][..],
        &["calibrate", "--tech", "sky130hd"][..],
    ] {
        let error = refusal(arguments);
        for part in ["sky130_fd_sc_hd__tt_025C_1v80.lib", "--liberty", "MIVE_LIBERTY"] {
            assert!(error.contains(part), "{error}");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wrong.lib");
    std::fs::write(&path, "module m;\nendmodule\n").expect("written");
    let error = refusal(&["calibrate", "--liberty", &path.to_string_lossy()]);
    assert!(error.contains("wrong.lib") && error.contains("line 1"), "{error}");
    std::fs::write(&path, "library (l) { cell (INV) { area : 1; } }\n").expect("written");
    let error = refusal(&["calibrate", "--liberty", &path.to_string_lossy()]);
    assert!(error.contains("NAND"), "{error}");
}

#[test]
fn nothing_is_left_where_a_calibration_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    std::fs::create_dir(&out).expect("a folder");
    refusal(&["calibrate", "--tech", "sky130hd", "--out", &out.to_string_lossy()]);
    assert!(std::fs::read_dir(&out).expect("the folder").next().is_none());
    let error = refusal(&["calibrate", "--tech", "ice40", "--out", "no/such/folder"]);
    assert!(error.contains("no/such/folder"), "{error}");
    assert!(refusal(&["calibrate"]).contains("--liberty"));
    assert!(!Path::new(env!("CARGO_MANIFEST_DIR")).join("no").exists());
}

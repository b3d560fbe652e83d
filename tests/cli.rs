//! The program as its users meet it: results of every operator, and one clear error for bad input.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mive::num::IntFormat;
use mive::tensor::{write_npy_f32, write_npy_int};
use serde_json::Value;

/// A folder that is removed in the end, with the built-in tensors and configurations.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn mive(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_mive"))
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .expect("mive starts")
    }

    /// Standard output of a run that must succeed.
    fn good(&self, arguments: &[&str]) -> String {
        let output = self.mive(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).to_string();
        assert!(output.status.success(), "{arguments:?}: {errors}");
        assert_eq!(errors, "", "{arguments:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.good(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).expect("strict JSON")
    }

    /// Must be refused with one error that says all of `parts`, and leave no file `y.npy`.
    fn bad(&self, arguments: &[&str], parts: &[&str]) {
        let before = files(self.0.path());
        let output = self.mive(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert_eq!(errors.matches("error:").count(), 1, "{arguments:?}: {errors}");
        assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
        for part in parts {
            assert!(errors.contains(part), "{arguments:?}: no `{part}` in {errors}");
        }
        assert_eq!(before, files(self.0.path()), "{arguments:?} leaves something behind");
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|e| e.expect("an entry").file_name().to_string_lossy().to_string())
        .collect();
    names.sort();
    names
}

fn config(name: &str) -> String {
    format!("{}/hw_configs/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

fn data(name: &str) -> String {
    format!("{}/data/{name}.npy", env!("CARGO_MANIFEST_DIR"))
}

/// Rows of a plain pattern.
fn floats(folder: &Folder, name: &str, shape: &[usize]) -> String {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) / 16.0).collect();
    let path = folder.path(name);
    write_npy_f32(&path, shape, &values).expect("a tensor");
    path.display().to_string()
}

fn number(json: &Value, name: &str) -> f64 {
    json[name].as_f64().unwrap_or_else(|| panic!("{name} in {json}"))
}

/// (configuration, operator, tensors as options and names).
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

#[test]
fn every_operator_stays_within_one_lsb() {
    let f = Folder::new();
    let (edge, edge16) = (config("edge"), config("edge16"));
    let cases: [Case<'_>; 8] = [
        (&edge16, "softmax", &[("--input", "softmax_x"), ("--keep", "softmax_keep")]),
        (&edge, "softmax", &[("--input", "softmax_x"), ("--keep", "softmax_keep")]),
        (&edge, "layernorm", &[("--input", "layernorm_x")]),
        (&edge16, "layernorm", &[("--input", "layernorm_x"), ("--gamma", "layernorm_gamma")]),
        (&edge16, "layernorm", &[("--input", "layernorm_x"), ("--beta", "layernorm_beta")]),
        (&edge, "rmsnorm", &[("--input", "rmsnorm_x")]),
        (&edge16, "rmsnorm", &[("--input", "rmsnorm_x"), ("--gamma", "rmsnorm_gamma")]),
        (&edge16, "rmsnorm", &[("--input", "layernorm_x"), ("--gamma", "layernorm_gamma")]),
    ];
    for (config, operator, tensors) in cases {
        let mut arguments = vec!["run".to_string(), config.to_string(), operator.to_string()];
        for (option, tensor) in tensors {
            arguments.extend([option.to_string(), data(tensor)]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let json = f.json(&arguments);
        assert_eq!(json["schema_version"], 1);
        assert!(number(&json, "max_error_lsb") <= 1.0, "{json}");
        assert!(number(&json, "correctly_rounded") >= 0.98, "{json}");
        assert!(number(&json, "ideal_sqnr_db") - number(&json, "sqnr_db") < 0.1, "{json}");
        assert_eq!(json["saturated"], 0);
        assert_eq!(json["rows"], 8);
        let cycles = &json["cycles"];
        assert!(number(cycles, "total") > number(cycles, "first_row"), "{json}");
        assert!(number(&json, "elements_per_cycle") <= number(&json, "elements_per_cycle_bound"));
        assert_eq!(json["gamma_scale"].is_null(), json["formats"]["gamma"].is_null());
        assert!(number(&json["unquantised"], "mean_error_lsb") < 40.0);
        assert!(f.good(&arguments).contains("quantised input, as held"));
    }
}

/// What the two-slot program cannot reach runs with a gamma of 1, and the report says so.
#[test]
fn a_norm_past_the_row_shift_runs_with_a_gamma_of_one() {
    let f = Folder::new();
    let signs: Vec<i32> = (0..2 * 400).map(|i| if i % 2 == 0 { 100 } else { -90 }).collect();
    write_npy_int(f.path("x.npy"), IntFormat::S8, &[2, 400], &signs).expect("a tensor");
    let edge = config("edge");
    let run = ["run", &edge, "layernorm", "--input", "x.npy", "--input-scale", "1", "--eps", "0"];
    let json = f.json(&run);
    assert_eq!(json["program"], "layernorm_affine");
    assert!(json["program_reason"].as_str().is_some_and(|r| r.contains("row's shift")), "{json}");
    assert!(number(&json, "max_error_lsb") <= 1.0, "{json}");
    assert!(f.good(&run).contains("with a gamma of 1"));
    let near = f.json(&[&run[..], &["--output-scale", "0.05"]].concat());
    assert_eq!((&near["program"], &near["program_reason"]), (&"layernorm".into(), &Value::Null));
}

/// Rows 2^15 apart: each operator holds as many of the row scales as it can to 1 LSB.
#[test]
fn row_scales_stay_within_one_lsb() {
    let f = Folder::new();
    for (name, largest) in [("x.npy", 20.0), ("large.npy", 30_000.0)] {
        let value = |i: usize| (i * 37 % 101) as f32 / 50.0 - 1.0;
        let row_scale = |i: usize| largest * 0.5f32.powi((i / 100) as i32);
        let x: Vec<f32> = (0..1600).map(|i| row_scale(i) * value(i)).collect();
        write_npy_f32(f.path(name), &[16, 100], &x).expect("a tensor");
        for config in ["edge", "edge16", "server"].map(config) {
            for operator in ["softmax", "layernorm", "rmsnorm"] {
                let run = ["run", &config, operator, "--input", name, "--in-format", "s8"];
                let json = f.json(&[&run[..], &["--row-scale"]].concat());
                assert!(number(&json, "max_error_lsb") <= 1.0, "{json}");
                // Scores of 30000 leave no room for parts of their scale, an epsilon of 1e-5 for most.
                let is_limited = operator == "softmax" && largest > 1e4;
                let k_max = number(&json, "row_scale_k_max");
                assert!(if is_limited { k_max == 0.0 } else { k_max >= 12.0 }, "{json}");
            }
        }
    }
}

#[test]
fn files_that_are_read_are_not_written_over() {
    let f = Folder::new();
    floats(&f, "x.npy", &[2, 16]);
    std::fs::copy(config("edge"), f.path("e.toml")).expect("a configuration");
    let program =
        std::fs::read_to_string(format!("{}/programs/rmsnorm.mive", env!("CARGO_MANIFEST_DIR")));
    std::fs::write(f.path("p.mive"), program.expect("a program")).expect("a program");
    write_npy_int(f.path("k.npy"), IntFormat::U8, &[2, 16], &[1; 32]).expect("a mask");
    #[cfg(unix)]
    std::os::unix::fs::symlink("x.npy", f.path("link.npy")).expect("a link");
    let before = std::fs::read(f.path("x.npy")).expect("a tensor");
    let x = ["run", "e.toml", "softmax", "--input", "x.npy", "--keep", "k.npy"];
    let absolute = f.path("x.npy").display().to_string();
    for (option, file, taken) in [
        ("--output", "x.npy", "--input"),
        ("--output", "./x.npy", "--input"),
        ("--output", &absolute, "--input"),
        #[cfg(unix)]
        ("--output", "link.npy", "--input"),
        ("--output", "k.npy", "--keep"),
        ("--output", "e.toml", "the configuration"),
        ("--vcd", "x.npy", "--input"),
        ("--trace", "e.toml", "the configuration"),
    ] {
        f.bad(&[&x[..], &[option, file]].concat(), &[option, file, taken, "give another name"]);
    }
    let own = ["run", "e.toml", "p.mive", "--input", "x.npy", "--output", "p.mive"];
    f.bad(&own, &["--output", "the program"]);
    f.bad(&[&x[..], &["--trace", "t.txt", "--vcd", "./t.txt"]].concat(), &["as for --trace"]);
    assert_eq!(before, std::fs::read(f.path("x.npy")).expect("a tensor"));
}

/// A reader of errors that has gone is no panic.
#[cfg(unix)]
#[test]
fn a_closed_standard_error_is_no_panic() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = Command::new(env!("CARGO_BIN_EXE_mive"))
        .args(["check", "nowhere.toml"])
        .stderr(writer)
        .status()
        .expect("mive starts");
    assert_eq!(status.code(), Some(2));
}

/// Programs on which an engine would wait for ever are refused with their line.
#[test]
fn programs_that_never_end_are_refused() {
    let f = Folder::new();
    floats(&f, "x.npy", &[2, 16]);
    let path = format!("{}/programs/rmsnorm.mive", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("a program");
    let without_take: String =
        text.lines().filter(|l| !l.contains(" take")).map(|l| format!("{l}\n")).collect();
    let edge = config("edge");
    for (text, part) in [
        (without_take, "no `take`"),
        (text.replace("out=format", ""), "no `out=`"),
        (text.replace("out=format", "out=format reduce=sum"), "no scalar block takes"),
        (text.replace("reduce=pair", "reduce=pair out=format"), "only the last"),
        (text.replace("reduce=pair", "reduce=pair release"), "only the last"),
        (text.clone() + "  p=s q=x out=format\n", "a second `out=`"),
        (text.replace("when fine", "when find"), "`find` is not known here"),
        (text.replace("when fine take scaled", "when fine"), "after `when`"),
    ] {
        std::fs::write(f.path("p.mive"), &text).expect("a program");
        f.bad(&["run", &edge, "p.mive", "--input", "x.npy"], &[part]);
    }
    std::fs::write(f.path("p.mive"), format!("\u{feff}{text}")).expect("a program");
    f.good(&["run", &edge, "p.mive", "--input", "x.npy"]);
}

#[test]
fn odd_numbers_are_taken_or_refused() {
    let f = Folder::new();
    floats(&f, "x.npy", &[2, 16]);
    let edge = config("edge");
    let run = ["run", &edge, "softmax", "--input"];
    for jobs in ["-1", "1025", "x"] {
        f.bad(&[&run[..], &["x.npy", "--jobs", jobs]].concat(), &["--jobs", "0 to 1024"]);
    }
    f.bad(&["accuracy", "--only", "nothing"], &["--only", "edge_newton"]);
    let values = |name: &str, v: [f64; 4]| {
        mive::tensor::write_npy_f64(f.path(name), &[1, 4], &v).expect("a tensor");
    };
    // The difference to the maximum has no number.
    values("far.npy", [1.7e308, -1.7e308, 1.7e308, 0.0]);
    let json = f.json(&[&run[..], &["far.npy", "--subtract-max"]].concat());
    assert!(number(&json["unquantised"], "max_error_lsb") <= 0.5, "{json}");
    // The square of the scale is 0.
    values("least.npy", [5e-324, 0.0, -5e-324, 0.0]);
    let least = ["run", &edge, "layernorm", "--input", "least.npy"];
    assert_eq!(f.json(&[&least[..], &["--eps", "0"]].concat())["eps_codes"], 0.0);
    f.bad(&least, &["--eps", "N eps / scale^2"]);
}

#[test]
fn threads_do_not_change_a_byte() {
    let f = Folder::new();
    let x = floats(&f, "x.npy", &[5, 70, 130]);
    let edge16 = config("edge16");
    for more in [&["--row-scale", "--out-format", "u16"][..], &["--out-format", "u8"]] {
        let mut seen = vec![];
        for jobs in ["1", "2", "3"] {
            let out = f.path("y.npy").display().to_string();
            let head = ["run", &edge16, "layernorm", "--input", &x, "--output", &out];
            let text = f.good(&[&head[..], &["--jobs", jobs, "--json"], more].concat());
            seen.push((text, std::fs::read(f.path("y.npy")).expect("codes")));
        }
        assert!(seen.windows(2).all(|w| w[0] == w[1]));
    }
}

#[test]
fn scales_are_as_asked() {
    let f = Folder::new();
    let edge = config("edge");
    let path = f.path("codes.npy").display().to_string();
    let codes: Vec<i32> = (0..48).map(|i| (i * 29 % 255) - 127).collect();
    write_npy_int(&path, IntFormat::S8, &[3, 16], &codes).expect("codes");
    let run = ["run", &edge, "layernorm", "--input", &path, "--input-scale", "0.5"];
    let json = f.json(&[&run[..], &["--output-scale", "0.25", "--out-format", "u8"]].concat());
    assert_eq!(json["input_scale"], 0.5);
    assert_eq!(json["output_scale"], 0.25);
    assert_eq!(json["output_zero_point"], 128);
    assert_eq!(json["eps"], 1e-5);
    assert!(number(&json, "max_error_lsb") <= 1.0, "{json}");

    let x = floats(&f, "x.npy", &[4, 40]);
    let run = ["run", &edge, "softmax", "--input", &x];
    let json = f.json(&[&run[..], &["--subtract-max"]].concat());
    assert_eq!(json["input_scale"], 100.0 / 16.0 / 127.0);
    assert_eq!(json["output_scale"], 1.0 / 255.0);
    assert!(json["eps"].is_null() && json["beta_scale"].is_null());
    assert!(number(&json, "max_error_lsb") <= 1.0, "{json}");
    let json = f.json(&[&run[..], &["--row-scale", "--out-format", "s8"]].concat());
    assert_eq!(json["output_scale"], 1.0 / 127.0);
    assert!(number(&json, "max_error_lsb") <= 1.0, "{json}");
}

#[test]
fn masked_and_flat_rows_are_defined() {
    let f = Folder::new();
    let edge = config("edge");
    let path = f.path("x.npy").display().to_string();
    let mut x = vec![1.0f32; 20];
    x[3] = f32::NEG_INFINITY;
    x[10..].fill(f32::NEG_INFINITY);
    write_npy_f32(&path, &[2, 10], &x).expect("a tensor");
    let json = f.json(&["run", &edge, "softmax", "--input", &path]);
    assert_eq!(json["masked_rows"], 1);
    assert!(number(&json, "max_error_lsb") <= 1.0, "{json}");

    write_npy_f32(&path, &[2, 10], &[0.0; 20]).expect("a tensor");
    let json = f.json(&["run", &edge, "rmsnorm", "--input", &path]);
    assert_eq!(json["max_error_lsb"], 0.0);
    assert!(json["sqnr_db"].is_null());
    assert!(json["sqnr_db_reason"].as_str().expect("a reason").contains("no noise"));
}

#[test]
fn own_programs_run_from_a_path() {
    let f = Folder::new();
    let text = f.good(&["programs", "rmsnorm"]).replace("reference rmsnorm\n", "");
    std::fs::write(f.path("own.mive"), text).expect("a program");
    let (edge, x) = (config("edge"), data("rmsnorm_x"));
    let run = ["run", &edge, "./own.mive", "--input", &x];
    let json = f.json(&[&run[..], &["--output-scale", "0.1"]].concat());
    assert!(json["max_error_lsb"].is_null());
    assert!(json["sqnr_db_reason"].as_str().expect("a reason").contains("reference"));
    f.bad(&run, &["--output-scale", "found none", "expected"]);
    std::fs::write(f.path("broken.mive"), "program broken\nfamly norm\n").expect("a program");
    f.bad(&["run", &edge, "broken.mive", "--input", &x], &["broken.mive:2:"]);
    f.bad(&["run", &edge, "none.mive", "--input", &x], &["none.mive", "found", "expected"]);
}

#[test]
fn other_commands_speak() {
    let f = Folder::new();
    assert!(f.good(&[]).contains("mive demo"));
    let json = f.json(&["check", &config("edge16")]);
    assert_eq!(json["ok"], true);
    assert!(json["programs"].as_array().expect("programs").iter().any(|p| p["ok"] == true));
    assert!(f.good(&["check", &config("tiny")]).contains("softmax"));
    assert_eq!(f.json(&["doctor"])["tools"].as_array().expect("tools").len(), 4);
    assert!(f.json(&["programs"])["programs"].as_array().expect("programs").len() >= 6);
    let json = f.json(&["demo", "--out", "here"]);
    assert_eq!(json["runs"].as_array().expect("runs").len(), 4);
    assert!(f.path("here/softmax_edge_y.npy").exists() && f.path("here/NOTICE.md").exists());
    assert!(f.good(&["demo", "--out", "here"]).contains("elem/cycle"));
}

#[test]
fn bad_configurations_are_refused() {
    let f = Folder::new();
    let text = std::fs::read_to_string(config("edge")).expect("edge");
    let text = text.replace("lanes = 8", "lanse = 8").replace("digit_bits = 7", "digit_bits = 99");
    std::fs::write(f.path("bad.toml"), text).expect("a file");
    let parts = ["bad.toml", "lanse", "lanes", "digit_bits", "99"];
    f.bad(&["check", "bad.toml"], &parts);
    f.bad(&["run", "bad.toml", "softmax", "--input", &data("softmax_x")], &parts);
    f.bad(&["check", "none.toml"], &["none.toml", "no such file"]);
    let output = f.mive(&["check", "bad.toml", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON beside the error");
    assert_eq!((output.status.code(), &json["ok"]), (Some(2), &Value::Bool(false)));
    f.bad(&["programs", "sofmax"], &["sofmax", "softmax_stored"]);
}

#[test]
fn bad_tensors_are_refused() {
    let f = Folder::new();
    let edge = config("edge");
    let x = floats(&f, "x.npy", &[3, 16]);
    let run = |operator: &'static str, input: &str, more: &[&str], parts: &[&str]| {
        let head = ["run", &edge, operator, "--input", input, "--output", "y.npy"];
        f.bad(&[&head[..], more].concat(), parts);
    };
    let bytes = std::fs::read(&x).expect("a tensor");
    let header = |from: &str, to: &str| {
        let text = String::from_utf8_lossy(&bytes[10..128]).replace(from, to);
        [&bytes[..10], &text.as_bytes()[..118], &bytes[128..]].concat()
    };
    for (name, content, part) in [
        ("dtype.npy", header("<f4", "<c8"), "dtype"),
        ("rank.npy", header("(3, 16)", "()     "), "shape"),
        ("empty.npy", header("(3, 16)", "(0, 16)"), "shape"),
        ("truncated.npy", bytes[..200].to_vec(), "bytes of data"),
        ("text.npy", b"hello".to_vec(), "expected an .npy file"),
    ] {
        std::fs::write(f.path(name), content).expect("a file");
        run("softmax", name, &[], &[name, "found", "expected", part]);
    }
    run("softmax", "none.npy", &[], &["none.npy", "no such file"]);
    for (value, operator) in
        [(f32::NAN, "softmax"), (f32::INFINITY, "softmax"), (f32::NEG_INFINITY, "rmsnorm")]
    {
        let mut values = vec![0.5; 48];
        values[21] = value;
        write_npy_f32(f.path("inf.npy"), &[3, 16], &values).expect("a tensor");
        for more in [&[][..], &["--input-scale", "0.1"]] {
            run(operator, "inf.npy", more, &["inf.npy", "row 1, column 5", "expected"]);
        }
    }
    let long = floats(&f, "long.npy", &[1, 4097]);
    run("softmax", &long, &[], &["4097", "4096", "n_max"]);
    let short = floats(&f, "short.npy", &[15]);
    let square = floats(&f, "square.npy", &[16, 16]);
    for wrong in [&short, &square] {
        run("layernorm", &x, &["--gamma", wrong], &["gamma", "found", "16 elements"]);
        run("layernorm", &x, &["--beta", wrong], &["beta", "found", "16 elements"]);
    }
    run("rmsnorm", &x, &["--beta", &short], &["--beta", "rmsnorm"]);
    run("softmax", &x, &["--gamma", &short], &["--gamma", "softmax"]);
    run("softmax", &x, &["--keep", &x], &["x.npy", "dtype", "mask"]);
    write_npy_int(f.path("keep.npy"), IntFormat::U8, &[3, 15], &[1; 45]).expect("a mask");
    run("softmax", &x, &["--keep", "keep.npy"], &["keep.npy", "shape", "[3, 16]"]);
    write_npy_int(f.path("keep.npy"), IntFormat::U8, &[3, 16], &[1; 48]).expect("a mask");
    run("layernorm", &x, &["--keep", "keep.npy"], &["--keep", "softmax"]);
    write_npy_int(f.path("codes.npy"), IntFormat::S16, &[1, 16], &[200; 16]).expect("codes");
    run("layernorm", "codes.npy", &[], &["codes.npy", "integer", "--input-scale"]);
    let scale = ["--input-scale", "1"];
    run("layernorm", "codes.npy", &scale, &["found 200", "-128 to 127"]);
    let more = [&scale[..], &["--subtract-max"]].concat();
    run("softmax", "codes.npy", &more, &["integer codes", "--subtract-max"]);
    run("softmax", "codes.npy", &["--row-scale"], &["integer codes", "--row-scale"]);
}

#[test]
fn bad_options_are_refused() {
    let f = Folder::new();
    let (edge, x) = (config("edge"), floats(&f, "x.npy", &[3, 16]));
    let run = |operator: &'static str, more: &[&str], parts: &[&str]| {
        let head = ["run", &edge, operator, "--input", &x, "--output", "y.npy"];
        f.bad(&[&head[..], more].concat(), parts);
    };
    for value in ["0", "-1", "nan", "inf", "-inf"] {
        for option in ["--input-scale", "--output-scale"] {
            run(
                "softmax",
                &[option, value],
                &[option, "found", "expected a finite number above 0"],
            );
        }
    }
    run("softmax", &["--input-scale", "1e305"], &["--input-scale", "found 1e305", "smaller"]);
    for value in ["-1e-5", "nan", "inf", "-inf"] {
        run("rmsnorm", &["--eps", value], &["--eps", "found", "expected a finite number"]);
    }
    run("rmsnorm", &["--eps", "1e300"], &["--eps", "found 1e300", "smaller"]);
    run("softmax", &["--eps", "1e-5"], &["--eps", "norm"]);
    run("rmsnorm", &["--subtract-max"], &["--subtract-max", "softmax"]);
    run("softmax", &["--in-format", "s16"], &["s16", "edge", "s8"]);
    run("softmax", &["--out-format", "s16"], &["s16", "edge", "u8"]);
    run("softmax", &["--out-format", "s9"], &["s9", "s16"]);
    run("softmax", &["--eps", "tiny"], &["tiny"]);
    run("sofmax", &[], &["sofmax", "softmax"]);
    let head = ["run", &edge, "softmax", "--input", &x, "--output"];
    f.bad(&[&head[..], &["none/y.npy"]].concat(), &["none/y.npy", "no such folder"]);
    f.bad(&[&head[..], &["."]].concat(), &["expected"]);
    f.bad(&["run", &edge, "softmax"], &["--input"]);
    f.bad(&["demo", "--out", "x.npy"], &["x.npy", "--out"]);
    f.bad(&["demo", "--out", "x.npy/under"], &["x.npy", "--out"]);
}

/// A reader that goes away early is no error.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_panic() {
    for command in ["programs softmax", "", "run --help"] {
        let line = format!("{} {command} | true", env!("CARGO_BIN_EXE_mive"));
        let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command}");
    }
}

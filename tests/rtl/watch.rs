//! `mive run --trace` and `--vcd`: what they show is what the engine does, and what the RTL does.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{have, quiet};
use mive::config;
use mive::emit;
use mive::engine::Engine;
use mive::num::IntFormat;
use mive::program::listing::cycles;
use mive::program::{Binding, Loaded, bind, library};
use mive::rtl::step::Mode;
use mive::simulate::record::{Record, Recorder};
use mive::simulate::{Parameters, Rows, Simulator, Stall};
use mive::tensor::write_npy_int;
use vcd::{IdCode, ScopeItem, Value};

/// A short run: its folder, engine and rows.
struct Run {
    folder: tempfile::TempDir,
    engine: Engine,
    loaded: Loaded,
    x: Vec<i32>,
}

const ROWS: usize = 3;
const ROW_LEN: usize = 13;

impl Run {
    /// Codes of a plain pattern on tiny with a number of lanes.
    fn new(operator: &str, lanes: u32) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("hw_configs/tiny.toml");
        let text = std::fs::read_to_string(shipped).expect("tiny");
        let text = text.replace("lanes = 1", &format!("lanes = {lanes}"));
        std::fs::write(folder.path().join("tiny.toml"), text).expect("a configuration");
        let config = config::load(&folder.path().join("tiny.toml")).expect("a configuration");
        let engine = Engine::describe(&config);
        let x: Vec<i32> = (0..ROWS * ROW_LEN).map(|i| (i * 37 % 101) as i32 - 50).collect();
        let path = folder.path().join("x.npy");
        write_npy_int(path, IntFormat::S8, &[ROWS, ROW_LEN], &x).expect("codes");
        let is_softmax = operator == "softmax";
        let binding = Binding {
            row_len: ROW_LEN as u32,
            input_format: IntFormat::S8,
            output_format: if is_softmax { IntFormat::U8 } else { IntFormat::S8 },
            input_scale: 0.0625,
            output_scale: if is_softmax { 1.0 / 255.0 } else { 0.03125 },
            gamma_scale: 1.0,
            eps: if is_softmax { 0.0 } else { 1e-5 },
            k_max: 0,
        };
        let program = library::shipped(operator).expect("a shipped program");
        let loaded = bind(&program, &engine, &binding).expect("a binding");
        Self { folder, engine, loaded, x }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn mive(&self, more: &[&str]) -> Output {
        let operator = &self.loaded.name;
        let mut command = Command::new(env!("CARGO_BIN_EXE_mive"));
        command.current_dir(self.folder.path()).args(["run", "tiny.toml", operator]);
        command.args(["--input", "x.npy", "--input-scale", "0.0625"]);
        if operator != "softmax" {
            command.args(["--output-scale", "0.03125"]);
        }
        command.args(more).output().expect("mive starts")
    }

    fn good(&self, more: &[&str]) -> String {
        let output = self.mive(more);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{more:?}");
        assert!(output.status.success(), "{more:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn rows(&self) -> Rows<'_> {
        Rows { row_len: ROW_LEN, x: &self.x, keep: None, k: None }
    }

    fn chunks(&self) -> usize {
        ROW_LEN.div_ceil(self.engine.config.lanes as usize)
    }

    /// The same rows from reset on, and the cycle of the record that is cycle 0 of a run.
    fn record(&self) -> (Record, usize) {
        let simulator = Simulator::new(&self.engine);
        let mut recorder = Recorder::new(&self.engine, &simulator, 1);
        recorder.load(&self.loaded, &Parameters::default(), false);
        let origin = recorder.cycles();
        let mut out = vec![0; self.x.len()];
        recorder.run(&self.rows(), &mut Stall::none(), None, &mut out);
        (recorder.finish(), origin)
    }
}

/// A dump: variables by their place below the engine, and their values before each rising edge.
struct Vcd {
    /// Name to (bits, index into a cycle's values).
    variables: BTreeMap<String, (u32, usize)>,
    cycles: Vec<Vec<Vec<Value>>>,
}

impl Vcd {
    fn read(path: &Path) -> Self {
        let file = std::io::BufReader::new(std::fs::File::open(path).expect("a VCD"));
        let mut parser = vcd::Parser::new(file);
        let header = parser.parse_header().expect("a header");
        let (mut variables, mut of) = (BTreeMap::new(), BTreeMap::<IdCode, usize>::new());
        visit(&header.items, "", false, &mut variables, &mut of);
        let mut now = vec![vec![Value::X]; of.len()];
        for &(bits, at) in variables.values() {
            now[at] = vec![Value::X; bits as usize];
        }
        let clock = variables["clk_i"].1;
        let (mut cycles, mut next) = (vec![], now.clone());
        for command in parser {
            let (id, value) = match command.expect("a command") {
                vcd::Command::Timestamp(_) => {
                    if now[clock][0] != Value::V1 && next[clock][0] == Value::V1 {
                        cycles.push(now);
                    }
                    now = next.clone();
                    continue;
                }
                vcd::Command::ChangeScalar(id, value) => (id, vec![value]),
                vcd::Command::ChangeVector(id, value) => (id, value.iter().collect()),
                _ => continue,
            };
            let Some(&at) = of.get(&id) else { continue };
            // The highest bits may be left out: zeros, or the same X.
            let fill = if value[0] == Value::V1 { Value::V0 } else { value[0] };
            let width = next[at].len();
            next[at] = vec![fill; width - value.len()];
            next[at].extend(value);
        }
        // The first rising edge ends what is before the first cycle.
        cycles.remove(0);
        cycles.push(now);
        Self { variables, cycles }
    }

    fn get(&self, cycle: usize, name: &str) -> &[Value] {
        &self.cycles[cycle][self.variables[name].1]
    }

    fn is_one(&self, cycle: usize, name: &str) -> bool {
        self.get(cycle, name) == [Value::V1]
    }
}

fn visit(
    items: &[ScopeItem],
    place: &str,
    is_inside: bool,
    variables: &mut BTreeMap<String, (u32, usize)>,
    of: &mut BTreeMap<IdCode, usize>,
) {
    for item in items {
        match item {
            ScopeItem::Var(v) if is_inside => {
                let next = of.len();
                let at = *of.entry(v.code).or_insert(next);
                variables.insert(format!("{place}{}", v.reference), (v.size, at));
            }
            ScopeItem::Scope(s) if s.identifier == "u_dut" => {
                visit(&s.items, "", true, variables, of);
            }
            ScopeItem::Scope(s) => {
                let below = format!("{place}{}.", s.identifier);
                visit(&s.items, if is_inside { &below } else { "" }, is_inside, variables, of);
            }
            _ => {}
        }
    }
}

fn number(bits: &[Value]) -> u64 {
    bits.iter().fold(0, |v, &b| v << 1 | u64::from(b == Value::V1))
}

/// Data of a beat that is not offered is anything.
fn is_idle(vcd: &Vcd, cycle: usize, port: &str) -> bool {
    let of = |stream: &str| port.starts_with(&format!("{stream}_t")) && !port.contains("ready");
    let is_data = |stream: &str| of(stream) && !port.contains("valid");
    (is_data("s_axis") && !vcd.is_one(cycle, "s_axis_tvalid_i"))
        || (is_data("m_axis") && !vcd.is_one(cycle, "m_axis_tvalid_o"))
}

#[test]
fn a_vcd_is_the_record_of_the_simulator() {
    for (operator, lanes) in [("softmax", 1), ("layernorm", 1), ("softmax", 3), ("rmsnorm", 3)] {
        let run = Run::new(operator, lanes);
        run.good(&["--vcd", "run.vcd"]);
        let vcd = Vcd::read(&run.path("run.vcd"));
        let (record, origin) = run.record();
        assert_eq!(vcd.cycles.len(), record.cycles() - origin, "{operator} on {lanes} lanes");
        // The ports, against the record that the RTL is compared with.
        let mut compared = 0;
        let layout = &record.layout;
        let inputs = layout.inputs.iter().map(|w| (format!("{}_i", w.name), w));
        let outputs = layout.outputs.iter().map(|w| (format!("{}_o", w.name), w));
        for (name, wire) in inputs.chain(outputs) {
            assert_eq!(vcd.variables[&name].0, wire.bits(), "{name}");
            for cycle in (0..vcd.cycles.len()).filter(|&c| !is_idle(&vcd, c, &name)) {
                let want = record.field(origin + cycle, wire.low, wire.bits());
                assert_eq!(number(vcd.get(cycle, &name)), want, "{operator} {name} cycle {cycle}");
                compared += 1;
            }
        }
        assert!(compared > 15 * vcd.cycles.len(), "{compared}");
        // Every word, against the stepper.
        let simulator = Simulator::new(&run.engine);
        let parameters = Parameters::default();
        let mut session = simulator.session(&run.loaded, &parameters, 1, Mode::Full);
        let mut out = vec![0; run.x.len()];
        let words = simulator.program().words();
        session.run_watched(&run.rows(), &mut Stall::none(), &mut out, &mut |cycle, stepper| {
            for (i, info) in words.iter().enumerate() {
                let values = stepper.read(mive::rtl::step::WordId(i), 0);
                let parts: Vec<String> = info.name.split('.').map(String::from).collect();
                let (word, scopes) = parts.split_last().expect("a name");
                let scope: String = scopes.iter().map(|s| format!("u_{s}.")).collect();
                let name = mive::rtl::names::printed(word);
                for (lane, &value) in values.iter().enumerate() {
                    let end = if info.count > 1 { format!("_{lane}") } else { String::new() };
                    let name = format!("{scope}{name}{end}");
                    let bits = vcd.get(cycle as usize, &name);
                    let mask = u64::MAX >> (64 - bits.len());
                    assert_eq!(number(bits), value as u64 & mask, "{name} cycle {cycle}");
                }
            }
            cycle as usize + 1 < vcd.cycles.len()
        });
    }
}

#[test]
fn a_vcd_is_that_of_the_emitted_test_bench() {
    if !have(&["iverilog", "vvp"]) {
        return;
    }
    for lanes in [1, 3] {
        let run = Run::new("softmax", lanes);
        run.good(&["--vcd", "run.vcd"]);
        let ours = Vcd::read(&run.path("run.vcd"));
        let rtl = run.path("rtl");
        emit::write(&rtl, &run.engine, &emit::Options::default()).expect("an emitted folder");
        let (record, _) = run.record();
        std::fs::write(rtl.join("run.hex"), record.to_hex()).expect("vectors");
        let dump = "module dump;\n  initial begin\n    $dumpfile(\"rtl.vcd\");\n    \
                    $dumpvars(0, mive_tiny_tb.u_dut);\n  end\nendmodule\n";
        std::fs::write(rtl.join("dump.sv"), dump).expect("a module");
        let mut compile = Command::new("iverilog");
        compile.args(["-g2012", "-s", "mive_tiny_tb", "-s", "dump", "-o", "run.vvp"]);
        compile.args(["-c", "filelist.f", "tb/mive_tiny_tb.sv", "dump.sv"]);
        quiet(compile.current_dir(&rtl), false);
        let mut play = Command::new("vvp");
        let said = quiet(play.args(["-n", "run.vvp", "+vectors=run.hex"]).current_dir(&rtl), true);
        assert!(said.contains("PASS"), "{said}");
        let theirs = Vcd::read(&rtl.join("rtl.vcd"));
        let accepts = |c: &usize| {
            theirs.is_one(*c, "s_axis_tvalid_i") && theirs.is_one(*c, "s_axis_tready_o")
        };
        let origin = (0..theirs.cycles.len()).find(accepts).expect("a first beat");
        let offered = ROWS * run.chunks();
        let (mut shared, mut compared) = (0, 0);
        for (name, &(bits, _)) in &ours.variables {
            let same = theirs.variables.get(name).filter(|&&(b, _)| b == bits);
            // The datapath has no reset: what it holds before the first row is anything.
            let is_control = !name.contains('.') || name.starts_with("u_core.u_sequencer.");
            if name == "clk_i" || same.is_none() || !is_control {
                continue;
            }
            shared += 1;
            // What follows from the data of beats that are not offered is anything.
            let is_port = name.ends_with("_i") || name.ends_with("_o");
            let end = if is_port && !name.contains('.') { ours.cycles.len() } else { offered };
            for cycle in (0..end).filter(|&c| !is_idle(&ours, c, name)) {
                let want = theirs.get(origin + cycle, name);
                let is_known = want.iter().all(|b| matches!(b, Value::V0 | Value::V1));
                if is_known {
                    assert_eq!(ours.get(cycle, name), want, "{name} cycle {cycle}");
                    compared += 1;
                }
            }
        }
        let ports = record.layout.inputs.len() + record.layout.outputs.len();
        assert!(shared > 3 * ports && compared > shared * offered / 2, "{shared}, {compared}");
        for port in record.layout.inputs.iter().map(|w| format!("{}_i", w.name)) {
            assert!(theirs.variables.contains_key(&port), "{port}");
        }
    }
}

#[test]
fn a_trace_keeps_to_the_cycle_formula() {
    for (operator, lanes) in [("softmax", 1), ("layernorm", 1), ("softmax", 3), ("rmsnorm", 3)] {
        let run = Run::new(operator, lanes);
        run.good(&["--trace", "trace.txt"]);
        let text = std::fs::read_to_string(run.path("trace.txt")).expect("a trace");
        let lines: Vec<&str> =
            text.lines().filter(|l| !l.contains("cycle") && !l.starts_with('#')).collect();
        let field = |line: &str, k: usize| line.split_whitespace().nth(k).unwrap_or("").to_string();
        let want = cycles(&run.loaded, &run.engine, ROWS);
        let total = *want.row_ends.last().expect("rows");
        assert_eq!(lines.len() as u64, total, "{operator} on {lanes} lanes");
        assert!(lines.iter().enumerate().all(|(k, l)| field(l, 0) == k.to_string()));
        let count = |k: usize| lines.iter().filter(|l| field(l, k) == "11").count();
        assert_eq!((count(1), count(2)), (ROWS * run.chunks(), ROWS * run.chunks()));
        assert_eq!(field(lines[0], 1), "11", "cycle 0 accepts the first beat");
        // The last output beats of the rows are where the formula has them.
        let given: Vec<u64> = (0..total).filter(|&c| field(lines[c as usize], 2) == "11").collect();
        let ends: Vec<u64> =
            given.iter().skip(run.chunks() - 1).step_by(run.chunks()).map(|c| c + 1).collect();
        assert_eq!(ends, want.row_ends);
        // Every slot of every chunk of every row enters the lanes once.
        let slots: usize = run.loaded.body_slots.iter().sum::<u32>() as usize;
        let busy = |row: usize| lines.iter().filter(|l| field(l, 3) == row.to_string()).count();
        for row in 0..ROWS {
            assert_eq!(busy(row), slots * run.chunks(), "row {row}");
        }
    }
}

#[test]
fn what_is_shown_is_bounded_and_said() {
    let run = Run::new("softmax", 1);
    let text = run.good(&["--trace", "--watch", "5..9"]);
    let shown: Vec<&str> = text.lines().skip_while(|l| !l.starts_with("  cycle")).skip(1).collect();
    assert!(text.contains("trace     below, cycles 5 to 8"), "{text}");
    assert_eq!(shown.len(), 4, "{text}");
    let json = run.good(&["--trace", "t.txt", "--vcd", "t.vcd", "--watch", "3..7", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("strict JSON");
    assert_eq!(json["watched"]["vcd"]["cycles"], serde_json::json!([3, 7]));
    assert_eq!(json["watched"]["trace"]["file"], "t.txt");
    assert_eq!(Vcd::read(&run.path("t.vcd")).cycles.len(), 4);
    // A file that would be large is announced, with the way to bound it.
    let x = vec![1; 64 * 4000];
    write_npy_int(run.path("x.npy"), IntFormat::S8, &[4000, 64], &x).expect("codes");
    let output = run.mive(&["--vcd", "t.vcd", "--watch", "0..100000"]);
    let said = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(output.status.success() && said.starts_with("note: t.vcd: about "), "{said}");
    assert!(said.contains("--watch") && said.matches("note: ").count() == 1, "{said}");
    let megabytes: f64 =
        said.split_whitespace().nth(3).and_then(|w| w.parse().ok()).expect("a size");
    let real = std::fs::metadata(run.path("t.vcd")).expect("a VCD").len() as f64 / 1e6;
    assert!((0.4..2.5).contains(&(megabytes / real)), "{megabytes} MB said, {real} MB");
}

#[test]
fn files_have_ordinary_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let run = Run::new("softmax", 1);
    run.good(&["--trace", "t.txt", "--vcd", "t.vcd", "--output", "y.npy"]);
    std::fs::write(run.path("plain"), "").expect("a file");
    let mode = |name: &str| {
        std::fs::metadata(run.path(name)).expect("a file").permissions().mode() & 0o777
    };
    for name in ["t.txt", "t.vcd", "y.npy"] {
        assert_eq!(mode(name), mode("plain"), "{name}");
    }
}

#[test]
fn nothing_is_half_written() {
    let run = Run::new("softmax", 1);
    let files = || {
        let entries = std::fs::read_dir(run.folder.path()).expect("a folder");
        let mut names: Vec<_> = entries.map(|e| e.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    let before = files();
    for (more, parts) in [
        (&["--trace", "--json"][..], &["--trace", "--json", "FILE"][..]),
        (&["--trace", "0..20"], &["--trace", "--watch 0..20"]),
        (&["--watch", "0..20"], &["--watch", "--vcd"]),
        (&["--vcd", "none/t.vcd"], &["none/t.vcd", "no such folder"]),
        (&["--trace", "none/t.txt"], &["none/t.txt", "no such folder"]),
        (&["--vcd", "."], &["found", "expected"]),
        (&["--vcd", "t", "--trace", "t"], &["--trace", "--vcd", "another"]),
        (&["--vcd", "t.vcd", "--watch", "9..9"], &["9..9", "FIRST..LAST"]),
        (&["--vcd", "t.vcd", "--watch", "99999..100000"], &["--watch", "99999", "expected"]),
        (&["--vcd", "y.npy"], &["y.npy", "another"]),
    ] {
        let output = run.mive(&[more, &["--output", "y.npy"]].concat());
        let errors = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(2), "{more:?}: {errors}");
        assert_eq!(errors.matches("error:").count(), 1, "{errors}");
        assert!(parts.iter().all(|p| errors.contains(p)), "{more:?}: {errors}");
        assert_eq!(before, files(), "{more:?} leaves something behind");
    }
}

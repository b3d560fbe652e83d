//! Running printed modules through the open tools, and what a module computes by hand.
use mive::num::Interval;
use mive::rtl::evaluate;
use mive::rtl::module::{Module, NodeId, Op};
use mive::rtl::verilog::{Dialect, Style, print_all};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

pub const DIALECTS: [Dialect; 2] = [Dialect::SystemVerilog, Dialect::Verilog2005];

/// The tools that a comparison needs.
pub const TOOLS: [&str; 4] = ["iverilog", "vvp", "verilator", "yosys"];

/// True when every tool is present. Absent tools skip the test loudly, or fail it when
/// `MIVE_REQUIRE_TOOLS` is 1.
pub fn have(tools: &[&str]) -> bool {
    for tool in tools {
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|dir| dir.join(tool).is_file()) {
            let is_required = std::env::var("MIVE_REQUIRE_TOOLS").is_ok_and(|v| v == "1");
            assert!(!is_required, "{tool} is not in PATH and MIVE_REQUIRE_TOOLS is 1");
            eprintln!("SKIPPED: {tool} is not in PATH; nothing was checked");
            return false;
        }
    }
    true
}

/// Writes every module under `top` into `dir`.
pub fn write_all(dir: &Path, top: &Rc<Module>, dialect: Dialect) -> Vec<PathBuf> {
    let files = print_all(top, &Style::new(dialect));
    assert!(!files.is_empty());
    files
        .into_iter()
        .map(|(name, text)| {
            let long = text.lines().find(|l| l.len() > 100);
            assert!(long.is_none(), "{name}: a line over 100 columns: {long:?}");
            assert!(text.is_ascii() && text.ends_with('\n'), "{name}");
            assert!(
                !text.lines().any(|l| l.ends_with(' ')),
                "{name}: a space at the end of a line"
            );
            assert!(!text.contains("[0:0]"), "{name}: a range of one bit");
            let path = dir.join(name);
            std::fs::write(&path, text).expect("a file is written");
            path
        })
        .collect()
}

/// Runs a command that must succeed and, unless `talks`, say nothing.
pub fn quiet(command: &mut Command, talks: bool) -> String {
    let out = command.output().expect("the tool starts");
    let text = [out.stdout, out.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(out.status.success(), "{command:?} failed:\n{text}");
    assert!(talks || text.trim().is_empty(), "{command:?} has something to say:\n{text}");
    text.into_owned()
}

/// Lints printed files in the three tools, without any waiver and without a latch.
pub fn lint(files: &[PathBuf], top: &str, dialect: Dialect) {
    lint_but(files, top, dialect, "");
}

/// As [`lint()`]; `but` is what Yosys leaves out when it looks for latches.
pub fn lint_but(files: &[PathBuf], top: &str, dialect: Dialect, but: &str) {
    let is_sv = dialect == Dialect::SystemVerilog;
    let language = if is_sv { "1800-2017" } else { "1364-2005" };
    let top = format!("mive_{top}");
    quiet(
        Command::new("verilator")
            .args(["--lint-only", "-Wall", "--default-language", language, "--top-module", &top])
            .args(files),
        false,
    );
    let generation = if is_sv { "-g2012" } else { "-g2005" };
    quiet(
        Command::new("iverilog").args([generation, "-Wall", "-t", "null", "-s", &top]).args(files),
        false,
    );
    let read = if is_sv { "read_verilog -sv" } else { "read_verilog" };
    let list: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    let script = format!(
        "{read} {}; hierarchy -check -top {top}; proc; select -assert-none t:$dlatch{but}; check -assert",
        list.join(" ")
    );
    quiet(Command::new("yosys").args(["-q", "-p", &script]), false);
}

/// Compiles the files with a bench and returns what it prints.
pub fn simulate(dir: &Path, files: &[PathBuf], bench: &str, dialect: Dialect) -> String {
    let generation = if dialect == Dialect::SystemVerilog { "-g2012" } else { "-g2005" };
    let (bench_file, program) = (dir.join("bench.v"), dir.join("bench.vvp"));
    std::fs::write(&bench_file, bench).expect("a bench is written");
    quiet(
        Command::new("iverilog")
            .args([generation, "-s", "bench", "-o"])
            .arg(&program)
            .args(files)
            .arg(&bench_file),
        false,
    );
    quiet(Command::new("vvp").arg("-n").arg(&program).current_dir(dir), true)
}

/// The value of one lane of a combinational node, by the plain evaluator.
pub fn value(m: &Module, id: NodeId, lane: u32, inputs: &HashMap<(NodeId, u32), i64>) -> i64 {
    let node = &m.nodes[id];
    let lane = if node.count == 1 { 0 } else { lane };
    let of = |id: NodeId, lane: u32| value(m, id, lane, inputs);
    match &node.op {
        Op::Input => inputs[&(id, lane)],
        Op::Lane(a, k) => of(*a, *k),
        Op::Gather(words) => of(words[lane as usize], 0),
        Op::InstanceOut { instance, port } => {
            let i = &m.instances[*instance];
            let child = &i.module;
            let inner = child.outputs[*port].1;
            let (copy, sub) = (lane / child.nodes[inner].count, lane % child.nodes[inner].count);
            let mut below = HashMap::new();
            for (&port, &driver) in child.inputs.iter().zip(&i.inputs) {
                let (lanes, have) = (child.nodes[port].count, m.nodes[driver].count);
                for k in 0..lanes {
                    let from = if have > lanes { copy * lanes + k } else { k };
                    below.insert((port, k), of(driver, from));
                }
            }
            value(child, inner, sub, &below)
        }
        op => {
            let operands: Vec<(i64, Interval)> =
                op.operands().iter().map(|&o| (of(o, lane), m.nodes[o].ty)).collect();
            evaluate(op, node.ty, &operands)
        }
    }
}

/// The low `width` bits of a number as binary digits, highest first.
pub fn binary(value: i64, width: u32) -> String {
    (0..width).rev().map(|k| if value >> k & 1 == 1 { '1' } else { '0' }).collect()
}

/// Compares a combinational module with the evaluator in both dialects, for the given stimuli: one map
/// from input lanes to values for each. Returns how many output words were compared in each dialect.
pub fn compare(top: &Rc<Module>, stimuli: &[HashMap<(NodeId, u32), i64>]) -> usize {
    assert!(!stimuli.is_empty() && !top.outputs.is_empty(), "nothing to compare");
    let mut vectors = String::new();
    let words = |ids: &[NodeId], read: &dyn Fn(NodeId, u32) -> i64| -> String {
        let lanes = ids.iter().flat_map(|&id| (0..top.nodes[id].count).map(move |k| (id, k)));
        let bits = lanes.map(|(id, k)| binary(read(id, k), top.nodes[id].ty.width()));
        bits.collect::<Vec<_>>().into_iter().rev().collect::<String>()
    };
    let outputs: Vec<NodeId> = top.outputs.iter().map(|(_, id)| *id).collect();
    for s in stimuli {
        let ins = words(&top.inputs, &|id, k| s[&(id, k)]);
        let outs = words(&outputs, &|id, k| value(top, id, k, s));
        vectors.push_str(&format!("{outs}{ins}\n"));
    }
    let total = |ids: &[NodeId]| -> u32 {
        ids.iter().map(|&id| top.nodes[id].ty.width() * top.nodes[id].count).sum()
    };
    let (n_in, n_out) = (total(&top.inputs), total(&outputs));
    let mut ports = vec![];
    let mut checks = String::new();
    let mut low = 0;
    for &id in &top.inputs {
        let width = top.nodes[id].ty.width() * top.nodes[id].count;
        ports.push(format!(".{}_i(vector[{low} +: {width}])", top.name_of(id)));
        low += width;
    }
    let mut out_low = 0;
    for (name, id) in &top.outputs {
        let width = top.nodes[*id].ty.width() * top.nodes[*id].count;
        ports.push(format!(".{name}_o(got[{out_low} +: {width}])"));
        checks.push_str(&format!(
            "      if (got[{out_low} +: {width}] !== vector[{low} +: {width}]) begin\n        \
             bad = bad + 1; if (bad < 20) $display(\"{name}: got %b want %b in vector %0d\", \
             got[{out_low} +: {width}], vector[{low} +: {width}], k);\n      end\n"
        ));
        low += width;
        out_low += width;
    }
    let bench = format!(
        "module bench;\n  reg [{}:0] vectors [0:{}];\n  reg [{}:0] vector;\n  wire [{}:0] got;\n  \
         integer k, bad;\n  mive_{} dut (\n    {}\n  );\n  initial begin\n    bad = 0;\n    \
         $readmemb(\"vectors.txt\", vectors);\n    for (k = 0; k < {}; k = k + 1) begin\n      \
         vector = vectors[k];\n      #1;\n{checks}    end\n    $display(\"mismatches %0d\", bad);\n  \
         end\nendmodule\n",
        n_in + n_out - 1,
        stimuli.len() - 1,
        n_in + n_out - 1,
        n_out - 1,
        top.name,
        ports.join(",\n    "),
        stimuli.len(),
    );
    for dialect in DIALECTS {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("vectors.txt"), &vectors).expect("vectors are written");
        let files = write_all(dir.path(), top, dialect);
        let said = simulate(dir.path(), &files, &bench, dialect);
        assert!(said.contains("mismatches 0\n"), "{} in {dialect:?}:\n{said}", top.name);
    }
    stimuli.len() * outputs.len()
}

/// Prints and lints a module in both dialects.
pub fn clean(module: &Rc<Module>) {
    for dialect in DIALECTS {
        let dir = tempfile::tempdir().expect("a folder");
        let files = write_all(dir.path(), module, dialect);
        lint(&files, &module.name, dialect);
    }
}

pub fn interval((lo, hi): (i64, i64)) -> Interval {
    Interval::new(lo, hi)
}

/// Splitmix64: reproducible numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn within(&mut self, ty: Interval) -> i64 {
        let span = (ty.hi as i128 - ty.lo as i128 + 1) as u128;
        (ty.lo as i128 + (u128::from(self.next()) % span) as i128) as i64
    }

    /// An interval of at most `bits` bits, often against the ends of a word.
    pub fn interval(&mut self, bits: u32) -> Interval {
        let width = 1 + (self.next() % u64::from(bits)) as u32;
        let word = match self.next() % 2 {
            0 => Interval::unsigned(width.min(62)),
            _ => Interval::signed(width),
        };
        match self.next() % 2 {
            0 => word,
            _ => {
                let (a, b) = (self.within(word), self.within(word));
                Interval::new(a.min(b), a.max(b))
            }
        }
    }

    /// Corners of the intervals, then anything.
    pub fn combinations(&mut self, types: &[Interval], count: usize) -> Vec<Vec<i64>> {
        let one = |r: &mut Self, ty: Interval| match r.next() % 8 {
            0 => ty.lo,
            1 => ty.hi,
            2 if ty.contains(0) => 0,
            3 if ty.contains(-1) => -1,
            _ => r.within(ty),
        };
        (0..count).map(|_| types.iter().map(|&ty| one(self, ty)).collect()).collect()
    }
}

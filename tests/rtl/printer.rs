//! Printed registers, memories and hierarchies: simulated against a hand model, linted, and one snapshot.
use crate::common::{DIALECTS, TOOLS, binary, have, lint, simulate, write_all};
use mive::num::Interval;
use mive::rtl::module::Module;
use mive::rtl::verilog::{Dialect, Style, print, print_all};
use mive::rtl::{Net, Word};
use std::rc::Rc;

const LANES: u32 = 3;
const DEPTH: usize = 5;

fn s8() -> Interval {
    Interval::signed(8)
}

fn bit() -> Interval {
    Interval::unsigned(1)
}

/// A running sum of one lane with a reset, behind a register without.
fn tally() -> Rc<Module> {
    let net = Net::new("tally", "tests/rtl/printer.rs, fn tally", "running sum modulo 256.");
    let x = net.input("x", s8(), "next word");
    let en = net.input("en", bit(), "take it");
    net.section("Hold the word for a cycle.");
    let held = net.state("held", s8(), 1, None);
    net.drive(held, x, Some(en));
    net.section("Add it to the sum.");
    let sum = net.state("sum", s8(), 1, Some(-5));
    net.drive(sum, (sum + held).named("next_sum").signed_bits(0, 8), Some(en));
    net.output("sum", sum, "sum of the words before the last");
    net.finish()
}

/// Every kind of register, a memory and an instance a lane.
fn clocked() -> Rc<Module> {
    let net = Net::new("clocked", "tests/rtl/printer.rs, fn clocked", "registers of every kind.");
    let x = net.input_bundle("x", s8(), LANES, "words");
    let on = net.input_bundle("on", bit(), LANES, "an enable a lane");
    let en = net.input("en", bit(), "enable of the rest");
    let address = net.input("address", Interval::new(0, DEPTH as i64 - 1), "address written");
    let back = net.input("back", Interval::new(0, DEPTH as i64 - 1), "address read");
    net.section("State with a reset.");
    let count = net.state("count", Interval::unsigned(4), 1, Some(9));
    net.drive(count, (count + net.constant(1)).named("count_next").bits(0, 4), None);
    let kept = net.state("kept", s8(), LANES, Some(-1));
    net.drive(kept, x, Some(en));
    let chosen = net.state("chosen", s8(), LANES, Some(3));
    net.drive(chosen, x, Some(on));
    let halved = net.state("halved", s8(), LANES, Some(0));
    net.drive(halved, x.shift_right(1), Some(en & on.lane(1)));
    net.section("Words without a reset.");
    let delayed = x.lane(0).named("word").stage().stage();
    let alone = net.state("alone", s8(), LANES, None);
    net.drive(alone, x, Some(on));
    net.section("Memory.");
    let fields = [("words", s8(), LANES), ("tag", Interval::unsigned(4), 1)];
    let write = (en, address, &[x, count][..]);
    let memory = {
        let m = net.memory("store", "Words of a row.", DEPTH as u32, &fields);
        net.drive_memory(m, write, (on.lane(0), back));
        m
    };
    let (words, tag) = (net.read(memory, 0), net.read(memory, 1));
    net.section("A tally a lane.");
    let sums = net.instance("tally", &tally(), LANES, &[("x", x), ("en", en)]);
    for (name, w) in [
        ("count", count),
        ("kept", kept),
        ("chosen", chosen),
        ("halved", halved),
        ("delayed", delayed),
        ("alone", alone),
        ("words", words),
        ("tag", tag),
        ("sums", sums[0]),
    ] {
        net.output(name, w, "state");
    }
    net.finish()
}

/// What `clocked` holds; `None` is unknown.
#[derive(Clone)]
struct Model {
    count: i64,
    kept: [i64; 3],
    chosen: [i64; 3],
    halved: [i64; 3],
    delayed: [Option<i64>; 2],
    alone: [Option<i64>; 3],
    memory: [Option<([i64; 3], i64)>; DEPTH],
    read: Option<([i64; 3], i64)>,
    held: [Option<i64>; 3],
    sums: [Option<i64>; 3],
}

struct Cycle {
    is_reset: bool,
    x: [i64; 3],
    on: [i64; 3],
    en: i64,
    address: usize,
    back: usize,
}

impl Model {
    fn step(&mut self, c: &Cycle) {
        let old = self.clone();
        let is_on = c.en == 1;
        self.delayed = [Some(c.x[0]), old.delayed[0]];
        if c.on[0] == 1 {
            self.read = old.memory[c.back];
        }
        if is_on {
            self.memory[c.address] = Some((c.x, old.count));
        }
        for k in 0..3 {
            if c.on[k] == 1 {
                self.alone[k] = Some(c.x[k]);
            }
            if is_on {
                self.held[k] = Some(c.x[k]);
            }
        }
        if c.is_reset {
            return self.reset();
        }
        self.count = (old.count + 1) % 16;
        for k in 0..3 {
            if is_on {
                self.kept[k] = c.x[k];
                let sum = old.sums[k].zip(old.held[k]).map(|(a, b)| i64::from((a + b) as i8));
                self.sums[k] = sum;
            }
            if c.on[k] == 1 {
                self.chosen[k] = c.x[k];
            }
            if is_on && c.on[1] == 1 {
                self.halved[k] = c.x[k] >> 1;
            }
        }
    }

    fn reset(&mut self) {
        (self.count, self.kept, self.chosen, self.halved) = (9, [-1; 3], [3; 3], [0; 3]);
        self.sums = [Some(-5); 3];
    }

    /// Outputs as binary digits, highest first in the order of the bench.
    fn outputs(&self) -> String {
        let bits = |v: Option<i64>, width: u32| match v {
            Some(v) => binary(v, width),
            None => "x".repeat(width as usize),
        };
        let lanes = |v: [Option<i64>; 3]| v.iter().rev().map(|&v| bits(v, 8)).collect::<String>();
        let read: [Option<i64>; 3] = std::array::from_fn(|k| self.read.map(|(words, _)| words[k]));
        [
            lanes(self.sums),
            bits(self.read.map(|(_, tag)| tag), 4),
            lanes(read),
            lanes(self.alone),
            bits(self.delayed[1], 8),
            lanes(self.halved.map(Some)),
            lanes(self.chosen.map(Some)),
            lanes(self.kept.map(Some)),
            bits(Some(self.count), 4),
        ]
        .concat()
    }
}

#[test]
fn registers_memories_and_instances() {
    if !have(&TOOLS) {
        return;
    }
    let top = clocked();
    let mut state = 1u64;
    let mut random = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let unknown = [None; 3];
    let mut model = Model {
        count: 0,
        kept: [0; 3],
        chosen: [0; 3],
        halved: [0; 3],
        delayed: [None; 2],
        alone: unknown,
        memory: [None; DEPTH],
        read: None,
        held: unknown,
        sums: unknown,
    };
    let mut vectors = String::new();
    let cycles = 2000;
    for k in 0..cycles {
        let c = Cycle {
            is_reset: k < 3 || k % 400 == 399,
            x: std::array::from_fn(|_| random(256) as i64 - 128),
            on: std::array::from_fn(|_| i64::from(random(3) == 0)),
            en: i64::from(k > 5 && random(2) == 0),
            address: random(DEPTH as u64) as usize,
            back: random(DEPTH as u64) as usize,
        };
        if c.is_reset {
            model.reset();
        }
        let x: String = c.x.iter().rev().map(|&v| binary(v, 8)).collect();
        let on: String = c.on.iter().rev().map(|&v| binary(v, 1)).collect();
        let rest = [binary(c.address as i64, 3), binary(c.back as i64, 3)].concat();
        let ins = format!("{}{rest}{}{on}{x}", i32::from(!c.is_reset), c.en);
        vectors.push_str(&format!("{}{ins}\n", model.outputs()));
        model.step(&c);
    }
    let bench = format!(
        "module bench;\n  reg [194:0] vectors [0:{last}];\n  reg [194:0] v;\n  reg clk;\n  \
         wire [159:0] got;\n  integer k, bad;\n  mive_clocked dut (.clk_i(clk), .rst_ni(v[34]), \
         .x_i(v[23:0]), .on_i(v[26:24]), .en_i(v[27]), .back_i(v[30:28]), .address_i(v[33:31]), \
         .count_o(got[3:0]), .kept_o(got[27:4]), .chosen_o(got[51:28]), .halved_o(got[75:52]), \
         .delayed_o(got[83:76]), .alone_o(got[107:84]), .words_o(got[131:108]), \
         .tag_o(got[135:132]), .sums_o(got[159:136]));\n  initial begin\n    bad = 0; clk = 0;\n    \
         $readmemb(\"vectors.txt\", vectors);\n    for (k = 0; k < {cycles}; k = k + 1) begin\n      \
         v = vectors[k];\n      #5;\n      if (got !== v[194:35]) begin\n        bad = bad + 1;\n        \
         if (bad < 5) $display(\"%0d: got %b\\nwant %b\", k, got, v[194:35]);\n      end\n      \
         clk = 1; #5 clk = 0;\n    end\n    $display(\"mismatches %0d of %0d\", bad, k);\n  end\n\
         endmodule\n",
        last = cycles - 1,
    );
    for dialect in DIALECTS {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("vectors.txt"), &vectors).expect("vectors are written");
        let files = write_all(dir.path(), &top, dialect);
        assert_eq!(files.len(), 3, "memory, tally, clocked");
        let said = simulate(dir.path(), &files, &bench, dialect);
        assert!(said.contains("mismatches 0 of 2000\n"), "{dialect:?}:\n{said}");
        lint(&files, "clocked", dialect);
    }
}

#[test]
fn the_look() {
    let text = |dialect| {
        let header = vec!["Generated by mive 0.1.0 from `edge_16l` (sha256 3f9c2a71).".to_string()];
        print(&tally(), &Style { header, ..Style::new(dialect) })
    };
    insta::assert_snapshot!("tally_sv", text(Dialect::SystemVerilog));
    insta::assert_snapshot!("tally_v", text(Dialect::Verilog2005));
}

#[test]
fn the_prefix_names_every_module() {
    let style = Style { prefix: "edge_".to_string(), ..Style::new(Dialect::SystemVerilog) };
    let files = print_all(&clocked(), &style);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["edge_ram_1r1w.sv", "edge_tally.sv", "edge_clocked.sv"]);
    for (name, text) in &files {
        assert!(text.contains(&format!("module {} ", name.trim_end_matches(".sv"))), "{name}");
        assert!(!text.contains("mive_"), "{name} keeps the default prefix");
    }
}

fn module_with(name: &str, build: impl Fn(Word<'_>, Word<'_>)) -> Rc<Module> {
    let net = Net::new("wrong", "tests/rtl/printer.rs", "a wrong description.");
    let (a, b) = (net.input("a", s8(), "word"), net.input("b", s8(), "word"));
    build(a, b);
    net.output("y", (a + b).named(name), "sum");
    net.finish()
}

#[test]
#[should_panic(expected = "reserved word")]
fn a_reserved_word_is_refused() {
    print(&module_with("priority", |_, _| ()), &Style::new(Dialect::SystemVerilog));
}

#[test]
#[should_panic(expected = "ends in a number")]
fn a_numbered_name_is_refused() {
    print(&module_with("sum_2", |_, _| ()), &Style::new(Dialect::SystemVerilog));
}

#[test]
#[should_panic(expected = "two things are called y_o")]
fn a_word_that_takes_the_name_of_a_port_is_refused() {
    print(&module_with("y_o", |_, _| ()), &Style::new(Dialect::SystemVerilog));
}

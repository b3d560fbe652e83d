//! Every named word in every cycle, as a VCD whose hierarchy is that of the emitted test bench.
use std::io::{self, Write as _};

use vcd::{IdCode, TimescaleUnit, Value};

use super::super::RunError;
use crate::engine::Engine;
use crate::rtl::names::printed;
use crate::rtl::step::{Out, Program, Stepper, WordId};
use crate::rtl::verilog::{Dialect, Style};
use crate::simulate::record::Layout;
use crate::tensor::AtomicFile;

/// Nanoseconds of a cycle, as in the emitted test bench; the clock rises where a cycle begins.
const PERIOD: u64 = 10;
/// Bytes of a changed value beside its digits: `b`, a blank, the code and the line's end.
const AROUND: u64 = 6;

#[derive(Clone, Copy)]
enum Source {
    Word(WordId),
    Output(Out),
}

/// A word, or a port: its lanes are variables of their own, or side by side in one, lane 0 lowest.
struct Dumped {
    source: Source,
    /// Bits of a lane.
    width: u32,
    ids: Vec<IdCode>,
    /// As written last; empty before.
    last: Vec<i64>,
}

/// A VCD under way.
pub(super) struct Dump {
    file: AtomicFile,
    /// Holds what is not in the file yet.
    writer: vcd::Writer<Vec<u8>>,
    clock: IdCode,
    words: Vec<Dumped>,
    values: Vec<i64>,
}

impl Dump {
    pub fn create(file: AtomicFile, engine: &Engine, program: &Program) -> Result<Self, RunError> {
        let mut writer = vcd::Writer::new(vec![]);
        let made = header(&mut writer, engine, program);
        let (clock, words) = made.map_err(|e| file.refusal(&e))?;
        Ok(Self { file, writer, clock, words, values: vec![] })
    }

    /// About what a cycle takes: a quarter of what it would if every word changed, as measured in
    /// `tests/rtl/watch.rs`.
    pub fn bytes_a_cycle(&self) -> u64 {
        let all = self.words.iter().map(|w| w.ids.len() as u64 * (u64::from(w.width) + AROUND));
        all.sum::<u64>() / 4
    }

    pub fn cycle(&mut self, stepper: &Stepper, cycle: u64) -> Result<(), RunError> {
        let written = self.write(stepper, cycle).and_then(|()| self.pass_on());
        Ok(written.map_err(|e| self.file.refusal(&e))?)
    }

    fn write(&mut self, stepper: &Stepper, cycle: u64) -> io::Result<()> {
        self.writer.timestamp(cycle * PERIOD)?;
        self.writer.change_scalar(self.clock, true)?;
        for word in &mut self.words {
            match word.source {
                Source::Word(id) => self.values = stepper.read(id, 0),
                Source::Output(port) => self.values = stepper.get_stream(port, 0),
            }
            if self.values == word.last {
                continue;
            }
            let bits = |v: i64| (0..word.width).rev().map(move |b| v >> b.min(63) & 1 == 1);
            if let ([id], true) = (&word.ids[..], self.values.len() > 1) {
                let all = self.values.iter().rev().flat_map(|&v| bits(v)).map(Value::from);
                self.writer.change_vector(*id, all)?;
            } else {
                for (k, (&value, &id)) in self.values.iter().zip(&word.ids).enumerate() {
                    match word.width {
                        _ if word.last.get(k) == Some(&value) => {}
                        1 => self.writer.change_scalar(id, value & 1 == 1)?,
                        _ => self.writer.change_vector(id, bits(value).map(Value::from))?,
                    }
                }
            }
            word.last.clone_from(&self.values);
        }
        self.writer.timestamp(cycle * PERIOD + PERIOD / 2)?;
        self.writer.change_scalar(self.clock, false)
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let text = self.writer.writer();
        self.file.write_all(text)?;
        text.clear();
        Ok(())
    }

    /// Marks the end of the last cycle and gives the file, which is not at its place yet.
    pub fn finish(mut self, end: u64) -> Result<AtomicFile, RunError> {
        let marked = self.writer.timestamp(end * PERIOD).and_then(|()| self.pass_on());
        marked.map_err(|e| self.file.refusal(&e))?;
        Ok(self.file)
    }
}

/// Scopes and variables: the top's ports as the RTL has them, then every named word, each lane of a
/// bundle by itself as `word_lane`.
fn header(
    writer: &mut vcd::Writer<Vec<u8>>,
    engine: &Engine,
    program: &Program,
) -> io::Result<(IdCode, Vec<Dumped>)> {
    let top = Style::new(Dialect::SystemVerilog).module_name(&engine.top.name);
    writer.comment("cycle k is the time from 10 k to 10 k + 10; cycle 0 accepts the first beat")?;
    writer.timescale(1, TimescaleUnit::NS)?;
    writer.add_module(&format!("{top}_tb"))?;
    writer.add_module("u_dut")?;
    let clock = writer.add_wire(1, "clk_i")?;
    let mut dumped = vec![];
    let layout = Layout::of(engine);
    let inputs = layout.inputs.iter().map(|w| {
        let word = program.word(&w.name).expect("an input is a word");
        (format!("{}_i", w.name), w, Source::Word(word))
    });
    let outputs = layout.outputs.iter();
    let outputs =
        outputs.map(|w| (format!("{}_o", w.name), w, Source::Output(program.output(&w.name))));
    for (name, wire, source) in inputs.chain(outputs) {
        let ids = vec![writer.add_wire(wire.bits(), &name)?];
        dumped.push(Dumped { source, width: wire.width, ids, last: vec![] });
    }
    let words = program.words();
    let scope_of = |i: usize| {
        let parts: Vec<&str> = words[i].name.split('.').collect();
        parts[..parts.len() - 1].iter().map(|p| format!("u_{}", clean(p))).collect::<Vec<_>>()
    };
    let mut order: Vec<usize> = (0..words.len()).collect();
    order.sort_by_key(|&i| (scope_of(i), i));
    let mut open: Vec<String> = vec![];
    for i in order {
        let scope = scope_of(i);
        let common = open.iter().zip(&scope).take_while(|(a, b)| a == b).count();
        for _ in common..open.len() {
            writer.upscope()?;
        }
        for name in &scope[common..] {
            writer.add_module(name)?;
        }
        open = scope;
        let info = &words[i];
        let name = printed(&clean(info.name.rsplit('.').next().unwrap_or_default()));
        let width = info.ty.width().max(1);
        let mut ids = vec![];
        for lane in 0..info.count {
            let name = if info.count > 1 { format!("{name}_{lane}") } else { name.clone() };
            ids.push(writer.add_wire(width, &name)?);
        }
        dumped.push(Dumped { source: Source::Word(WordId(i)), width, ids, last: vec![] });
    }
    for _ in 0..open.len() + 2 {
        writer.upscope()?;
    }
    writer.enddefinitions()?;
    Ok((clock, dumped))
}

/// Only letters, digits and underscores.
fn clean(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

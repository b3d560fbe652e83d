//! How often the gates of an engine toggle while it works on given rows.
//!
//! Every row is a stream of its own, 64 at most, and they are stepped together. The netlist's stepper gives
//! what enters the engine in each cycle; the graph of gates is settled on it without delays and each bit that
//! differs from the cycle before is a toggle. Glitches, which delays would show, are not seen.
use std::collections::BTreeMap;
use std::ops::{Add, Index, IndexMut};

use super::area::SHELL;
use crate::engine::Engine;
use crate::gates::graph::{Graph, WordKind};
use crate::gates::{Gate, Origin, Role, blast};
use crate::program::Loaded;
use crate::rtl::step::{Mode, Stepper, WordId};
use crate::simulate::{Parameters, Rows, Simulator, Stall};

/// What is counted in the gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A toggle of an and gate.
    And,
    /// A toggle of an exclusive or.
    Xor,
    /// A toggle of a choice.
    Mux,
    /// A toggle of a sum bit in a carry-propagate chain.
    SumChain,
    /// A toggle of a sum bit in a carry-save tree.
    SumSave,
    /// A toggle of a carry of either.
    Carry,
    /// A toggle of a gate in a look-up table.
    Table,
    /// A toggle at the input of a flip-flop that holds while its enable is 0.
    Data,
    /// A toggle of a flip-flop's output.
    State,
    /// A toggle of a bit of an input port or of a word that a memory read.
    Entry,
    /// A flip-flop and a cycle: it is clocked whether it takes or holds.
    Clock,
}

impl Event {
    pub const ALL: [Event; 11] = [
        Event::And,
        Event::Xor,
        Event::Mux,
        Event::SumChain,
        Event::SumSave,
        Event::Carry,
        Event::Table,
        Event::Data,
        Event::State,
        Event::Entry,
        Event::Clock,
    ];

    /// The name in the files of the technologies.
    pub fn name(self) -> &'static str {
        match self {
            Event::And => "and",
            Event::Xor => "xor",
            Event::Mux => "mux",
            Event::SumChain => "sum_chain",
            Event::SumSave => "sum_save",
            Event::Carry => "carry",
            Event::Table => "table",
            Event::Data => "data",
            Event::State => "state",
            Event::Entry => "entry",
            Event::Clock => "clock",
        }
    }

    /// What a toggle of a gate counts as.
    fn of(graph: &Graph, node: usize) -> Option<Self> {
        Some(match (graph.gates[node], graph.origins[node]) {
            (Gate::Zero, _) => return None,
            (Gate::Source(_), _) => Event::Entry,
            (Gate::Register(_), _) => Event::State,
            (Gate::Carry(_), _) => Event::Carry,
            (Gate::Sum(k), _) => match graph.adders[k as usize].role {
                Role::Chain => Event::SumChain,
                Role::Save => Event::SumSave,
            },
            (_, Origin::Table) => Event::Table,
            (Gate::And(..), _) => Event::And,
            (Gate::Xor(..), _) => Event::Xor,
            (Gate::Mux(..), _) => Event::Mux,
        })
    }
}

/// How often each event happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events([u64; Event::ALL.len()]);

impl Index<Event> for Events {
    type Output = u64;
    fn index(&self, event: Event) -> &u64 {
        &self.0[event as usize]
    }
}

impl IndexMut<Event> for Events {
    fn index_mut(&mut self, event: Event) -> &mut u64 {
        &mut self.0[event as usize]
    }
}

impl Add for Events {
    type Output = Events;
    fn add(self, other: Events) -> Events {
        Events(std::array::from_fn(|k| self.0[k] + other.0[k]))
    }
}

/// Rows and what an engine is loaded with to work on them.
#[derive(Clone, Debug)]
pub struct Work {
    pub loaded: Loaded,
    pub parameters: Parameters,
    /// Row after row, in the input format.
    pub codes: Vec<i32>,
    /// 1 keeps an element; empty where every one is kept, else as long as `codes`.
    pub keep: Vec<u8>,
    /// k of each row; empty without row scales.
    pub k: Vec<u8>,
}

/// Events in the steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// Rows that were finished while it was counted.
    pub rows: u64,
    /// Cycles of each row.
    pub cycles_per_row: f64,
    /// Events of all rows by block: a module's name, or `shell` for the top.
    pub blocks: BTreeMap<String, Events>,
}

impl Activity {
    /// Events of all blocks.
    pub fn total(&self) -> Events {
        self.blocks.values().fold(Events::default(), |sum, e| sum + *e)
    }
}

/// Rows that are stepped together; the bits of a word of [`Graph::settle`].
const MOST_STREAMS: usize = 64;
/// Rows of a stream before those that are counted: two share the engine, and the first pair is alone in it.
const WARM_ROWS: usize = 4;
/// Rows of a stream that are counted: a pair, as the rows of a pair take different times.
pub const COUNTED_ROWS: usize = 2;
/// Rows of a stream behind them, so that the loader has its work.
const LAST_ROWS: usize = 2;

/// What a cycle that is shown belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Program, constants and parameters are loaded.
    Load,
    /// Rows before the counted ones.
    Warm,
    /// The last cycle before the counted ones.
    Before,
    /// Counted.
    Counted,
}

/// Streams of a work.
pub fn streams(work: &Work) -> usize {
    (work.codes.len() / work.loaded.binding.row_len as usize).clamp(1, MOST_STREAMS)
}

/// Runs a work and shows its cycles, each settled and before its clock. A stream starts with a row of its own
/// and takes the rows after it, the first one after the last.
pub fn walk(simulator: &Simulator, work: &Work, see: &mut dyn FnMut(Phase, &Stepper)) {
    let n = work.loaded.binding.row_len as usize;
    let (streams, n_rows) = (streams(work), work.codes.len() / n);
    let per_stream = WARM_ROWS + COUNTED_ROWS + LAST_ROWS;
    let order: Vec<usize> =
        (0..streams).flat_map(|s| (0..per_stream).map(move |k| (s + k) % n_rows)).collect();
    let x: Vec<i32> = order.iter().flat_map(|&r| &work.codes[r * n..][..n]).copied().collect();
    let keep: Vec<u8> = match work.keep.is_empty() {
        true => vec![],
        false => order.iter().flat_map(|&r| &work.keep[r * n..][..n]).copied().collect(),
    };
    let k: Vec<u8> = match work.k.is_empty() {
        true => vec![],
        false => order.iter().map(|&r| work.k[r]).collect(),
    };
    let rows = Rows {
        row_len: n,
        x: &x,
        keep: (!keep.is_empty()).then_some(&keep[..]),
        k: (!k.is_empty()).then_some(&k[..]),
    };
    let mut load = |stepper: &Stepper| see(Phase::Load, stepper);
    let (loaded, parameters) = (&work.loaded, &work.parameters);
    let mut session = simulator.session_watched(loaded, parameters, streams, Mode::Full, &mut load);
    let beats = n.div_ceil(simulator.lanes());
    let (mut taken, mut out) = (0, vec![0i32; x.len()]);
    let valid = simulator.program().output("m_axis_tvalid");
    let mut watch = |_: u64, stepper: &Stepper| {
        let rows_done = taken / beats;
        taken += usize::from(stepper.get_uniform(valid) == 1);
        let phase = match (rows_done, taken / beats) {
            (before, after) if after == WARM_ROWS && before < after => Phase::Before,
            (before, _) if before < WARM_ROWS => Phase::Warm,
            _ => Phase::Counted,
        };
        see(phase, stepper);
        taken < (WARM_ROWS + COUNTED_ROWS) * beats
    };
    session.run_watched(&rows, &mut Stall::none(), &mut out, &mut watch);
}

/// Bits of words of a stepper, one stream a bit of each.
pub struct Bits {
    word: WordId,
    width: u32,
    lanes: u32,
    first_lane: u32,
}

impl Bits {
    /// `lanes` lanes of a word of the hierarchy, from lane `first_lane` on.
    ///
    /// # Panics
    /// When the stepper does not know the name.
    pub fn new(simulator: &Simulator, name: &str, width: u32, lanes: u32, first_lane: u32) -> Self {
        let word = simulator.program().word(name);
        let word = word.unwrap_or_else(|| panic!("the stepper has no word {name}"));
        Self { word, width, lanes, first_lane }
    }

    /// Lane 0 lowest.
    pub fn read(&self, stepper: &Stepper) -> Vec<u64> {
        let mut bits = vec![0u64; (self.width * self.lanes) as usize];
        for stream in 0..stepper.streams() {
            let values = stepper.read(self.word, stream);
            for lane in 0..self.lanes {
                let is_shared = values.len() == 1;
                let value = values[if is_shared { 0 } else { (self.first_lane + lane) as usize }];
                for k in 0..self.width {
                    let bit = (value >> k & 1) as u64;
                    bits[(lane * self.width + k) as usize] |= bit << stream;
                }
            }
        }
        bits
    }
}

/// Counts the events of a work in the steady state.
pub fn activity(engine: &Engine, work: &Work) -> Activity {
    let simulator = Simulator::new(engine);
    let mut counter = Counter::new(blast::flat(&engine.top), &simulator);
    let mut cycles = 0u64;
    walk(&simulator, work, &mut |phase, stepper| match phase {
        Phase::Before => counter.start(stepper),
        Phase::Counted => {
            counter.step(stepper);
            cycles += 1;
        }
        Phase::Load | Phase::Warm => {}
    });
    let streams = streams(work) as u64;
    Activity {
        rows: streams * COUNTED_ROWS as u64,
        cycles_per_row: cycles as f64 / COUNTED_ROWS as f64,
        blocks: counter.finish(streams * cycles),
    }
}

/// Steps a graph beside a stepper and counts.
struct Counter {
    graph: Graph,
    /// Words that enter the graph: their bits in the stepper, and the node of each bit; state apart.
    entries: Vec<(Bits, Vec<Option<usize>>)>,
    state: Vec<(Bits, Vec<Option<usize>>)>,
    register_nodes: Vec<usize>,
    values: Vec<u64>,
    /// What the flip-flops take at the end of the cycle.
    next: Vec<u64>,
    /// Toggles of each node, and at the input of each flip-flop.
    toggles: Vec<u64>,
    data_toggles: Vec<u64>,
    streams: usize,
}

impl Counter {
    fn new(graph: Graph, simulator: &Simulator) -> Self {
        let mut nodes: Vec<Vec<Option<usize>>> =
            graph.words.iter().map(|w| vec![None; (w.width * w.lanes) as usize]).collect();
        let register_nodes = graph.register_nodes();
        let sources = graph.sources.iter().copied().zip(graph.source_nodes());
        let held = graph.registers.iter().map(|r| r.place).zip(register_nodes.iter().copied());
        for (place, node) in sources.chain(held) {
            nodes[place.word as usize][place.bit as usize] = Some(node);
        }
        let (mut entries, mut state) = (vec![], vec![]);
        for (word, nodes) in graph.words.iter().zip(nodes) {
            if nodes.iter().all(Option::is_none) {
                continue;
            }
            let block = &graph.blocks[word.block as usize];
            let dot = if block.path.is_empty() { "" } else { "." };
            let name = format!("{}{dot}{}", block.path, word.name);
            let first_lane = block.copy * word.lanes;
            let bits = Bits::new(simulator, &name, word.width, word.lanes, first_lane);
            let is_state = word.kind == WordKind::State;
            if is_state { &mut state } else { &mut entries }.push((bits, nodes));
        }
        let (gates, registers) = (graph.len(), graph.registers.len());
        Self {
            graph,
            entries,
            state,
            register_nodes,
            values: vec![0; gates],
            next: vec![],
            toggles: vec![0; gates],
            data_toggles: vec![0; registers],
            streams: 0,
        }
    }

    fn set(values: &mut [u64], words: &[(Bits, Vec<Option<usize>>)], stepper: &Stepper) {
        for (bits, nodes) in words {
            for (bit, node) in bits.read(stepper).into_iter().zip(nodes) {
                if let Some(node) = node {
                    values[*node] = bit;
                }
            }
        }
    }

    /// Takes the state of the stepper.
    fn start(&mut self, stepper: &Stepper) {
        self.streams = stepper.streams();
        Self::set(&mut self.values, &self.state, stepper);
        Self::set(&mut self.values, &self.entries, stepper);
        self.graph.settle(&mut self.values);
        self.next = self.graph.next_states(&self.values);
    }

    /// The clock, then the next cycle.
    fn step(&mut self, stepper: &Stepper) {
        let before = self.values.clone();
        for (&node, &next) in self.register_nodes.iter().zip(&self.next) {
            self.values[node] = next;
        }
        Self::set(&mut self.values, &self.entries, stepper);
        self.graph.settle(&mut self.values);
        let live = u64::MAX >> (64 - self.streams);
        let count = |a: u64, b: u64| u64::from(((a ^ b) & live).count_ones());
        for ((n, &a), &b) in self.toggles.iter_mut().zip(&before).zip(&self.values) {
            *n += count(a, b);
        }
        let next = self.graph.next_states(&self.values);
        for ((n, &a), &b) in self.data_toggles.iter_mut().zip(&self.next).zip(&next) {
            *n += count(a, b);
        }
        self.next = next;
    }

    /// Events by block; `clocks` is the number of cycles times that of streams.
    fn finish(self, clocks: u64) -> BTreeMap<String, Events> {
        let graph = &self.graph;
        let mut blocks: BTreeMap<String, Events> = BTreeMap::new();
        let mut all = vec![Events::default(); graph.blocks.len()];
        for (node, &n) in self.toggles.iter().enumerate() {
            if let Some(event) = Event::of(graph, node) {
                all[graph.block_of[node] as usize][event] += n;
            }
        }
        for ((r, &node), &n) in
            graph.registers.iter().zip(&self.register_nodes).zip(&self.data_toggles)
        {
            let events = &mut all[graph.block_of[node] as usize];
            events[Event::Clock] += clocks;
            if r.enable.as_constant() != Some(true) {
                events[Event::Data] += n;
            }
        }
        for (k, (block, events)) in graph.blocks.iter().zip(all).enumerate() {
            let name = if k == 0 { SHELL } else { &block.module };
            let sum = blocks.entry(name.to_string()).or_default();
            *sum = *sum + events;
        }
        blocks
    }
}

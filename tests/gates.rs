//! The graph of gates computes what the netlist computes: every module of three engines on random words,
//! against the plain evaluation of one operation at a time.
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use mive::config::{self, HwConfig};
use mive::engine::Engine;
use mive::gates::graph::{Graph, Lit, SinkKind, WordKind};
use mive::gates::{Counts, Kind, blast};
use mive::num::Interval;
use mive::rtl::step::{Program, Stepper, WordId};
use mive::rtl::{Module, NodeId, Op, evaluate};

/// Cases of one module: the bits of one word of [`Graph::settle`].
const CASES: usize = 64;

/// A generator for tests: xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A value of an interval: its ends, small numbers, or any.
    fn value(&mut self, ty: Interval) -> i64 {
        let span = (ty.hi as i128 - ty.lo as i128 + 1) as u128;
        match self.next() % 8 {
            0 => ty.lo,
            1 => ty.hi,
            2 => (self.next() % 4) as i64 - 2,
            _ => (ty.lo as i128 + (u128::from(self.next()) % span) as i128) as i64,
        }
        .clamp(ty.lo, ty.hi)
    }
}

/// Words of one module in one case: every node, every lane.
struct Case<'m> {
    module: &'m Module,
    words: Vec<Vec<i64>>,
}

impl<'m> Case<'m> {
    /// Draws the words that enter and computes the others. `None` when a word falls outside its interval:
    /// a state that the engine never reaches.
    fn draw(module: &'m Module, random: &mut Random) -> Option<Self> {
        let mut case = Case { module, words: vec![] };
        for node in &module.nodes {
            let drawn = matches!(
                node.op,
                Op::Input | Op::Reg { .. } | Op::MemRead { .. } | Op::InstanceOut { .. }
            );
            let lanes: Option<Vec<i64>> = (0..node.count)
                .map(
                    |lane| {
                        if drawn { Some(random.value(node.ty)) } else { case.compute(node, lane) }
                    },
                )
                .collect();
            case.words.push(lanes?);
        }
        Some(case)
    }

    fn value(&self, id: NodeId, lane: u32) -> i64 {
        let words = &self.words[id];
        words[if words.len() == 1 { 0 } else { lane as usize }]
    }

    fn compute(&self, node: &mive::rtl::Node, lane: u32) -> Option<i64> {
        if let Op::Gather(words) = &node.op {
            return Some(self.value(words[lane as usize], 0));
        }
        let lane = if let Op::Lane(_, k) = node.op { k } else { lane };
        let operands: Vec<(i64, Interval)> = (node.op.operands().into_iter())
            .map(|id| (self.value(id, lane), self.module.nodes[id].ty))
            .collect();
        // A `fit` is a claim about states that are reached; a random state may break it.
        let is_fit = matches!(node.op, Op::Fit(_));
        (!is_fit || node.ty.contains(operands[0].0)).then(|| evaluate(&node.op, node.ty, &operands))
    }
}

fn set_bits(values: &mut [u64], node: usize, case: usize, bit: bool) {
    values[node] |= u64::from(bit) << case;
}

/// Compares all sinks and next states of a module alone.
fn compare(module: &Module, random: &mut Random) -> usize {
    let graph = blast::module(module);
    check_order(&graph);
    let mut cases = vec![];
    for _ in 0..100 * CASES {
        if cases.len() < CASES {
            cases.extend(Case::draw(module, random));
        }
    }
    assert_eq!(cases.len(), CASES, "{}: too few states keep their intervals", module.name);
    let mut values = vec![0; graph.len()];
    let places = graph.sources.iter().copied().zip(graph.source_nodes());
    let held = graph.registers.iter().map(|r| r.place).zip(graph.register_nodes());
    for (place, node) in places.chain(held) {
        let word = &graph.words[place.word as usize];
        let (lane, bit) = (place.bit / word.width, place.bit % word.width);
        for (k, case) in cases.iter().enumerate() {
            set_bits(&mut values, node, k, case.value(word.node, lane) >> bit & 1 == 1);
        }
    }
    graph.settle(&mut values);
    let mut n = 0;
    let mut same = |what: &str, lit: Lit, expected: &dyn Fn(&Case) -> i64, bit: u32| {
        for (k, case) in cases.iter().enumerate() {
            let found = Graph::value(&values, lit) >> k & 1;
            let wanted = (expected(case) >> bit.min(63)) & 1;
            assert_eq!(found, wanted as u64, "{}: {what}, bit {bit}, case {k}", module.name);
            n += 1;
        }
    };
    for (sink, id, width) in sinks_of(module, &graph) {
        for (k, &lit) in sink.bits.iter().enumerate() {
            let (lane, bit) = (k as u32 / width, k as u32 % width);
            same(&sink.name, lit, &|case| case.value(id, lane), bit);
        }
    }
    let next = graph.next_states(&values);
    for (r, next) in graph.registers.iter().zip(next) {
        let word = &graph.words[r.place.word as usize];
        let (lane, bit) = (r.place.bit / word.width, r.place.bit % word.width);
        let Op::Reg { next: Some(source), enable, .. } = module.nodes[word.node].op else {
            panic!("a register")
        };
        for (k, case) in cases.iter().enumerate() {
            let takes = enable.is_none_or(|e| case.value(e, lane) == 1);
            let wanted = case.value(if takes { source } else { word.node }, lane) >> bit & 1;
            assert_eq!(next >> k & 1, wanted as u64, "{}: register, case {k}", module.name);
            n += 1;
        }
    }
    n
}

/// Each sink with the node that it shows and the bits of one lane.
fn sinks_of<'g>(
    module: &Module,
    graph: &'g Graph,
) -> Vec<(&'g mive::gates::graph::Sink, NodeId, u32)> {
    let mut nodes: HashMap<String, (NodeId, u32)> = HashMap::new();
    let width = |id: NodeId| module.nodes[id].ty.width();
    for (name, id) in &module.outputs {
        nodes.insert(name.clone(), (*id, width(*id)));
    }
    for i in &module.instances {
        for (&port, &id) in i.module.inputs.iter().zip(&i.inputs) {
            let name = format!("u_{}.{}", i.name, i.module.name_of(port));
            nodes.insert(name, (id, i.module.nodes[port].ty.width()));
        }
    }
    for m in &module.memories {
        for (field, &id) in m.fields.iter().zip(&m.write_data) {
            nodes.insert(format!("{}.{}", m.name, field.name), (id, field.ty.width()));
        }
        for (name, id) in [
            ("write_enable", m.write_enable),
            ("write_address", m.write_address),
            ("read_enable", m.read_enable),
            ("read_address", m.read_address),
        ] {
            nodes.insert(format!("{}.{name}", m.name), (id, width(id)));
        }
    }
    assert_eq!(nodes.len(), graph.sinks.len(), "{}", module.name);
    (graph.sinks.iter()).map(|s| (s, nodes[&s.name].0, nodes[&s.name].1)).collect()
}

fn check_order(graph: &Graph) {
    for node in 0..graph.len() {
        assert!(graph.operands(node).all(|l| l.node() < node), "node {node} reads a later one");
    }
}

fn modules(top: &Rc<Module>, all: &mut Vec<Rc<Module>>) {
    for i in &top.instances {
        modules(&i.module, all);
    }
    if !all.iter().any(|m| m.name == top.name) {
        all.push(top.clone());
    }
}

fn shipped(name: &str) -> HwConfig {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("hw_configs");
    config::load(&folder.join(format!("{name}.toml"))).expect("a shipped configuration")
}

fn compare_engine(config: &HwConfig) {
    let engine = Engine::describe(config);
    let mut all = vec![];
    modules(&engine.top, &mut all);
    assert!(all.len() >= 8);
    let mut random = Random(7);
    let counts: Vec<usize> = all.iter().map(|m| compare(m, &mut random)).collect();
    assert!(counts.iter().all(|&n| n >= 8 * CASES), "{counts:?} bits compared");
}

#[test]
fn gates_compute_what_tiny_computes() {
    compare_engine(&shipped("tiny"));
}

#[test]
fn gates_compute_what_edge_computes() {
    compare_engine(&shipped("edge"));
}

#[test]
fn gates_compute_what_edge16_computes() {
    compare_engine(&shipped("edge16"));
}

#[test]
fn a_flat_graph_holds_the_registers_of_its_modules() {
    let engine = Engine::describe(&shipped("tiny"));
    let graph = blast::flat(&engine.top);
    check_order(&graph);
    assert!(graph.words.iter().all(|w| w.kind != WordKind::InstanceOut));
    assert!(graph.sinks.iter().all(|s| s.kind != SinkKind::InstanceIn));
    assert_eq!(graph.blocks.len(), 8, "{:?}", graph.blocks);
    assert!(graph.registers.len() as u64 <= engine.top.register_bits());
    let mut all = vec![];
    modules(&engine.top, &mut all);
    let apart: Counts =
        (all.iter()).map(|m| Counts::of(&blast::module(m))).fold(Counts::default(), |a, b| a + b);
    let flat = Counts::of(&graph);
    for kind in Kind::ALL {
        // Folding across modules only removes gates, but for halves of adders and inverters.
        let is_less = flat[kind] <= apart[kind] + apart[kind] / 20 + 8;
        assert!(is_less, "{kind:?}: {} flat, {} apart", flat[kind], apart[kind]);
    }
    assert!(flat[Kind::AdderSave] > 100 && flat[Kind::FlopEnable] > 100);
}

/// Sets the words that enter a flat graph from a stepper's, one stream a case.
fn set_from(
    graph: &Graph,
    words: &[Option<WordId>],
    stepper: &Stepper,
    streams: usize,
) -> Vec<u64> {
    let mut values = vec![0; graph.len()];
    let held: Vec<Vec<Vec<i64>>> = (words.iter())
        .map(|w| w.map_or(vec![], |w| (0..streams).map(|s| stepper.read(w, s)).collect()))
        .collect();
    let places = graph.sources.iter().copied().zip(graph.source_nodes());
    let registers = graph.registers.iter().map(|r| r.place).zip(graph.register_nodes());
    for (place, node) in places.chain(registers) {
        let word = &graph.words[place.word as usize];
        let (lane, bit) = (place.bit / word.width, place.bit % word.width);
        let lane = graph.blocks[word.block as usize].copy * word.lanes + lane;
        for (stream, lanes) in held[place.word as usize].iter().enumerate() {
            let value = lanes[if lanes.len() == 1 { 0 } else { lane as usize }];
            set_bits(&mut values, node, stream, value >> bit & 1 == 1);
        }
    }
    values
}

#[test]
fn a_flat_graph_steps_as_the_stepper_does() {
    const STREAMS: usize = 16;
    for name in ["tiny", "edge", "server"] {
        let engine = Engine::describe(&shipped(name));
        let graph = blast::flat(&engine.top);
        let varying = ["s_axis_tdata", "s_axis_tuser_keep", "load_gamma", "load_beta"];
        let program = Program::new(&engine.top, &varying);
        let mut stepper = Stepper::new(&program, STREAMS);
        let mut random = Random(11);
        let full_name = |w: &mive::gates::graph::Word| match &*graph.blocks[w.block as usize].path {
            "" => w.name.clone(),
            path => format!("{path}.{}", w.name),
        };
        let words: Vec<Option<WordId>> =
            graph.words.iter().map(|w| program.word(&full_name(w))).collect();
        assert!(words.iter().all(Option::is_some), "a word that the stepper does not know");
        let (mut n, mut expected) = (0, vec![]);
        for _cycle in 0..60 {
            for &id in &engine.top.inputs {
                let (port, node) = (engine.top.name_of(id), &engine.top.nodes[id]);
                let input = program.input(port);
                if varying.contains(&port) {
                    let all = STREAMS * node.count as usize;
                    let values: Vec<i64> = (0..all).map(|_| random.value(node.ty)).collect();
                    let lanes = node.count as usize;
                    let part = |stream| stream * lanes..(stream + 1) * lanes;
                    stepper.set_varying(input, &values, part, 0);
                } else {
                    let lanes: Vec<i64> = (0..node.count).map(|_| random.value(node.ty)).collect();
                    stepper.set_uniform_lanes(input, &lanes);
                }
            }
            stepper.settle();
            let mut values = set_from(&graph, &words, &stepper, STREAMS);
            for (node, next) in graph.register_nodes().into_iter().zip(&expected) {
                assert_eq!(values[node], *next, "{name}: a register");
                n += 1;
            }
            graph.settle(&mut values);
            for sink in graph.sinks.iter().filter(|s| s.kind == SinkKind::Output) {
                let (_, id) = engine.top.outputs.iter().find(|(n, _)| *n == sink.name).expect("it");
                let (ty, node) = (engine.top.nodes[*id].ty, engine.top.name_of(*id));
                let Some(word) = program.word(node) else { continue };
                for (stream, (k, &lit)) in
                    (0..STREAMS).flat_map(|s| sink.bits.iter().enumerate().map(move |b| (s, b)))
                {
                    let (lane, bit) = (k / ty.width() as usize, k % ty.width() as usize);
                    let lanes = stepper.read(word, stream);
                    let wanted = lanes[if lanes.len() == 1 { 0 } else { lane }] >> bit & 1;
                    let found = Graph::value(&values, lit) >> stream & 1;
                    assert_eq!(found, wanted as u64, "{name}: {} bit {k}", sink.name);
                    n += 1;
                }
            }
            let live = (1u64 << STREAMS) - 1;
            expected = graph.next_states(&values).into_iter().map(|v| v & live).collect();
            stepper.clock();
        }
        assert!(n > 20_000, "{name}: {n} comparisons");
    }
}

//! From a module of the netlist to its graph of gates.
use super::build::Builder;
use super::graph::{Block, Graph, Lit, Place, Sink, SinkKind, Word, WordKind};
use super::word::Value;
use crate::num::Interval;
use crate::rtl::{Module, NodeId, Op};
use std::rc::Rc;

/// The graph of a module alone: outputs of its instances are sources, their inputs are sinks.
pub fn module(module: &Module) -> Graph {
    Blaster::new(false).run(module)
}

/// The graph of a module and everything below it. Every copy of an instance is a block of its own.
pub fn flat(module: &Module) -> Graph {
    Blaster::new(true).run(module)
}

/// One copy of a module under way.
pub(super) struct Frame<'m> {
    pub module: &'m Module,
    /// The frame above, the instance in it, and which of its copies this is.
    above: Option<(usize, usize, u32)>,
    /// All lanes of each node, lane 0 lowest.
    words: Vec<Option<Rc<[Lit]>>>,
    /// Frames of each instance's copies.
    below: Vec<Vec<usize>>,
    /// Registers to drive: node, and number of its lowest bit.
    registers: Vec<(NodeId, usize)>,
    /// How often each node is read.
    pub readers: Vec<u32>,
}

/// A graph under way.
pub(super) struct Blaster<'m> {
    pub builder: Builder,
    pub frames: Vec<Frame<'m>>,
    is_flat: bool,
}

impl<'m> Blaster<'m> {
    fn new(is_flat: bool) -> Self {
        Self { builder: Builder::new(), frames: vec![], is_flat }
    }

    fn run(mut self, top: &'m Module) -> Graph {
        self.frame(top, None, String::new(), 0);
        for frame in 0..self.frames.len() {
            for id in 0..self.frames[frame].module.nodes.len() {
                self.word(frame, id);
            }
        }
        for frame in 0..self.frames.len() {
            self.builder.block = frame as u16;
            self.drive(frame);
            self.leave(frame);
        }
        self.builder.finish()
    }

    /// Opens a frame, and those of what it instantiates where the graph is flat.
    fn frame(
        &mut self,
        module: &'m Module,
        above: Option<(usize, usize, u32)>,
        path: String,
        copy: u32,
    ) -> usize {
        let this = self.frames.len();
        let block = Block { path: path.clone(), copy, module: module.name.clone() };
        self.builder.graph.blocks.push(block);
        self.frames.push(Frame {
            module,
            above,
            words: vec![None; module.nodes.len()],
            below: vec![],
            registers: vec![],
            readers: readers(module),
        });
        if self.is_flat {
            for (k, instance) in module.instances.iter().enumerate() {
                let dot = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{dot}{}", instance.name);
                let mut open = |i: u32| {
                    let above = Some((this, k, i));
                    self.frame(&instance.module, above, path.clone(), copy * instance.count + i)
                };
                let below = (0..instance.count).map(&mut open).collect();
                self.frames[this].below.push(below);
            }
        }
        this
    }

    /// Bits of a word that enter the graph.
    fn enter(&mut self, frame: usize, id: NodeId, kind: WordKind) -> Vec<Lit> {
        let word = self.declare(frame, id, kind);
        let node = &self.frames[frame].module.nodes[id];
        let bits = 0..node.ty.width() * node.count;
        bits.map(|bit| self.builder.source(Place { word, bit })).collect()
    }

    fn declare(&mut self, frame: usize, id: NodeId, kind: WordKind) -> u32 {
        let node = &self.frames[frame].module.nodes[id];
        let (width, lanes) = (node.ty.width(), node.count);
        let name = node.name.clone().unwrap_or_default();
        let words = &mut self.builder.graph.words;
        words.push(Word { kind, name, block: frame as u16, node: id, width, lanes });
        words.len() as u32 - 1
    }

    /// All lanes of a node.
    fn word(&mut self, frame: usize, id: NodeId) -> Rc<[Lit]> {
        if let Some(word) = &self.frames[frame].words[id] {
            return word.clone();
        }
        let module = self.frames[frame].module;
        let node = &module.nodes[id];
        let block = std::mem::replace(&mut self.builder.block, frame as u16);
        let bits: Vec<Lit> = match &node.op {
            Op::Input => match self.frames[frame].above {
                None => self.enter(frame, id, WordKind::Input),
                Some((above, instance, copy)) => self.port(above, instance, copy, id, node.ty),
            },
            Op::MemRead { .. } => self.enter(frame, id, WordKind::Read),
            Op::InstanceOut { instance, .. } if !self.is_flat => {
                debug_assert!(*instance < module.instances.len());
                self.enter(frame, id, WordKind::InstanceOut)
            }
            Op::InstanceOut { instance, port } => {
                let below = self.frames[frame].below[*instance].clone();
                let driver = module.instances[*instance].module.outputs[*port].1;
                below.into_iter().flat_map(|f| self.word(f, driver).to_vec()).collect()
            }
            Op::Reg { reset, .. } => {
                let word = self.declare(frame, id, WordKind::State);
                let width = node.ty.width();
                let mut bits = vec![];
                for bit in 0..width * node.count {
                    let reset = reset.map(|v| v >> (bit % width) & 1 == 1);
                    let (lit, number) = self.builder.register(Place { word, bit }, reset);
                    if bit == 0 {
                        self.frames[frame].registers.push((id, number));
                    }
                    bits.push(lit);
                }
                bits
            }
            Op::Gather(words) => {
                let width = node.ty.width();
                words.iter().flat_map(|&w| self.value(frame, w, 0).resized(width)).collect()
            }
            _ => (0..node.count).flat_map(|lane| self.operation(frame, id, lane)).collect(),
        };
        debug_assert_eq!(bits.len() as u32, node.ty.width() * node.count, "{:?}", node.op);
        self.builder.block = block;
        let word: Rc<[Lit]> = bits.into();
        self.frames[frame].words[id] = Some(word.clone());
        word
    }

    /// What drives an input port of one copy of an instance.
    fn port(
        &mut self,
        above: usize,
        instance: usize,
        copy: u32,
        input: NodeId,
        ty: Interval,
    ) -> Vec<Lit> {
        let i = &self.frames[above].module.instances[instance];
        let place = i.module.inputs.iter().position(|&n| n == input).expect("a port");
        let (driver, lanes) = (i.inputs[place], i.module.nodes[input].count);
        let have = self.frames[above].module.nodes[driver].count;
        // A bundle of bundles: each copy takes its neighbours.
        let first = if have > lanes { copy * lanes } else { 0 };
        let lane_of = |k: u32| if have == 1 { 0 } else { first + k };
        (0..lanes).flat_map(|k| self.value(above, driver, lane_of(k)).resized(ty.width())).collect()
    }

    /// One lane of a node; a single word is the same for every lane.
    pub fn value(&mut self, frame: usize, id: NodeId, lane: u32) -> Value {
        let word = self.word(frame, id);
        let node = &self.frames[frame].module.nodes[id];
        let width = node.ty.width() as usize;
        let low = if node.count == 1 { 0 } else { lane as usize * width };
        Value::new(word[low..low + width].to_vec(), node.ty.is_signed())
    }

    fn drive(&mut self, frame: usize) {
        let module = self.frames[frame].module;
        for (id, first) in std::mem::take(&mut self.frames[frame].registers) {
            let node = &module.nodes[id];
            let Op::Reg { next: Some(next), enable, .. } = node.op else {
                unreachable!("a finished module drives its registers")
            };
            let width = node.ty.width();
            for lane in 0..node.count {
                let next = self.value(frame, next, lane).resized(width);
                let enable = enable.map_or(Lit::TRUE, |e| self.value(frame, e, lane).bits[0]);
                for (k, next) in next.into_iter().enumerate() {
                    let number = first + (lane * width) as usize + k;
                    self.builder.drive(number, next, enable);
                }
            }
        }
    }

    /// What leaves the graph from a frame.
    fn leave(&mut self, frame: usize) {
        let module = self.frames[frame].module;
        let leave = |s: &mut Self, kind, name: String, id: NodeId, ty: Option<Interval>| {
            let (count, width) = (module.nodes[id].count, module.nodes[id].ty.width());
            let width = ty.map_or(width, Interval::width);
            let bits = (0..count).flat_map(|l| s.value(frame, id, l).resized(width)).collect();
            s.builder.graph.sinks.push(Sink { kind, block: frame as u16, name, bits });
        };
        if self.frames[frame].above.is_none() {
            for (name, id) in &module.outputs {
                leave(self, SinkKind::Output, name.clone(), *id, None);
            }
        }
        let instances = if self.is_flat { &[][..] } else { &module.instances };
        for i in instances {
            for (&port, &id) in i.module.inputs.iter().zip(&i.inputs) {
                let name = format!("u_{}.{}", i.name, i.module.name_of(port));
                leave(self, SinkKind::InstanceIn, name, id, Some(i.module.nodes[port].ty));
            }
        }
        for m in &module.memories {
            let ports = [
                ("write_enable", m.write_enable),
                ("write_address", m.write_address),
                ("read_enable", m.read_enable),
                ("read_address", m.read_address),
            ];
            for (port, id) in ports {
                leave(self, SinkKind::Memory, format!("{}.{port}", m.name), id, None);
            }
            for (field, &id) in m.fields.iter().zip(&m.write_data) {
                let name = format!("{}.{}", m.name, field.name);
                leave(self, SinkKind::Memory, name, id, Some(field.ty));
            }
        }
    }
}

/// How often each node is read, as an operand or by a register, a port, an instance or a memory.
fn readers(module: &Module) -> Vec<u32> {
    let mut count = vec![0; module.nodes.len()];
    let mut read = |id: NodeId| count[id] += 1;
    for node in &module.nodes {
        node.op.operands().into_iter().for_each(&mut read);
        if let Op::Reg { next, enable, .. } = node.op {
            next.iter().chain(&enable).copied().for_each(&mut read);
        }
    }
    module.outputs.iter().map(|(_, id)| *id).for_each(&mut read);
    module.instances.iter().flat_map(|i| i.inputs.clone()).for_each(&mut read);
    for m in &module.memories {
        let ports = [m.write_enable, m.write_address, m.read_enable, m.read_address];
        ports.into_iter().chain(m.write_data.iter().copied()).for_each(&mut read);
    }
    count
}

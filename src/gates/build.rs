//! Building a graph: constants are folded, equal gates are one gate, dead gates are dropped at the end.
use std::collections::HashMap;

use super::graph::{Adder, Gate, Graph, Lit, Origin, Place, Register, Role};

/// A bit on its way into an adder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bit {
    pub lit: Lit,
    /// Whether synthesis sees a constant here. It does not behind an adder: adders are cells before their
    /// constants are folded, so one that adds a carry of 0 stays a full adder.
    pub is_seen: bool,
}

impl From<Lit> for Bit {
    fn from(lit: Lit) -> Self {
        Self { lit, is_seen: true }
    }
}

/// A graph that grows.
#[derive(Default)]
pub struct Builder {
    pub graph: Graph,
    seen: HashMap<Gate, u32>,
    /// What new gates belong to.
    pub origin: Origin,
    pub block: u16,
}

impl Builder {
    pub fn new() -> Self {
        let mut builder = Self::default();
        builder.push(Gate::Zero);
        builder
    }

    fn push(&mut self, gate: Gate) -> Lit {
        self.graph.gates.push(gate);
        self.graph.origins.push(self.origin);
        self.graph.block_of.push(self.block);
        Lit::new(self.graph.gates.len() - 1, false)
    }

    /// The gate, made when there is none like it.
    fn shared(&mut self, gate: Gate) -> Lit {
        if let Some(&node) = self.seen.get(&gate) {
            return Lit::new(node as usize, false);
        }
        let lit = self.push(gate);
        self.seen.insert(gate, lit.node() as u32);
        lit
    }

    pub fn source(&mut self, place: Place) -> Lit {
        self.graph.sources.push(place);
        self.push(Gate::Source(self.graph.sources.len() as u32 - 1))
    }

    /// A register without its input, and its number for [`Builder::drive`].
    pub fn register(&mut self, place: Place, reset: Option<bool>) -> (Lit, usize) {
        let register = Register { next: Lit::FALSE, enable: Lit::TRUE, reset, place };
        self.graph.registers.push(register);
        let number = self.graph.registers.len() - 1;
        (self.push(Gate::Register(number as u32)), number)
    }

    pub fn drive(&mut self, register: usize, next: Lit, enable: Lit) {
        let r = &mut self.graph.registers[register];
        (r.next, r.enable) = (next, enable);
    }

    pub fn and(&mut self, a: Lit, b: Lit) -> Lit {
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        match a.as_constant() {
            Some(false) => return Lit::FALSE,
            Some(true) => return b,
            None if a == b => return a,
            None if a == !b => return Lit::FALSE,
            None => {}
        }
        // What the other operand already holds, or excludes.
        for (x, y) in [(a, b), (b, a)] {
            if let (Gate::And(p, q), false) = (self.graph.gates[y.node()], y.is_inverted()) {
                if x == p || x == q {
                    return y;
                }
                if x == !p || x == !q {
                    return Lit::FALSE;
                }
            }
        }
        self.shared(Gate::And(a, b))
    }

    pub fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    pub fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        let is_inverted = a.is_inverted() ^ b.is_inverted();
        let (a, b) = (a.inverted(a.is_inverted()), b.inverted(b.is_inverted()));
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        let plain = match a.as_constant() {
            Some(_) => b,
            None if a == b => Lit::FALSE,
            None => self.shared(Gate::Xor(a, b)),
        };
        plain.inverted(is_inverted)
    }

    /// `s ? a : b`.
    pub fn mux(&mut self, s: Lit, a: Lit, b: Lit) -> Lit {
        let (s, a, b) = if s.is_inverted() { (!s, b, a) } else { (s, a, b) };
        if a == b || s.as_constant().is_some() {
            return if s == Lit::TRUE { a } else { b };
        }
        if a == !b {
            return self.xor(s, b);
        }
        match (a.as_constant(), b.as_constant()) {
            (Some(true), _) => return self.or(s, b),
            (Some(false), _) => return self.and(!s, b),
            (_, Some(true)) => return self.or(!s, a),
            (_, Some(false)) => return self.and(s, a),
            _ => {}
        }
        if a.node() == s.node() {
            return if a == s { self.or(s, b) } else { self.and(!s, b) };
        }
        if b.node() == s.node() {
            return if b == s { self.and(s, a) } else { self.or(!s, a) };
        }
        let is_inverted = a.is_inverted();
        let (a, b) = (a.inverted(is_inverted), b.inverted(is_inverted));
        self.shared(Gate::Mux(s, a, b)).inverted(is_inverted)
    }

    /// Sum and carry of three bits. A constant that synthesis sees makes the adder a half adder out of plain
    /// gates. Equal adders are not shared: they are cells before anything could find them equal.
    pub fn add(&mut self, operands: [Bit; 3], role: Role) -> (Bit, Bit) {
        let [a, b, c] = operands.map(|bit| bit.lit);
        let seen = |k: usize| operands[k].is_seen.then(|| operands[k].lit.as_constant()).flatten();
        let (sum, carry) = match [(2, a, b), (1, a, c), (0, b, c)]
            .into_iter()
            .find_map(|(k, x, y)| Some((seen(k)?, x, y)))
        {
            Some((false, x, y)) => (self.xor(x, y), self.and(x, y)),
            Some((true, x, y)) => (!self.xor(x, y), self.or(x, y)),
            None => {
                self.graph.adders.push(Adder { operands: [a, b, c], role });
                let number = self.graph.adders.len() as u32 - 1;
                (self.push(Gate::Sum(number)), self.push(Gate::Carry(number)))
            }
        };
        (Bit { lit: sum, is_seen: false }, Bit { lit: carry, is_seen: false })
    }

    /// The graph without what no sink sees.
    pub fn finish(self) -> Graph {
        let old = self.graph;
        let mut is_live = vec![false; old.gates.len()];
        let mut open: Vec<usize> =
            old.sinks.iter().flat_map(|s| s.bits.iter().map(|b| b.node())).collect();
        is_live[0] = true;
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut is_live[node], true) {
                continue;
            }
            open.extend(old.operands(node).map(Lit::node));
            if let Gate::Register(k) = old.gates[node] {
                let r = &old.registers[k as usize];
                open.extend([r.next.node(), r.enable.node()]);
            }
        }
        // Sources stay, for whoever sets them.
        for (node, gate) in old.gates.iter().enumerate() {
            is_live[node] |= matches!(gate, Gate::Source(_));
        }
        let mut new = Graph {
            sources: old.sources,
            words: old.words,
            blocks: old.blocks,
            ..Graph::default()
        };
        let mut moved = vec![u32::MAX; old.gates.len()];
        let mut adders = vec![u32::MAX; old.adders.len()];
        let lit = |moved: &[u32], l: Lit| Lit::new(moved[l.node()] as usize, l.is_inverted());
        for node in (0..old.gates.len()).filter(|&n| is_live[n]) {
            moved[node] = new.gates.len() as u32;
            let mut adder = |k: u32| {
                if adders[k as usize] == u32::MAX {
                    adders[k as usize] = new.adders.len() as u32;
                    let a = old.adders[k as usize];
                    let operands = a.operands.map(|l| lit(&moved, l));
                    new.adders.push(Adder { operands, ..a });
                }
                adders[k as usize]
            };
            let gate = match old.gates[node] {
                Gate::Zero => Gate::Zero,
                Gate::Source(k) => Gate::Source(k),
                Gate::And(a, b) => Gate::And(lit(&moved, a), lit(&moved, b)),
                Gate::Xor(a, b) => Gate::Xor(lit(&moved, a), lit(&moved, b)),
                Gate::Mux(s, a, b) => Gate::Mux(lit(&moved, s), lit(&moved, a), lit(&moved, b)),
                Gate::Sum(k) => Gate::Sum(adder(k)),
                Gate::Carry(k) => Gate::Carry(adder(k)),
                Gate::Register(k) => {
                    new.registers.push(old.registers[k as usize]);
                    Gate::Register(new.registers.len() as u32 - 1)
                }
            };
            new.gates.push(gate);
            new.origins.push(old.origins[node]);
            new.block_of.push(old.block_of[node]);
        }
        for r in &mut new.registers {
            (r.next, r.enable) = (lit(&moved, r.next), lit(&moved, r.enable));
        }
        new.sinks = old.sinks;
        for bit in new.sinks.iter_mut().flat_map(|s| &mut s.bits) {
            *bit = lit(&moved, *bit);
        }
        new
    }
}

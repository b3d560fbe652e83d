//! The words of one module as text: which nodes have a name, and what the others look like in place.
use super::bits::{Piece, Signal, Slice, Value, Writer};
use super::{Style, multiply, names};
use crate::num::Interval;
use crate::rtl::module::{Module, Node, NodeId, Op};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Which lane of a bundle is meant. A word of count 1 is the same at every place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    Fixed(u32),
    /// The lane of the loop around the statement.
    Each,
}

/// A table that becomes a function.
pub struct Table {
    pub index_width: u32,
    pub entries: Rc<Vec<i64>>,
    pub ty: Interval,
}

pub struct Scope<'m> {
    pub module: &'m Module,
    pub style: &'m Style,
    pub signals: Vec<Signal>,
    /// The declared word of a node, or `None` when it is written in place.
    signal_of: Vec<Option<usize>>,
    pub tables: BTreeMap<String, Table>,
    /// Products that are sums of rows, and the name of the function that gives a row.
    pub rows: BTreeMap<NodeId, String>,
    pub lane: String,
    /// Name of the argument of table functions.
    pub argument: String,
    /// Names of the arguments of row functions.
    pub factor: String,
    pub digit: String,
    names: BTreeSet<String>,
    read: RefCell<Vec<Vec<bool>>>,
}

impl<'m> Scope<'m> {
    pub fn new(module: &'m Module, style: &'m Style) -> Self {
        let mut scope = Scope {
            module,
            style,
            signals: vec![],
            signal_of: vec![None; module.nodes.len()],
            tables: BTreeMap::new(),
            rows: BTreeMap::new(),
            lane: String::new(),
            argument: String::new(),
            factor: String::new(),
            digit: String::new(),
            names: BTreeSet::new(),
            read: RefCell::new(vec![]),
        };
        for name in ["clk_i", "rst_ni"] {
            scope.claim(name);
        }
        let full_name = style.module_name(&module.name);
        if let Err(why) = names::check_module(&module.name, &full_name) {
            panic!("{why}");
        }
        scope.names.insert(full_name);
        let memories = module.memories.iter().map(|m| &m.name);
        for name in module.instances.iter().map(|i| &i.name).chain(memories) {
            scope.claim(&format!("u_{name}"));
        }
        for (name, _) in &module.outputs {
            scope.claim(&format!("{name}_o"));
        }
        for (id, node) in module.nodes.iter().enumerate() {
            if let Op::Rom(index, name, entries) = &node.op {
                scope.add_table(name, *index, entries, node.ty);
            }
            if let Some(name) = &node.name {
                let name = match node.op {
                    Op::Input => format!("{name}_i"),
                    _ => names::printed(name),
                };
                scope.declare_node(id, &name);
            }
        }
        for id in 0..module.nodes.len() {
            if matches!(module.nodes[id].op, Op::Rom(..)) && module.nodes[id].name.is_none() {
                let name = scope.source_name(id);
                scope.declare_node(id, &name);
            }
        }
        scope.lane = scope.free_name(&["lane", "lane_index"]);
        scope.argument = scope.free_name(&["index", "row", "table_index"]);
        scope.name_rows();
        scope
    }

    fn node(&self, id: NodeId) -> &'m Node {
        &self.module.nodes[id]
    }

    /// Takes a name.
    ///
    /// # Panics
    /// When it is illegal or taken: a wrong description.
    pub fn claim(&mut self, name: &str) {
        let module = &self.module.name;
        if let Err(why) = names::check_name(name) {
            panic!("{module}: {why}");
        }
        assert!(self.names.insert(name.to_string()), "{module}: two things are called {name}");
    }

    fn free_name(&mut self, candidates: &[&str]) -> String {
        let free = candidates.iter().find(|name| !self.names.contains(**name));
        let name = free.unwrap_or_else(|| panic!("{}: taken: {candidates:?}", self.module.name));
        self.claim(name);
        (*name).to_string()
    }

    pub fn declare(&mut self, name: &str, ty: Interval, count: u32) -> usize {
        self.claim(name);
        let signal = Signal {
            name: name.to_string(),
            width: ty.width(),
            count,
            is_signed: ty.is_signed() && count == 1,
        };
        self.read.borrow_mut().push(vec![false; signal.total() as usize]);
        self.signals.push(signal);
        self.signals.len() - 1
    }

    fn declare_node(&mut self, id: NodeId, name: &str) {
        let node = self.node(id);
        self.signal_of[id] = Some(self.declare(name, node.ty, node.count));
    }

    fn add_table(&mut self, name: &str, index: NodeId, entries: &Rc<Vec<i64>>, ty: Interval) {
        let index_width = self.node(index).ty.width();
        if let Some(table) = self.tables.get_mut(name) {
            assert!(table.entries == *entries, "two tables are called {name}");
            table.index_width = table.index_width.max(index_width);
            return;
        }
        self.claim(name);
        self.tables.insert(name.to_string(), Table { index_width, entries: entries.clone(), ty });
    }

    /// A name for an unnamed word, from the word or port that reads it.
    fn source_name(&self, id: NodeId) -> String {
        let places = ["source", "second_source", "third_source", "fourth_source"];
        let readers = self.module.nodes.iter().enumerate();
        let user = readers.into_iter().find_map(|(reader, node)| {
            let place = node.op.operands().iter().position(|&o| o == id)?;
            Some((reader, place))
        });
        if let Some((reader, place)) = user {
            let base = match &self.node(reader).name {
                Some(name) => name.clone(),
                None => self.source_name(reader),
            };
            return format!("{base}_{}", places[place.min(places.len() - 1)]);
        }
        let driven = self.module.nodes.iter().find_map(|n| match &n.op {
            Op::Reg { next, enable, .. } if *next == Some(id) || *enable == Some(id) => {
                n.name.as_ref().map(|name| format!("{}_source", name.trim_end_matches("_q")))
            }
            _ => None,
        });
        let port = self.module.outputs.iter().find(|(_, node)| *node == id);
        driven
            .or(port.map(|(name, _)| format!("{name}_source")))
            .unwrap_or_else(|| "unread_source".to_string())
    }

    fn name_rows(&mut self) {
        let nodes = 0..self.module.nodes.len();
        let products: Vec<NodeId> = nodes.filter(|&id| multiply::has_rows(self, id)).collect();
        for id in products {
            let name = format!("{}_row", self.signals[self.signal_of[id].expect("a name")].name);
            self.claim(&name);
            self.rows.insert(id, name);
        }
        if !self.rows.is_empty() {
            self.factor = self.free_name(&["factor", "row_factor"]);
            self.digit = self.free_name(&["digit", "row_digit"]);
        }
    }

    pub fn signal_of(&self, id: NodeId) -> Option<usize> {
        self.signal_of[id]
    }

    pub fn writer(&self) -> Writer<'_> {
        Writer { signals: &self.signals, dialect: self.style.dialect, lane: &self.lane }
    }

    /// Bits `low` and up of a signal, unsigned.
    pub fn slice(&self, signal: usize, stride: u32, low: u32, width: u32) -> Value {
        Value::new(vec![Piece::Slice(Slice { signal, stride, low, width })], false)
    }

    /// The declared word of a node as a whole, all lanes.
    pub fn whole_signal(&self, signal: usize) -> Value {
        self.slice(signal, 0, 0, self.signals[signal].total())
    }

    /// Notes that printed text reads these bits.
    pub fn mark(&self, reads: &[Slice]) {
        let mut read = self.read.borrow_mut();
        for r in reads {
            let total = self.signals[r.signal].total();
            let lanes = total.checked_div(r.stride).unwrap_or(1);
            for lane in 0..lanes {
                let low = lane * r.stride + r.low;
                read[r.signal][low as usize..(low + r.width) as usize].fill(true);
            }
        }
    }

    /// Runs of bits of a signal that no printed text reads, lowest first: `(low, width)`.
    pub fn unread(&self, signal: usize) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = vec![];
        for (k, _) in self.read.borrow()[signal].iter().enumerate().filter(|(_, read)| !**read) {
            match runs.last_mut() {
                Some((low, width)) if *low + *width == k as u32 => *width += 1,
                _ => runs.push((k as u32, 1)),
            }
        }
        runs
    }

    /// One lane of a node: its declared word, or what it is made of.
    pub fn value(&self, id: NodeId, at: At) -> Value {
        let node = self.node(id);
        let (width, is_signed) = (node.ty.width(), node.ty.is_signed());
        if let Some(signal) = self.signal_of[id] {
            let slice = match at {
                _ if node.count == 1 => self.slice(signal, 0, 0, width),
                At::Fixed(lane) => self.slice(signal, 0, lane * width, width),
                At::Each => self.slice(signal, width, 0, width),
            };
            return Value { is_signed, ..slice };
        }
        self.in_place(id, at)
            .unwrap_or_else(|| panic!("{}: a word needs a name: {:?}", self.module.name, node.op))
    }

    /// The operations that are rearranged bits or one-bit logic; `None` for arithmetic.
    pub fn in_place(&self, id: NodeId, at: At) -> Option<Value> {
        let node = self.node(id);
        let (width, is_signed) = (node.ty.width(), node.ty.is_signed());
        let get = |id: NodeId| self.value(id, at);
        let value = match &node.op {
            Op::Const(v) => Value::constant(*v, width, is_signed),
            Op::ShiftLeft(a, k) => get(*a).above(&zeros(*k)),
            Op::ShiftRight(a, k) => {
                let a = get(*a);
                let low = (*k).min(a.width() - u32::from(a.is_signed));
                Value { is_signed: a.is_signed, ..a.bits(low, width) }
            }
            Op::Fit(a) | Op::Spread(a) => get(*a),
            Op::Bits(a, k) => get(*a).bits(*k, width),
            Op::Concat(hi, lo) => get(*hi).above(&get(*lo)),
            Op::Lane(a, k) => self.value(*a, At::Fixed(*k)),
            Op::Less(a, b) => self.compare(*a, *b, at, "<"),
            Op::Equal(a, b) => self.compare(*a, *b, at, "=="),
            Op::And(a, b) if width == 1 => self.logic(*a, *b, at, "&"),
            Op::Or(a, b) if width == 1 => self.logic(*a, *b, at, "|"),
            Op::Not(a) => {
                let a = get(*a).bits(0, 1);
                match a.as_constant() {
                    Some(v) => Value::constant(1 - v, 1, false),
                    None => inverted(&self.writer().atom(&a), a.reads()),
                }
            }
            _ => return None,
        };
        Some(value.resized(width, is_signed))
    }

    fn logic(&self, a: NodeId, b: NodeId, at: At, operator: &str) -> Value {
        let (a, b) = (self.value(a, at).bits(0, 1), self.value(b, at).bits(0, 1));
        let absorbing = i64::from(operator == "|");
        match (a.as_constant(), b.as_constant()) {
            (Some(v), _) => {
                if v == absorbing {
                    a
                } else {
                    b
                }
            }
            (_, Some(v)) => {
                if v == absorbing {
                    b
                } else {
                    a
                }
            }
            _ => {
                let w = self.writer();
                let text = format!("{} {operator} {}", w.atom(&a), w.atom(&b));
                one_bit(text, [a.reads(), b.reads()].concat())
            }
        }
    }

    /// A comparison; constant where the intervals decide it.
    fn compare(&self, a: NodeId, b: NodeId, at: At, operator: &str) -> Value {
        let (ta, tb) = (self.node(a).ty, self.node(b).ty);
        let is_less = operator == "<";
        let folded = if ta.hi < tb.lo {
            Some(is_less)
        } else if is_less && ta.lo >= tb.hi || tb.hi < ta.lo {
            Some(false)
        } else if !is_less && ta.lo == tb.hi && ta.hi == tb.lo {
            Some(true)
        } else {
            None
        };
        if let Some(answer) = folded {
            return Value::constant(i64::from(answer), 1, false);
        }
        let both = ta.union(tb);
        let (va, vb) = (self.value(a, at), self.value(b, at));
        let is_bit = !is_less && both.width() == 1 && !both.is_signed();
        for (bit, constant) in [(&va, vb.as_constant()), (&vb, va.as_constant())] {
            match constant {
                Some(1) if is_bit => return bit.clone(),
                Some(0) if is_bit => {
                    return inverted(&self.writer().atom(bit), bit.reads());
                }
                _ => {}
            }
        }
        let va = va.resized(both.width(), both.is_signed());
        let vb = vb.resized(both.width(), both.is_signed());
        let w = self.writer();
        let side = |v: &Value| if both.is_signed() { w.signed_text(v) } else { w.atom(v) };
        let text = format!("{} {operator} {}", side(&va), side(&vb));
        one_bit(text, [va.reads(), vb.reads()].concat())
    }
}

/// `~x`, or `x` for `~x`: a tool may refuse `~~x`.
fn inverted(atom: &str, reads: Vec<Slice>) -> Value {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_[]:".contains(c);
    match atom.strip_prefix('~') {
        Some(rest) if rest.chars().all(is_word) => one_bit(rest.to_string(), reads),
        Some(_) => one_bit(format!("~({atom})"), reads),
        None => one_bit(format!("~{atom}"), reads),
    }
}

fn one_bit(text: String, reads: Vec<Slice>) -> Value {
    Value::new(vec![Piece::Text(text, reads)], false)
}

fn zeros(count: u32) -> Value {
    Value::new(vec![Piece::Const(0, count)], false)
}

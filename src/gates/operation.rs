//! What each combinational operation of the netlist is in gates.
use super::blast::Blaster;
use super::graph::Lit;
use super::word::{Columns, Value};
use crate::rtl::{NodeId, Op};

/// An addend.
enum Term {
    /// The word, subtracted when true.
    Word(Value, bool),
    Product(Value, Value),
}

impl Term {
    fn negated(self) -> Self {
        match self {
            Term::Word(v, is_subtracted) => Term::Word(v, !is_subtracted),
            Term::Product(..) => unreachable!("a product is subtracted as a word"),
        }
    }
}

impl Blaster<'_> {
    /// One lane of a combinational node.
    pub fn operation(&mut self, frame: usize, id: NodeId, lane: u32) -> Vec<Lit> {
        let module = self.frames[frame].module;
        let node = &module.nodes[id];
        let width = node.ty.width();
        let ty = |id: NodeId| module.nodes[id].ty;
        macro_rules! get {
            ($id:expr) => {
                self.value(frame, *$id, lane)
            };
        }
        match &node.op {
            Op::Const(v) => Value::constant(*v, width, node.ty.is_signed()).bits,
            Op::Add(..) | Op::Sub(..) | Op::Mul(..) | Op::MulAdd(..) => {
                self.arithmetic(frame, id, lane)
            }
            Op::ShiftLeft(a, k) => {
                let mut bits = vec![Lit::FALSE; *k as usize];
                bits.extend(get!(a).bits);
                Value::new(bits, ty(*a).is_signed()).resized(width)
            }
            Op::ShiftRight(a, k) => get!(a).bits(*k, width),
            Op::Bits(a, k) => get!(a).bits(*k, width),
            Op::Fit(a) | Op::Spread(a) => get!(a).resized(width),
            Op::Lane(a, k) => self.value(frame, *a, *k).resized(width),
            Op::ShiftRightBy(a, b) => {
                let (a, b) = (get!(a), get!(b));
                let fill = a.bits(a.width(), 1)[0];
                let full = a.resized(a.width().max(width));
                let mut word = self.builder.shift_right(&full, &b.bits, fill);
                word.truncate(width as usize);
                word
            }
            Op::ShiftLeftBy(a, b) => {
                let (a, b) = (get!(a), get!(b));
                self.builder.shift_left(&a.resized(width), &b.bits)
            }
            Op::Less(a, b) => {
                let (ta, tb) = (ty(*a), ty(*b));
                if ta.hi < tb.lo || ta.lo >= tb.hi {
                    return vec![Lit::constant(ta.hi < tb.lo)];
                }
                let both = ta.union(tb);
                let (a, b) = (get!(a).resized(both.width()), get!(b).resized(both.width()));
                vec![self.builder.less(&a, &b, both.is_signed())]
            }
            Op::Equal(a, b) => {
                let (ta, tb) = (ty(*a), ty(*b));
                if ta.hi < tb.lo || tb.hi < ta.lo {
                    return vec![Lit::FALSE];
                }
                let both = ta.union(tb);
                let (a, b) = (get!(a).resized(both.width()), get!(b).resized(both.width()));
                vec![self.builder.equal(&a, &b)]
            }
            Op::And(a, b) => {
                let (a, b) = (get!(a).bits, get!(b).bits);
                a.into_iter().zip(b).map(|(a, b)| self.builder.and(a, b)).collect()
            }
            Op::Or(a, b) => {
                let (a, b) = (get!(a).bits, get!(b).bits);
                a.into_iter().zip(b).map(|(a, b)| self.builder.or(a, b)).collect()
            }
            Op::Not(a) => vec![!get!(a).bits[0]],
            Op::Mux(c, a, b) => {
                let (c, a, b) = (get!(c).bits[0], get!(a).resized(width), get!(b).resized(width));
                self.builder.choose(c, &a, &b)
            }
            Op::Select(index, options) => {
                let index = get!(index).bits;
                let options: Vec<Vec<Lit>> =
                    options.iter().map(|o| get!(o).resized(width)).collect();
                self.builder.select(&index, &options)
            }
            Op::Concat(hi, lo) => {
                let mut bits = get!(lo).bits;
                bits.extend(get!(hi).bits);
                Value::new(bits, ty(*hi).is_signed()).resized(width)
            }
            Op::Rom(index, _, entries) => {
                let index = get!(index).bits;
                self.builder.table(&index, entries, width)
            }
            Op::Input
            | Op::Reg { .. }
            | Op::MemRead { .. }
            | Op::InstanceOut { .. }
            | Op::Gather(_) => {
                unreachable!("{:?} has its word elsewhere", node.op)
            }
        }
    }

    /// Sums and products. A chain of sums of one width in which each is read once is one sum, as
    /// synthesis has it.
    fn arithmetic(&mut self, frame: usize, id: NodeId, lane: u32) -> Vec<Lit> {
        let width = self.frames[frame].module.nodes[id].ty.width();
        let terms = self.terms(frame, id, lane);
        // Two words and a carry are one chain.
        let (mut words, mut carries, mut has_product) = (vec![], vec![], false);
        for term in &terms {
            match term {
                Term::Word(v, true) => words.push((v, true)),
                Term::Word(v, false) if v.width() == 1 && !v.is_signed => carries.push(v.bits[0]),
                Term::Word(v, false) => words.push((v, false)),
                Term::Product(..) => has_product = true,
            }
        }
        let n_inverted = words.iter().filter(|(_, is_subtracted)| *is_subtracted).count();
        if !has_product && words.len() <= 2 && n_inverted <= 1 && carries.len() + n_inverted <= 1 {
            let carry = carries.first().copied().unwrap_or(Lit::constant(n_inverted == 1));
            let bits = |k: usize| match words.get(k) {
                Some((v, is_subtracted)) => {
                    v.resized(width).into_iter().map(|b| b.inverted(*is_subtracted)).collect()
                }
                None => vec![Lit::FALSE; width as usize],
            };
            let (a, b) = (bits(0), bits(1));
            return self.builder.sum(&a, &b, carry);
        }
        let mut columns = Columns::new(width);
        for term in &terms {
            match term {
                Term::Word(v, false) => columns.add_word(v),
                Term::Word(v, true) => {
                    let bits = v.resized(width).into_iter().map(|b| !b).collect();
                    columns.add_word(&Value::new(bits, false));
                    columns.add_constant(1);
                }
                Term::Product(a, b) => match (a.as_constant(), b.as_constant()) {
                    (Some(k), _) => columns.add_multiple(b, k),
                    (_, Some(k)) => columns.add_multiple(a, k),
                    _ => columns.add_product(&mut self.builder, a, b),
                },
            }
        }
        columns.sum(&mut self.builder)
    }

    /// The addends of a sum or product.
    fn terms(&mut self, frame: usize, id: NodeId, lane: u32) -> Vec<Term> {
        match self.frames[frame].module.nodes[id].op {
            Op::Add(a, b) => {
                let mut terms = self.addend(frame, a, id, lane);
                terms.extend(self.addend(frame, b, id, lane));
                terms
            }
            Op::Sub(a, b) => {
                let mut terms = self.addend(frame, a, id, lane);
                match self.addend(frame, b, id, lane) {
                    subtracted if subtracted.iter().any(|t| matches!(t, Term::Product(..))) => {
                        terms.push(Term::Word(self.value(frame, b, lane), true));
                    }
                    subtracted => terms.extend(subtracted.into_iter().map(Term::negated)),
                }
                terms
            }
            Op::Mul(a, b) => {
                vec![Term::Product(self.value(frame, a, lane), self.value(frame, b, lane))]
            }
            Op::MulAdd(a, b, c) => {
                let (a, b) = (self.value(frame, a, lane), self.value(frame, b, lane));
                let mut terms = vec![Term::Product(a, b)];
                terms.extend(self.addend(frame, c, id, lane));
                terms
            }
            _ => unreachable!("a sum or a product"),
        }
    }

    /// One addend of the sum `of`: its own addends where synthesis merges the two sums, which it does
    /// when nothing else reads the inner one and it loses no carry.
    fn addend(&mut self, frame: usize, id: NodeId, of: NodeId, lane: u32) -> Vec<Term> {
        let f = &self.frames[frame];
        let (node, sum) = (&f.module.nodes[id], &f.module.nodes[of]);
        let is_sum = matches!(node.op, Op::Add(..) | Op::Sub(..) | Op::Mul(..) | Op::MulAdd(..));
        if is_sum && f.readers[id] == 1 && node.count == sum.count {
            let (width, wider) = (node.ty.width(), sum.ty.width() > node.ty.width());
            // A sign that is extended among unsigned words has many readers.
            let signs: Vec<bool> =
                sum.op.operands().iter().map(|&o| f.module.nodes[o].ty.is_signed()).collect();
            let is_plain = !node.ty.is_signed() || signs.iter().all(|&s| s);
            let is_signed = node.ty.is_signed();
            let terms = self.terms(frame, id, lane);
            if !wider || is_plain && fits(&terms, width, is_signed) {
                return terms;
            }
        }
        vec![Term::Word(self.value(frame, id, lane), false)]
    }
}

/// Whether the largest sum of words of these widths has no carry out of `width`, all of the same signedness.
fn fits(terms: &[Term], width: u32, is_signed: bool) -> bool {
    let mut most: u128 = 0;
    for term in terms {
        let Term::Word(v, is_subtracted) = term else { return false };
        if v.is_signed != is_signed || *is_subtracted && !is_signed {
            return false;
        }
        most += (1u128 << v.trimmed()) - 1;
    }
    most < 1u128 << width
}

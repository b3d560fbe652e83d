//! The right-hand side of one word: arithmetic, choices, shifts by amounts and table look-ups.
use super::Dialect;
use super::bits::Value;
use super::multiply;
use super::scope::{At, Scope};
use crate::rtl::module::{NodeId, Op};

/// Text of a right-hand side; the lines of a long one are relative to the assignment.
pub struct Expression {
    pub text: String,
    /// The text is this many bits wide and must go through a word of its own.
    pub is_wider: Option<u32>,
}

impl From<String> for Expression {
    fn from(text: String) -> Self {
        Self { text, is_wider: None }
    }
}

impl Scope<'_> {
    /// Notes what is read and writes a value.
    pub fn print(&self, v: &Value) -> String {
        self.mark(&v.reads());
        self.writer().text(v)
    }

    pub fn print_atom(&self, v: &Value) -> String {
        self.mark(&v.reads());
        self.writer().atom(v)
    }

    fn print_signed(&self, v: &Value) -> String {
        self.mark(&v.reads());
        self.writer().signed_text(v)
    }

    /// A word in exactly `width` bits.
    pub fn operand(&self, id: NodeId, at: At, width: u32) -> Value {
        let v = self.value(id, at);
        let is_signed = v.is_signed;
        v.resized(width, is_signed)
    }

    /// The right-hand side of a declared word that is combinational.
    pub fn expression(&self, id: NodeId, at: At) -> Expression {
        let node = &self.module.nodes[id];
        let width = node.ty.width();
        if let Some(v) = self.in_place(id, at) {
            return self.print(&v).into();
        }
        let operand = |id: NodeId| self.print_atom(&self.operand(id, at, width));
        match &node.op {
            Op::Add(a, b) => format!("{} + {}", operand(*a), operand(*b)).into(),
            Op::Sub(a, b) => format!("{} - {}", operand(*a), operand(*b)).into(),
            Op::And(a, b) => format!("{} & {}", operand(*a), operand(*b)).into(),
            Op::Or(a, b) => format!("{} | {}", operand(*a), operand(*b)).into(),
            Op::Mul(..) | Op::MulAdd(..) => multiply::text(self, id, at).into(),
            Op::Mux(c, a, b) => self.mux(*c, *a, *b, at, width).into(),
            Op::Select(index, options) => {
                let hi = self.module.nodes[*index].ty.hi;
                let reachable = usize::try_from(hi).map_or(options.len(), |h| h.saturating_add(1));
                let options = &options[..options.len().min(reachable)];
                let index = self.value(*index, at);
                let bits = usize::BITS - (options.len() - 1).leading_zeros();
                self.select(&index, bits, options, at, width).into()
            }
            Op::ShiftLeftBy(a, b) => {
                let amount = self.print_atom(&self.value(*b, at));
                format!("{} << {amount}", operand(*a)).into()
            }
            Op::ShiftRightBy(a, b) => self.shift_right_by(*a, *b, at, width),
            Op::Rom(index, name, _) => {
                let table = &self.tables[name];
                let index = self.operand(*index, at, table.index_width);
                match table.entries.len() {
                    1 => self.print(&Value::constant(table.entries[0], width, node.ty.is_signed())),
                    _ => format!("{name}({})", self.print(&index)),
                }
                .into()
            }
            Op::Gather(words) => {
                let parts: Vec<String> = words
                    .iter()
                    .rev()
                    .map(|&w| self.print(&self.operand(w, At::Each, width)))
                    .collect();
                if parts.len() == 1 {
                    return parts[0].clone().into();
                }
                format!("{{{}}}", parts.join(", ")).into()
            }
            other => panic!("{}: {other:?} is no expression", self.module.name),
        }
    }

    fn mux(&self, c: NodeId, a: NodeId, b: NodeId, at: At, width: u32) -> String {
        let c = self.value(c, at);
        let arm = |id: NodeId| self.print_atom(&self.operand(id, at, width));
        match c.as_constant() {
            Some(0) => arm(b),
            Some(_) => arm(a),
            None => format!("{} ? {} : {}", self.print_atom(&c), arm(a), arm(b)),
        }
    }

    /// A tree of two-way choices on the bits of the index, highest first.
    fn select(&self, index: &Value, bits: u32, options: &[NodeId], at: At, width: u32) -> String {
        if options.iter().all(|o| *o == options[0]) || bits == 0 {
            return self.print_atom(&self.operand(options[0], at, width));
        }
        // An index past the end: any higher bit set takes the last option.
        let top = index.width();
        if bits < top && index.bits(bits, top - bits).as_constant() != Some(0) {
            let beyond = index.bits(bits, top - bits);
            let any = match beyond.width() {
                1 => self.print_atom(&beyond),
                w => format!("({} != {w}'d0)", self.print_atom(&beyond)),
            };
            let last = self.print_atom(&self.operand(options[options.len() - 1], at, width));
            let rest = self.select(&index.bits(0, bits), bits, options, at, width);
            return format!("{any} ? {last} :\n    {rest}");
        }
        let half = 1 << (bits - 1);
        if options.len() <= half {
            return self.select(index, bits - 1, options, at, width);
        }
        let bit = index.bits(bits - 1, 1);
        let below = index.bits(0, bits - 1);
        // Short of a power of two, the last option fills the upper half.
        let mut upper = options[half..].to_vec();
        upper.resize(half, options[options.len() - 1]);
        let wrapped = |text: String| if text.contains(" ? ") { format!("({text})") } else { text };
        let high = wrapped(self.select(&below, bits - 1, &upper, at, width));
        let low = wrapped(self.select(&below, bits - 1, &options[..half], at, width));
        let join = if bits > 1 { "\n    : " } else { " : " };
        let indented = |text: String| text.replace('\n', "\n  ");
        let head = self.print_atom(&bit);
        format!("{head} ? {}{join}{}", indented(high), indented(low))
    }

    fn shift_right_by(&self, a: NodeId, b: NodeId, at: At, width: u32) -> Expression {
        let a = self.value(a, at);
        let full = a.width().max(width);
        let is_signed = a.is_signed;
        let a = a.resized(full, is_signed);
        let amount = self.print_atom(&self.value(b, at));
        let text = match is_signed {
            true => format!("{} >>> {amount}", self.print_signed(&a)),
            false => format!("{} >> {amount}", self.print_atom(&a)),
        };
        if full == width {
            return text.into();
        }
        match self.style.dialect {
            Dialect::SystemVerilog => format!("{width}'({text})").into(),
            Dialect::Verilog2005 => Expression { text, is_wider: Some(full) },
        }
    }
}

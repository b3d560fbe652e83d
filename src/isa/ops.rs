//! The micro-operations: symbolic values of every field and the words that carry them.
use super::fields::FieldSet;

macro_rules! symbols {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }
        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
            /// The word used in program text.
            pub fn text(self) -> &'static str { match self { $($name::$variant => $text),+ } }
            pub fn code(self) -> i64 { self as i64 }
            pub fn from_code(code: i64) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.code() == code)
            }
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.text() == text)
            }
        }
    };
}

symbols! {
/// Broadcast side of the lane's multiplier, up to P bits.
P {
    /// The row's mantissa s (set by `sets`).
    Scale = "s",
    /// The lane register T.
    Lane = "t",
    /// The element x.
    Element = "x",
    /// Slope of the exponential's segment.
    Slope = "slope",
}}
symbols! {
/// Element side of the lane's multiplier.
Q {
    Element = "x",
    /// gamma of the element.
    Gamma = "gamma",
    /// Position inside the exponential's segment.
    Position = "lo",
    /// Mantissa of a stored exponential (row buffers of 16 bits an element).
    Stored = "stored",
}}
symbols! {
/// Addend of the multiply-add.
C { Zero = "0", /** The row's addend c (set by `setc`). */ Row = "c", /** Intercept of the segment. */ Intercept = "icpt" }}
symbols! {
/// What is shifted right: the multiply-add's result, or the exponential's mantissa with its leading one at
/// the sum's weight.
Source { Product = "product", Exp = "exp" }}
symbols! {
/// Amount of the right shift.
Shift {
    Immediate = "imm",
    /** The row's shift (set by `sets`) plus the immediate. */
    Row = "row",
    /** The block's places: one more than the bits of the row's largest magnitude, guard bits added, but no
    more than the row's shift plus the immediate. */
    Block = "block",
    /** What is left of the row's shift after `block`, down to the output stage's binary point. */
    After = "after",
    /** The exponent n of T. */
    Exponent = "n",
    /** Stored exponent plus the row's shift plus the immediate. */
    Stored = "stored",
}}
symbols! {
/// What the lane register T takes.
T { Keep = "-", /** The low P bits of the shifted value. */ Value = "t", /** The shifted value as a non-positive
    exponent, saturated at the lowest; the lowest where the element is masked. */ Exponent = "exp" }}
symbols! {
/// What the reduction tree adds.
Reduce { None = "-", /** The shifted value. */ Sum = "sum", /** The value and, above it, the element x. */ Pair = "pair" }}
symbols! {
/// How the output is saturated.
Out { None = "-", Signed = "signed", Unsigned = "unsigned", /** Signed, then zero point 2^(bits-1). */ Offset = "offset" }}

/// One vector micro-op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorOp {
    pub p: P,
    pub q: Q,
    pub c: C,
    pub source: Source,
    pub shift: Shift,
    /// Added to the shift, -32 to 31 or 0 to 63 as the source says.
    pub amount: i64,
    pub t: T,
    pub reduce: Reduce,
    pub out: Out,
    /// Output codes of 16 bits; 8 otherwise.
    pub is_wide: bool,
    /// Add the element's beta (which holds the rounding half); the half alone otherwise.
    pub beta: bool,
    /// Write the exponential to the row buffer.
    pub store: bool,
    /// Last read of the chunk: the loader may overwrite it.
    pub release: bool,
    /// Last micro-op of the body.
    pub end: bool,
    /// Last body of the row (on the `end` micro-op).
    pub last: bool,
}

impl VectorOp {
    /// Does nothing: the base of struct updates.
    pub const NOP: VectorOp = VectorOp {
        p: P::Scale,
        q: Q::Element,
        c: C::Zero,
        source: Source::Product,
        shift: Shift::Immediate,
        amount: 0,
        t: T::Keep,
        reduce: Reduce::None,
        out: Out::None,
        is_wide: false,
        beta: false,
        store: false,
        release: false,
        end: false,
        last: false,
    };

    /// The fields of the vector word.
    pub fn fields() -> FieldSet {
        FieldSet::new(&[
            ("p", 2),
            ("q", 2),
            ("c", 2),
            ("source", 1),
            ("shift", 3),
            ("amount±", 7),
            ("t", 2),
            ("reduce", 2),
            ("out", 2),
            ("wide", 1),
            ("beta", 1),
            ("store", 1),
            ("release", 1),
            ("end", 1),
            ("last", 1),
        ])
    }

    /// Values in the order of [`VectorOp::fields`].
    pub fn values(&self) -> Vec<i64> {
        vec![
            self.p.code(),
            self.q.code(),
            self.c.code(),
            self.source.code(),
            self.shift.code(),
            self.amount,
            self.t.code(),
            self.reduce.code(),
            self.out.code(),
            i64::from(self.is_wide),
            i64::from(self.beta),
            i64::from(self.store),
            i64::from(self.release),
            i64::from(self.end),
            i64::from(self.last),
        ]
    }
}

symbols! {
/// What a scalar micro-op does.
ScalarKind {
    /// dst = a + b through the one adder.
    Alu = "alu",
    /// product = x * y, digit by digit.
    Mul = "mul",
    /// `g[rd]` = mantissa of A in [1, 2), e = position of its leading one.
    Norm = "norm",
    /// The row's mantissa and shift from `g[ra]` and e.
    SetS = "sets",
    /// The row's addend from A.
    SetC = "setc",
    /// A = the pass's first sum, g0 = its second sum.
    Take = "take",
}}
symbols! {
/// First operand of the adder.
AluA { Zero = "0", /** The accumulator A. */ Acc = "a", /** `g[ra]`. */ Reg = "g", Immediate = "imm", /** Intercept of the table at `g[ra]`. */ Table = "table" }}
symbols! {
/// Second operand of the adder.
AluB { Zero = "0", /** The product. */ Product = "prod", /** The product times 2^F. */ ProductF = "prodf", /** The product's high part, a product of fractions. */ High = "high" }}
symbols! {
/// What the adder's result goes to.
Dst { Acc = "a", Reg = "g", /** `g[rd]`, as the result of a table. */ Table = "table" }}
symbols! {
/// Parallel operand of the multiplier.
X { Reg = "g", /** Largest kept element of the row. */ Max = "max", /** Slope of the table at `g[ra]`. */ Slope = "slope", /** `g[ra]`, halved when e is even. */ Half = "half" }}
symbols! {
/// Serial operand of the multiplier.
Y { Reg = "g", Immediate = "imm", /** High part of the last product. */ High = "high", /** Position in the table's segment at `g[ra]`. */ Position = "lo", /** 2^immediate, 2^(immediate + k) or 2^(immediate - k), k of the row's scale; from 1 to 2^(W - 2). */ Power = "pow" }}
symbols! {
/// Table of the scalar unit.
Table { Log2 = "log2", Rsqrt = "rsqrt", Reciprocal = "recip" }}

/// One scalar micro-op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarOp {
    pub kind: ScalarKind,
    pub rd: u8,
    pub ra: u8,
    pub rb: u8,
    pub a: AluA,
    pub b: AluB,
    pub subtract: bool,
    /// Round half up (only with `High`).
    pub round: bool,
    pub dst: Dst,
    pub x: X,
    pub y: Y,
    pub table: Table,
    /// `take`: multiply by 2^F. `sets`: add half of e and the row's k times the table code.
    pub flag: bool,
    pub end: bool,
    pub immediate: i64,
}

impl ScalarOp {
    pub const NOP: ScalarOp = ScalarOp {
        kind: ScalarKind::Alu,
        rd: 0,
        ra: 0,
        rb: 0,
        a: AluA::Acc,
        b: AluB::Zero,
        subtract: false,
        round: false,
        dst: Dst::Acc,
        x: X::Reg,
        y: Y::Reg,
        table: Table::Log2,
        flag: false,
        end: false,
        immediate: 0,
    };

    /// The fields of the scalar word for immediates of `immediate_bits` bits.
    pub fn fields(immediate_bits: u32) -> FieldSet {
        FieldSet::new(&[
            ("kind", 3),
            ("rd", 2),
            ("ra", 2),
            ("rb", 2),
            ("a", 3),
            ("b", 2),
            ("subtract", 1),
            ("round", 1),
            ("dst", 2),
            ("x", 2),
            ("y", 3),
            ("table", 2),
            ("flag", 1),
            ("end", 1),
            ("immediate±", immediate_bits),
        ])
    }

    pub fn values(&self) -> Vec<i64> {
        vec![
            self.kind.code(),
            i64::from(self.rd),
            i64::from(self.ra),
            i64::from(self.rb),
            self.a.code(),
            self.b.code(),
            i64::from(self.subtract),
            i64::from(self.round),
            self.dst.code(),
            self.x.code(),
            self.y.code(),
            self.table.code(),
            i64::from(self.flag),
            i64::from(self.end),
            self.immediate,
        ]
    }
}

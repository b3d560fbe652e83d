//! A value as the list of bits it is made of, so that slices, casts and shifts by constants cost no name.
use super::Dialect;

/// A declared word: one element, or `count` of them side by side.
#[derive(Clone, Debug)]
pub struct Signal {
    pub name: String,
    pub width: u32,
    pub count: u32,
    /// Declared `signed`; a bundle never is.
    pub is_signed: bool,
}

impl Signal {
    pub fn total(&self) -> u32 {
        self.width * self.count
    }
}

/// Bits `low` and up of a signal; inside a loop over lanes they start at `stride * lane + low`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    pub signal: usize,
    pub stride: u32,
    pub low: u32,
    pub width: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// The low `width` bits of a number.
    Const(u64, u32),
    Slice(Slice),
    /// An expression of one bit, and the bits that it reads.
    Text(String, Vec<Slice>),
    /// A piece of one bit, repeated.
    Repeat(Box<Piece>, u32),
}

fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

impl Piece {
    pub fn width(&self) -> u32 {
        match self {
            Piece::Const(_, w) | Piece::Repeat(_, w) => *w,
            Piece::Slice(s) => s.width,
            Piece::Text(..) => 1,
        }
    }

    /// Bits `low` to `low + width - 1`, which must exist.
    fn part(&self, low: u32, width: u32) -> Piece {
        match self {
            Piece::Const(v, _) => Piece::Const((v >> low) & mask(width), width),
            Piece::Slice(s) => Piece::Slice(Slice { low: s.low + low, width, ..*s }),
            Piece::Text(..) => self.clone(),
            Piece::Repeat(bit, _) if width == 1 => (**bit).clone(),
            Piece::Repeat(bit, _) => Piece::Repeat(bit.clone(), width),
        }
    }

    fn joined(&self, high: &Piece) -> Option<Piece> {
        match (self, high) {
            (Piece::Const(a, wa), Piece::Const(b, wb)) if wa + wb <= 64 => {
                Some(Piece::Const(a | b << wa, wa + wb))
            }
            (Piece::Slice(a), Piece::Slice(b))
                if (a.signal, a.stride, a.low + a.width) == (b.signal, b.stride, b.low) =>
            {
                Some(Piece::Slice(Slice { width: a.width + b.width, ..*a }))
            }
            _ => None,
        }
    }
}

/// A two's complement or unsigned word, lowest piece first.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub pieces: Vec<Piece>,
    pub is_signed: bool,
}

impl Value {
    pub fn new(pieces: Vec<Piece>, is_signed: bool) -> Self {
        let mut joined: Vec<Piece> = vec![];
        for p in pieces.into_iter().filter(|p| p.width() > 0) {
            match joined.last().and_then(|last| last.joined(&p)) {
                Some(both) => *joined.last_mut().expect("a piece") = both,
                None => joined.push(p),
            }
        }
        Self { pieces: joined, is_signed }
    }

    pub fn constant(value: i64, width: u32, is_signed: bool) -> Self {
        Self::new(vec![Piece::Const(value as u64 & mask(width), width)], is_signed)
    }

    pub fn width(&self) -> u32 {
        self.pieces.iter().map(Piece::width).sum()
    }

    pub fn as_constant(&self) -> Option<i64> {
        match self.pieces[..] {
            [Piece::Const(v, w)] if self.is_signed && w < 64 && v >> (w - 1) == 1 => {
                Some((v | !mask(w)) as i64)
            }
            [Piece::Const(v, _)] => Some(v as i64),
            _ => None,
        }
    }

    /// Bits `low` to `low + width - 1` as an unsigned word; beyond its end the word is extended.
    pub fn bits(&self, low: u32, width: u32) -> Value {
        let have = self.width();
        let mut pieces = vec![];
        let mut at = 0;
        for p in &self.pieces {
            let (from, to) = (low.max(at), (low + width).min(at + p.width()));
            if from < to {
                pieces.push(p.part(from - at, to - from));
            }
            at += p.width();
        }
        let beyond = (low + width).saturating_sub(have.max(low));
        if beyond > 0 {
            let top = self.pieces.last().expect("a word has a bit");
            let sign = top.part(top.width() - 1, 1);
            pieces.push(match sign {
                _ if !self.is_signed => Piece::Const(0, beyond),
                Piece::Const(v, _) => Piece::Const(if v == 1 { mask(beyond) } else { 0 }, beyond),
                bit if beyond == 1 && pieces.is_empty() => bit,
                bit => Piece::Repeat(Box::new(bit), beyond),
            });
        }
        Value::new(pieces, false)
    }

    /// The same number in `width` bits, or its low bits.
    pub fn resized(&self, width: u32, is_signed: bool) -> Value {
        Value { is_signed, ..self.bits(0, width) }
    }

    /// `low` appended below.
    pub fn above(&self, low: &Value) -> Value {
        let pieces = low.pieces.iter().chain(&self.pieces).cloned().collect();
        Value::new(pieces, self.is_signed)
    }

    /// Every slice that the printed value reads.
    pub fn reads(&self) -> Vec<Slice> {
        fn of(piece: &Piece) -> Vec<Slice> {
            match piece {
                Piece::Const(..) => vec![],
                Piece::Slice(s) => vec![*s],
                Piece::Text(_, reads) => reads.clone(),
                Piece::Repeat(bit, _) => of(bit),
            }
        }
        self.pieces.iter().flat_map(of).collect()
    }
}

/// How values are written.
pub struct Writer<'a> {
    pub signals: &'a [Signal],
    pub dialect: Dialect,
    /// Name of the loop variable.
    pub lane: &'a str,
}

impl Writer<'_> {
    fn is_whole(&self, s: &Slice) -> bool {
        s.stride == 0 && s.low == 0 && s.width == self.signals[s.signal].total()
    }

    pub fn slice(&self, s: &Slice) -> String {
        let name = &self.signals[s.signal].name;
        if self.is_whole(s) {
            return name.clone();
        }
        if s.stride == 0 {
            return match s.width {
                1 => format!("{name}[{}]", s.low),
                w => format!("{name}[{}:{}]", s.low + w - 1, s.low),
            };
        }
        self.lane_text(name, s.stride, s.low, s.width)
    }

    /// `width` bits of the lane of the loop, from bit `low` of the lane up.
    pub fn lane_text(&self, name: &str, stride: u32, low: u32, width: u32) -> String {
        let lane = match stride {
            1 => self.lane.to_string(),
            n => format!("{n}*{}", self.lane),
        };
        let start = if low == 0 { lane } else { format!("{lane} + {low}") };
        if width == 1 { format!("{name}[{start}]") } else { format!("{name}[{start} +: {width}]") }
    }

    fn piece(&self, p: &Piece) -> String {
        match p {
            Piece::Const(v, w) => format!("{w}'d{v}"),
            Piece::Slice(s) => self.slice(s),
            Piece::Text(text, _) => text.clone(),
            Piece::Repeat(bit, 1) => self.piece(bit),
            Piece::Repeat(bit, n) => format!("{{{n}{{{}}}}}", self.piece(bit)),
        }
    }

    /// True when the text of the value is a signed expression.
    fn is_signed_text(&self, v: &Value) -> bool {
        let declared = |s: &Slice| self.is_whole(s) && self.signals[s.signal].is_signed;
        match &v.pieces[..] {
            [Piece::Const(..)] => v.is_signed,
            [Piece::Slice(s)] => declared(s),
            _ => self.dialect == Dialect::SystemVerilog && self.extended(v).is_some(),
        }
    }

    /// The part below a sign extension, when the value is one.
    fn extended(&self, v: &Value) -> Option<Value> {
        let (Piece::Repeat(bit, _), rest) = v.pieces.split_last()? else { return None };
        let below = rest.last()?;
        let rest = Value::new(rest.to_vec(), true);
        (below.part(below.width() - 1, 1) == **bit).then_some(rest)
    }

    /// The value as text of exactly its width.
    pub fn text(&self, v: &Value) -> String {
        let is_sv = self.dialect == Dialect::SystemVerilog;
        match &v.pieces[..] {
            [Piece::Const(_, w)] if v.is_signed => {
                let value = v.as_constant().expect("a constant");
                let minus = if value < 0 { "-" } else { "" };
                return format!("{minus}{w}'sd{}", value.unsigned_abs());
            }
            [p] => return self.piece(p),
            [Piece::Slice(s), Piece::Const(0, zeros)] if is_sv => {
                let is_plain = !(self.is_whole(s) && self.signals[s.signal].is_signed);
                if is_plain {
                    return format!("{}'({})", s.width + zeros, self.slice(s));
                }
            }
            _ => {}
        }
        if let (true, Some(rest)) = (is_sv, self.extended(v)) {
            return format!("{}'({})", v.width(), self.signed_text(&rest));
        }
        let parts: Vec<String> = v.pieces.iter().rev().map(|p| self.piece(p)).collect();
        format!("{{{}}}", parts.join(", "))
    }

    /// The value as a signed expression of its width.
    pub fn signed_text(&self, v: &Value) -> String {
        let text = self.text(v);
        if self.is_signed_text(v) { text } else { format!("$signed({text})") }
    }

    /// As an operand of an operator: in parentheses where the text has operators of its own.
    pub fn atom(&self, v: &Value) -> String {
        match &v.pieces[..] {
            [Piece::Text(text, _)] if has_operator(text) => format!("({text})"),
            _ => self.text(v),
        }
    }
}

/// True when a space stands outside brackets: the text is not one name, literal, call or negation of one.
fn has_operator(text: &str) -> bool {
    let mut depth = 0;
    text.chars().any(|c| {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        c == ' ' && depth == 0
    })
}

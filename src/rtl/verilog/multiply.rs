//! Products as rows of partial products, summed with the addend in one expression.
//!
//! A row is the wider factor times a digit of -2 to 2, read from two bits of the narrower and the bit below
//! them (Booth). That is half as many rows as bits, and to choose a word, its double or 0 costs less than
//! the adders of a row. A negative row is the complement; the ones that complete it and those of the rows'
//! signs are one more term. Synthesis merges the sum into a single carry-save tree; `a * b + c` would give
//! a multiplier with its own sign handling and a second adder behind it.
use super::bits::Value;
use super::front::Function;
use super::scope::{At, Scope};
use crate::num::Interval;
use crate::rtl::module::{NodeId, Op};
use std::cmp::Ordering;

/// A product: its factors, the wider first, and its addend.
struct Product {
    wide: Value,
    narrow: Value,
    addend: Option<NodeId>,
}

impl Product {
    fn of(scope: &Scope<'_>, id: NodeId, at: At) -> Option<Self> {
        let (a, b, addend) = match scope.module.nodes[id].op {
            Op::Mul(a, b) => (a, b, None),
            Op::MulAdd(a, b, c) => (a, b, Some(c)),
            _ => return None,
        };
        let width = scope.module.nodes[id].ty.width();
        // Bits beyond those of the product count for nothing.
        let cut = |id: NodeId| {
            let v = scope.value(id, at);
            let is_signed = v.is_signed;
            if v.width() > width { v.resized(width, is_signed) } else { v }
        };
        let (a, b) = (cut(a), cut(b));
        let (wide, narrow) = if a.width() >= b.width() { (a, b) } else { (b, a) };
        Some(Self { wide, narrow, addend })
    }

    fn has_rows(&self) -> bool {
        self.wide.as_constant().is_none() && self.narrow.as_constant().is_none()
    }

    /// Place of a row's sign: above the double, which of an unsigned word has none of its own.
    fn sign(&self) -> u32 {
        self.wide.width() + u32::from(!self.wide.is_signed)
    }
}

/// True for a product of two words, neither a constant.
pub fn has_rows(scope: &Scope<'_>, id: NodeId) -> bool {
    Product::of(scope, id, At::Each).is_some_and(|p| p.has_rows())
}

/// The product or multiply-add of a node, modulo its width.
pub fn text(scope: &Scope<'_>, id: NodeId, at: At) -> String {
    let width = scope.module.nodes[id].ty.width();
    let p = Product::of(scope, id, at).expect("a product");
    let mut terms = match (p.wide.as_constant(), p.narrow.as_constant()) {
        (Some(k), _) => multiples(scope, &p.narrow, k, width),
        (_, Some(k)) => multiples(scope, &p.wide, k, width),
        _ => rows(scope, &scope.rows[&id], &p, width),
    };
    if let Some(c) = p.addend {
        let addend = scope.operand(c, at, width);
        if addend.as_constant() != Some(0) || terms.is_empty() {
            terms.insert(0, ('+', scope.print_atom(&addend)));
        }
    }
    // A sum starts with a positive term: Yosys takes a minus before a cast as part of the size.
    if terms.first().is_none_or(|(sign, _)| *sign == '-') {
        terms.insert(0, ('+', format!("{width}'d0")));
    }
    let (_, first) = terms.remove(0);
    let parts: Vec<String> = terms.iter().map(|(sign, term)| format!("{sign} {term}")).collect();
    match parts.len() {
        0 => first,
        1 => format!("{first} {}", parts[0]),
        _ => format!("{first}\n    {}", parts.join("\n    ")),
    }
}

/// What the rows compute, for the comment above them; `None` where the text says it itself.
pub fn note(scope: &Scope<'_>, id: NodeId) -> Option<String> {
    let row = scope.rows.get(&id)?;
    let name = |id: NodeId| match scope.signal_of(id) {
        Some(signal) => scope.signals[signal].name.clone(),
        None => scope.writer().atom(&scope.value(id, At::Each)),
    };
    let (a, b, addend) = match scope.module.nodes[id].op {
        Op::Mul(a, b) => (a, b, String::new()),
        Op::MulAdd(a, b, c) => (a, b, format!(" + {}", name(c))),
        _ => return None,
    };
    let product = format!("{} = {} * {}{addend}", name(id), name(a), name(b));
    Some(format!("{product}, in one carry-save sum of the rows that {row} gives."))
}

/// The function that gives a row of a node's product, in the width of the product. The row's sign is
/// inverted and nothing repeats it: `-s * 2^k` is `~s * 2^k - 2^k`.
pub fn row_function(scope: &Scope<'_>, id: NodeId) -> Function {
    let p = Product::of(scope, id, At::Each).expect("a product");
    let width = scope.module.nodes[id].ty.width();
    let (word, digit) = (&scope.factor, &scope.digit);
    let bits = p.wide.width();
    // `n` bits of the factor, as the parts of a concatenation.
    let part = |n: u32| match n.cmp(&bits) {
        Ordering::Less if n == 1 => format!("{word}[0]"),
        Ordering::Less => format!("{word}[{}:0]", n - 1),
        Ordering::Equal => word.clone(),
        Ordering::Greater if p.wide.is_signed && bits == 1 => format!("{word}, {word}"),
        Ordering::Greater if p.wide.is_signed => format!("{word}[{}], {word}", bits - 1),
        Ordering::Greater => format!("{}'d0, {word}", n - bits),
    };
    let n = (p.sign() + 1).min(width);
    let twice = if n > 1 { format!("{}, 1'd0", part(n - 1)) } else { "1'd0".to_string() };
    let invert = match n > p.sign() {
        true => format!("{{~{digit}[2], {{{}{{{digit}[2]}}}}}}", n - 1),
        false => format!("{{{n}{{{digit}[2]}}}}"),
    };
    let is_one = format!("{digit}[1] ^ {digit}[0]");
    let is_two = format!("({digit}[2] ^ {digit}[1]) & ~({is_one})");
    let mut row = vec![
        format!("(({{{n}{{{is_one}}}}} & {{{}}})", part(n)),
        format!("  | ({{{n}{{{is_two}}}}} & {{{twice}}}))"),
        format!("  ^ {invert}"),
    ];
    if width > n {
        row[0] = format!("{{{}'d0, {}", width - n, row[0]);
        row[2].push('}');
    }
    let name = scope.rows[&id].clone();
    row[0] = format!("{name} = {}", row[0]);
    row[2].push(';');
    let product = &scope.signals[scope.signal_of(id).expect("a product has a name")].name;
    Function {
        comment: format!(
            "Row of {product}: the factor times a digit of -2 to 2, less one below 0, its sign inverted."
        ),
        result: Interval::unsigned(width),
        arguments: vec![(word.clone(), bits), (digit.clone(), 3)],
        name,
        body: row,
    }
}

/// One row for each two bits of the narrower factor, and the term that completes them.
fn rows(scope: &Scope<'_>, name: &str, p: &Product, width: u32) -> Vec<(char, String)> {
    let bits = p.narrow.width();
    let digits = if p.narrow.is_signed { bits.div_ceil(2) } else { bits / 2 + 1 };
    let digits = digits.min(width.div_ceil(2));
    let zero = Value::constant(0, 1, false);
    let wide = scope.print(&p.wide);
    let mut terms = vec![];
    let mut signs: i128 = 0;
    let mut ones: Option<Value> = None;
    for i in 0..digits {
        let digit = match i {
            0 => p.narrow.bits(0, 2).above(&zero),
            _ => p.narrow.bits(2 * i - 1, 3),
        };
        let row = format!("{name}({wide}, {})", scope.print(&digit));
        terms.push(('+', if i == 0 { row } else { format!("({row} << {})", 2 * i) }));
        signs += 1 << (p.sign() + 2 * i);
        // The top digit of an unsigned word is never negative.
        if p.narrow.is_signed || 2 * i + 1 < bits {
            let one = p.narrow.bits(2 * i + 1, 1);
            ones = Some(match ones {
                None => one,
                Some(below) => one.above(&zero).above(&below),
            });
        }
    }
    // The signs lie above the ones: a row's sign is as high as the other factor is wide, or higher.
    let ones = ones.unwrap_or_else(|| zero.clone());
    let low = ones.width();
    assert!(p.sign() >= low, "{name}: ones and signs overlap");
    let last = match width > low {
        true => {
            let signs = ((-signs) & ((1 << width) - 1)) >> low;
            Value::constant(signs as i64, width - low, false).above(&ones)
        }
        false => ones.bits(0, width),
    };
    if last.as_constant() != Some(0) {
        terms.push(('+', scope.print_atom(&last)));
    }
    terms
}

/// A constant multiple as shifted copies, by its signed digits without two neighbours.
fn multiples(scope: &Scope<'_>, v: &Value, k: i64, width: u32) -> Vec<(char, String)> {
    let mut terms = vec![];
    let mut rest = i128::from(k);
    for place in 0..width {
        if rest & 1 == 1 {
            let digit = 2 - (rest & 3);
            let shifted = match place {
                0 => v.clone(),
                p => v.above(&Value::constant(0, p, false)),
            };
            let term = scope.print_atom(&shifted.resized(width, v.is_signed));
            terms.push((if digit == 1 { '+' } else { '-' }, term));
            rest -= digit;
        }
        rest >>= 1;
    }
    // A positive term first where there is one.
    terms.sort_by_key(|(sign, _)| *sign);
    terms
}

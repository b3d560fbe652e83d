//! Products as rows of partial products, summed with the addend in one expression.
//!
//! A row is the wider operand gated by one bit of the narrower. Products with exactly one sign bit count
//! negative; `-p` is `~p - 1`, so they are inverted and the ones are folded into a single constant
//! (Baugh and Wooley). Synthesis merges the one sum into a single carry-save tree; `a * b + c` would give a
//! multiplier with its own sign handling and a second adder behind it.
use super::bits::Value;
use super::scope::{At, Scope};
use crate::rtl::module::{NodeId, Op};

/// `a * b`, plus `c` when given, modulo 2^width.
pub fn text(
    scope: &Scope<'_>,
    width: u32,
    (a, b): (NodeId, NodeId),
    c: Option<NodeId>,
    at: At,
) -> String {
    let (a, b) = (scope.value(a, at), scope.value(b, at));
    let (wide, narrow) = if a.width() >= b.width() { (a, b) } else { (b, a) };
    let mut terms = match (wide.as_constant(), narrow.as_constant()) {
        (Some(k), _) => multiples(scope, &narrow, k, width),
        (_, Some(k)) => multiples(scope, &wide, k, width),
        _ => rows(scope, &wide, &narrow, width),
    };
    if let Some(c) = c {
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
    let is_row = terms.len() > 1 && first.starts_with('{');
    let mut text = if is_row { format!("\n      {first}") } else { first };
    for (sign, term) in &terms {
        text.push_str(&format!("\n    {sign} {term}"));
    }
    if terms.len() <= 1 { text.replace("\n   ", "") } else { text }
}

/// What the rows compute, for the comment above them; `None` where the text says it itself.
pub fn note(scope: &Scope<'_>, id: NodeId) -> Option<String> {
    let name = |id: NodeId| match scope.signal_of(id) {
        Some(signal) => scope.signals[signal].name.clone(),
        None => scope.writer().atom(&scope.value(id, At::Each)),
    };
    let (a, b, addend) = match scope.module.nodes[id].op {
        Op::Mul(a, b) => (a, b, String::new()),
        Op::MulAdd(a, b, c) => (a, b, format!(" + {}", name(c))),
        _ => return None,
    };
    let is_constant = |id: NodeId| scope.value(id, At::Each).as_constant().is_some();
    if is_constant(a) || is_constant(b) {
        return None;
    }
    let product = format!("{} = {} * {}{addend}", name(id), name(a), name(b));
    Some(format!("{product}, as rows of partial products in one carry-save sum."))
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

fn rows(scope: &Scope<'_>, wide: &Value, narrow: &Value, width: u32) -> Vec<(char, String)> {
    let top = wide.width() - 1;
    let mut inverted: i128 = 0;
    let mut terms = vec![];
    for i in 0..narrow.width().min(width) {
        let gate_bit = narrow.bits(i, 1);
        let is_sign_row = narrow.is_signed && i == narrow.width() - 1;
        let gate = scope.print_atom(&gate_bit);
        // Highest part first: zeros, the sign product, the others, zeros.
        let mut parts = vec![];
        let room = width - i;
        let plain = if wide.is_signed { top } else { top + 1 };
        let shown = plain.min(room);
        if room > top + 1 {
            parts.push(format!("{}'d0", room - top - 1));
        }
        if wide.is_signed && room > top {
            let product = format!("{} & {gate}", scope.print_atom(&wide.bits(top, 1)));
            parts.push(if is_sign_row { product } else { format!("~({product})") });
            if !is_sign_row {
                inverted += 1 << (i + top);
            }
        }
        if shown > 0 {
            let gates = if shown == 1 { gate.clone() } else { format!("{{{shown}{{{gate}}}}}") };
            let product = format!("{} & {gates}", scope.print_atom(&wide.bits(0, shown)));
            parts.push(if is_sign_row { format!("~({product})") } else { product });
            if is_sign_row {
                inverted += ((1 << shown) - 1) << i;
            }
        }
        if i > 0 {
            parts.push(format!("{i}'d0"));
        }
        terms.push((
            '+',
            match parts.len() {
                1 => format!("({})", parts[0]),
                _ => format!("{{{}}}", parts.join(", ")),
            },
        ));
    }
    let correction = (-inverted) & ((1 << width) - 1);
    if correction != 0 {
        terms.insert(0, ('+', format!("{width}'d{correction}")));
    }
    terms
}

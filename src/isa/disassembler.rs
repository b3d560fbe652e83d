//! Micro-ops back to program text: what [`super::assemble`] reads gives the same fields again.
//!
//! Values are those of a bound program, so immediates are numbers and `when` has been decided.
use super::ops::*;

fn text_of<T: Copy>(
    from_code: fn(i64) -> Option<T>,
    text: fn(T) -> &'static str,
    v: i64,
) -> String {
    from_code(v).map_or_else(|| format!("?{v}"), |t| text(t).to_string())
}

/// Text of a vector micro-op from its values in the order of [`VectorOp::fields`].
pub fn vector(values: &[i64]) -> String {
    let fields = VectorOp::fields();
    let value = |name: &str| values[fields.index(name)];
    let mut words = vec![
        format!("p={}", text_of(P::from_code, P::text, value("p"))),
        format!("q={}", text_of(Q::from_code, Q::text, value("q"))),
        format!("c={}", text_of(C::from_code, C::text, value("c"))),
    ];
    let mut put = |key: &str, text: String| words.push(format!("{key}={text}"));
    if value("source") != 0 {
        put("source", text_of(Source::from_code, Source::text, value("source")));
    }
    if value("shift") != 0 {
        put("shift", text_of(Shift::from_code, Shift::text, value("shift")));
    }
    if value("amount") != 0 {
        put("amount", format!("({})", value("amount")));
    }
    if value("t") != 0 {
        put("t", text_of(T::from_code, T::text, value("t")));
    }
    if value("reduce") != 0 {
        put("reduce", text_of(Reduce::from_code, Reduce::text, value("reduce")));
    }
    if value("out") != 0 {
        // A wide code is named by the format alone.
        let narrow = text_of(Out::from_code, Out::text, value("out"));
        put("out", if value("wide") == 1 { "format".to_string() } else { narrow });
    }
    let flags = ["beta", "store", "release"].into_iter().filter(|f| value(f) == 1);
    words.extend(flags.map(str::to_string));
    words.join(" ")
}

/// Text of a scalar micro-op from its values in the order of [`ScalarOp::fields`].
pub fn scalar(values: &[i64]) -> String {
    let fields = ScalarOp::fields(1);
    let value = |name: &str| values[fields.index(name)];
    let (ra, rb, rd) = (value("ra"), value("rb"), value("rd"));
    let immediate = value("immediate");
    let table = text_of(Table::from_code, Table::text, value("table"));
    match ScalarKind::from_code(value("kind")) {
        Some(ScalarKind::Take) if value("flag") == 1 => "take scaled".to_string(),
        Some(ScalarKind::Take) => "take".to_string(),
        Some(ScalarKind::Norm) => format!("norm g{rd}"),
        Some(ScalarKind::SetC) => "setc".to_string(),
        Some(ScalarKind::SetS) => {
            let exponent = match Table::from_code(value("table")) {
                Some(Table::Log2) => "plain",
                Some(Table::Rsqrt) => "half",
                _ => "full",
            };
            format!("sets g{ra} {exponent} shift({immediate})")
        }
        Some(ScalarKind::Mul) => {
            let x = match X::from_code(value("x")) {
                Some(X::Max) => "max".to_string(),
                Some(X::Slope) => format!("slope({table} g{ra})"),
                Some(X::Half) => format!("half(g{ra})"),
                _ => format!("g{ra}"),
            };
            let y = match (Y::from_code(value("y")), Table::from_code(value("table"))) {
                (Some(Y::High), _) => "high".to_string(),
                (Some(Y::Position), _) => "lo".to_string(),
                (Some(Y::Immediate), _) => format!("imm({immediate})"),
                (Some(Y::Power), Some(Table::Log2)) => format!("powup({immediate})"),
                (Some(Y::Power), Some(Table::Rsqrt)) => format!("powdown({immediate})"),
                (Some(Y::Power), _) => format!("pow({immediate})"),
                _ => format!("g{rb}"),
            };
            format!("mul {x} {y}")
        }
        _ => {
            let a = match AluA::from_code(value("a")) {
                Some(AluA::Zero) => "0".to_string(),
                Some(AluA::Acc) => "a".to_string(),
                Some(AluA::Immediate) => format!("imm({immediate})"),
                Some(AluA::Table) => format!("table({table} g{ra})"),
                _ => format!("g{ra}"),
            };
            let dst = if value("dst") == 0 { "a".to_string() } else { format!("g{rd}") };
            let sign = if value("subtract") == 1 { "-" } else { "+" };
            let round = if value("round") == 1 { " round" } else { "" };
            match value("b") {
                0 if dst == "a" && a == "a" => "nop".to_string(),
                0 => format!("{dst} = {a}"),
                b => {
                    format!("{dst} = {a} {sign} {}{round}", text_of(AluB::from_code, AluB::text, b))
                }
            }
        }
    }
}

/// Blocks of a whole program, scalar first, as text.
pub fn blocks(scalar_values: &[Vec<i64>], vector_values: &[Vec<i64>]) -> String {
    let scalar_end = ScalarOp::fields(1).index("end");
    let vector_end = VectorOp::fields().index("end");
    let mut text = String::new();
    let scalars = scalar_values.split_inclusive(|v| v[scalar_end] == 1);
    for (s, v) in scalars.zip(vector_values.split_inclusive(|v| v[vector_end] == 1)) {
        text += "scalar\n";
        s.iter().for_each(|op| text += &format!("  {}\n", scalar(op)));
        text += "vector\n";
        v.iter().for_each(|op| text += &format!("  {}\n", vector(op)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Block, assemble};

    /// Immediates stay 0: the binder's are checked in `tests/cycles.rs`.
    #[test]
    fn shipped_text_round_trips() {
        let text = "program t\nscalar\n  take scaled\n  mul g1 pow(3)\n  mul half(g3) high\n\
                    g1 = table(rsqrt g2) + prod\n  g0 = 0 + high round\n  a = a - prodf\n  nop\n\
                    sets g3 full shift(1)\nvector\n  p=t q=gamma c=0 shift=row beta out=signed\n";
        let program = assemble(text).expect("legal text");
        let (mut scalars, mut vectors) = (vec![], vec![]);
        for block in &program.blocks {
            match block {
                Block::Scalar(lines) => scalars.extend(lines.iter().map(|l| l.op.values())),
                Block::Vector(lines) => vectors.extend(lines.iter().map(|l| l.op.values())),
            }
        }
        let end = ScalarOp::fields(1).index("end");
        scalars.last_mut().expect("a word")[end] = 1;
        let again = assemble(&format!("program t\n{}", blocks(&scalars, &vectors))).expect("text");
        for (a, b) in program.blocks.iter().zip(&again.blocks) {
            match (a, b) {
                (Block::Scalar(a), Block::Scalar(b)) => {
                    assert!(a.iter().zip(b).all(|(a, b)| a.op == b.op) && a.len() == b.len());
                }
                (Block::Vector(a), Block::Vector(b)) => {
                    assert!(a.iter().zip(b).all(|(a, b)| a.op == b.op) && a.len() == b.len());
                }
                _ => panic!("blocks differ in kind"),
            }
        }
    }
}

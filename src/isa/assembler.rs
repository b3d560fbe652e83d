//! Program text to micro-ops. A program alternates `scalar` and `vector` blocks, scalar first; the
//! README's tutorial shows one. Immediates stay expressions until the program is bound.
use super::expression::Expression;
use super::ops::*;
use std::fmt;

/// A program as text describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub name: String,
    /// Operator of `reference` that it computes; without one there are no error figures.
    pub reference: Option<String>,
    pub family: Family,
    /// Uses gamma (and beta) of the parameter store.
    pub has_gamma: bool,
    pub has_beta: bool,
    pub constants: Vec<(String, Expression, usize)>,
    pub blocks: Vec<Block>,
}

/// What kind of operator a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Takes a mask; output is a share of full scale.
    Softmax,
    /// Takes epsilon and no mask.
    Norm,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Scalar(Vec<ScalarLine>),
    Vector(Vec<VectorLine>),
}

/// A scalar micro-op with its immediate as an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarLine {
    pub op: ScalarOp,
    pub immediate: Option<Expression>,
    /// `when NAME`: the line is there only where the constant is not 0.
    pub condition: Option<Expression>,
    pub line: usize,
    pub text: String,
}

/// A vector micro-op with its amount as an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorLine {
    pub op: VectorOp,
    pub amount: Option<Expression>,
    /// `out=format`: saturation and width follow the output format.
    pub follows_format: bool,
    pub line: usize,
    pub text: String,
}

/// A mistake in a program's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct AssemblerError {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    pub message: String,
}

impl fmt::Display for AssemblerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// One line under work: the whole text, so that columns can be told, and what is left of it.
struct Line<'a> {
    whole: &'a str,
    number: usize,
}

impl Line<'_> {
    fn column(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.whole.as_ptr() as usize) + 1
    }

    fn error(&self, part: &str, message: String) -> AssemblerError {
        AssemblerError { line: self.number, column: self.column(part), message }
    }

    fn expression(&self, part: &str) -> Result<Expression, AssemblerError> {
        Expression::parse(part).map_err(|(at, message)| AssemblerError {
            line: self.number,
            column: self.column(part) + at,
            message,
        })
    }

    fn register(&self, part: &str) -> Result<u8, AssemblerError> {
        match part.strip_prefix('g').and_then(|n| n.parse::<u8>().ok()) {
            Some(n) if n < 4 => Ok(n),
            _ => Err(self.error(part, format!("`{part}` is no register; expected g0 to g3"))),
        }
    }

    /// `name(inside)` in full: the inside.
    fn call<'b>(&self, part: &'b str, name: &str) -> Option<&'b str> {
        let inside = part.strip_prefix(name)?.trim_start().strip_prefix('(')?;
        inside.strip_suffix(')')
    }

    fn table<'b>(&self, inside: &'b str) -> Result<(Table, &'b str), AssemblerError> {
        let (name, rest) = inside.split_once(' ').unwrap_or((inside, ""));
        let known = "expected log2, rsqrt or recip";
        let table = Table::parse(name)
            .ok_or_else(|| self.error(inside, format!("`{name}` is no table; {known}")))?;
        Ok((table, rest.trim()))
    }
}

/// Words at the top level of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = vec![];
    let (mut depth, mut start) = (0i32, None);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if c.is_whitespace() && depth <= 0 {
            if let Some(s) = start.take() {
                parts.push(&text[s..i]);
            }
        } else if start.is_none() {
            start = Some(i);
        }
    }
    if let Some(s) = start {
        parts.push(&text[s..]);
    }
    parts
}

/// Reads a program.
pub fn assemble(text: &str) -> Result<Program, AssemblerError> {
    let mut p = Program {
        name: String::new(),
        reference: None,
        family: Family::Norm,
        has_gamma: false,
        has_beta: false,
        constants: vec![],
        blocks: vec![],
    };
    let mut lines = 0;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (i, raw) in text.lines().enumerate() {
        lines = i + 1;
        let whole = raw.trim_end_matches('\r');
        let line = Line { whole, number: i + 1 };
        let body = whole.split('#').next().unwrap_or("").trim();
        if !body.is_empty() {
            statement(&mut p, &line, body)?;
        }
    }
    let end =
        |message: &str| AssemblerError { line: lines, column: 1, message: message.to_string() };
    if p.name.is_empty() {
        return Err(end("the program has no name; expected a line `program NAME`"));
    }
    if !matches!(p.blocks.last(), Some(Block::Vector(v)) if !v.is_empty()) {
        return Err(end(
            "the program does not end in a vector block; that is where output is made",
        ));
    }
    passes(&p)?;
    Ok(p)
}

/// Results leave in the last pass, once a chunk, and the row stays until then: an engine waits for ever for
/// what does not come.
fn passes(p: &Program) -> Result<(), AssemblerError> {
    let at = |l: &VectorLine, message: &str| AssemblerError {
        line: l.line,
        column: 1,
        message: message.to_string(),
    };
    let is_out = |l: &&VectorLine| l.follows_format || l.op.out != Out::None;
    let mut passes: Vec<&Vec<VectorLine>> = (p.blocks.iter())
        .filter_map(|b| match b {
            Block::Vector(lines) => Some(lines),
            Block::Scalar(_) => None,
        })
        .collect();
    let last = passes.pop().map_or(&[][..], |l| l);
    for l in passes.into_iter().flatten() {
        if l.op.release || is_out(&l) {
            return Err(at(l, "only the last vector block has `out=` and `release`"));
        }
    }
    if let Some(l) = last.iter().find(|l| l.op.reduce != Reduce::None) {
        return Err(at(l, "no scalar block takes the sum of the last vector block"));
    }
    let first = last.first().expect("a micro-op");
    match last.iter().filter(is_out).collect::<Vec<_>>()[..] {
        [_] => Ok(()),
        [] => Err(at(first, "the last vector block has no `out=`, which writes a chunk's results")),
        [_, l, ..] => Err(at(l, "a second `out=`; a chunk's results are written once")),
    }
}

fn statement(p: &mut Program, line: &Line, body: &str) -> Result<(), AssemblerError> {
    let words = split(body);
    let head = words[0];
    let rest = body[head.len()..].trim_start();
    match head {
        "program" => p.name = rest.to_string(),
        "reference" => p.reference = Some(rest.to_string()),
        "family" => {
            p.family = match rest {
                "softmax" => Family::Softmax,
                "norm" => Family::Norm,
                _ => {
                    return Err(
                        line.error(rest, format!("found `{rest}`; expected softmax or norm"))
                    );
                }
            }
        }
        "const" => {
            let (name, value) = rest.split_once('=').ok_or_else(|| {
                line.error(rest, "expected `const NAME = EXPRESSION`".to_string())
            })?;
            p.constants.push((
                name.trim().to_string(),
                line.expression(value.trim())?,
                line.number,
            ));
        }
        "scalar" => match p.blocks.last() {
            Some(Block::Scalar(_)) => {
                return Err(line.error(head, "a scalar block follows a scalar block".to_string()));
            }
            Some(Block::Vector(v)) if v.is_empty() => {
                return Err(line.error(head, "the vector block before has no micro-op".to_string()));
            }
            _ => p.blocks.push(Block::Scalar(vec![])),
        },
        "vector" => match p.blocks.last() {
            Some(Block::Scalar(_)) => p.blocks.push(Block::Vector(vec![])),
            _ => {
                let message = "a vector block follows a scalar block (it may be empty)";
                return Err(line.error(head, message.to_string()));
            }
        },
        _ => match p.blocks.last_mut() {
            Some(Block::Scalar(lines)) => lines.push(scalar_line(line, body)?),
            Some(Block::Vector(lines)) => {
                let op = vector_line(line, body, &words)?;
                p.has_gamma |= op.op.q == Q::Gamma;
                p.has_beta |= op.op.beta;
                lines.push(op);
            }
            None => {
                let known = "program, reference, family, const, scalar or vector";
                return Err(line.error(head, format!("found `{head}`; expected {known}")));
            }
        },
    }
    Ok(())
}

fn scalar_line(line: &Line, body: &str) -> Result<ScalarLine, AssemblerError> {
    let (condition, text) = match body.strip_prefix("when ").map(str::trim) {
        Some(rest) => {
            let (name, text) = rest.split_once(' ').ok_or_else(|| {
                line.error(rest, "expected a constant and a micro-op after `when`".to_string())
            })?;
            (Some(line.expression(name)?), text.trim())
        }
        None => (None, body),
    };
    let words = split(text);
    let mut op = ScalarOp::NOP;
    let mut immediate = None;
    let head = words[0];
    let argument = |k: usize| {
        words.get(k).copied().ok_or_else(|| line.error(text, format!("`{head}` is not complete")))
    };
    match head {
        "nop" => {}
        "take" => {
            op.kind = ScalarKind::Take;
            op.flag = match words.get(1) {
                None => false,
                Some(&"scaled") => true,
                Some(w) => return Err(line.error(w, format!("found `{w}`; expected scaled"))),
            };
        }
        "norm" => {
            op.kind = ScalarKind::Norm;
            op.rd = line.register(argument(1)?)?;
        }
        "setc" => op.kind = ScalarKind::SetC,
        "sets" => {
            op.kind = ScalarKind::SetS;
            op.ra = line.register(argument(1)?)?;
            op.rd = op.ra;
            let exponent = argument(2)?;
            op.table = match exponent {
                "plain" => Table::Log2,
                "half" => Table::Rsqrt,
                "full" => Table::Reciprocal,
                _ => {
                    let message = format!("found `{exponent}`; expected plain, half or full");
                    return Err(line.error(exponent, message));
                }
            };
            let shift = argument(3)?;
            let inside = line.call(shift, "shift").ok_or_else(|| {
                line.error(shift, format!("found `{shift}`; expected shift(EXPRESSION)"))
            })?;
            immediate = Some(line.expression(inside)?);
        }
        "mul" => {
            op.kind = ScalarKind::Mul;
            let (x, y) = (argument(1)?, argument(2)?);
            if x == "max" {
                op.x = X::Max;
            } else if let Some(inside) = line.call(x, "slope") {
                let (table, register) = line.table(inside)?;
                (op.x, op.table, op.ra) = (X::Slope, table, line.register(register)?);
            } else if let Some(inside) = line.call(x, "half") {
                (op.x, op.ra) = (X::Half, line.register(inside)?);
            } else {
                op.ra = line.register(x)?;
            }
            if y == "high" {
                op.y = Y::High;
            } else if y == "lo" {
                op.y = Y::Position;
            } else if let Some(inside) = line.call(y, "imm") {
                (op.y, immediate) = (Y::Immediate, Some(line.expression(inside)?));
            } else if let Some(inside) = line.call(y, "pow") {
                (op.y, op.table) = (Y::Power, Table::Reciprocal);
                immediate = Some(line.expression(inside)?);
            } else if let Some(inside) = line.call(y, "powup") {
                (op.y, op.table) = (Y::Power, Table::Log2);
                immediate = Some(line.expression(inside)?);
            } else if let Some(inside) = line.call(y, "powdown") {
                (op.y, op.table) = (Y::Power, Table::Rsqrt);
                immediate = Some(line.expression(inside)?);
            } else {
                (op.y, op.rb) = (Y::Reg, line.register(y)?);
            }
        }
        _ => (op, immediate) = adder_line(line, text)?,
    }
    Ok(ScalarLine { op, immediate, condition, line: line.number, text: text.to_string() })
}

/// `DST = A [+ B | - B] [round]`.
fn adder_line(line: &Line, text: &str) -> Result<(ScalarOp, Option<Expression>), AssemblerError> {
    let mut op = ScalarOp::NOP;
    let mut immediate = None;
    let Some((dst, value)) = text.split_once('=') else {
        let known = "take, norm, setc, sets, mul, nop or DST = A + B";
        return Err(line.error(text, format!("found `{text}`; expected {known}")));
    };
    let dst = dst.trim();
    if dst == "a" {
        op.dst = Dst::Acc;
    } else {
        (op.dst, op.rd) = (Dst::Reg, line.register(dst)?);
    }
    let words = split(value);
    let first = *words.first().ok_or_else(|| line.error(value, "expected a value".to_string()))?;
    if first == "0" {
        op.a = AluA::Zero;
    } else if first == "a" {
        op.a = AluA::Acc;
    } else if let Some(inside) = line.call(first, "imm") {
        (op.a, immediate) = (AluA::Immediate, Some(line.expression(inside)?));
    } else if let Some(inside) = line.call(first, "table") {
        let (table, register) = line.table(inside)?;
        (op.a, op.table, op.ra) = (AluA::Table, table, line.register(register)?);
        op.dst = Dst::Table;
    } else {
        (op.a, op.ra) = (AluA::Reg, line.register(first)?);
    }
    let mut rest = &words[1..];
    if let [sign @ ("+" | "-"), b, more @ ..] = rest {
        op.subtract = *sign == "-";
        let known = "expected prod, prodf or high";
        op.b = AluB::parse(b)
            .filter(|&b| b != AluB::Zero)
            .ok_or_else(|| line.error(b, format!("found `{b}`; {known}")))?;
        rest = more;
    }
    if let [word @ "round", more @ ..] = rest {
        if op.b != AluB::High || op.subtract {
            return Err(line.error(word, "only `+ high` can be rounded".to_string()));
        }
        op.round = true;
        rest = more;
    }
    if let Some(extra) = rest.first() {
        return Err(
            line.error(extra, format!("found `{extra}`; expected + B, - B, round or the end"))
        );
    }
    Ok((op, immediate))
}

fn vector_line(line: &Line, body: &str, words: &[&str]) -> Result<VectorLine, AssemblerError> {
    let mut op = VectorOp::NOP;
    let mut amount = None;
    let mut follows_format = false;
    for word in words {
        match *word {
            "beta" => op.beta = true,
            "store" => op.store = true,
            "release" => op.release = true,
            _ => {
                let (key, value) = word.split_once('=').ok_or_else(|| {
                    let known = "key=value, beta, store or release";
                    line.error(word, format!("found `{word}`; expected {known}"))
                })?;
                macro_rules! symbol {
                    ($type:ident) => {
                        $type::parse(value).ok_or_else(|| {
                            let all: Vec<&str> = $type::ALL.iter().map(|v| v.text()).collect();
                            let known = all.join(", ");
                            line.error(value, format!("{key} is `{value}`; expected {known}"))
                        })?
                    };
                }
                match key {
                    "p" => op.p = symbol!(P),
                    "q" => op.q = symbol!(Q),
                    "c" => op.c = symbol!(C),
                    "source" => op.source = symbol!(Source),
                    "shift" => op.shift = symbol!(Shift),
                    "t" => op.t = symbol!(T),
                    "reduce" => op.reduce = symbol!(Reduce),
                    "out" if value == "format" => follows_format = true,
                    "out" => op.out = symbol!(Out),
                    "amount" => {
                        let inside = value.strip_prefix('(').and_then(|v| v.strip_suffix(')'));
                        amount = Some(line.expression(inside.unwrap_or(value))?);
                    }
                    _ => {
                        let known = "p, q, c, source, shift, amount, t, reduce or out";
                        return Err(line.error(key, format!("found `{key}`; expected {known}")));
                    }
                }
            }
        }
    }
    Ok(VectorLine { op, amount, follows_format, line: line.number, text: body.to_string() })
}

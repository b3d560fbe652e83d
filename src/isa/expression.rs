//! Constant expressions of a program: numbers, names, `+ - * /`, parentheses and a few functions.
//! They are evaluated on the host, in f64, when a program is bound to a row length and scales.
use std::collections::BTreeMap;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Number(f64),
    /// A name and the column where it stands.
    Name(String, usize),
    Negate(Box<Expression>),
    Binary(char, Box<Expression>, Box<Expression>),
    Call(Function, Vec<Expression>),
}

/// The functions that an expression may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Sqrt,
    Log2,
    Exp2,
    Floor,
    Ceil,
    Round,
    Min,
    Max,
}

const FUNCTIONS: &[(&str, Function, usize)] = &[
    ("sqrt", Function::Sqrt, 1),
    ("log2", Function::Log2, 1),
    ("exp2", Function::Exp2, 1),
    ("floor", Function::Floor, 1),
    ("ceil", Function::Ceil, 1),
    ("round", Function::Round, 1),
    ("min", Function::Min, 2),
    ("max", Function::Max, 2),
];

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// What is wrong with an expression: its column from 0 and a sentence.
pub type ExpressionError = (usize, String);

impl Expression {
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let mut p = Parser { text, at: 0 };
        let e = p.sum(0)?;
        p.skip();
        match p.text[p.at..].chars().next() {
            None => Ok(e),
            Some(c) => Err((p.at, format!("found `{c}`; expected an operator or the end"))),
        }
    }

    /// The value, with names looked up in `names`. An unknown name gives an error with its column.
    pub fn evaluate(&self, names: &BTreeMap<String, f64>) -> Result<f64, ExpressionError> {
        Ok(match self {
            Expression::Number(v) => *v,
            Expression::Name(n, at) => *names.get(n).ok_or_else(|| {
                let known: Vec<&str> = names.keys().map(String::as_str).collect();
                (*at, format!("`{n}` is not known here; known: {}", known.join(", ")))
            })?,
            Expression::Negate(e) => -e.evaluate(names)?,
            Expression::Binary(op, a, b) => {
                let (a, b) = (a.evaluate(names)?, b.evaluate(names)?);
                match op {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a / b,
                }
            }
            Expression::Call(f, args) => {
                let v: Vec<f64> =
                    args.iter().map(|a| a.evaluate(names)).collect::<Result<_, _>>()?;
                match f {
                    Function::Sqrt => libm::sqrt(v[0]),
                    Function::Log2 => libm::log2(v[0]),
                    Function::Exp2 => libm::exp2(v[0]),
                    Function::Floor => v[0].floor(),
                    Function::Ceil => v[0].ceil(),
                    Function::Round => (v[0] + 0.5).floor(),
                    Function::Min => v[0].min(v[1]),
                    Function::Max => v[0].max(v[1]),
                }
            }
        })
    }
}

impl Parser<'_> {
    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn next_is(&mut self, set: &str) -> Option<char> {
        self.skip();
        let c = self.text[self.at..].chars().next().filter(|c| set.contains(*c))?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn sum(&mut self, depth: u32) -> Result<Expression, ExpressionError> {
        if depth > 50 {
            return Err((self.at, "the expression is nested more than 50 deep".to_string()));
        }
        let mut left = self.product(depth)?;
        while let Some(op) = self.next_is("+-") {
            left = Expression::Binary(op, Box::new(left), Box::new(self.product(depth)?));
        }
        Ok(left)
    }

    fn product(&mut self, depth: u32) -> Result<Expression, ExpressionError> {
        let mut left = self.factor(depth)?;
        while let Some(op) = self.next_is("*/") {
            left = Expression::Binary(op, Box::new(left), Box::new(self.factor(depth)?));
        }
        Ok(left)
    }

    fn factor(&mut self, depth: u32) -> Result<Expression, ExpressionError> {
        if depth > 50 {
            return Err((self.at, "the expression is nested more than 50 deep".to_string()));
        }
        if self.next_is("-").is_some() {
            return Ok(Expression::Negate(Box::new(self.factor(depth + 1)?)));
        }
        if self.next_is("(").is_some() {
            let e = self.sum(depth + 1)?;
            return self.close().map(|()| e);
        }
        let start = self.at;
        let rest = &self.text[start..];
        let length = rest
            .char_indices()
            .take_while(|&(i, c)| {
                let is_exponent = "+-".contains(c)
                    && i > 0
                    && rest.as_bytes()[0].is_ascii_digit()
                    && "eE".contains(rest.as_bytes()[i - 1] as char);
                c.is_ascii_alphanumeric() || c == '_' || c == '.' || is_exponent
            })
            .map(|(_, c)| c.len_utf8())
            .sum::<usize>();
        let word = &rest[..length];
        self.at += length;
        if word.is_empty() {
            let found = rest.chars().next().map_or("the end".to_string(), |c| format!("`{c}`"));
            return Err((start, format!("found {found}; expected a number, a name or `(`")));
        }
        if word.as_bytes()[0].is_ascii_digit() {
            let number = word.parse().map_err(|_| (start, format!("`{word}` is not a number")))?;
            return Ok(Expression::Number(number));
        }
        if self.next_is("(").is_none() {
            return Ok(Expression::Name(word.to_string(), start));
        }
        let Some(&(name, function, count)) = FUNCTIONS.iter().find(|f| f.0 == word) else {
            let known: Vec<&str> = FUNCTIONS.iter().map(|f| f.0).collect();
            return Err((
                start,
                format!("`{word}` is not a function; known: {}", known.join(", ")),
            ));
        };
        let mut arguments = vec![self.sum(depth + 1)?];
        while self.next_is(",").is_some() {
            arguments.push(self.sum(depth + 1)?);
        }
        self.close()?;
        if arguments.len() != count {
            let found = arguments.len();
            return Err((start, format!("{name} takes {count} arguments, found {found}")));
        }
        Ok(Expression::Call(function, arguments))
    }

    fn close(&mut self) -> Result<(), ExpressionError> {
        match self.next_is(")") {
            Some(_) => Ok(()),
            None => Err((self.at, "expected `)`".to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_their_usual_value() {
        let names = BTreeMap::from([("N".to_string(), 16.0)]);
        for (text, value) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("-sqrt(N) / 2", -2.0),
            ("min(log2(N), 3) - 1e-3", 2.999),
            ("2 - 1 - 1", 0.0),
        ] {
            let e = Expression::parse(text).expect(text);
            assert_eq!(e.evaluate(&names), Ok(value), "{text}");
        }
    }

    #[test]
    fn mistakes_name_their_column() {
        for (text, column) in [("1 +", 3), ("(1", 2), ("foo(1)", 0), ("1 2", 2), ("min(1)", 0)] {
            assert_eq!(Expression::parse(text).expect_err(text).0, column, "{text}");
        }
        let e = Expression::parse("1 + x").expect("legal");
        assert_eq!(e.evaluate(&BTreeMap::new()).expect_err("unknown").0, 4);
    }
}

//! The cells of a Liberty library that a calibration needs, found by what they compute.
use super::liberty::Group;

/// A two-output cell that adds three bits.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FullAdder {
    pub cell: String,
    /// um^2.
    pub area: f64,
    /// Names of the three input pins; the order does not matter to the function.
    pub inputs: [String; 3],
    pub sum: String,
    pub carry: String,
    /// Both outputs are inverted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_inverting: bool,
}

/// The name of a cell with its area in um^2.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Cell {
    pub cell: String,
    pub area: f64,
}

/// Input and output pins of a cell, power pins left out.
fn pins<'g>(cell: &'g Group, direction: &'g str) -> Vec<&'g Group> {
    cell.all("pin").filter(|p| p.get("direction") == Some(direction)).collect()
}

/// Names of a cell's inputs, and each output with its values for every value of the inputs.
type Truth<'g> = (Vec<&'g str>, Vec<(&'g str, u64)>);

/// The outputs of a combinational cell for every value of its inputs, input k in bit k of the index.
fn truth(cell: &Group) -> Option<Truth<'_>> {
    let inputs: Vec<&str> = pins(cell, "input").iter().map(|p| p.name()).collect();
    let is_sequential = ["ff", "latch", "statetable"].iter().any(|k| cell.all(k).next().is_some());
    if is_sequential || inputs.is_empty() || inputs.len() > 6 {
        return None;
    }
    let mut outputs = vec![];
    for pin in pins(cell, "output") {
        let function = pin.get("function")?;
        let mut bits = 0;
        for case in 0..1u64 << inputs.len() {
            let value = |name: &str| {
                let k = inputs.iter().position(|&n| n == name)?;
                Some(case >> k & 1 == 1)
            };
            bits |= u64::from(evaluate(function, &value)?) << case;
        }
        outputs.push((pin.name(), bits));
    }
    Some((inputs, outputs))
}

/// The smallest cell that `make` accepts.
fn smallest<T>(library: &Group, make: impl Fn(&Group, f64) -> Option<T>) -> Option<T> {
    let mut best: Option<(f64, T)> = None;
    for cell in library.all("cell") {
        let area = cell.number("area").filter(|a| *a > 0.0);
        let found = area.and_then(|area| Some((area, make(cell, area)?)));
        if let Some((area, found)) = found {
            if best.as_ref().is_none_or(|(least, _)| area < *least) {
                best = Some((area, found));
            }
        }
    }
    best.map(|(_, found)| found)
}

/// The smallest two-input NAND: the unit of gate equivalents.
pub fn nand2(library: &Group) -> Option<Cell> {
    smallest(library, |cell, area| {
        let (inputs, outputs) = truth(cell)?;
        let is_nand = inputs.len() == 2 && matches!(outputs[..], [(_, 0b0111)]);
        is_nand.then(|| Cell { cell: cell.name().into(), area })
    })
}

/// The smallest flip-flop without reset whose next state is its data pin alone; its output may be
/// inverted.
pub fn flop(library: &Group) -> Option<Cell> {
    smallest(library, |cell, area| {
        let ff = cell.all("ff").next()?;
        let is_plain = ff.get("clear").is_none()
            && ff.get("preset").is_none()
            && pins(cell, "input").len() == 2
            && cell.all("ff").count() == 1;
        is_plain.then(|| Cell { cell: cell.name().into(), area })
    })
}

/// The smallest full adder.
pub fn full_adder(library: &Group) -> Option<FullAdder> {
    const SUM: u64 = 0b1001_0110;
    const CARRY: u64 = 0b1110_1000;
    smallest(library, |cell, area| {
        let (inputs, outputs) = truth(cell)?;
        let [a, b, c] = inputs[..] else { return None };
        for is_inverting in [false, true] {
            let wanted = |f: u64| if is_inverting { !f & 0xff } else { f };
            let find = |f: u64| outputs.iter().find(|(_, bits)| *bits == wanted(f));
            if let (Some((sum, _)), Some((carry, _)), 2) = (find(SUM), find(CARRY), outputs.len()) {
                return Some(FullAdder {
                    cell: cell.name().into(),
                    area,
                    inputs: [a, b, c].map(String::from),
                    sum: (*sum).into(),
                    carry: (*carry).into(),
                    is_inverting,
                });
            }
        }
        None
    })
}

/// The value of a Liberty expression: `!a`, `a'`, `a * b`, `a & b`, `a b`, `a + b`, `a | b`, `a ^ b`. Ors
/// bind weakest, then ands, then exclusive ors. `None` where it is none or names an unknown pin.
pub fn evaluate(text: &str, value: &dyn Fn(&str) -> Option<bool>) -> Option<bool> {
    let mut parser = Parser { bytes: text.as_bytes(), at: 0, value };
    let result = parser.or()?;
    (parser.next() == 0).then_some(result)
}

struct Parser<'t> {
    bytes: &'t [u8],
    at: usize,
    value: &'t dyn Fn(&str) -> Option<bool>,
}

impl Parser<'_> {
    /// The next byte that is no blank; 0 at the end.
    fn next(&mut self) -> u8 {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn or(&mut self) -> Option<bool> {
        let mut result = self.and()?;
        while matches!(self.next(), b'+' | b'|') {
            self.at += 1;
            result |= self.and()?;
        }
        Some(result)
    }

    fn and(&mut self) -> Option<bool> {
        let mut result = self.exclusive()?;
        loop {
            match self.next() {
                b'*' | b'&' => self.at += 1,
                b'(' | b'!' | b'_' | b'"' => {}
                b if b.is_ascii_alphanumeric() => {}
                _ => return Some(result),
            }
            result &= self.exclusive()?;
        }
    }

    fn exclusive(&mut self) -> Option<bool> {
        let mut result = self.factor()?;
        while self.next() == b'^' {
            self.at += 1;
            result ^= self.factor()?;
        }
        Some(result)
    }

    fn factor(&mut self) -> Option<bool> {
        let mut result = match self.next() {
            b'!' => {
                self.at += 1;
                return Some(!self.factor()?);
            }
            b'(' => {
                self.at += 1;
                let inner = self.or()?;
                if self.next() != b')' {
                    return None;
                }
                self.at += 1;
                inner
            }
            _ => {
                let start = self.at;
                let is_name = |b: &u8| b.is_ascii_alphanumeric() || b"_[]".contains(b);
                while self.bytes.get(self.at).is_some_and(is_name) {
                    self.at += 1;
                }
                match std::str::from_utf8(&self.bytes[start..self.at]).ok()? {
                    "" => return None,
                    "0" => false,
                    "1" => true,
                    name => (self.value)(name)?,
                }
            }
        };
        while self.next() == b'\'' {
            self.at += 1;
            result = !result;
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::super::liberty::parse;
    use super::*;

    #[test]
    fn expressions() {
        let value = |name: &str| match name {
            "A" => Some(true),
            "B" => Some(false),
            _ => None,
        };
        for (text, expected) in [
            ("A", Some(true)),
            ("!A", Some(false)),
            ("A'", Some(false)),
            ("(A B) + !B", Some(true)),
            ("A * B | B", Some(false)),
            ("A ^ A & B", Some(false)),
            ("!(A & !B)", Some(false)),
            ("0 + 1", Some(true)),
            ("C", None),
            ("A +", None),
            ("(A", None),
            ("", None),
        ] {
            assert_eq!(evaluate(text, &value), expected, "{text}");
        }
    }

    #[test]
    fn cells_are_found_by_their_function() {
        let pin = |name: &str, function: &str| match function {
            "" => format!("pin ({name}) {{ direction : input; }}"),
            f => format!("pin ({name}) {{ direction : output; function : \"{f}\"; }}"),
        };
        let nand = [pin("A", ""), pin("B", ""), pin("Y", "!(A&B)")].concat();
        let adder = [
            pin("A", ""),
            pin("B", ""),
            pin("CI", ""),
            pin("SN", "!(A^B^CI)"),
            pin("CON", "(!A * !B) + (!A * !CI) + (!B * !CI)"),
        ]
        .concat();
        let flop = "ff (IQ, IQN) { clocked_on : \"CK\"; next_state : \"D\"; }".to_string()
            + &[pin("D", ""), pin("CK", ""), pin("Q", "IQ")].concat();
        let text = format!(
            "library (l) {{ cell (ND2X2) {{ area : 3; {nand} }} cell (ND2) {{ area : 2; {nand} }} \
             cell (FA) {{ area : 9; {adder} }} cell (DFF) {{ area : 8; {flop} }} }}"
        );
        let library = parse(&text).expect("a library");
        assert_eq!(nand2(&library), Some(Cell { cell: "ND2".into(), area: 2.0 }));
        assert_eq!(super::flop(&library), Some(Cell { cell: "DFF".into(), area: 8.0 }));
        let found = full_adder(&library).expect("an adder");
        assert_eq!(
            (found.cell.as_str(), found.sum.as_str(), found.carry.as_str()),
            ("FA", "SN", "CON")
        );
        assert!(found.is_inverting);
    }
}

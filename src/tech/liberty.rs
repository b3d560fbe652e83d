//! Liberty text as a tree of groups, and back to the part of it that a synthesis reads.
use std::fmt::Write as _;

/// A group: `kind (arguments) { attributes and groups }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// `library`, `cell`, `pin`.
    pub kind: String,
    /// Without quotes.
    pub arguments: Vec<String>,
    /// Name and values, in their order; values keep their quotes.
    pub attributes: Vec<(String, Vec<String>)>,
    pub groups: Vec<Group>,
}

/// Where the text is no Liberty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: found {found}; expected {expected}; is this a Liberty file?")]
pub struct LibertyError {
    pub line: usize,
    pub found: String,
    pub expected: &'static str,
}

/// Attributes whose value is an expression, which some libraries leave without quotes.
const EXPRESSIONS: [&str; 6] =
    ["clear", "preset", "next_state", "clocked_on", "function", "three_state"];

impl Group {
    /// Its first argument, the name of a cell or pin.
    pub fn name(&self) -> &str {
        self.arguments.first().map_or("", String::as_str)
    }

    /// The groups of one kind.
    pub fn all<'g>(&'g self, kind: &'g str) -> impl Iterator<Item = &'g Group> {
        self.groups.iter().filter(move |g| g.kind == kind)
    }

    /// The value of a simple attribute, without quotes.
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, values) = self.attributes.iter().find(|(n, _)| n == name)?;
        values.first().map(|v| v.trim_matches('"'))
    }

    /// The value of an attribute that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.trim().parse().ok()
    }

    /// Numbers of a table attribute such as `values ("1, 2", "3, 4")`, row after row.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        let rows = self.attributes.iter().filter(|(n, _)| n == name).flat_map(|(_, v)| v);
        rows.flat_map(|row| row.trim_matches('"').split([',', ' ', '\\', '\n']))
            .filter_map(|n| n.trim().parse().ok())
            .collect()
    }

    /// Adds the templates and cells of another library that this one has not.
    pub fn merge(&mut self, other: Group) {
        for group in other.groups {
            let is_new = |g: &Group| g.kind != group.kind || g.arguments != group.arguments;
            if self.groups.iter().all(is_new) {
                self.groups.push(group);
            }
        }
    }

    /// The text without the groups of power, for tools that read area, function and delay.
    pub fn print(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        let names: Vec<String> = self.arguments.iter().map(|a| format!("\"{a}\"")).collect();
        let _ = writeln!(text, "{} ({}) {{", self.kind, names.join(", "));
        for (name, values) in &self.attributes {
            let is_bare = EXPRESSIONS.contains(&name.as_str()) && !values[0].starts_with('"');
            let _ = match (&values[..], COMPLEX.contains(&name.as_str())) {
                ([one], false) if is_bare => writeln!(text, "{name} : \"{one}\";"),
                ([one], false) => writeln!(text, "{name} : {one};"),
                (many, _) => writeln!(text, "{name} ({});", many.join(", ")),
            };
        }
        for group in &self.groups {
            let is_power = group.kind.contains("power") || group.kind.contains("driver_waveform");
            if !is_power {
                group.write(text);
            }
        }
        text.push_str("}\n");
    }
}

/// Attributes that are written with parentheses even when they have one value.
const COMPLEX: [&str; 8] = [
    "values",
    "index_1",
    "index_2",
    "index_3",
    "technology",
    "library_features",
    "define_group",
    "bus_type",
];

/// Parses the text of a library.
///
/// # Errors
/// The text does not nest, or is none.
pub fn parse(text: &str) -> Result<Group, LibertyError> {
    let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
    let kind = reader.word()?;
    let arguments = reader.parenthesis()?;
    reader.expect(b'{', "`{`")?;
    let group = reader.body(kind, arguments)?;
    match group.kind.as_str() {
        "library" => Ok(group),
        other => Err(reader.error(format!("a group `{other}`"), "`library (name) {`")),
    }
}

struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    fn error(&self, found: String, expected: &'static str) -> LibertyError {
        let before = &self.bytes[..self.at.min(self.bytes.len())];
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        LibertyError { line, found, expected }
    }

    /// Skips blanks, comments and continued lines; the next byte.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let rest = &self.bytes[self.at.min(self.bytes.len())..];
            match rest {
                [b, ..] if b.is_ascii_whitespace() || *b == b'\\' => self.at += 1,
                [b'/', b'*', ..] => {
                    let end = rest.windows(2).position(|w| w == b"*/").unwrap_or(rest.len());
                    self.at += end + 2;
                }
                [b'/', b'/', ..] => {
                    self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                [b, ..] => return Some(*b),
                [] => return None,
            }
        }
    }

    fn shown(&mut self) -> String {
        match self.peek() {
            Some(b) => format!("`{}`", char::from(b).escape_default()),
            None => "the end of the text".into(),
        }
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), LibertyError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        let found = self.shown();
        Err(self.error(found, expected))
    }

    fn word(&mut self) -> Result<String, LibertyError> {
        self.peek();
        let start = self.at;
        let is_word = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
        while self.bytes.get(self.at).is_some_and(|&b| is_word(b)) {
            self.at += 1;
        }
        if start == self.at {
            let found = self.shown();
            return Err(self.error(found, "the name of an attribute or a group"));
        }
        Ok(String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned())
    }

    /// Text up to one of `ends`, which stays; quoted parts are taken whole.
    fn until(&mut self, ends: &[u8]) -> Result<String, LibertyError> {
        self.peek();
        let start = self.at;
        let mut is_quoted = false;
        while let Some(&b) = self.bytes.get(self.at) {
            match b {
                b'"' => is_quoted = !is_quoted,
                _ if !is_quoted && ends.contains(&b) => {
                    let text = String::from_utf8_lossy(&self.bytes[start..self.at]);
                    let is_blank = |c: char| c.is_whitespace() || c == '\\';
                    return Ok(text.trim_matches(is_blank).to_string());
                }
                _ => {}
            }
            self.at += 1;
        }
        Err(self.error("the end of the text".into(), "the end of a value"))
    }

    /// `(a, "b")`: the values, quotes kept.
    fn values(&mut self) -> Result<Vec<String>, LibertyError> {
        self.expect(b'(', "`(` or `:`")?;
        let mut values = vec![];
        loop {
            let value = self.until(b",)")?;
            let is_last = self.bytes[self.at] == b')';
            self.at += 1;
            if !(value.is_empty() && is_last && values.is_empty()) {
                values.push(value);
            }
            if is_last {
                return Ok(values);
            }
            // A backslash at a line's end continues it.
            self.peek();
        }
    }

    fn parenthesis(&mut self) -> Result<Vec<String>, LibertyError> {
        Ok(self.values()?.into_iter().map(|v| v.trim_matches('"').to_string()).collect())
    }

    /// The inside of a group, its `}` included.
    fn body(&mut self, kind: String, arguments: Vec<String>) -> Result<Group, LibertyError> {
        let mut group = Group { kind, arguments, ..Group::default() };
        loop {
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(group);
                }
                Some(b';') => {
                    self.at += 1;
                    continue;
                }
                None => return Err(self.error("the end of the text".into(), "`}`")),
                _ => {}
            }
            let name = self.word()?;
            if self.peek() == Some(b':') {
                self.at += 1;
                let value = self.until(b";\n}")?;
                group.attributes.push((name, vec![value]));
                continue;
            }
            let values = self.values()?;
            if self.peek() == Some(b'{') {
                self.at += 1;
                let arguments = values.iter().map(|v| v.trim_matches('"').to_string()).collect();
                let inner = self.body(name, arguments)?;
                group.groups.push(inner);
            } else {
                group.attributes.push((name, values));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"/* a library */
library ("small") {
  time_unit : "1ns";  capacitive_load_unit (1, pf);
  // a comment
  cell (NAND2) { area : 4.5 ;
    leakage_power () { value : 1; }
    pin(Y) { direction : output; function : "!(A B)";
      timing () { related_pin : "A"; cell_rise (t) {
        index_1 ("0.1, 0.2"); values ("1, 2", \
          "3, 4" \
        ); } } }
    pin (A) { direction : input; capacitance : 0.002 }
  }
  cell (DFF) { area : 9; ff (IQ, IQN) { clocked_on : CK; next_state : D; clear : !RN ; } }
}"#;

    #[test]
    fn a_library_is_a_tree() {
        let library = parse(TEXT).expect("a library");
        assert_eq!((library.name(), library.get("time_unit")), ("small", Some("1ns")));
        let cells: Vec<&Group> = library.all("cell").collect();
        assert_eq!((cells[0].name(), cells[0].number("area")), ("NAND2", Some(4.5)));
        let y = cells[0].all("pin").next().expect("a pin");
        assert_eq!(y.get("function"), Some("!(A B)"));
        let table = &y.groups[0].groups[0];
        assert_eq!(table.numbers("values"), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(table.numbers("index_1"), [0.1, 0.2]);
        assert_eq!(cells[0].all("pin").nth(1).and_then(|a| a.number("capacitance")), Some(0.002));
    }

    #[test]
    fn the_printed_text_quotes_expressions_and_drops_power() {
        let library = parse(TEXT).expect("a library");
        let text = library.print();
        assert!(text.contains("clear : \"!RN\";") && !text.contains("leakage_power"), "{text}");
        let again = parse(&text).expect("what was printed");
        assert_eq!(again.print(), text);
        assert_eq!(again.all("cell").count(), 2);
    }

    #[test]
    fn a_second_library_adds_its_cells() {
        let mut library = parse(TEXT).expect("a library");
        let other = "library (more) { cell (NAND2) { area : 1; } cell (INV) { area : 2; } }";
        library.merge(parse(other).expect("a library"));
        let areas: Vec<_> = library.all("cell").map(|c| c.number("area")).collect();
        assert_eq!(areas, [Some(4.5), Some(9.0), Some(2.0)]);
    }

    #[test]
    fn other_text_is_refused_with_its_line() {
        for (text, line) in [("", 1), ("module m;", 1), ("library (a) {\n cell (b) {\n", 3)] {
            assert_eq!(parse(text).expect_err(text).line, line, "{text}");
        }
        assert!(parse("cell (a) { }").is_err());
    }
}

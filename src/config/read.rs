//! From text to the keys it sets: syntax, repeated, unknown, misplaced and missing keys.
use std::collections::BTreeMap;
use std::ops::Range;

use toml_edit::{ImDocument, Item, TableLike};

use super::error::{Problem, locate};
use super::schema::{FIELDS, Field, TABLES, full_name};
use super::{HwConfig, check, suggest};

/// Repeated keys that are looked for before the reader gives up.
const MOST_REPEATS: usize = 64;

/// A key that the text sets.
pub struct Entry<'d> {
    pub item: &'d Item,
    /// Bytes of its value, or of its key where the value has no place of its own.
    pub span: Range<usize>,
}

/// The keys that were found, and the problems so far.
pub struct Reading<'d> {
    pub text: &'d str,
    /// By full name of the valid key.
    pub entries: BTreeMap<String, Entry<'d>>,
    /// Bytes of the first header of each table.
    headers: BTreeMap<&'static str, Range<usize>>,
    pub problems: Vec<Problem>,
    /// Misspelt and misplaced keys, with what they most likely stand for.
    strays: Vec<(&'static Field, Entry<'d>)>,
    /// Misspelt tables, with what they most likely stand for.
    stray_tables: Vec<(&'static str, &'d dyn TableLike)>,
    /// Repeated keys: where they stand, and their name before it was replaced.
    repeats: &'d BTreeMap<usize, String>,
}

/// The configuration, unless it could not be read to the end, and every problem.
pub fn read(text: &str) -> (Option<HwConfig>, Vec<Problem>) {
    let mut repeats = BTreeMap::new();
    let mut parsed_text = text.to_string();
    let document = loop {
        let error = match ImDocument::parse(parsed_text.clone()) {
            Ok(document) => break document,
            Err(error) => error,
        };
        let at = error.span().map_or(0, |span| span.start);
        if !(error.message().contains("duplicate key")
            && repeats.len() < MOST_REPEATS
            && rename_repeat(&mut parsed_text, at, &mut repeats))
        {
            return (None, vec![syntax_problem(text, error.message(), at)]);
        }
    };
    let mut reading = Reading {
        text,
        entries: BTreeMap::new(),
        headers: BTreeMap::new(),
        problems: Vec::new(),
        strays: Vec::new(),
        stray_tables: Vec::new(),
        repeats: &repeats,
    };
    reading.walk("", document.as_table());
    for (table, items) in std::mem::take(&mut reading.stray_tables) {
        reading.walk(table, items);
    }
    for (field, entry) in std::mem::take(&mut reading.strays) {
        reading.entries.entry(full_name(field.table, field.key)).or_insert(entry);
    }
    reading.report_missing();
    let config = check::check(&mut reading);
    (Some(config), reading.problems)
}

/// Bytes of the value of a key, where the text sets it.
pub fn span(text: &str, table: &str, key: &str) -> Option<Range<usize>> {
    let document = ImDocument::parse(text).ok()?;
    document.get(table)?.as_table_like()?.get(key)?.span()
}

/// Gives the repeated key at byte `at` another name of the same length, so that the parser goes on
/// and every place in the text stays where it is. False when the key is not a plain one.
fn rename_repeat(text: &mut String, at: usize, repeats: &mut BTreeMap<usize, String>) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let Some(rest) = text.get(at..) else { return false };
    let (start, closing) = match rest.strip_prefix('[') {
        Some(inner) => (at + 1 + (inner.len() - inner.trim_start().len()), ']'),
        None => (at, '='),
    };
    let rest = &text[start..];
    let path = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
    let key = path.rsplit('.').next().unwrap_or(path).to_string();
    let key_start = start + path.len() - key.len();
    let is_plain = !key.is_empty() && rest[path.len()..].trim_start().starts_with(closing);
    if !is_plain || repeats.contains_key(&key_start) {
        return false;
    }
    let number = format!("{:0width$}", repeats.len(), width = key.len());
    if number.len() != key.len() {
        return false;
    }
    text.replace_range(key_start..key_start + key.len(), &number);
    repeats.insert(key_start, key);
    true
}

/// The place where the parser stopped, in its words unless ours are plainer.
fn syntax_problem(text: &str, message: &str, at: usize) -> Problem {
    let mut at = at;
    if let (true, Some(key)) = (message.contains("duplicate key"), message.split('`').nth(1)) {
        // Of a table in braces the parser gives only the start.
        let rest = text.get(at..).unwrap_or("");
        if !rest.starts_with(['[', '"', '\'']) && !rest.starts_with(key) {
            at += rest.match_indices(key).nth(1).map_or(0, |(offset, _)| offset);
        }
    }
    let rest = text.get(at..).unwrap_or("");
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | '#' | '=');
    let token = &rest[..rest.find(ends).unwrap_or(rest.len())];
    let words: Vec<&str> = message.lines().filter(|line| !line.trim().is_empty()).collect();
    let (last, before) = words.split_last().unwrap_or((&"", &[]));
    let wants_value = message.starts_with("invalid string") || message.starts_with("invalid array");
    let mut help = "correct this first; other problems are reported once the text is TOML".into();
    let (found, expected) = if message.contains("duplicate key") {
        help = "keep one of the two".into();
        ((*last).into(), "each key once".into())
    } else if message.starts_with("number too large") {
        help = "no key takes a number beyond 131072".into();
        ("a number too long for 64 bits".into(), "an integer of a few digits".into())
    } else if wants_value && token.starts_with(|c: char| c.is_alphabetic()) {
        let word = suggest::shown(token);
        help = format!("write \"{word}\" in quotes if it is a text");
        (format!("the bare word {word}"), "a value".into())
    } else if message.starts_with("invalid string") && token.is_empty() {
        help = "write the value after the =, on the same line".into();
        ("no value".into(), "a value".into())
    } else if message.starts_with("invalid basic string") && token.is_empty() {
        help = "close the text with \" on the same line".into();
        ("a text without its closing quote".into(), "\"".into())
    } else {
        if last.ends_with("`=`") {
            help = "a line is `key = value` or `[table]`".into();
        }
        let found = match rest.chars().next().filter(|c| !c.is_control()) {
            Some(c) => format!("`{c}`"),
            None => "the end of the line".into(),
        };
        match last.strip_prefix("expected ") {
            Some(expected) if before.is_empty() => (found, expected.into()),
            Some(expected) => (format!("{} at {found}", before.join(": ")), expected.into()),
            None if words.is_empty() => (found, "valid TOML".into()),
            None => (format!("{} at {found}", words.join(": ")), "valid TOML".into()),
        }
    };
    let (line, column, excerpt) = locate(text, at..at + token.len().max(1));
    Problem { line, column, key: String::new(), found, expected, help, excerpt: Some(excerpt) }
}

impl<'d> Reading<'d> {
    /// Adds a problem that stands at the bytes `span`.
    pub fn report(
        &mut self,
        span: Range<usize>,
        key: &str,
        found: &str,
        expected: &str,
        help: String,
    ) {
        let (line, column, excerpt) = locate(self.text, span);
        self.problems.push(Problem {
            line,
            column,
            key: key.into(),
            found: found.into(),
            expected: expected.into(),
            help,
            excerpt: Some(excerpt),
        });
    }

    /// Line of a byte, from 1.
    pub fn line(&self, at: usize) -> usize {
        locate(self.text, at..at).0
    }

    /// Sorts the keys of one table into entries, strays and problems.
    fn walk(&mut self, table: &'static str, items: &'d dyn TableLike) {
        for (name, _) in items.iter() {
            let Some((key, item)) = items.get_key_value(name) else { continue };
            let key_span = key.span().or_else(|| item.span()).unwrap_or(0..0);
            let name = match self.repeats.get(&key_span.start) {
                Some(original) => {
                    self.report_repeat(table, original, key_span.clone(), items);
                    original.as_str()
                }
                None => name,
            };
            if table.is_empty() {
                if let Some(known) = TABLES.iter().find(|t| t.name == name && !name.is_empty()) {
                    self.enter(known.name, item, key_span);
                    continue;
                }
            }
            let span = item.as_value().and_then(|v| v.span()).unwrap_or_else(|| key_span.clone());
            let entry = Entry { item, span };
            let field = FIELDS.iter().find(|f| f.table == table && f.key == name);
            match field {
                Some(field) => {
                    self.entries.entry(full_name(field.table, field.key)).or_insert(entry);
                }
                None => self.report_unknown(table, name, key_span, entry),
            }
        }
    }

    /// Walks a known table, or says that it is none.
    fn enter(&mut self, table: &'static str, item: &'d Item, key_span: Range<usize>) {
        match item.as_table_like() {
            Some(items) => {
                self.headers.entry(table).or_insert(key_span);
                self.walk(table, items);
            }
            None => {
                let found = check::describe(item);
                let help = if item.is_array_of_tables() {
                    format!("write [{table}] with single brackets")
                } else {
                    format!("write [{table}] on a line of its own and its keys below it")
                };
                self.report(key_span.clone(), table, &found, "a table", help);
                self.headers.entry(table).or_insert(key_span);
                if let Some(first) = item.as_array_of_tables().and_then(|tables| tables.get(0)) {
                    self.walk(table, first);
                }
            }
        }
    }

    fn report_repeat(
        &mut self,
        table: &str,
        name: &str,
        span: Range<usize>,
        items: &dyn TableLike,
    ) {
        let first = items.get_key_value(name).and_then(|(key, _)| key.span());
        let first = first
            .map_or(String::new(), |at| format!("the first is on line {}; ", self.line(at.start)));
        let (found, expected, help) = match items.get(name).is_some_and(|i| i.is_table_like()) {
            true => ("opened again", "each table once", format!("{first}move the keys there")),
            false => ("set again", "each key once", format!("{first}keep one of the two")),
        };
        self.report(span, &full_name(table, name), found, expected, help);
    }

    fn report_unknown(
        &mut self,
        table: &'static str,
        name: &str,
        key_span: Range<usize>,
        entry: Entry<'d>,
    ) {
        let shown = suggest::shown(&full_name(table, name));
        if let (Some(items), "") = (entry.item.as_table_like(), table) {
            let (known, is_near, help) = suggest::table(name);
            let names: Vec<&str> = TABLES[1..].iter().map(|t| t.name).collect();
            let expected = format!("one of the tables {}", names.join(", "));
            self.report(key_span.clone(), &shown, "not a known table", &expected, help);
            if is_near {
                self.headers.entry(known).or_insert(key_span);
                self.stray_tables.push((known, items));
            }
            return;
        }
        let (field, is_near, help) = suggest::key(table, name);
        let keys: Vec<&str> = FIELDS.iter().filter(|f| f.table == table).map(|f| f.key).collect();
        let expected = match keys.as_slice() {
            [only] => format!("{only} or a table"),
            _ => format!("one of {}", keys.join(", ")),
        };
        self.report(key_span, &shown, "not a known key", &expected, help);
        if is_near {
            self.strays.push((field, entry));
        }
    }

    fn report_missing(&mut self) {
        for field in FIELDS.iter().filter(|field| field.is_required) {
            let name = full_name(field.table, field.key);
            if self.entries.contains_key(&name) {
                continue;
            }
            let example = format!("{} = {}", field.key, field.kind.print(&HwConfig::defaults()));
            let help = match field.table {
                "" => format!("add, above the first table, a line such as `{example}`"),
                table if self.headers.contains_key(table) => {
                    format!("add, below [{table}], a line such as `{example}`")
                }
                table => format!("add a table [{table}] with a line such as `{example}`"),
            };
            let rule = field.kind.rule();
            match self.headers.get(field.table).cloned() {
                Some(header) => self.report(header, &name, "missing", &rule, help),
                None => self.problems.push(Problem {
                    line: 1,
                    column: 1,
                    key: name,
                    found: "missing".into(),
                    expected: rule,
                    help,
                    excerpt: None,
                }),
            }
        }
    }
}

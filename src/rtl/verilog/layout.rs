//! Columns, line breaks and alignment of printed text.

const COLUMNS: usize = 100;

/// Breaks a comment into lines that fit, each behind `// `.
pub fn comment(text: &str, indent: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut current = String::new();
        for word in line.split_whitespace() {
            if !current.is_empty() && indent + 4 + current.len() + word.len() > COLUMNS {
                out.push_str(&format!("{}// {current}\n", " ".repeat(indent)));
                current.clear();
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        out.push_str(format!("{}// {current}", " ".repeat(indent)).trim_end());
        out.push('\n');
    }
    out
}

/// Indents a statement and breaks lines that are too long, outside brackets where that is possible.
pub fn statement(text: &str, indent: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let inner = line.len() - line.trim_start().len();
        let (mut pad, mut rest) = (indent + inner, line.trim());
        while pad + rest.len() > COLUMNS {
            let Some(at) = break_of(&rest[..COLUMNS - pad]) else { break };
            out.push_str(&format!("{}{}\n", " ".repeat(pad), &rest[..at]));
            rest = rest[at..].trim_start();
            pad = indent + inner + 6;
        }
        out.push_str(&format!("{}{rest}\n", " ".repeat(pad)));
    }
    out
}

/// The space at which a line that is too long is broken: the last of those inside the fewest brackets,
/// in the last two thirds of what fits.
fn break_of(fits: &str) -> Option<usize> {
    let mut depth = 0;
    let mut best: Option<(i32, usize)> = None;
    for (at, c) in fits.char_indices() {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        let is_late = at > fits.len() / 3;
        if c == ' ' && is_late && best.is_none_or(|(least, _)| depth <= least) {
            best = Some((depth, at));
        }
    }
    best.map(|(_, at)| at).or_else(|| fits.rfind(' ').filter(|at| *at > 0))
}

/// Pads the first column of each row to a common width, no wider than 40 columns.
pub fn aligned(rows: &[(String, String)]) -> Vec<String> {
    let width = rows.iter().map(|(left, _)| left.len()).filter(|n| *n <= 40).max();
    let width = width.unwrap_or(0);
    rows.iter().map(|(left, right)| format!("{left:<width$}{right}")).collect()
}

/// Rows of a table, every column but the last padded.
pub fn table(rows: &[Vec<String>], gap: &str) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(String::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    rows.iter()
        .map(|row| {
            let cells = row.iter().zip(&widths).map(|(cell, w)| format!("{cell:<w$}"));
            cells.collect::<Vec<_>>().join(gap).trim_end().to_string()
        })
        .collect()
}

//! What is wrong with a configuration: place, found, expected and a way out, as text and for JSON.
use std::fmt;
use std::ops::Range;

use serde::Serialize;

/// One mistake in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Line in the text, from 1; 0 when the file itself is at fault.
    pub line: usize,
    /// Column in characters, from 1; 0 when the file itself is at fault.
    pub column: usize,
    /// Full name of the key, such as `engine.lanes`; empty when no key is at fault.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// The rule it breaks.
    pub expected: String,
    /// A way out.
    pub help: String,
    /// The line at fault; none where nothing in the text can be pointed at.
    #[serde(skip)]
    pub excerpt: Option<Excerpt>,
}

/// A line of the text with the part to mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, or the part of a long line around the mark, without its line ending.
    pub source: String,
    /// First marked character of `source`, from 0.
    pub start: usize,
    /// Marked characters, at least 1.
    pub len: usize,
}

/// Everything that is wrong with one configuration; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigErrors {
    /// Where the text came from, usually a path.
    pub place: String,
    /// In the order of their lines.
    pub problems: Vec<Problem>,
}

impl ConfigErrors {
    pub(super) fn new(place: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|p| (p.line, p.column));
        Self { place: place.into(), problems }
    }

    /// The file itself cannot be used.
    pub(super) fn of_file(place: &str, found: &str, expected: &str, help: &str) -> Self {
        let problem = Problem {
            line: 0,
            column: 0,
            key: String::new(),
            found: found.into(),
            expected: expected.into(),
            help: help.into(),
            excerpt: None,
        };
        Self::new(place, vec![problem])
    }
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.problems.iter().enumerate() {
            if position > 0 {
                write!(f, "\n\n")?;
            }
            write!(f, "{}:", self.place)?;
            if problem.line > 0 {
                write!(f, "{}:", problem.line)?;
            }
            if !problem.key.is_empty() {
                write!(f, " {} is", problem.key)?;
            }
            writeln!(f, " {}; expected {}", problem.found, problem.expected)?;
            if let Some(excerpt) = &problem.excerpt {
                let number = problem.line.to_string();
                writeln!(f, " {number} | {}", excerpt.source)?;
                let before = excerpt.source.chars().take(excerpt.start);
                let pad: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
                let blank = " ".repeat(number.len());
                writeln!(f, " {blank} | {pad}{}", "^".repeat(excerpt.len))?;
            }
            write!(f, "help: {}", problem.help)?;
        }
        Ok(())
    }
}

/// Line and column, both from 1, and the marked line of the bytes `span` of `text`.
pub(super) fn locate(text: &str, span: Range<usize>) -> (usize, usize, Excerpt) {
    /// Longest part of a line that is shown, in characters, and the part kept before the mark.
    const SHOWN: usize = 96;
    const KEPT: usize = 40;
    let boundary = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let mut start = boundary(span.start);
    // The parser reports an unfinished line at its end or on the next line, where nothing stands.
    if start == text.len() && text[..start].ends_with('\n') {
        start = text[..start].trim_end().len();
    }
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[line_start..].split('\n').next().unwrap_or("").trim_end_matches('\r');
    let number = 1 + text[..start].matches('\n').count();
    let column = text[line_start..start].chars().count();
    let end = boundary(span.end).clamp(start, (line_start + line.len()).max(start));
    let len = text[start..end].chars().count().max(1);
    let skipped = if line.chars().count() > SHOWN { column.saturating_sub(KEPT) } else { 0 };
    let source: String = line
        .chars()
        .skip(skipped)
        .take(SHOWN)
        .map(|c| if c.is_control() && c != '\t' { '?' } else { c })
        .collect();
    let len = len.min((SHOWN + skipped).saturating_sub(column)).max(1);
    (number, column + 1, Excerpt { source, start: column - skipped, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_windows_line_ends_are_not_shown() {
        let text = "a = 1\r\né = \"x\"\r\n";
        let at = text.find('"').expect("a quote");
        let (line, column, excerpt) = locate(text, at..at + 3);
        assert_eq!((line, column), (2, 5));
        assert_eq!(excerpt, Excerpt { source: "é = \"x\"".into(), start: 4, len: 3 });
    }

    #[test]
    fn any_span_can_be_located() {
        for text in ["", "\n", "é\r\n", "a\n\nb", &"x".repeat(300)] {
            for start in 0..text.len() + 2 {
                for end in [0, start, start + 1, usize::MAX] {
                    let (line, column, excerpt) = locate(text, start..end);
                    assert!(line >= 1 && column >= 1 && excerpt.len >= 1);
                }
            }
        }
    }
}

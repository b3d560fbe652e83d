//! Configurations: TOML text in, a validated [`HwConfig`] or every problem of the text out.
//!
//! Nothing here knows what the engine does with a number. The rule of each key stands in one table,
//! `schema`, from which reading, printing and the help in the messages all follow.
mod check;
mod clash;
mod error;
mod hw_config;
mod random;
mod read;
mod schema;
mod suggest;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

pub use error::{ConfigErrors, Excerpt, Problem};
pub use hw_config::{BufferKind, HwConfig, Stage};
pub use schema::TAKEN_NAMES;

/// Longest text that is read, in bytes. Chosen by us: a configuration needs 2 KiB.
const LONGEST_BYTES: u64 = 1 << 16;

/// Reads and checks the configuration at `path`.
///
/// # Errors
/// The file cannot be read, or its text has problems; see [`parse`].
pub fn load(path: &Path) -> Result<HwConfig, ConfigErrors> {
    let place = path.display().to_string();
    let refuse = |found: String, help: String| {
        Err(ConfigErrors::of_file(&place, &found, "a readable TOML file", &help))
    };
    if path.is_dir() {
        return refuse("a directory".into(), suggest::file_inside(path));
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|f| f.take(LONGEST_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return refuse("no such file".into(), suggest::file_beside(path));
        }
        Err(e) => {
            return refuse(
                format!("not readable ({e})"),
                "check the path and its permissions".into(),
            );
        }
        Ok(_) if bytes.len() as u64 > LONGEST_BYTES => {
            return refuse(
                format!("longer than {LONGEST_BYTES} bytes"),
                "a configuration takes about 2 KiB; is this the right file?".into(),
            );
        }
        Ok(_) => {}
    }
    match String::from_utf8(bytes) {
        Ok(text) => parse(&text, &place),
        Err(e) => {
            let good = e.utf8_error().valid_up_to();
            let line = 1 + e.as_bytes()[..good].iter().filter(|&&b| b == b'\n').count();
            refuse(
                format!("not UTF-8 text (line {line}, byte {good})"),
                "save the file as UTF-8; TOML allows no other encoding".into(),
            )
        }
    }
}

/// What a later stage finds wrong with a key of a configuration that loads: (table, key), shown in its file.
pub fn refusal(
    path: &Path,
    (table, key): (&str, &str),
    found: &str,
    expected: &str,
    help: &str,
) -> ConfigErrors {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let place = read::span(&text, table, key).map(|span| error::locate(&text, span));
    let (line, column, excerpt) =
        place.map_or((0, 0, None), |(line, column, excerpt)| (line, column, Some(excerpt)));
    let problem = Problem {
        line,
        column,
        key: schema::full_name(table, key),
        found: found.into(),
        expected: expected.into(),
        help: help.into(),
        excerpt,
    };
    ConfigErrors::new(&path.display().to_string(), vec![problem])
}

/// Checks the configuration `text`; `place` names its origin in the messages.
///
/// # Errors
/// Every problem of the text at once, in the order of their lines. Text that is not TOML gives the
/// one problem at which its parser stops.
pub fn parse(text: &str, place: &str) -> Result<HwConfig, ConfigErrors> {
    // A byte order mark is no part of the first line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (config, problems) = read::read(text);
    match config {
        Some(config) if problems.is_empty() => Ok(config),
        _ => Err(ConfigErrors::new(place, problems)),
    }
}

/// The text of a complete configuration with the default of every key, and a comment above each key
/// that states its meaning and its rule.
pub fn print_defaults() -> String {
    let config = HwConfig::defaults();
    let mut text = String::new();
    for (position, table) in schema::TABLES.iter().enumerate() {
        if position > 0 {
            text += "\n";
        }
        for line in table.note.lines() {
            text += &format!("# {line}\n");
        }
        match table.name {
            "" => text += "\n",
            name => text += &format!("[{name}]\n"),
        }
        for field in schema::fields_of(table.name) {
            let need = if field.is_required { " Required." } else { "" };
            let rule = format!("Legal: {}.{need}", field.kind.rule());
            let is_short = field.note.len() + rule.len() + 4 <= 100;
            let gap = if is_short { " " } else { "\n# " };
            text += &format!("# {}.{gap}{rule}\n", field.note);
            text += &format!("{} = {}\n", field.key, field.kind.print(&config));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_defaults_are_the_defaults() {
        assert_eq!(parse(&print_defaults(), "defaults"), Ok(HwConfig::defaults()));
    }

    #[test]
    fn every_number_is_refused_outside_its_rule() {
        let text = HwConfig::defaults().to_toml();
        let mut n_cases = 0;
        for field in schema::FIELDS.iter() {
            let schema::Kind::Number { rule, get, .. } = field.kind else { continue };
            let line = format!("{} = {}\n", field.key, get(&HwConfig::defaults()));
            assert!(text.contains(&line), "{line}");
            for bad in rule.just_outside() {
                let bad_text = text.replace(&line, &format!("{} = {bad}\n", field.key));
                let errors = parse(&bad_text, "bad").expect_err(&bad_text);
                let name = schema::full_name(field.table, field.key);
                assert!(errors.problems.iter().any(|p| p.key == name), "{bad_text}\n{errors}");
                n_cases += 1;
            }
        }
        assert!(n_cases >= 28, "{n_cases} cases");
    }
}

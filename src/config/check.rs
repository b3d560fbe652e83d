//! From the keys that were found to a configuration: types and rules.
use std::ops::Range;

use toml_edit::{Item, Value};

use super::HwConfig;
use super::clash::clashes;
use super::hw_config::{BufferKind, Stage};
use super::read::Reading;
use super::schema::{
    FIELDS, Field, Kind, NAME_CHARS, ROUNDING, Rule, TAKEN_NAMES, full_name, list, words,
};
use super::suggest::{shown, word};
use crate::num::IntFormat;

/// Why a value is refused.
struct Refusal {
    found: String,
    expected: String,
    help: String,
    /// Bytes of the part at fault; the whole value when there are none.
    part: Option<Range<usize>>,
}

/// Refuses the whole of a value.
fn refuse<T>(found: String, expected: String, help: String) -> Result<T, Refusal> {
    Err(Refusal { found, expected, help, part: None })
}

/// The configuration that the entries give; keys that are refused keep their defaults.
pub fn check(reading: &mut Reading) -> HwConfig {
    let mut config = HwConfig::defaults();
    let mut refused = Vec::new();
    for field in &FIELDS {
        let name = full_name(field.table, field.key);
        let Some(entry) = reading.entries.get(&name) else {
            if field.is_required {
                refused.push(name);
            }
            continue;
        };
        let span = entry.span.clone();
        if let Err(refusal) = assign(field, entry.item, &mut config) {
            let Refusal { found, expected, help, part } = refusal;
            reading.report(part.unwrap_or(span), &name, &found, &expected, help);
            refused.push(name);
        }
    }
    for clash in clashes(&config) {
        if !refused.iter().any(|name| name == clash.keys[0] || name == clash.keys[1]) {
            clash.report(reading);
        }
    }
    config
}

/// A value in words, for after "is".
pub fn describe(item: &Item) -> String {
    match item {
        Item::Value(value) => describe_value(value),
        Item::ArrayOfTables(_) => "a list of tables".into(),
        Item::Table(_) => "a table".into(),
        Item::None => "nothing".into(),
    }
}

fn describe_value(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string \"{}\"", shown(text.value())),
        Value::Integer(number) => number.value().to_string(),
        Value::Float(number) => format!("the fraction {:?}", number.value()),
        Value::Boolean(truth) => format!("the boolean {}", truth.value()),
        Value::Datetime(date) => format!("the date {}", date.value()),
        Value::Array(_) => "a list".into(),
        Value::InlineTable(_) => "a table".into(),
    }
}

/// Puts a value into its field of the configuration.
fn assign(field: &Field, item: &Item, config: &mut HwConfig) -> Result<(), Refusal> {
    let rule = field.kind.rule();
    match field.kind {
        Kind::Name => match item.as_str().map(check_name) {
            Some(Ok(name)) if TAKEN_NAMES.contains(&name.as_str()) => {
                let expected = "a name that no part of the engine has".into();
                return refuse(describe(item), expected, format!("\"{name}_engine\" would do"));
            }
            Some(Ok(name)) => config.name = name,
            Some(Err(help)) => return refuse(describe(item), rule, help),
            None => {
                let help = "put the name in quotes, such as \"edge\"".into();
                return refuse(describe(item), rule, help);
            }
        },
        Kind::Rounding => {
            if item.as_str() != Some(ROUNDING) {
                let help = format!("the engine has no other rounding; write \"{ROUNDING}\"");
                return refuse(describe(item), rule, help);
            }
        }
        Kind::Formats { allowed, set, .. } => set(config, check_formats(item, allowed, rule)?),
        Kind::Stages => config.stages = check_stages(item, rule)?,
        Kind::Buffer => match item.as_str().map(|text| (text, BufferKind::parse(text))) {
            Some((_, Some(kind))) => config.buffer_kind = kind,
            written => {
                let meant = written.and_then(|(text, _)| word(text, &BufferKind::names()));
                let help = match meant {
                    Some(name) => format!("did you mean \"{name}\"?"),
                    None => "put one of them in quotes, such as \"flip_flops\"".into(),
                };
                return refuse(describe(item), rule, help);
            }
        },
        Kind::Number { rule, set, .. } => match check_number(item, rule) {
            Ok(value) => set(config, value),
            Err(help) => return refuse(describe(item), rule.to_string(), help),
        },
    }
    Ok(())
}

/// The name, or help.
fn check_name(name: &str) -> Result<String, String> {
    let is_letter = |c: char| c.is_ascii_lowercase();
    let is_legal = |c: char| is_letter(c) || c.is_ascii_digit() || c == '_';
    if name.is_empty() {
        return Err("emitted modules carry this name; an example is \"edge\"".into());
    }
    let n_chars = name.chars().count();
    if n_chars > NAME_CHARS {
        return Err(format!("it has {n_chars} characters; leave out {}", n_chars - NAME_CHARS));
    }
    if name.starts_with(is_letter) && name.chars().all(is_legal) {
        return Ok(name.into());
    }
    let lower = name.to_lowercase();
    let mended: String = lower.chars().map(|c| if is_legal(c) { c } else { '_' }).collect();
    let mended = mended.trim_start_matches(|c| !is_letter(c));
    Err(match mended {
        "" => "emitted modules carry this name; an example is \"edge\"".into(),
        _ => format!("\"{mended}\" would do"),
    })
}

/// The number, or help.
fn check_number(item: &Item, rule: Rule) -> Result<u32, String> {
    if let Some(value) = item.as_integer() {
        return rule.admit(value).ok_or_else(|| rule.nearest(value));
    }
    let written = match item.as_value() {
        Some(Value::String(text)) => text.value().trim().parse().ok(),
        // Exact: only whole numbers that an i64 holds with room to spare.
        Some(Value::Float(x)) if x.value().fract() == 0.0 && x.value().abs() < 1e15 => {
            Some(*x.value() as i64)
        }
        _ => None,
    };
    Err(match (written, item.as_value()) {
        (Some(value), Some(Value::String(_))) => format!("write {value} without quotes"),
        (Some(value), _) => format!("write {value} without a decimal point"),
        (None, _) => "write a plain integer, such as 8".into(),
    })
}

/// The formats, in the order of `allowed`.
fn check_formats(
    item: &Item,
    allowed: &[IntFormat],
    rule: String,
) -> Result<Vec<IntFormat>, Refusal> {
    let Some(array) = item.as_array() else {
        let written = item.as_str().and_then(|text| text.parse::<IntFormat>().ok());
        let help = match written.filter(|format| allowed.contains(format)) {
            Some(format) => format!("write [\"{format}\"]"),
            None => format!("write a list, such as [\"{}\"]", allowed[0]),
        };
        return refuse(describe(item), rule, help);
    };
    if array.is_empty() {
        let help = format!("write at least one format, such as [\"{}\"]", allowed[0]);
        return refuse("an empty list".into(), rule, help);
    }
    let mut formats: Vec<IntFormat> = Vec::new();
    for value in array {
        let parsed = value.as_str().and_then(|text| text.parse::<IntFormat>().ok());
        let (found, help) = match parsed.filter(|format| allowed.contains(format)) {
            Some(format) if formats.contains(&format) => {
                (format!("a list with \"{format}\" twice"), format!("write \"{format}\" once"))
            }
            Some(format) => {
                formats.push(format);
                continue;
            }
            None => {
                let names: Vec<String> = allowed.iter().map(IntFormat::to_string).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let meant =
                    value.as_str().filter(|_| parsed.is_none()).and_then(|t| word(t, &names));
                let help = match meant {
                    Some(name) => format!("did you mean \"{name}\"?"),
                    None => format!("the choice is {}", list(allowed)),
                };
                (format!("a list with {}", describe_value(value)), help)
            }
        };
        return Err(Refusal { found, expected: rule, help, part: value.span() });
    }
    formats.sort_by_key(|format| allowed.iter().position(|a| a == format));
    Ok(formats)
}

/// The places for registers, in their order.
fn check_stages(item: &Item, rule: String) -> Result<Vec<Stage>, Refusal> {
    let Some(array) = item.as_array() else {
        let help = match item.as_str().and_then(Stage::parse) {
            Some(stage) => format!("write [\"{}\"]", stage.text()),
            None => "write a list, such as [\"product\"], or [] for no register".into(),
        };
        return refuse(describe(item), rule, help);
    };
    let mut stages: Vec<Stage> = Vec::new();
    for value in array {
        let (found, help) = match value.as_str().and_then(Stage::parse) {
            Some(stage) if stages.contains(&stage) => {
                let name = stage.text();
                (format!("a list with \"{name}\" twice"), format!("write \"{name}\" once"))
            }
            Some(stage) => {
                stages.push(stage);
                continue;
            }
            None => {
                let help = match value.as_str().and_then(|t| word(t, &Stage::names())) {
                    Some(name) => format!("did you mean \"{name}\"?"),
                    None => format!("the choice is {}", words(&Stage::names())),
                };
                (format!("a list with {}", describe_value(value)), help)
            }
        };
        return Err(Refusal { found, expected: rule, help, part: value.span() });
    }
    stages.sort_unstable();
    Ok(stages)
}

//! From the keys that were found to a configuration: types, rules, and keys that contradict.
use std::ops::Range;

use toml_edit::{Item, Value};

use super::HwConfig;
use super::read::Reading;
use super::schema::{
    FIELDS, Field, Kind, NAME_CHARS, ROUNDING, Rule, TAKEN_NAMES, full_name, list,
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

/// Two keys that are legal alone and not together.
struct Clash {
    /// Full names; the problem is shown at the first that the text sets.
    keys: [&'static str; 2],
    /// What is found at each.
    found: [String; 2],
    /// The rule for each, as seen from it.
    expected: [String; 2],
    help: String,
}

impl Clash {
    fn report(self, reading: &mut Reading) {
        let at = usize::from(!reading.entries.contains_key(self.keys[0]));
        let other = self.keys[1 - at];
        let source = match reading.entries.get(other) {
            Some(entry) => format!("line {}", reading.line(entry.span.start)),
            None => "by default".into(),
        };
        let Some(entry) = reading.entries.get(self.keys[at]) else { return };
        let span = entry.span.clone();
        let expected =
            format!("{}, as {other} is {} ({source})", self.expected[at], self.found[1 - at]);
        reading.report(span, self.keys[at], &self.found[at], &expected, self.help);
    }
}

/// Least `multiplier_bits` of an engine with a 16-bit output: the table of the logarithm has that
/// many fraction bits less one in its argument, 8 or more in its slope, and 26 in its result.
const WIDE_OUTPUT_MULTIPLIER_BITS: u32 = 19;

/// Every contradiction in a configuration.
fn clashes(c: &HwConfig) -> Vec<Clash> {
    let mut clashes = Vec::new();
    let clash = |keys, found: [u32; 2], expected: [String; 2], help: String| Clash {
        keys,
        found: found.map(|v| v.to_string()),
        expected,
        help,
    };
    let (lanes, n_max) = (c.lanes, c.n_max);
    if n_max < lanes {
        clashes.push(clash(
            ["engine.n_max", "engine.lanes"],
            [n_max, lanes],
            [format!("at least {lanes}"), format!("at most {n_max}")],
            format!("round n_max up to {lanes}; a shorter row would leave lanes idle for ever"),
        ));
    }
    let (fraction, width) = (c.exp_fraction_bits, c.multiplier_bits);
    if fraction + 5 > width {
        let lower = if width >= 13 {
            format!(", or lower exp_fraction_bits to {}", width - 5)
        } else {
            String::new()
        };
        clashes.push(clash(
            ["lane.exp_fraction_bits", "lane.multiplier_bits"],
            [fraction, width],
            [format!("at most {}", width - 5), format!("at least {}", fraction + 5)],
            format!(
                "the argument has 5 bits above its fraction; raise multiplier_bits to {}{lower}",
                fraction + 5
            ),
        ));
    }
    let output = c.output_bits();
    let quoted = |formats: &[IntFormat]| {
        let quoted: Vec<String> = formats.iter().map(|f| format!("\"{f}\"")).collect();
        format!("[{}]", quoted.join(", "))
    };
    // Where a mantissa is shifted up to the output's binary point, and to that of the sum of a row
    // of one element, no place is left over.
    let most = output + 4;
    if fraction > most {
        clashes.push(Clash {
            keys: ["lane.exp_fraction_bits", "formats.output"],
            found: [fraction.to_string(), quoted(&c.output_formats)],
            expected: [format!("at most {most}"), "a 16-bit format".into()],
            help: format!(
                "an exponential has no use for more than 4 bits below its {output}-bit code; lower \
                 exp_fraction_bits to {most}"
            ),
        });
    }
    if output == 16 && width < WIDE_OUTPUT_MULTIPLIER_BITS {
        let least = WIDE_OUTPUT_MULTIPLIER_BITS;
        clashes.push(Clash {
            keys: ["lane.multiplier_bits", "formats.output"],
            found: [width.to_string(), quoted(&c.output_formats)],
            expected: [format!("at least {least}"), "no format wider than 8 bits".into()],
            help: format!(
                "the logarithm of a row's sum has 26 fraction bits for a 16-bit code; raise \
                 multiplier_bits to {least}, or leave the 16-bit formats out"
            ),
        });
    }
    let (segments, most) = (c.exp_segments, 1 << (fraction - 2));
    if segments > most {
        let least = segments.ilog2() + 2;
        clashes.push(clash(
            ["lane.exp_segments", "lane.exp_fraction_bits"],
            [segments, fraction],
            [format!("at most {most}"), format!("at least {least}")],
            format!(
                "a segment needs at least 4 argument steps; lower exp_segments to {most}, or raise \
                 exp_fraction_bits to {least}"
            ),
        ));
    }
    if c.reciprocal_segments > 0 && c.element_bits < 16 {
        clashes.push(clash(
            ["scalar.reciprocal_segments", "row_buffer.element_bits"],
            [c.reciprocal_segments, c.element_bits],
            ["0".into(), "16".into()],
            "the table serves stored exponentials, which need 16 bits; set element_bits = 16 in \
             [row_buffer], or reciprocal_segments = 0"
                .into(),
        ));
    }
    if c.element_bits < c.input_bits() {
        let wide = c.input_formats.iter().find(|f| f.bits > c.element_bits);
        let name = wide.map_or(String::new(), IntFormat::to_string);
        clashes.push(Clash {
            keys: ["row_buffer.element_bits", "formats.input"],
            found: [c.element_bits.to_string(), quoted(&c.input_formats)],
            expected: ["16".into(), format!("no format wider than {} bits", c.element_bits)],
            help: format!(
                "the row buffer holds the input; set element_bits = 16 in [row_buffer], or leave \
                 out {name}"
            ),
        });
    }
    clashes
}

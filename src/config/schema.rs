//! The keys of a configuration, each with its rule: the one place where a key is described.
use std::fmt;

use super::HwConfig;
use super::hw_config::{BufferKind, Stage};
use crate::num::IntFormat;

/// Longest name, characters.
pub const NAME_CHARS: usize = 32;
/// Names of the engine's modules, and of the memory, which the whole design cannot take.
pub const TAKEN_NAMES: [&str; 10] = [
    "core",
    "lane",
    "magnitude",
    "max_tree",
    "ram_1r1w",
    "ram_1r1w_latch",
    "ram_1r1w_macro",
    "scalar_unit",
    "sequencer",
    "sum_tree",
];
/// Levels of a tree over 64 lanes between which there can be a register.
pub const MOST_TREE_LEVELS: u32 = 5;
/// The one rounding of the engine.
pub const ROUNDING: &str = "half_up";
/// Formats a row may arrive in.
const INPUTS: &[IntFormat] = &[IntFormat::S8, IntFormat::S16];
/// Formats a row may leave in.
const OUTPUTS: &[IntFormat] = &[IntFormat::S8, IntFormat::U8, IntFormat::S16, IntFormat::U16];

/// A table of the file; the name of the top level is empty.
pub struct Table {
    pub name: &'static str,
    /// Comment above it in the printed defaults.
    pub note: &'static str,
}

pub const TABLES: [Table; 8] = [
    Table {
        name: "",
        note: "A mid-size engine for int8 models: 8 elements a cycle, rows of up to 4096 elements.\n\
               Every key is here with its default and its rule.",
    },
    Table { name: "engine", note: "Size of the engine." },
    Table { name: "formats", note: "Integer formats; a row selects one of each list." },
    Table {
        name: "lane",
        note: "One copy of the element datapath; its area counts once for each of the lanes.",
    },
    Table { name: "row_buffer", note: "Memory that holds one row between passes." },
    Table {
        name: "scalar",
        note: "The unit that turns sums into the numbers of a row. It works once a row, so it is\n\
               serial: fewer digit bits are smaller and slower.",
    },
    Table { name: "program", note: "Program memories." },
    Table {
        name: "pipeline",
        note: "Registers that shorten the longest path. Results stay the same; rows take some cycles more.",
    },
];

/// Legal values of a number.
#[derive(Clone, Copy)]
pub enum Rule {
    Range(u32, u32),
    PowerOfTwo(u32, u32),
    ZeroOrPowerOfTwo(u32, u32),
    ZeroOrRange(u32, u32),
    EightOrSixteen,
}

impl Rule {
    /// The legal values where they are few; the ends of a range.
    pub fn values(self) -> Vec<u32> {
        let powers = |lo, hi| (0..32).map(|k| 1 << k).filter(move |v| (lo..=hi).contains(v));
        match self {
            Rule::Range(lo, hi) => vec![lo, hi],
            Rule::PowerOfTwo(lo, hi) => powers(lo, hi).collect(),
            Rule::ZeroOrPowerOfTwo(lo, hi) => std::iter::once(0).chain(powers(lo, hi)).collect(),
            Rule::ZeroOrRange(lo, hi) => vec![0, lo, hi],
            Rule::EightOrSixteen => vec![8, 16],
        }
    }

    /// `value` when it is legal.
    pub fn admit(self, value: i64) -> Option<u32> {
        let value = u32::try_from(value).ok()?;
        let is_legal = match self {
            Rule::Range(lo, hi) => (lo..=hi).contains(&value),
            Rule::ZeroOrRange(lo, hi) => value == 0 || (lo..=hi).contains(&value),
            _ => self.values().contains(&value),
        };
        is_legal.then_some(value)
    }

    /// The legal values around an illegal one, as a clause.
    pub fn nearest(self, value: i64) -> String {
        let values = self.values();
        let below = values.iter().rev().find(|&&v| i64::from(v) < value);
        let above = values.iter().find(|&&v| i64::from(v) > value);
        match (below, above) {
            (Some(a), Some(b)) => format!("{a} and {b} are the nearest legal values"),
            (Some(a), None) | (None, Some(a)) => format!("{a} is the nearest legal value"),
            (None, None) => format!("expected {self}"),
        }
    }

    /// Illegal values next to the legal ones.
    #[cfg(test)]
    pub fn just_outside(self) -> Vec<i64> {
        let ends = self.values().into_iter().flat_map(|v| [i64::from(v) - 1, i64::from(v) + 1]);
        ends.filter(|&v| self.admit(v).is_none()).collect()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Range(0, 1) => write!(f, "0 or 1"),
            Rule::Range(lo, hi) => write!(f, "an integer from {lo} to {hi}"),
            Rule::PowerOfTwo(lo, hi) => write!(f, "a power of two from {lo} to {hi}"),
            Rule::ZeroOrPowerOfTwo(lo, hi) => write!(f, "0 or a power of two from {lo} to {hi}"),
            Rule::ZeroOrRange(lo, hi) => write!(f, "0 or an integer from {lo} to {hi}"),
            Rule::EightOrSixteen => write!(f, "8 or 16"),
        }
    }
}

/// What kind of value a key takes, and the field of [`HwConfig`] it stands for.
#[derive(Clone, Copy)]
pub enum Kind {
    Name,
    Rounding,
    Formats {
        allowed: &'static [IntFormat],
        get: fn(&HwConfig) -> &[IntFormat],
        set: fn(&mut HwConfig, Vec<IntFormat>),
    },
    Stages,
    Buffer,
    Number {
        rule: Rule,
        get: fn(&HwConfig) -> u32,
        set: fn(&mut HwConfig, u32),
    },
}

impl Kind {
    /// The rule in words, for after "expected".
    pub fn rule(&self) -> String {
        match self {
            Kind::Name => format!(
                "a string of 1 to {NAME_CHARS} characters: a small letter, then small letters, \
                 digits and _"
            ),
            Kind::Rounding => format!("\"{ROUNDING}\""),
            Kind::Formats { allowed, .. } => {
                format!("a list, without repeats, of at least one of {}", list(allowed))
            }
            Kind::Stages => format!("a list, without repeats, of {}", words(&Stage::names())),
            Kind::Buffer => {
                let quoted: Vec<String> =
                    BufferKind::ALL.iter().map(|k| format!("\"{}\"", k.text())).collect();
                let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
                words(&quoted).replace(" and ", " or ")
            }
            Kind::Number { rule, .. } => rule.to_string(),
        }
    }

    /// The value in `config`, as TOML.
    pub fn print(&self, config: &HwConfig) -> String {
        match self {
            Kind::Name => toml_edit::Value::from(config.name.as_str()).to_string(),
            Kind::Rounding => format!("\"{ROUNDING}\""),
            Kind::Formats { get, .. } => {
                let quoted: Vec<String> = get(config).iter().map(|f| format!("\"{f}\"")).collect();
                format!("[{}]", quoted.join(", "))
            }
            Kind::Stages => {
                let quoted: Vec<String> =
                    config.stages.iter().map(|s| format!("\"{}\"", s.text())).collect();
                format!("[{}]", quoted.join(", "))
            }
            Kind::Buffer => format!("\"{}\"", config.buffer_kind.text()),
            Kind::Number { get, .. } => get(config).to_string(),
        }
    }
}

/// `s8, u8 and s16`, in words.
pub fn list(formats: &[IntFormat]) -> String {
    let names: Vec<String> = formats.iter().map(IntFormat::to_string).collect();
    words(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// `a, b and c`.
pub fn words(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// One key.
pub struct Field {
    /// Name of its table; empty at the top level.
    pub table: &'static str,
    pub key: &'static str,
    pub is_required: bool,
    pub kind: Kind,
    /// Meaning, with the unit; no full stop.
    pub note: &'static str,
}

macro_rules! number {
    ($table:literal, $key:ident, $need:literal, $rule:expr, $note:literal) => {
        Field {
            table: $table,
            key: stringify!($key),
            is_required: $need,
            kind: Kind::Number { rule: $rule, get: |c| c.$key, set: |c, v| c.$key = v },
            note: $note,
        }
    };
}

macro_rules! formats {
    ($key:literal, $field:ident, $allowed:expr, $note:literal) => {
        Field {
            table: "formats",
            key: $key,
            is_required: true,
            kind: Kind::Formats { allowed: $allowed, get: |c| &c.$field, set: |c, v| c.$field = v },
            note: $note,
        }
    };
}

use Rule::{EightOrSixteen, PowerOfTwo, Range, ZeroOrPowerOfTwo, ZeroOrRange};

#[rustfmt::skip]
pub static FIELDS: [Field; 22] = [
    Field { table: "", key: "name", is_required: true, kind: Kind::Name,
        note: "Name of the top module; not that of a part of the engine such as core or lane" },
    number!("engine", lanes, true, Range(1, 64), "Elements taken each cycle"),
    number!("engine", n_max, true, Range(1, 131_072),
        "Longest row in elements, at least lanes"),
    Field { table: "engine", key: "rounding", is_required: false, kind: Kind::Rounding,
        note: "Rounding of every result; half_up sends ties towards plus infinity" },
    formats!("input", input_formats, INPUTS, "Formats in which a row may arrive"),
    formats!("output", output_formats, OUTPUTS, "Formats in which a row may leave"),
    number!("lane", multiplier_bits, false, Range(12, 28),
        "Width of the broadcast operand and of the lane register, bits, at least 19 for 16-bit outputs"),
    number!("lane", exp_segments, false, PowerOfTwo(4, 256),
        "Segments of the exponential's table, at most 2^(exp_fraction_bits - 2)"),
    number!("lane", exp_fraction_bits, false, Range(8, 20),
        "Fraction bits of the exponential's argument, at most multiplier_bits - 5 and output + 4"),
    number!("row_buffer", element_bits, false, EightOrSixteen,
        "Width of an element, bits, at least the widest input; 16 can keep exponentials"),
    Field { table: "row_buffer", key: "kind", is_required: false, kind: Kind::Buffer,
        note: "What the two banks are made of; a macro is a module to be replaced" },
    number!("row_buffer", macro_um2, false, ZeroOrRange(1, 1_000_000_000),
        "Area of one bank's macro, um^2; 0 takes the density of the technology"),
    number!("scalar", digit_bits, false, Range(2, 15),
        "Bits of the serial operand that the multiplier takes each cycle"),
    number!("scalar", rsqrt_segments, false, PowerOfTwo(4, 256),
        "Segments of the reciprocal root's table"),
    number!("scalar", log2_segments, false, PowerOfTwo(4, 512),
        "Segments of the logarithm's table"),
    number!("scalar", reciprocal_segments, false, ZeroOrPowerOfTwo(4, 256),
        "Segments of the reciprocal's table; above 0, softmax keeps exponentials"),
    number!("scalar", newton_steps, false, Range(0, 1),
        "Newton steps after the reciprocal root's table"),
    number!("program", vector_words, false, Range(4, 64), "Micro-ops of the vector program"),
    number!("program", scalar_words, false, Range(16, 256), "Micro-ops of the scalar program"),
    number!("pipeline", clock_ps, false, ZeroOrRange(100, 1_000_000),
        "Clock period for which registers are placed, ps; 0 leaves them to stages and tree_levels"),
    Field { table: "pipeline", key: "stages", is_required: false, kind: Kind::Stages,
        note: "Places that get a register" },
    number!("pipeline", tree_levels, false, Range(0, MOST_TREE_LEVELS),
        "Levels of a reduction tree between two registers; 0 for none"),
];

/// The keys of one table, in order.
pub fn fields_of(table: &str) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |field| field.table == table)
}

/// `engine.lanes`, or the key alone at the top level.
pub fn full_name(table: &str, key: &str) -> String {
    if table.is_empty() { key.into() } else { format!("{table}.{key}") }
}

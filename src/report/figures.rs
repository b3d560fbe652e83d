//! What a run gives: figures with stable names, as JSON and as an aligned table.
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::cycles::Cycles;
use super::run::Watched;
use crate::num::IntFormat;
use crate::num::error_metrics::ErrorMetrics;

/// Version of the names in [`RunFigures::to_json`].
pub const SCHEMA_VERSION: u32 = 1;

/// Figures of one run.
#[derive(Clone, Debug)]
pub struct RunFigures {
    pub program: String,
    /// Why this program runs and not the operator's first one.
    pub detour: Option<String>,
    pub config: String,
    pub rows: usize,
    pub row_len: usize,
    pub in_format: IntFormat,
    pub out_format: IntFormat,
    /// Width of gamma codes; None without gamma.
    pub gamma_bits: Option<u32>,
    /// Width of beta codes; None without beta.
    pub beta_bits: Option<u32>,
    pub input_scale: f64,
    pub is_input_scale_given: bool,
    pub is_all_zero: bool,
    /// Largest k of the rows' scales; None without row scales.
    pub k_max: Option<u32>,
    pub output_scale: f64,
    /// The scale is the absmax of the exact result.
    pub is_output_scale_measured: bool,
    pub zero_point: i64,
    pub gamma_scale: Option<f64>,
    pub beta_scale: Option<f64>,
    pub beta_saturated: u64,
    /// In real units; None for softmax.
    pub eps: Option<f64>,
    /// N eps in squared input codes.
    pub eps_codes: Option<f64>,
    /// A positive epsilon that the engine's fixed point makes 0.
    pub is_eps_zero: bool,
    /// The program names a reference.
    pub is_judged: bool,
    /// Against the exact operator on the quantised input and parameters as held.
    pub held: ErrorMetrics,
    /// Against the exact operator on the unquantised tensors.
    pub real: ErrorMetrics,
    pub saturated: u64,
    pub input_saturated: u64,
    pub masked_rows: u64,
    pub cycles: Cycles,
    pub lanes: u32,
    /// Micro-ops a chunk.
    pub slots: u32,
    /// What was shown cycle by cycle, if anything.
    pub watched: Option<Watched>,
}

const NO_REFERENCE: &str = "the program names no reference";

/// Inserts a number, or null with its reason.
fn insert(map: &mut Map<String, Value>, name: &str, value: Option<f64>, reason: Option<&str>) {
    map.insert(name.into(), json!(value));
    if let (None, Some(reason)) = (value, reason) {
        map.insert(format!("{name}_reason"), json!(reason));
    }
}

fn errors(map: &mut Map<String, Value>, m: &ErrorMetrics, is_judged: bool) {
    let plain = (!is_judged).then_some(NO_REFERENCE).or(Some("no element was judged"));
    let decibels = |reason: Option<&'static str>| (!is_judged).then_some(NO_REFERENCE).or(reason);
    insert(map, "max_error_lsb", m.max_error_lsb().map(|(e, _)| e), plain);
    insert(map, "mean_error_lsb", m.mean_error_lsb(), plain);
    insert(map, "correctly_rounded", m.correctly_rounded_share(), plain);
    insert(map, "sqnr_db", m.sqnr_db(), decibels(m.sqnr_reason()));
    insert(map, "ideal_sqnr_db", m.ideal_sqnr_db(), decibels(m.ideal_sqnr_reason()));
}

impl RunFigures {
    /// Every figure under its stable name; the same for any number of threads.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        let bits = |b: Option<u32>| b.map(|b| format!("s{b}"));
        map.insert("schema_version".into(), json!(SCHEMA_VERSION));
        map.insert("program".into(), json!(self.program));
        map.insert("program_reason".into(), json!(self.detour));
        map.insert("config".into(), json!(self.config));
        map.insert("rows".into(), json!(self.rows));
        map.insert("row_len".into(), json!(self.row_len));
        map.insert(
            "formats".into(),
            json!({
                "input": self.in_format.to_string(),
                "output": self.out_format.to_string(),
                "gamma": bits(self.gamma_bits),
                "beta": bits(self.beta_bits),
            }),
        );
        map.insert("rounding".into(), json!("half_up"));
        map.insert("input_scale".into(), json!(self.input_scale));
        map.insert("row_scale_k_max".into(), json!(self.k_max));
        map.insert("output_scale".into(), json!(self.output_scale));
        map.insert("output_scale_is_measured".into(), json!(self.is_output_scale_measured));
        map.insert("output_zero_point".into(), json!(self.zero_point));
        map.insert("gamma_scale".into(), json!(self.gamma_scale));
        map.insert("beta_scale".into(), json!(self.beta_scale));
        map.insert("eps".into(), json!(self.eps));
        map.insert("eps_codes".into(), json!(self.eps_codes));
        errors(&mut map, &self.held, self.is_judged);
        let mut beside = Map::new();
        errors(&mut beside, &self.real, self.is_judged);
        map.insert("unquantised".into(), Value::Object(beside));
        map.insert("saturated".into(), json!(self.saturated));
        map.insert("input_saturated".into(), json!(self.input_saturated));
        map.insert("beta_saturated".into(), json!(self.beta_saturated));
        map.insert("masked_rows".into(), json!(self.masked_rows));
        map.insert(
            "cycles".into(),
            json!({
                "first_row": self.cycles.first_row,
                "per_row": whole(self.cycles.per_row),
                "total": self.cycles.total,
            }),
        );
        map.insert("elements_per_cycle".into(), json!(self.cycles.elements_per_cycle));
        map.insert("elements_per_cycle_bound".into(), json!(self.cycles.elements_per_cycle_bound));
        if let Some(watched) = &self.watched {
            map.insert("watched".into(), watched.to_json());
        }
        Value::Object(map)
    }

    /// An aligned table for people.
    pub fn to_text(&self) -> String {
        let mut lines: Vec<(&str, String)> = vec![];
        let rows = if self.rows == 1 { "row" } else { "rows" };
        lines.push((
            "run",
            format!(
                "{} on {}, {} {rows} of {}",
                self.program, self.config, self.rows, self.row_len
            ),
        ));
        if let Some(reason) = &self.detour {
            lines.push(("", format!("with a gamma of 1, as {reason}")));
        }
        let origin = match (self.is_input_scale_given, self.is_all_zero, self.k_max) {
            (true, ..) => " (given)".to_string(),
            (_, true, _) => " (the tensor is all zero: any scale would do)".to_string(),
            (_, _, Some(k)) => format!(" * 2^-k, k to {k} (absmax of tensor and row)"),
            _ => " (absmax)".to_string(),
        };
        lines.push(("input", format!("{}, scale {}{origin}", self.in_format, self.input_scale)));
        let origin =
            if self.is_output_scale_measured { " (absmax of the exact result)" } else { "" };
        lines.push((
            "output",
            format!(
                "{}, scale {}{origin}, zero point {}, rounded half up",
                self.out_format, self.output_scale, self.zero_point
            ),
        ));
        for (name, bits, scale) in [
            ("gamma", self.gamma_bits, self.gamma_scale),
            ("beta", self.beta_bits, self.beta_scale),
        ] {
            if let (Some(bits), Some(scale)) = (bits, scale) {
                lines.push((name, format!("s{bits}, scale {scale}")));
            }
        }
        if let (Some(eps), Some(codes)) = (self.eps, self.eps_codes) {
            let note = if self.is_eps_zero { ": becomes 0 in this engine" } else { "" };
            lines.push(("epsilon", format!("{eps}, N eps = {codes:.4} squared codes{note}")));
        }
        let mut text = String::new();
        for (name, value) in lines {
            let _ = writeln!(text, "{name:<10}{value}");
        }
        text.push('\n');
        text += &self.error_table();
        text.push('\n');
        let percent = 100.0 * self.cycles.elements_per_cycle / self.cycles.elements_per_cycle_bound;
        let mut lines = vec![
            (
                "saturated",
                format!("{} of outputs, {} of inputs", self.saturated, self.input_saturated),
            ),
            (
                "cycles",
                format!(
                    "{} first row, {} a row after it, {} in all",
                    self.cycles.first_row,
                    whole(self.cycles.per_row),
                    self.cycles.total
                ),
            ),
            (
                "elements",
                format!(
                    "{:.3} a cycle, {percent:.1} % of the lanes' bound {:.3} ({} lanes / {} slots)",
                    self.cycles.elements_per_cycle,
                    self.cycles.elements_per_cycle_bound,
                    self.lanes,
                    self.slots
                ),
            ),
        ];
        if self.masked_rows > 0 {
            lines.insert(1, ("masked", format!("{} rows in full", self.masked_rows)));
        }
        if self.beta_saturated > 0 {
            lines.insert(1, ("beta", format!("{} codes saturated", self.beta_saturated)));
        }
        for (name, value) in lines {
            let _ = writeln!(text, "{name:<10}{value}");
        }
        text + &self.watched.as_ref().map_or(String::new(), Watched::to_text)
    }

    fn error_table(&self) -> String {
        if !self.is_judged {
            return format!("{:<10}none: {NO_REFERENCE}\n", "errors");
        }
        let number =
            |v: Option<f64>, digits: usize| v.map_or("-".to_string(), |v| format!("{v:.digits$}"));
        let decibels = |v: Option<f64>| v.map_or("exact".to_string(), |v| format!("{v:.2}"));
        let mut text = format!(
            "{:<26}{:>9}{:>10}{:>12}{:>10}{:>10}\n",
            "error against", "max LSB", "mean LSB", "rounded %", "SQNR dB", "ideal dB"
        );
        for (name, m) in
            [("quantised input, as held", &self.held), ("unquantised tensors", &self.real)]
        {
            let share = m.correctly_rounded_share().map(|s| 100.0 * s);
            let _ = writeln!(
                text,
                "{name:<26}{:>9}{:>10}{:>12}{:>10}{:>10}",
                number(m.max_error_lsb().map(|(e, _)| e), 4),
                number(m.mean_error_lsb(), 4),
                number(share, 3),
                decibels(m.sqnr_db()),
                decibels(m.ideal_sqnr_db()),
            );
        }
        text
    }
}

/// An integer where the number is one.
fn whole(v: f64) -> Value {
    if v.fract() == 0.0 { json!(v as u64) } else { json!(v) }
}

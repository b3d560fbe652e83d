//! Micro-programs as words for the load port: `.hex`, `.json` and a C header.
use super::EmitError;
use super::cases::Case;
use crate::simulate::record::{address, push_hex, put};
use crate::simulate::{Simulator, Write, writes};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Bits of the load port's words, in the order of a `.hex` line, lowest first.
pub struct PortBits {
    pub address: u32,
    pub word: u32,
    pub immediate: u32,
    /// Bits of a lane.
    pub gamma: u32,
    pub beta: u32,
    pub lanes: u32,
}

/// The three files of a program: (name, text).
///
/// # Errors
/// Never today; kept with the other printers.
pub fn files(
    simulator: &Simulator,
    case: &Case,
    bits: &PortBits,
    prefix: &str,
) -> Result<Vec<(String, String)>, EmitError> {
    let all = writes(simulator, &case.loaded, &case.parameters);
    let name = &case.loaded.name;
    let text = [
        ("hex", hex(simulator, &all, bits)),
        ("json", json_text(simulator, case, &all)),
        ("h", header(simulator, case, &all, prefix)),
    ];
    Ok(text.map(|(kind, text)| (format!("programs/{name}.{kind}"), text)).to_vec())
}

fn hex(simulator: &Simulator, all: &[Write], bits: &PortBits) -> String {
    let per_lane = bits.gamma + bits.beta + 1;
    let total = bits.address + bits.word + bits.immediate + per_lane * bits.lanes;
    let mut text = String::new();
    for write in all {
        let mut line = vec![0u64; total.div_ceil(64) as usize];
        let mut low = 0;
        let mut add = |width: u32, value: i64| {
            put(&mut line, low, width, value);
            low += width;
        };
        add(bits.address, address(simulator, write));
        add(bits.word, write.word);
        add(bits.immediate, write.immediate);
        for (lanes, width) in
            [(&write.gamma, bits.gamma), (&write.beta, bits.beta), (&write.tail, 1)]
        {
            for k in 0..bits.lanes as usize {
                add(width, lanes.get(k).map_or(0, |&v| i64::from(v)));
            }
        }
        push_hex(&mut text, &line, total.div_ceil(4) as usize);
        text.push('\n');
    }
    text
}

fn json_text(simulator: &Simulator, case: &Case, all: &[Write]) -> String {
    let b = &case.loaded.binding;
    let words: Vec<Value> = (all.iter())
        .map(|w| {
            json!({
                "address": address(simulator, w),
                "word": w.word,
                "immediate": w.immediate,
                "gamma": w.gamma,
                "beta": w.beta,
                "tail": w.tail,
            })
        })
        .collect();
    let value = json!({
        "schema_version": 1,
        "program": case.loaded.name,
        "row_len": b.row_len,
        "input_format": b.input_format.to_string(),
        "output_format": b.output_format.to_string(),
        "input_scale": b.input_scale,
        "output_scale": b.output_scale,
        "gamma_scale": case.loaded.has_gamma.then_some(b.gamma_scale),
        "eps": b.eps,
        "k_max": b.k_max,
        "vector_text": case.loaded.vector_text,
        "scalar_text": case.loaded.scalar_text,
        "writes": words,
    });
    format!("{value:#}\n")
}

fn header(simulator: &Simulator, case: &Case, all: &[Write], prefix: &str) -> String {
    let b = &case.loaded.binding;
    let name = format!("{prefix}{}", case.loaded.name);
    let guard = format!("{}_H", name.to_uppercase());
    let word = format!("struct {name}_word");
    let mut text = format!(
        "/* Words for the load port: {}, {} to {}, rows of {} elements.\n   \
         Gamma and beta are not here; the last word is the descriptor, load_tail with it. */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n\
         {word} {{\n  uint32_t address;\n  uint64_t word;\n  int64_t immediate;\n}};\n\n\
         static const uint64_t {name}_tail = 0x{:x}u;\n\n\
         static const {word} {name}_words[] = {{\n",
        case.loaded.name,
        b.input_format,
        b.output_format,
        b.row_len,
        u64::MAX >> (64 - case.loaded.tail.min(64)),
    );
    for w in all.iter().filter(|w| w.gamma.is_empty()) {
        let at = address(simulator, w);
        let _ = writeln!(text, "  {{0x{at:x}u, 0x{:x}u, {}}},", w.word, w.immediate);
    }
    let _ = write!(text, "}};\n\n#endif\n");
    text
}

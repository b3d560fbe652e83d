//! Binding: a program, an engine, a row length and scales give the words that the load port takes.
use super::precision;
use super::turns::may_take_turns;
use crate::engine::Engine;
use crate::engine::widths::{GUARD, OUTPUT_FRACTION};
use crate::isa::{Block, Family, Out, Program, Q, Reduce, ScalarKind, Shift, VectorOp};
use crate::num::IntFormat;
use std::collections::BTreeMap;

/// What a program is bound to.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// Row length N in elements.
    pub row_len: u32,
    pub input_format: IntFormat,
    pub output_format: IntFormat,
    /// Real value of one input code, > 0.
    pub input_scale: f64,
    /// Real value of one output code, > 0.
    pub output_scale: f64,
    /// Real value of one gamma code; 1 where unused.
    pub gamma_scale: f64,
    /// Epsilon in real units, >= 0.
    pub eps: f64,
    /// Largest k of the rows' scales, 0 to 15.
    pub k_max: u32,
}

/// Words for the load port.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub name: String,
    pub family: Family,
    pub has_gamma: bool,
    pub has_beta: bool,
    /// Values of the vector word's fields, a row a word.
    pub vector: Vec<Vec<i64>>,
    pub scalar: Vec<Vec<i64>>,
    /// (word, immediate) of each vector and scalar word, as the load port takes them.
    pub vector_words: Vec<(i64, i64)>,
    pub scalar_words: Vec<(i64, i64)>,
    /// Index of the last chunk.
    pub last_index: u32,
    /// The chunks of some body take no turns; only on an engine whose chunks otherwise do.
    pub is_spaced: bool,
    /// The word that describes a row to the engine.
    pub descriptor: i64,
    /// Elements of the last chunk, 1 to L.
    pub tail: u32,
    /// Every constant with its value, for reports.
    pub constants: Vec<(String, f64)>,
    pub binding: Binding,
    /// Text of each vector and scalar word, for listings.
    pub vector_text: Vec<String>,
    pub scalar_text: Vec<String>,
    /// Micro-ops a chunk of each vector body.
    pub body_slots: Vec<u32>,
    /// Cycles of each scalar block.
    pub block_cycles: Vec<u32>,
}

/// Why a program cannot be bound.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BindError {
    #[error("{program}: line {line}: {message}")]
    Text { program: String, line: usize, message: String },
    #[error("row length is {found}; `{engine}` takes 1 to {n_max} elements; raise engine.n_max")]
    RowLength { found: usize, n_max: u32, engine: String },
    #[error(
        "{what} format {found} is not one of `{engine}`: {known}; choose one or add it to formats.{what}"
    )]
    Format { what: &'static str, found: IntFormat, known: String, engine: String },
    #[error("{program} {message}")]
    Needs { program: String, message: String },
}

fn formats(list: &[IntFormat]) -> String {
    list.iter().map(IntFormat::to_string).collect::<Vec<_>>().join(", ")
}

/// Checks what the engine can hold and encodes the program.
pub fn bind(program: &Program, engine: &Engine, binding: &Binding) -> Result<Loaded, BindError> {
    let config = &engine.config;
    let w = &engine.widths;
    let needs = |message: String| BindError::Needs { program: program.name.clone(), message };
    if binding.row_len == 0 || binding.row_len > config.n_max {
        return Err(BindError::RowLength {
            found: binding.row_len as usize,
            n_max: config.n_max,
            engine: config.name.clone(),
        });
    }
    for (what, found, list) in [
        ("input", binding.input_format, &config.input_formats),
        ("output", binding.output_format, &config.output_formats),
    ] {
        if !list.contains(&found) {
            let (known, engine) = (formats(list), config.name.clone());
            return Err(BindError::Format { what, found, known, engine });
        }
    }
    let names = constants(program, engine, binding)?;
    precision::check(program, engine, binding, &names)?;
    let at = |line: usize, message: String| BindError::Text {
        program: program.name.clone(),
        line,
        message,
    };
    let (mut vector, mut scalar) = (vec![], vec![]);
    let (mut vector_text, mut scalar_text) = (vec![], vec![]);
    let (mut body_slots, mut block_cycles) = (vec![], vec![]);
    let mut is_spaced = false;
    let last_body = program.blocks.len() - 1;
    // Line that reduces in the pass before, if any.
    let mut reduced = None;
    for (i, block) in program.blocks.iter().enumerate() {
        match block {
            Block::Scalar(lines) => {
                let mut ops = vec![];
                for l in lines {
                    let condition = l.condition.as_ref().map(|c| c.evaluate(&names)).transpose();
                    if condition.map_err(|(_, m)| at(l.line, m))? == Some(0.0) {
                        continue;
                    }
                    let mut op = l.op;
                    if let Some(e) = &l.immediate {
                        let v = e.evaluate(&names).map_err(|(_, m)| at(l.line, m))?;
                        op.immediate = integer(v).ok_or_else(|| {
                            at(l.line, format!("the immediate is {v}; expected an integer"))
                        })?;
                    }
                    ops.push((op, l.line, l.text.clone()));
                }
                let takes = ops.iter().any(|(op, ..)| op.kind == ScalarKind::Take);
                if let (Some(line), false) = (reduced, takes) {
                    let message = "no `take` for this sum before the next pass, which waits for it";
                    return Err(at(line, message.to_string()));
                }
                if ops.is_empty() {
                    ops.push((crate::isa::ScalarOp::NOP, 0, "nop".to_string()));
                }
                ops.last_mut().expect("an op").0.end = true;
                let digits = w.digits;
                let cycles = |op: &crate::isa::ScalarOp| engine.cuts.scalar_op(op.kind, digits);
                block_cycles.push(ops.iter().map(|(op, ..)| cycles(op)).sum());
                for (op, line, text) in ops {
                    let values = op.values();
                    engine.scalar_fields.encode(&values).map_err(|f| {
                        let field = &engine.scalar_fields.fields[f];
                        let (v, bits) = (values[f], field.bits);
                        at(line, format!("{} is {v}; {bits} bits hold it not", field.name))
                    })?;
                    scalar.push(values);
                    scalar_text.push(text);
                }
            }
            Block::Vector(lines) => {
                body_slots.push(lines.len() as u32);
                let mut body = vec![];
                reduced = lines.iter().find(|l| l.op.reduce != Reduce::None).map(|l| l.line);
                for (k, l) in lines.iter().enumerate() {
                    let mut op = l.op;
                    if let Some(e) = &l.amount {
                        let v = e.evaluate(&names).map_err(|(_, m)| at(l.line, m))?;
                        op.amount = integer(v).ok_or_else(|| {
                            at(l.line, format!("the amount is {v}; expected an integer"))
                        })?;
                    }
                    let uses_store = op.store || op.q == Q::Stored || op.shift == Shift::Stored;
                    if uses_store && !w.can_store {
                        return Err(needs(format!(
                            "stores exponentials and `{}` cannot; set row_buffer.element_bits to 16 and \
                             scalar.reciprocal_segments to 32 or more, or run `softmax`",
                            config.name
                        )));
                    }
                    if l.follows_format {
                        op.out = out_of(program.family, binding.output_format);
                        op.is_wide = binding.output_format.bits == 16;
                    }
                    op.end = k + 1 == lines.len();
                    op.last = i == last_body;
                    body.push(op);
                    let values = op.values();
                    engine.vector_fields.encode(&values).map_err(|f| {
                        let name = engine.vector_fields.fields[f].name;
                        at(l.line, format!("{name} is {}; the field is too narrow", values[f]))
                    })?;
                    vector.push(values);
                    vector_text.push(l.text.clone());
                }
                is_spaced |= engine.cuts.group() > 1 && !may_take_turns(&body);
            }
        }
    }
    for (what, found, most) in [
        ("vector", vector.len(), config.vector_words),
        ("scalar", scalar.len(), config.scalar_words),
    ] {
        if found > most as usize {
            return Err(needs(format!(
                "has {found} {what} words and `{}` holds {most}; raise program.{what}_words",
                config.name
            )));
        }
    }
    let pack = |set: &crate::isa::FieldSet, values: &[i64]| {
        let word = set.encode(values).expect("every field was checked");
        let word = word & ((1 << set.width()) - 1);
        i64::try_from(word).expect("a word below its immediate has at most 62 bits")
    };
    let below = crate::engine::core::without_immediate(&engine.scalar_fields);
    let vector_words = vector.iter().map(|v| (pack(&engine.vector_fields, v), 0)).collect();
    let scalar_words = (scalar.iter())
        .map(|v| (pack(&below, &v[..below.fields.len()]), v[below.fields.len()]))
        .collect();
    let lanes = config.lanes;
    let chunks = binding.row_len.div_ceil(lanes);
    Ok(Loaded {
        name: program.name.clone(),
        family: program.family,
        has_gamma: program.has_gamma,
        has_beta: program.has_beta,
        vector,
        scalar,
        vector_words,
        scalar_words,
        last_index: chunks - 1,
        is_spaced,
        descriptor: i64::from(chunks - 1) + (i64::from(is_spaced) << (w.chunk + 1)),
        tail: binding.row_len - (chunks - 1) * lanes,
        constants: names.into_iter().collect(),
        binding: binding.clone(),
        vector_text,
        scalar_text,
        body_slots,
        block_cycles,
    })
}

/// Saturation of an output format.
fn out_of(family: Family, format: IntFormat) -> Out {
    match (family, format.is_signed) {
        (_, true) => Out::Signed,
        (Family::Softmax, false) => Out::Unsigned,
        (Family::Norm, false) => Out::Offset,
    }
}

fn integer(v: f64) -> Option<i64> {
    let r = v.round();
    (v.is_finite() && (v - r).abs() < 1e-6 && r.abs() < 9e18).then_some(r as i64)
}

/// Names that expressions may use, with the program's own constants.
pub(super) fn constants(
    program: &Program,
    engine: &Engine,
    b: &Binding,
) -> Result<BTreeMap<String, f64>, BindError> {
    let w = &engine.widths;
    let mut names: BTreeMap<String, f64> = [
        ("N", f64::from(b.row_len)),
        ("eps", b.eps),
        ("in_scale", b.input_scale),
        ("out_scale", b.output_scale),
        ("gamma_scale", b.gamma_scale),
        ("full", 1.0 / b.output_scale),
        ("k_max", f64::from(b.k_max)),
        ("newton", f64::from(engine.config.newton_steps)),
        ("in_bits", f64::from(b.input_format.bits)),
        ("log2e", std::f64::consts::LOG2_E),
        ("L", f64::from(w.lanes)),
        ("P", f64::from(w.p)),
        ("W", f64::from(w.scalar)),
        ("A", f64::from(w.accumulator)),
        ("F", f64::from(w.accumulator_fraction)),
        ("LF", f64::from(w.log_fraction())),
        ("LE", f64::from(w.log_extra)),
        ("G", f64::from(GUARD)),
        ("O", f64::from(OUTPUT_FRACTION)),
        ("B", f64::from(w.output)),
        ("IN", f64::from(w.input)),
        ("WS", f64::from(w.sum_fraction)),
        ("FT", f64::from(w.exp_fraction)),
        ("SF", f64::from(w.stored_fraction)),
    ]
    .into_iter()
    .map(|(n, v)| (n.to_string(), v))
    .collect();
    for (name, e, line) in &program.constants {
        let value = e.evaluate(&names).map_err(|(_, message)| BindError::Text {
            program: program.name.clone(),
            line: *line,
            message,
        })?;
        names.insert(name.clone(), value);
    }
    Ok(names)
}

/// The base of a vector op's words, for listings.
pub fn vector_fields() -> crate::isa::FieldSet {
    VectorOp::fields()
}

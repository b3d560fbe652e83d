//! A request made definite: tensors opened, program and formats chosen, everything checked that can
//! be checked before the first row is read.
use std::path::{Path, PathBuf};

use super::error::RunError;
use super::run::Watch;
use crate::config::HwConfig;
use crate::engine::Widths;
use crate::isa::{Family, Program};
use crate::num::IntFormat;
use crate::program::library;
use crate::tensor::{ElementKind, Scale, TensorFile};

/// Default epsilon of the norms, in real units squared.
pub const EPS_DEFAULT: f64 = 1e-5;

/// Above the largest code of any format.
const SCALE_ROOM: f64 = 65536.0;

/// What a user asks for. Paths and numbers are as given, unchecked.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// softmax, layernorm or rmsnorm; unused when `program` is given.
    pub operator: String,
    /// A program of the user's own.
    pub program: Option<Program>,
    pub input: PathBuf,
    pub gamma: Option<PathBuf>,
    pub beta: Option<PathBuf>,
    pub keep: Option<PathBuf>,
    pub output: Option<PathBuf>,
    /// Other files that the request stems from, with what they are; they are not written over.
    pub sources: Vec<(&'static str, PathBuf)>,
    pub eps: Option<f64>,
    /// Real value of one input code.
    pub input_scale: Option<f64>,
    /// A power-of-two part of the tensor's scale for each row.
    pub row_scale: bool,
    /// Take each row's maximum off before quantising.
    pub subtract_max: bool,
    /// Real value of one output code.
    pub output_scale: Option<f64>,
    pub in_format: Option<IntFormat>,
    pub out_format: Option<IntFormat>,
    /// Threads; 0 takes every core.
    pub jobs: usize,
    /// The first cycles, word by word.
    pub watch: Watch,
}

/// The operator of `reference` that a program computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Softmax,
    LayerNorm,
    RmsNorm,
}

/// A request that has been checked against the configuration and the tensors.
#[derive(Debug)]
pub struct Plan {
    pub program: Program,
    /// The same operator with a gamma of 1, in three slots a chunk: for what `program` cannot reach.
    pub detour: Option<Program>,
    /// None: no error figures.
    pub operator: Option<Operator>,
    pub input: TensorFile,
    pub gamma: Option<Vec<f64>>,
    pub beta: Option<Vec<f64>>,
    pub keep: Option<TensorFile>,
    pub eps: f64,
    pub in_format: IntFormat,
    pub out_format: IntFormat,
    pub input_scale: Option<Scale>,
    pub output_scale: Option<Scale>,
    pub zero_point: i64,
    pub row_scale: bool,
    pub subtract_max: bool,
}

impl Plan {
    pub fn is_softmax(&self) -> bool {
        self.program.family == Family::Softmax
    }
}

/// Checks a request.
///
/// # Errors
/// The first thing that is wrong, options first, then tensors.
pub fn plan(request: &Request, config: &HwConfig) -> Result<Plan, RunError> {
    let program = choose_program(request, config)?;
    let is_softmax = program.family == Family::Softmax;
    check_options(request, &program)?;
    let scale = |place: &str, value: Option<f64>| {
        let checked = value.map(Scale::new).transpose();
        checked.map_err(|error| RunError::Scale { place: place.into(), error })
    };
    let input_scale = scale("--input-scale", request.input_scale)?;
    let output_scale = scale("--output-scale", request.output_scale)?;
    if let Some(large) = input_scale.map(Scale::get).filter(|s| !(s * SCALE_ROOM).is_finite()) {
        return Err(RunError::request(
            "--input-scale",
            format!("{large:e}"),
            "a scale whose codes are finite numbers",
            "give a smaller scale",
        ));
    }
    let eps = request.eps.unwrap_or(if is_softmax { 0.0 } else { EPS_DEFAULT });
    if !(eps.is_finite() && eps >= 0.0) {
        return Err(RunError::request(
            "--eps",
            format!("{eps}"),
            "a finite number from 0",
            "give the epsilon of the model, such as 1e-5",
        ));
    }
    let input = TensorFile::open(&request.input)?;
    let row_len = input.row_len();
    if row_len > config.n_max as usize {
        return Err(RunError::request(
            request.input.display().to_string(),
            format!("rows of {row_len} elements"),
            format!("1 to {}, the n_max of `{}`", config.n_max, config.name),
            "raise engine.n_max or reshape the tensor",
        ));
    }
    check_integer_input(request, &input)?;
    let operator = operator_of(&program);
    if operator.is_none() && !is_softmax && output_scale.is_none() {
        return Err(RunError::request(
            "--output-scale",
            "none",
            format!("a scale, as `{}` names no reference to take it from", program.name),
            "give --output-scale, or a `reference` line in the program",
        ));
    }
    let in_format = request.in_format.unwrap_or_else(|| input_format(config, &input, is_softmax));
    let preferred = if is_softmax { IntFormat::U8 } else { IntFormat::S8 };
    let fallback = config.output_formats.first().copied().unwrap_or(preferred);
    let is_there = config.output_formats.contains(&preferred);
    let out_format = request.out_format.unwrap_or(if is_there { preferred } else { fallback });
    let gamma = request.gamma.as_deref().map(|p| parameter("gamma", p, row_len)).transpose()?;
    let beta = request.beta.as_deref().map(|p| parameter("beta", p, row_len)).transpose()?;
    let keep = request.keep.as_deref().map(|p| mask(p, &input)).transpose()?;
    let zero_point = match (is_softmax, out_format.is_signed) {
        (false, false) => 1 << (out_format.bits - 1),
        _ => 0,
    };
    Ok(Plan {
        gamma: gamma.or_else(|| program.has_gamma.then(|| vec![1.0; row_len])),
        beta: beta.or_else(|| program.has_beta.then(|| vec![0.0; row_len])),
        detour: detour(request, &program),
        program,
        operator,
        input,
        keep,
        eps,
        in_format,
        out_format,
        input_scale,
        output_scale,
        zero_point,
        row_scale: request.row_scale,
        subtract_max: request.subtract_max,
    })
}

/// The shipped program that serves an operator on a configuration, or the user's own.
fn choose_program(request: &Request, config: &HwConfig) -> Result<Program, RunError> {
    if let Some(program) = &request.program {
        return Ok(program.clone());
    }
    let is_affine = request.gamma.is_some() || request.beta.is_some();
    let is_narrow = request.out_format.is_none_or(|f| f.bits == 8);
    let name = match request.operator.as_str() {
        "softmax" if is_narrow && Widths::derive(config).can_store => "softmax_stored",
        "softmax" => "softmax",
        "layernorm" if is_affine => "layernorm_affine",
        "layernorm" => "layernorm",
        "rmsnorm" if request.gamma.is_some() => "rmsnorm_gamma",
        "rmsnorm" => "rmsnorm",
        other => other,
    };
    library::shipped(name).ok_or_else(|| {
        RunError::request(
            "OP",
            format!("`{name}`"),
            "softmax, layernorm, rmsnorm or the path of a .mive program",
            "`mive programs` lists the shipped ones",
        )
    })
}

/// The program with parameters that can stand in for a norm without, where the user named the operator.
fn detour(request: &Request, program: &Program) -> Option<Program> {
    match (&request.program, program.name.as_str()) {
        (None, "layernorm") => library::shipped("layernorm_affine"),
        (None, "rmsnorm") => library::shipped("rmsnorm_gamma"),
        _ => None,
    }
}

fn operator_of(program: &Program) -> Option<Operator> {
    match program.reference.as_deref() {
        Some("softmax") => Some(Operator::Softmax),
        Some("layernorm") => Some(Operator::LayerNorm),
        Some("rmsnorm") => Some(Operator::RmsNorm),
        _ => None,
    }
}

/// Options that the program has no use for.
fn check_options(request: &Request, program: &Program) -> Result<(), RunError> {
    let name = &program.name;
    let refuse = |option: &str, expected: String, help: &str| {
        Err(RunError::request(option, format!("the option with `{name}`"), expected, help))
    };
    let is_softmax = program.family == Family::Softmax;
    if request.gamma.is_some() && !program.has_gamma {
        return refuse("--gamma", "a program that takes gamma".into(), "leave --gamma out");
    }
    if request.beta.is_some() && !program.has_beta {
        let help = "leave --beta out, or run layernorm";
        return refuse("--beta", "a program that takes beta".into(), help);
    }
    if request.keep.is_some() && !is_softmax {
        let help = "leave --keep out: a norm is over whole rows";
        return refuse("--keep", "a mask only with softmax".into(), help);
    }
    if request.eps.is_some() && is_softmax {
        return refuse("--eps", "an epsilon only with a norm".into(), "leave --eps out");
    }
    if request.subtract_max && !is_softmax {
        let help = "leave --subtract-max out: it would change a norm's result";
        return refuse("--subtract-max", "the option only with softmax".into(), help);
    }
    Ok(())
}

fn check_integer_input(request: &Request, input: &TensorFile) -> Result<(), RunError> {
    if !input.is_integer() {
        return Ok(());
    }
    let place = request.input.display().to_string();
    let dtype = format!("integer codes ({})", input.dtype());
    for (is_set, option) in
        [(request.row_scale, "--row-scale"), (request.subtract_max, "--subtract-max")]
    {
        if is_set {
            let expected = format!("floats with {option}");
            let help = format!("give the real tensor, or leave {option} out");
            return Err(RunError::request(place, dtype, expected, help));
        }
    }
    if request.input_scale.is_none() {
        let expected = "the real value of one code beside it";
        return Err(RunError::request(place, dtype, expected, "give --input-scale, such as 0.05"));
    }
    Ok(())
}

/// The widest format for norms and for codes that need it, the narrowest for softmax.
fn input_format(config: &HwConfig, input: &TensorFile, is_softmax: bool) -> IntFormat {
    let is_narrow = match input.is_integer() {
        true => input.dtype().kind == ElementKind::I1,
        false => is_softmax,
    };
    let formats = config.input_formats.iter().copied();
    let found =
        if is_narrow { formats.min_by_key(|f| f.bits) } else { formats.max_by_key(|f| f.bits) };
    found.unwrap_or(IntFormat::S8)
}

fn parameter(what: &str, path: &Path, row_len: usize) -> Result<Vec<f64>, RunError> {
    let file = TensorFile::open(path)?;
    let (rows, found) = (file.n_rows(), file.row_len());
    if rows != 1 || found != row_len {
        return Err(RunError::request(
            path.display().to_string(),
            format!("{what} of shape {:?}", file.shape()),
            format!("{row_len} elements, one for each of the row"),
            format!("give the {what} that belongs to the input"),
        ));
    }
    file.scan_non_finite(false)?;
    let mut values = vec![];
    file.read_rows(0, 1, &mut values)?;
    Ok(values)
}

fn mask(path: &Path, input: &TensorFile) -> Result<TensorFile, RunError> {
    let file = TensorFile::open(path)?;
    if !matches!(file.dtype().kind, ElementKind::U1 | ElementKind::Bool) {
        return Err(RunError::request(
            path.display().to_string(),
            format!("dtype {}", file.dtype()),
            "a mask of |u1 or |b1, 1 for an element that is kept",
            "convert it with numpy's astype",
        ));
    }
    if file.shape() != input.shape() {
        return Err(RunError::request(
            path.display().to_string(),
            format!("shape {:?}", file.shape()),
            format!("{:?}, the shape of {}", input.shape(), input.path().display()),
            "give one mask element for each input element",
        ));
    }
    Ok(file)
}

//! Blocks of rows: read, masked, quantised. A block depends on nothing but its rows.
use super::error::RunError;
use super::plan::Plan;
use crate::num::IntFormat;
use crate::tensor::{Scale, TensorError, absmax_scale, quantise, row_shift};

/// Elements of the largest and smallest block.
const BLOCK_MAX: usize = 1 << 18;
const BLOCK_MIN: usize = 1 << 14;

/// Rows of a block; depends on the tensor alone, so that figures do not depend on the threads.
pub fn rows_per_block(n_rows: usize, row_len: usize) -> usize {
    let elements = (n_rows.saturating_mul(row_len) / 64).clamp(BLOCK_MIN, BLOCK_MAX);
    (elements / row_len).clamp(1, n_rows)
}

/// A block as read: real values with the row maximum off where asked, and the mask.
#[derive(Clone, Debug, Default)]
pub struct Block {
    pub n_rows: usize,
    /// Real values; -inf only where masked.
    pub real: Vec<f64>,
    /// 1 keeps an element; empty when every one is kept.
    pub keep: Vec<u8>,
}

/// A block as the engine takes it.
#[derive(Clone, Debug, Default)]
pub struct Quantised {
    pub codes: Vec<i32>,
    /// k of each row; empty without row scales.
    pub k: Vec<u8>,
    pub saturated: u64,
}

/// How real values become codes.
#[derive(Clone, Copy, Debug)]
pub struct Quantiser {
    pub scale: Scale,
    pub format: IntFormat,
    /// Largest magnitude of the tensor where rows have their own scale.
    pub row_absmax_of: Option<f64>,
    /// Largest k of the rows; one that would need a larger k has this.
    pub k_max: u32,
    /// The tensor is all zero, so that its scale is 1 for want of a better one.
    pub is_all_zero: bool,
}

/// Reads `count` rows from row `first`.
///
/// # Errors
/// An element that is neither finite nor masked; integer codes outside the input format.
pub fn read(plan: &Plan, first: usize, count: usize) -> Result<Block, RunError> {
    let mut block = Block { n_rows: count, ..Block::default() };
    let n = plan.input.row_len();
    plan.input.read_rows(first, count, &mut block.real)?;
    if let Some(keep) = &plan.keep {
        let mut codes = vec![];
        keep.read_rows_int(first, count, &mut codes)?;
        block.keep.extend(codes.iter().map(|&k| u8::from(k != 0)));
    }
    let place = |i: usize| (plan.input.path().to_path_buf(), first + i / n, i % n);
    if plan.input.is_integer() {
        let (lo, hi) = (plan.in_format.min(), plan.in_format.max());
        if let Some(i) = block.real.iter().position(|&v| v < lo as f64 || v > hi as f64) {
            let (path, row, column) = place(i);
            let value = block.real[i] as i64;
            return Err(TensorError::OutOfRange { path, row, column, value, lo, hi }.into());
        }
        let scale = plan.input_scale.map_or(1.0, Scale::get);
        block.real.iter_mut().for_each(|v| *v *= scale);
        return Ok(block);
    }
    let is_softmax = plan.is_softmax();
    for i in 0..block.real.len() {
        let value = block.real[i];
        if value.is_finite() || block.keep.get(i) == Some(&0) {
            continue;
        }
        if !(is_softmax && value == f64::NEG_INFINITY) {
            let expected = if is_softmax {
                "finite numbers, or -inf for a masked element"
            } else {
                "finite numbers"
            };
            let (path, row, column) = place(i);
            return Err(TensorError::NonFinite { path, row, column, value, expected }.into());
        }
        if block.keep.is_empty() {
            block.keep = vec![1; block.real.len()];
        }
        block.keep[i] = 0;
    }
    if !block.keep.is_empty() {
        let masked = block.real.iter_mut().zip(&block.keep).filter(|(_, k)| **k == 0);
        masked.for_each(|(v, _)| *v = f64::NEG_INFINITY);
    }
    if plan.subtract_max {
        for row in block.real.chunks_mut(n) {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if largest.is_finite() {
                // A masked element stays -inf, and a difference that has no number is the lowest.
                let kept = row.iter_mut().filter(|v| v.is_finite());
                kept.for_each(|v| *v = (*v - largest).max(f64::MIN));
            }
        }
    }
    Ok(block)
}

/// Largest magnitude of each row's kept elements: the largest over the rows, and the smallest that is
/// not 0 (infinite without one).
pub fn row_extremes(block: &Block, row_len: usize) -> (f64, f64) {
    block.real.chunks(row_len).fold((0.0, f64::INFINITY), |(largest, smallest), row| {
        let m = crate::tensor::absmax(row);
        (m.max(largest), if m > 0.0 { m.min(smallest) } else { smallest })
    })
}

impl Quantiser {
    /// From the options, or from the extremes of [`row_extremes`] over the whole tensor.
    ///
    /// # Errors
    /// A magnitude that has no scale.
    pub fn new(plan: &Plan, extremes: Option<(f64, f64)>) -> Result<Self, RunError> {
        let place = || plan.input.path().display().to_string();
        let mut made = Self {
            scale: plan.input_scale.unwrap_or(
                Scale::new(1.0).map_err(|error| RunError::Scale { place: place(), error })?,
            ),
            format: plan.in_format,
            row_absmax_of: None,
            k_max: 0,
            is_all_zero: false,
        };
        let Some((largest, smallest)) = extremes else { return Ok(made) };
        (made.scale, made.is_all_zero) = absmax_scale(largest, plan.in_format)
            .map_err(|error| RunError::Scale { place: place(), error })?;
        if plan.row_scale && largest > 0.0 {
            made.row_absmax_of = Some(largest);
            made.k_max = row_shift(smallest.min(largest), largest);
        }
        Ok(made)
    }

    /// Codes of a block; a masked element has code 0, and is never looked at.
    ///
    /// # Errors
    /// A row scale that is 0 in f64.
    pub fn quantise(&self, block: &Block, row_len: usize) -> Result<Quantised, RunError> {
        let mut made = Quantised::default();
        let mut codes = vec![];
        made.codes.reserve(block.real.len());
        let mut values = vec![];
        for row in block.real.chunks(row_len) {
            let mut scale = self.scale;
            if let Some(tensor_absmax) = self.row_absmax_of {
                let k = row_shift(crate::tensor::absmax(row), tensor_absmax).min(self.k_max);
                made.k.push(k as u8);
                scale = scale
                    .for_row(k)
                    .map_err(|error| RunError::Scale { place: "--row-scale".into(), error })?;
            }
            values.clear();
            values.extend(row.iter().map(|&v| if v == f64::NEG_INFINITY { 0.0 } else { v }));
            made.saturated += quantise(&values, scale, self.format, &mut codes);
            made.codes.extend_from_slice(&codes);
        }
        Ok(made)
    }

    /// Real value of one code of row `r` of a block.
    pub fn row_scale(&self, quantised: &Quantised, r: usize) -> f64 {
        let k = quantised.k.get(r).copied().unwrap_or(0);
        self.scale.get() * 0.5f64.powi(k.into())
    }
}

//! Reading `.npy` tensors in place, so that memory stays flat whatever the tensor's size.
use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
#[cfg(unix)]
use memmap2::UncheckedAdvice;

use super::error::TensorError;
use super::header::{self, DType, ElementKind, Header};

/// Elements that are decoded at a time by a walk over the whole tensor.
const RUN: usize = 1 << 14;

/// An open `.npy` tensor seen as rows: the last axis is the row, a tensor of rank 1 is one row.
///
/// Row `r` counts the leading axes in C order, whatever the order in the file. The file is mapped,
/// not loaded; it must not be shortened while it is open. Shared by threads freely. Pages that a
/// stream has passed are let go; those of a Fortran tensor stay until it is dropped, as every block
/// of rows comes back to all of them.
#[derive(Debug)]
pub struct TensorFile {
    path: PathBuf,
    map: Mmap,
    header: Header,
}

/// Elements to decode: a run in the order of the file, or whole rows.
#[derive(Clone, Copy)]
enum Span {
    Run { start: usize, count: usize },
    Rows { first: usize, count: usize },
}

/// A type that elements are decoded to.
trait Target: Copy + Default {
    fn float(value: f64) -> Self;
    fn int(value: i64) -> Self;
}

impl Target for f64 {
    fn float(value: f64) -> Self {
        value
    }
    fn int(value: i64) -> Self {
        value as f64
    }
}

impl Target for i64 {
    fn float(value: f64) -> Self {
        value as i64
    }
    fn int(value: i64) -> Self {
        value
    }
}

impl Target for i32 {
    fn float(value: f64) -> Self {
        value as i32
    }
    fn int(value: i64) -> Self {
        value as i32
    }
}

impl TensorFile {
    /// Opens version 1, 2 or 3, C or Fortran order, either endianness, and checks the header
    /// against the file's length to the byte.
    ///
    /// # Errors
    /// Not a readable regular file, not `.npy`, a header or dtype that is not understood, no rows,
    /// or a length that the shape does not explain.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TensorError> {
        let path = path.as_ref();
        let refuse = |found: &str| TensorError::Open { path: path.into(), found: found.into() };
        // Before opening: opening a pipe would wait for its writer.
        let kind = std::fs::metadata(path).map_err(|e| TensorError::open(path, &e))?.file_type();
        if kind.is_dir() {
            return Err(refuse("a directory"));
        }
        if !kind.is_file() {
            return Err(refuse("a device or pipe"));
        }
        let file = File::open(path).map_err(|e| TensorError::open(path, &e))?;
        // SAFETY: the map is read-only and private to this struct; bytes that another process
        // changes are still bytes, and the type's contract forbids shortening the file.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| TensorError::open(path, &e))?;
        let header = header::parse(path, &map)?;
        Ok(Self { path: path.into(), map, header })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Axes as stored, each at least 1.
    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// Product of all axes but the last; at least 1.
    pub fn n_rows(&self) -> usize {
        self.header.shape.iter().rev().skip(1).product()
    }

    /// The last axis; at least 1.
    pub fn row_len(&self) -> usize {
        self.header.shape.last().copied().unwrap_or(1)
    }

    pub fn dtype(&self) -> DType {
        self.header.dtype
    }

    /// True for integers and bool.
    pub fn is_integer(&self) -> bool {
        self.header.dtype.kind.is_integer()
    }

    /// Replaces `out` by `count` rows from row `first`, row-major. Every dtype is exact, except
    /// that i8 beyond 2^53 is rounded to nearest.
    ///
    /// # Errors
    /// [`TensorError::Rows`] past the last row.
    pub fn read_rows(
        &self,
        first: usize,
        count: usize,
        out: &mut Vec<f64>,
    ) -> Result<(), TensorError> {
        self.check_rows(first, count)?;
        self.decode(Span::Rows { first, count }, out);
        Ok(())
    }

    /// Replaces `out` by `count` rows of an integer tensor from row `first`, row-major; bool is 0, 1.
    ///
    /// # Errors
    /// Past the last row, a tensor of floats, or an i8 element that does not fit in 32 bits.
    pub fn read_rows_int(
        &self,
        first: usize,
        count: usize,
        out: &mut Vec<i32>,
    ) -> Result<(), TensorError> {
        self.check_rows(first, count)?;
        if !self.is_integer() {
            let found = self.dtype().to_string();
            return Err(TensorError::NotInteger { path: self.path.clone(), found });
        }
        let span = Span::Rows { first, count };
        if self.dtype().kind != ElementKind::I8 {
            self.decode(span, out);
            return Ok(());
        }
        let mut wide: Vec<i64> = Vec::new();
        self.decode(span, &mut wide);
        out.clear();
        for (i, &value) in wide.iter().enumerate() {
            out.push(i32::try_from(value).map_err(|_| TensorError::OutOfRange {
                path: self.path.clone(),
                row: first + i / self.row_len(),
                column: i % self.row_len(),
                value,
                lo: i32::MIN.into(),
                hi: i32::MAX.into(),
            })?);
        }
        Ok(())
    }

    /// Largest magnitude in the tensor, one walk in the order of the file. -Inf, a masked softmax
    /// input, is passed over.
    ///
    /// # Errors
    /// [`TensorError::NonFinite`] at the first NaN or +Inf.
    pub fn absmax(&self) -> Result<f64, TensorError> {
        let mut largest = 0.0f64;
        let mut is_clean = true;
        self.walk(|_, values| {
            for &value in values {
                let magnitude = value.abs();
                let is_masked = value == f64::NEG_INFINITY;
                is_clean &= is_masked || magnitude < f64::INFINITY;
                largest = if is_masked { largest } else { largest.max(magnitude) };
            }
            is_clean
        });
        if !is_clean {
            self.scan_non_finite(true)?;
        }
        Ok(largest)
    }

    /// Refuses NaN and Inf, naming the first bad element in row-major order; -Inf passes when
    /// `allow_neg_inf`. Integer tensors pass unread.
    ///
    /// # Errors
    /// [`TensorError::NonFinite`].
    pub fn scan_non_finite(&self, allow_neg_inf: bool) -> Result<(), TensorError> {
        if self.is_integer() {
            return Ok(());
        }
        let mut first_bad: Option<(usize, usize, f64)> = None;
        self.walk(|start, values| {
            for (i, &value) in values.iter().enumerate() {
                if value.is_finite() || (allow_neg_inf && value == f64::NEG_INFINITY) {
                    continue;
                }
                let (row, column) = self.position(start + i);
                if first_bad.is_none_or(|(r, c, _)| (row, column) < (r, c)) {
                    first_bad = Some((row, column, value));
                }
                if !self.header.is_fortran {
                    return false;
                }
            }
            true
        });
        let Some((row, column, value)) = first_bad else { return Ok(()) };
        let expected = if allow_neg_inf {
            "finite numbers, or -inf for a masked element"
        } else {
            "finite numbers"
        };
        Err(TensorError::NonFinite { path: self.path.clone(), row, column, value, expected })
    }

    fn check_rows(&self, first: usize, count: usize) -> Result<(), TensorError> {
        let n_rows = self.n_rows();
        if first.checked_add(count).is_some_and(|end| end <= n_rows) {
            return Ok(());
        }
        Err(TensorError::Rows { path: self.path.clone(), first, count, n_rows })
    }

    /// Hands the tensor to `visit` in the file's order, with the index of the first element of each
    /// piece, until it returns false.
    fn walk(&self, mut visit: impl FnMut(usize, &[f64]) -> bool) {
        let n = self.n_rows() * self.row_len();
        let mut values: Vec<f64> = Vec::with_capacity(RUN.min(n));
        for start in (0..n).step_by(RUN) {
            self.decode(Span::Run { start, count: RUN.min(n - start) }, &mut values);
            if !visit(start, &values) {
                return;
            }
        }
    }

    /// Row and column of the element at `index` in the file's order.
    fn position(&self, index: usize) -> (usize, usize) {
        if !self.header.is_fortran {
            return (index / self.row_len(), index % self.row_len());
        }
        let (column, mut rest) = (index / self.n_rows(), index % self.n_rows());
        let leading = &self.header.shape[..self.header.shape.len() - 1];
        let (mut row, mut weight) = (0, self.n_rows());
        for &axis in leading {
            weight /= axis;
            row += rest % axis * weight;
            rest /= axis;
        }
        (row, column)
    }

    /// Index in a Fortran file of column 0 of a row.
    fn fortran_start(&self, mut row: usize) -> usize {
        let leading = &self.header.shape[..self.header.shape.len() - 1];
        let (mut index, mut weight) = (0, self.n_rows());
        for &axis in leading.iter().rev() {
            weight /= axis;
            index += row % axis * weight;
            row /= axis;
        }
        index
    }

    fn decode<T: Target>(&self, span: Span, out: &mut Vec<T>) {
        match self.header.dtype.kind {
            ElementKind::F2 => {
                self.copy(span, out, |b| T::float(half_to_f64(u16::from_le_bytes(b))))
            }
            ElementKind::F4 => self.copy(span, out, |b| T::float(f32::from_le_bytes(b).into())),
            ElementKind::F8 => self.copy(span, out, |b| T::float(f64::from_le_bytes(b))),
            ElementKind::I1 => self.copy(span, out, |b| T::int(i8::from_le_bytes(b).into())),
            ElementKind::U1 => self.copy(span, out, |[b]| T::int(b.into())),
            ElementKind::I2 => self.copy(span, out, |b| T::int(i16::from_le_bytes(b).into())),
            ElementKind::U2 => self.copy(span, out, |b| T::int(u16::from_le_bytes(b).into())),
            ElementKind::I4 => self.copy(span, out, |b| T::int(i32::from_le_bytes(b).into())),
            ElementKind::I8 => self.copy(span, out, |b| T::int(i64::from_le_bytes(b))),
            ElementKind::Bool => self.copy(span, out, |[b]| T::int((b != 0).into())),
        }
    }

    /// Replaces `out` by the elements of a span; `value` takes the bytes least significant first.
    fn copy<T: Target, const W: usize>(
        &self,
        span: Span,
        out: &mut Vec<T>,
        value: impl Fn([u8; W]) -> T,
    ) {
        let data = &self.map[self.header.data_start..];
        let is_big = self.header.dtype.is_big_endian;
        let element = |bytes: &[u8]| {
            let mut ordered = [0; W];
            ordered.copy_from_slice(bytes);
            if is_big {
                ordered.reverse();
            }
            value(ordered)
        };
        let run = |start: usize, count: usize| data[start * W..(start + count) * W].chunks_exact(W);
        let row_len = self.row_len();
        out.clear();
        match span {
            Span::Run { start, count } => {
                out.extend(run(start, count).map(element));
                self.release(start * W, count * W);
            }
            Span::Rows { first, count } if !self.header.is_fortran => {
                let (start, count) = (first * row_len, count * row_len);
                out.extend(run(start, count).map(element));
                self.release(start * W, count * W);
            }
            Span::Rows { first, count } => {
                // Columns outside: neighbouring rows are neighbours in the file.
                out.resize(count * row_len, T::default());
                let starts: Vec<usize> =
                    (first..first + count).map(|r| self.fortran_start(r)).collect();
                for column in 0..row_len {
                    let base = column * self.n_rows();
                    for (row, start) in starts.iter().enumerate() {
                        let at = (base + start) * W;
                        out[row * row_len + column] = element(&data[at..at + W]);
                    }
                }
            }
        }
    }
}

impl TensorFile {
    /// Lets go of pages that a stream has passed, so that resident memory stays flat too. A later
    /// read finds them again in the page cache or the file.
    fn release(&self, start: usize, n_bytes: usize) {
        #[cfg(unix)]
        if n_bytes > 0 {
            let start = self.header.data_start + start;
            // SAFETY: the map is shared, read-only and backed by the file: dropped pages read back
            // as the same bytes. A refusal only costs memory.
            let _ = unsafe {
                self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, n_bytes)
            };
        }
    }
}

/// IEEE binary16, exact.
fn half_to_f64(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    match exponent {
        0 => sign * fraction * 2f64.powi(-24),
        31 if fraction != 0.0 => f64::NAN,
        31 => sign * f64::INFINITY,
        _ => sign * (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

//! Writing `.npy` tensors: rows are streamed to a file that appears when it is complete.
use std::io::Write;
use std::path::Path;

use super::atomic::AtomicFile;
use super::error::{TensorError, shape_text};
use crate::num::IntFormat;

/// Streams integer codes, `|i1`, `|u1`, `<i2` or `<u2`, C order, version 1.0.
///
/// Nothing appears at the path before [`finish`](Self::finish); a writer that is dropped leaves
/// nothing behind.
#[derive(Debug)]
pub struct TensorWriter {
    sink: Sink,
    format: IntFormat,
    bytes: Vec<u8>,
}

/// The file, whatever its element type.
#[derive(Debug)]
struct Sink {
    file: AtomicFile,
    row_len: usize,
    n_elements: usize,
    n_written: usize,
}

impl TensorWriter {
    /// # Errors
    /// A path that cannot be written: missing folder, a directory, a device, a read-only file; or a
    /// shape without rows.
    pub fn create(
        path: impl AsRef<Path>,
        format: IntFormat,
        shape: &[usize],
    ) -> Result<Self, TensorError> {
        let descr = match (format.bits, format.is_signed) {
            (8, true) => "|i1",
            (8, false) => "|u1",
            (_, true) => "<i2",
            (_, false) => "<u2",
        };
        let sink = Sink::create(path.as_ref(), descr, format.bits as usize / 8, shape)?;
        Ok(Self { sink, format, bytes: Vec::new() })
    }

    /// Appends whole rows of codes, row-major.
    ///
    /// # Errors
    /// A code outside the format, elements that are not whole rows or too many, or a full disk.
    pub fn write_rows(&mut self, codes: &[i32]) -> Result<(), TensorError> {
        self.sink.check_rows(codes.len())?;
        let (lo, hi) = (self.format.min(), self.format.max());
        self.bytes.clear();
        for (i, &code) in codes.iter().enumerate() {
            if !(lo..=hi).contains(&i64::from(code)) {
                let index = self.sink.n_written + i;
                let (row, column) = (index / self.sink.row_len, index % self.sink.row_len);
                let path = self.sink.file.path().to_path_buf();
                return Err(TensorError::OutOfRange {
                    path,
                    row,
                    column,
                    value: code.into(),
                    lo,
                    hi,
                });
            }
            let bytes = code.to_le_bytes();
            self.bytes.extend_from_slice(&bytes[..self.format.bits as usize / 8]);
        }
        self.sink.write(codes.len(), &self.bytes)
    }

    /// Puts the complete file at its path, in one step.
    ///
    /// # Errors
    /// Rows that are missing, a full disk, or a rename that is refused.
    pub fn finish(self) -> Result<(), TensorError> {
        self.sink.finish()
    }
}

impl Sink {
    fn create(
        path: &Path,
        descr: &str,
        item_size: usize,
        shape: &[usize],
    ) -> Result<Self, TensorError> {
        let bytes = shape.iter().try_fold(item_size, |n, &axis| n.checked_mul(axis));
        let Some(bytes) = bytes.filter(|&b| b > 0 && !shape.is_empty()) else {
            return Err(TensorError::Shape {
                path: path.into(),
                found: shape_text(shape),
                expected: "at least one row of at least one element".into(),
            });
        };
        let mut sink = Self {
            file: AtomicFile::create(path)?,
            row_len: shape.last().copied().unwrap_or(1),
            n_elements: bytes / item_size,
            n_written: 0,
        };
        sink.write(0, &header_bytes(descr, shape))?;
        Ok(sink)
    }

    fn check_rows(&self, count: usize) -> Result<(), TensorError> {
        let left = self.n_elements - self.n_written;
        if count <= left && count % self.row_len == 0 {
            return Ok(());
        }
        let expected = format!("whole rows of {}, at most {left} elements", self.row_len);
        Err(TensorError::Count { path: self.file.path().into(), found: count, expected })
    }

    fn write(&mut self, count: usize, bytes: &[u8]) -> Result<(), TensorError> {
        self.file.write_all(bytes).map_err(|e| self.file.refusal(&e))?;
        self.n_written += count;
        Ok(())
    }

    fn finish(self) -> Result<(), TensorError> {
        if self.n_written != self.n_elements {
            let expected = self.n_elements.to_string();
            let path = self.file.path().to_path_buf();
            return Err(TensorError::Count { path, found: self.n_written, expected });
        }
        self.file.finish()
    }
}

/// Magic, version 1.0 and the dictionary, padded to a multiple of 64 bytes.
fn header_bytes(descr: &str, shape: &[usize]) -> Vec<u8> {
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {}, }}", shape_text(shape));
    let pad = 63 - (10 + text.len()) % 64;
    text.push_str(&" ".repeat(pad));
    text.push('\n');
    // Version 2.0 would be needed from 65536 bytes, which no shape of this crate reaches.
    let length = u16::try_from(text.len()).expect("a shape prints in far less than 65536 bytes");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

fn write_all<const W: usize>(
    path: &Path,
    descr: &str,
    shape: &[usize],
    elements: impl ExactSizeIterator<Item = [u8; W]>,
) -> Result<(), TensorError> {
    let mut sink = Sink::create(path, descr, W, shape)?;
    sink.check_rows(elements.len())?;
    let count = elements.len();
    let bytes: Vec<u8> = elements.flatten().collect();
    sink.write(count, &bytes)?;
    sink.finish()
}

/// Writes a whole `<f4` tensor, C order.
///
/// # Errors
/// As [`TensorWriter`].
pub fn write_npy_f32(
    path: impl AsRef<Path>,
    shape: &[usize],
    data: &[f32],
) -> Result<(), TensorError> {
    write_all(path.as_ref(), "<f4", shape, data.iter().map(|v| v.to_le_bytes()))
}

/// Writes a whole `<f8` tensor, C order.
///
/// # Errors
/// As [`TensorWriter`].
pub fn write_npy_f64(
    path: impl AsRef<Path>,
    shape: &[usize],
    data: &[f64],
) -> Result<(), TensorError> {
    write_all(path.as_ref(), "<f8", shape, data.iter().map(|v| v.to_le_bytes()))
}

/// Writes a whole tensor of codes, C order.
///
/// # Errors
/// As [`TensorWriter`].
pub fn write_npy_int(
    path: impl AsRef<Path>,
    format: IntFormat,
    shape: &[usize],
    data: &[i32],
) -> Result<(), TensorError> {
    let mut writer = TensorWriter::create(path, format, shape)?;
    writer.write_rows(data)?;
    writer.finish()
}

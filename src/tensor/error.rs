//! What can go wrong with a tensor file: `path: found ..., expected ...; way out`.
use std::path::{Path, PathBuf};

use super::header::ACCEPTED_DTYPES;

/// Every refusal of a tensor file. One sentence each: the path, what was found, what was expected
/// and a way out. Rows and columns count from 0.
#[derive(Debug, thiserror::Error)]
pub enum TensorError {
    /// The file cannot be opened or mapped.
    #[error(
        "{}: found {found}, expected a readable .npy file; check the path and its permissions",
        path.display()
    )]
    Open { path: PathBuf, found: String },

    /// The first bytes are not those of an `.npy` file.
    #[error("{}: found {found}, expected an .npy file; save the tensor with numpy.save", path.display())]
    NotNpy { path: PathBuf, found: String },

    /// A format version nobody has defined yet.
    #[error(
        "{}: found .npy version {major}.{minor}, expected 1.0, 2.0 or 3.0; save the tensor with numpy.save",
        path.display()
    )]
    Version { path: PathBuf, major: u8, minor: u8 },

    /// The header is cut short or is not the dictionary that the format asks for.
    #[error(
        "{}: found {found} in the .npy header, expected {expected}; save the tensor with numpy.save",
        path.display()
    )]
    Header { path: PathBuf, found: String, expected: String },

    /// An element type that is not read.
    #[error(
        "{}: found dtype {found}, expected one of {ACCEPTED_DTYPES}; convert it with numpy's astype",
        path.display()
    )]
    DType { path: PathBuf, found: String },

    /// A shape that holds no rows, or more elements than can be addressed.
    #[error("{}: found shape {found}, expected {expected}; reshape the tensor to rows", path.display())]
    Shape { path: PathBuf, found: String, expected: String },

    /// The header promises more or fewer bytes than the file has.
    #[error(
        "{}: found {found} bytes of data, expected {expected} for shape {shape} of {dtype}; the file is \
         incomplete or damaged, write or copy it again",
        path.display()
    )]
    Length { path: PathBuf, found: u64, expected: u64, shape: String, dtype: String },

    /// A value that the operator cannot take.
    #[error(
        "{}: found {value} at row {row}, column {column}, expected {expected}; mend or mask the element",
        path.display()
    )]
    NonFinite { path: PathBuf, row: usize, column: usize, value: f64, expected: &'static str },

    /// Codes were asked of a tensor of floats.
    #[error("{}: found dtype {found}, expected integer codes; quantise the tensor with a scale", path.display())]
    NotInteger { path: PathBuf, found: String },

    /// An integer that no code can be.
    #[error(
        "{}: found {value} at row {row}, column {column}, expected {lo} to {hi}; clip the values or \
         choose a wider format",
        path.display()
    )]
    OutOfRange { path: PathBuf, row: usize, column: usize, value: i64, lo: i64, hi: i64 },

    /// A read past the last row.
    #[error(
        "{}: found a request for {count} rows from row {first}, expected rows below {n_rows}; ask for fewer",
        path.display()
    )]
    Rows { path: PathBuf, first: usize, count: usize, n_rows: usize },

    /// The result cannot be written; nothing is left behind.
    #[error(
        "{}: found {found}, expected {expected}; choose another output path or mend this one",
        path.display()
    )]
    Output { path: PathBuf, found: String, expected: &'static str },

    /// The data handed to a writer do not fill its shape, a caller's mistake.
    #[error("{}: found {found} elements, expected {expected}; write exactly the rows of the shape", path.display())]
    Count { path: PathBuf, found: usize, expected: String },
}

impl TensorError {
    pub(super) fn open(path: &Path, error: &std::io::Error) -> Self {
        let found = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_string(),
            _ => error.to_string(),
        };
        Self::Open { path: path.into(), found }
    }

    pub(super) fn output(path: &Path, error: &std::io::Error) -> Self {
        Self::Output { path: path.into(), found: error.to_string(), expected: "a writable file" }
    }
}

/// A shape as numpy prints it: `(3, 4096)`, `(8,)`, `()`.
pub(super) fn shape_text(shape: &[usize]) -> String {
    let axes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    if axes.len() == 1 { format!("({},)", axes[0]) } else { format!("({})", axes.join(", ")) }
}

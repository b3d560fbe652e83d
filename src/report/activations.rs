//! Real activations that are built in, cut or repeated to any row length.
use std::path::{Path, PathBuf};

use super::{Request, RunError};
use crate::isa::Program;
use crate::num::IntFormat;
use crate::tensor::{TensorError, TensorFile, write_npy_f64, write_npy_int};

/// A built-in tensor: its name and file.
type BuiltIn = (&'static str, &'static [u8]);

macro_rules! built_in {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_bytes!(concat!("../../data/", $name)) as &[u8])),+]
    };
}
const TENSORS: [BuiltIn; 7] = built_in!(
    "layernorm_x.npy",
    "layernorm_gamma.npy",
    "layernorm_beta.npy",
    "rmsnorm_x.npy",
    "rmsnorm_gamma.npy",
    "softmax_x.npy",
    "softmax_keep.npy",
);

fn refusal(path: &Path, error: &std::io::Error) -> TensorError {
    let expected = "room for temporary files";
    TensorError::Output { path: path.into(), found: error.to_string(), expected }
}

/// Rows for a program, in files of a folder that goes with it.
pub struct Activations {
    folder: tempfile::TempDir,
    pub request: Request,
    /// Where the rows come from, in words.
    pub source: String,
}

impl Activations {
    /// Eight rows of `n` elements for a program. Row r is row r of the tensor; one that is too short goes on
    /// with the rows after it, the first one after the last. Parameters are repeated.
    ///
    /// # Errors
    /// There is no room for temporary files, or no operator for which rows are built in.
    pub fn new(program: &Program, n: usize) -> Result<Self, RunError> {
        let folder = tempfile::tempdir().map_err(|e| refusal(&std::env::temp_dir(), &e))?;
        let operator = match program.reference.as_deref() {
            Some("softmax") => "softmax",
            Some("rmsnorm") => "rmsnorm",
            // Any other norm takes what LayerNorm takes.
            _ => "layernorm",
        };
        let made =
            Self { folder, request: Request::default(), source: format!("data/{operator}_x.npy") };
        let mut request = Request {
            operator: operator.into(),
            program: Some(program.clone()),
            input: made.tensor(&format!("{operator}_x.npy"), n)?,
            jobs: 1,
            ..Request::default()
        };
        if operator == "softmax" {
            request.keep = Some(made.tensor("softmax_keep.npy", n)?);
        }
        if program.has_gamma {
            let of = if operator == "rmsnorm" { operator } else { "layernorm" };
            request.gamma = Some(made.tensor(&format!("{of}_gamma.npy"), n)?);
        }
        if program.has_beta {
            request.beta = Some(made.tensor("layernorm_beta.npy", n)?);
        }
        Ok(Self { request, ..made })
    }

    /// A built-in tensor with rows of `n` elements.
    fn tensor(&self, name: &str, n: usize) -> Result<PathBuf, RunError> {
        let (_, bytes) = TENSORS.iter().find(|(t, _)| *t == name).expect("a built-in tensor");
        let path = self.folder.path().join(format!("whole_{name}"));
        std::fs::write(&path, bytes).map_err(|e| refusal(&path, &e))?;
        let file = TensorFile::open(&path)?;
        let (rows, len) = (file.n_rows(), file.row_len());
        let at = |k: usize| (k / n * len + k % n) % (rows * len);
        let cut = self.folder.path().join(name);
        if file.is_integer() {
            let mut all = vec![];
            file.read_rows_int(0, rows, &mut all)?;
            let codes: Vec<i32> = (0..rows * n).map(|k| all[at(k)]).collect();
            write_npy_int(&cut, IntFormat::U8, &[rows, n], &codes)?;
        } else {
            let mut all = vec![];
            file.read_rows(0, rows, &mut all)?;
            let values: Vec<f64> = (0..rows * n).map(|k| all[at(k)]).collect();
            write_npy_f64(&cut, &[rows, n], &values)?;
        }
        Ok(cut)
    }
}

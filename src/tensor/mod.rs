//! Tensors on disk and their integer codes: `.npy` files read in place, codes streamed out,
//! scales and quantisation.
mod atomic;
mod error;
mod file;
mod header;
pub mod quantise;
mod writer;

pub use atomic::AtomicFile;
pub use error::TensorError;
pub use file::TensorFile;
pub use header::{DType, ElementKind};
pub use quantise::{Scale, ScaleError, absmax, absmax_scale, quantise, row_shift};
pub use writer::{TensorWriter, write_npy_f32, write_npy_f64, write_npy_int};

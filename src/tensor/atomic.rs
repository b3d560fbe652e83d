//! A file that is complete or absent: written beside its place, then renamed.
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::error::TensorError;

/// Nothing appears at the path before [`finish`](Self::finish), and a file that is dropped leaves
/// nothing behind. Its permissions are those of any new file, not a temporary file's 0600.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl AtomicFile {
    /// # Errors
    /// A path that cannot be written: missing folder, a directory, a device, a read-only file.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, TensorError> {
        let path = path.as_ref();
        let refuse = |found: &str, expected| TensorError::Output {
            path: path.into(),
            found: found.into(),
            expected,
        };
        if let Ok(existing) = std::fs::metadata(path) {
            if existing.is_dir() {
                return Err(refuse("a directory", "the name of a file"));
            }
            if !existing.is_file() {
                return Err(refuse("a device or pipe", "the name of a file"));
            }
            if existing.permissions().readonly() {
                return Err(refuse("a read-only file", "a file that may be replaced"));
            }
        }
        if path.file_name().is_none() {
            return Err(refuse("no file name", "the name of a file"));
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if !folder.exists() {
            return Err(refuse("no such folder", "an existing folder"));
        }
        if !folder.is_dir() {
            return Err(refuse("a file in the place of the folder", "an existing folder"));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".mive-").suffix(".part");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder
            .tempfile_in(folder)
            .map_err(|e| refuse(&e.kind().to_string(), "a folder that may be written"))?;
        Ok(Self { path: path.into(), file: BufWriter::with_capacity(1 << 16, file) })
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a failed write is as a refusal of this file.
    pub fn refusal(&self, error: &std::io::Error) -> TensorError {
        TensorError::output(&self.path, error)
    }

    /// Puts the file at its path, in one step.
    ///
    /// # Errors
    /// A full disk, or a rename that is refused.
    pub fn finish(self) -> Result<(), TensorError> {
        let file =
            self.file.into_inner().map_err(|e| TensorError::output(&self.path, e.error()))?;
        file.persist(&self.path).map_err(|e| TensorError::output(&self.path, &e.error))?;
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

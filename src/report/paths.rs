//! Files that a run reads and writes: none is written over that is read, and none twice.
use std::path::{Path, PathBuf};

use super::error::RunError;
use super::plan::Request;

/// The one name of a file, whether or not it is there yet; links are followed.
fn place(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let beside = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(beside).unwrap_or_else(|| path.to_path_buf())
}

/// Refuses a request that writes a file that it reads or writes already.
///
/// # Errors
/// The first such file.
pub fn check(request: &Request) -> Result<(), RunError> {
    let mut taken: Vec<(&str, PathBuf)> = vec![("--input", place(&request.input))];
    for (option, path) in
        [("--gamma", &request.gamma), ("--beta", &request.beta), ("--keep", &request.keep)]
    {
        taken.extend(path.as_deref().map(|p| (option, place(p))));
    }
    taken.extend(request.sources.iter().map(|(what, p)| (*what, place(p))));
    let written = [
        ("--output", request.output.as_deref()),
        ("--trace", request.watch.trace_path()),
        ("--vcd", request.watch.vcd.as_deref()),
    ];
    for (option, path) in written {
        let Some(path) = path else { continue };
        let here = place(path);
        if let Some((other, _)) = taken.iter().find(|(_, p)| *p == here) {
            return Err(RunError::request(
                option,
                format!("{}, as for {other}", path.display()),
                "a file of its own",
                "give another name",
            ));
        }
        taken.push((option, here));
    }
    Ok(())
}

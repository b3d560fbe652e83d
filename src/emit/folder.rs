//! A folder that is complete or absent: written beside its place, then moved there.
use super::EmitError;
use super::files::{MANIFEST, listed};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folder in which the emitted README builds; it is dropped with an earlier output.
const BUILD: &str = "build";

fn error(
    path: &Path,
    found: impl ToString,
    expected: &'static str,
    help: &'static str,
) -> EmitError {
    EmitError::Folder { path: path.to_path_buf(), found: found.to_string(), expected, help }
}

/// Checks that `dir` is absent, empty or an earlier output.
///
/// # Errors
/// It is something else.
pub fn check(dir: &Path) -> Result<(), EmitError> {
    const EXPECTED: &str = "a new or empty folder, or an earlier output of mive emit";
    const HELP: &str = "choose another folder or empty this one";
    match fs::symlink_metadata(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(error(dir, e, EXPECTED, "check the path and its permissions")),
        Ok(m) if !m.is_dir() => return Err(error(dir, "no folder", EXPECTED, HELP)),
        Ok(_) => {}
    }
    let inside = walk(dir, Path::new(""))
        .map_err(|e| error(dir, e, EXPECTED, "check the path and its permissions"))?;
    if inside.is_empty() {
        return Ok(());
    }
    let Some(known) = fs::read_to_string(dir.join(MANIFEST)).ok().and_then(|t| listed(&t)) else {
        let found = format!("{} files and no manifest.json of mive", inside.len());
        return Err(error(dir, found, EXPECTED, HELP));
    };
    match inside.iter().find(|f| !known.contains(f)) {
        Some(f) => {
            let found = format!("`{f}`, which mive did not write");
            Err(error(dir, found, EXPECTED, "move that file or choose another folder"))
        }
        None => Ok(()),
    }
}

/// Files under a folder, relative, with `/`; the build folder is left out.
fn walk(root: &Path, below: &Path) -> io::Result<Vec<String>> {
    let mut all = vec![];
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if path == Path::new(BUILD) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            all.extend(walk(root, &path)?);
        } else {
            all.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
    all.sort();
    Ok(all)
}

/// Writes files (relative name, text) as the folder `dir`, in the place of what [`check`] allowed.
///
/// # Errors
/// It cannot be written; `dir` is then as it was.
pub fn replace(dir: &Path, files: &[(String, String)]) -> Result<(), EmitError> {
    const EXPECTED: &str = "a folder that can be written";
    const HELP: &str = "choose another folder or free some room";
    let parent: PathBuf = match dir.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |e: io::Error| error(&path, e, EXPECTED, HELP)
    };
    fs::create_dir_all(&parent).map_err(at(dir))?;
    let beside = tempfile::Builder::new().prefix(".mive-").tempdir_in(&parent).map_err(at(dir))?;
    let fresh = beside.path().join("new");
    for (name, text) in files {
        let path = fresh.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(at(dir))?;
        }
        fs::write(&path, text).map_err(at(&dir.join(name)))?;
    }
    let old = beside.path().join("old");
    let had = dir.exists();
    if had {
        fs::rename(dir, &old).map_err(at(dir))?;
    }
    if let Err(e) = fs::rename(&fresh, dir) {
        if had {
            fs::rename(&old, dir).map_err(at(dir))?;
        }
        return Err(at(dir)(e));
    }
    Ok(())
}

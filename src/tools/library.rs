//! Liberty files: where they are, what they hold, and the text that a synthesis takes.
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use crate::tech::liberty::{self, Group, LibertyError};
use crate::tech::{Tech, cells};

/// The variable that names folders with Liberty files, separated as in PATH.
pub const FOLDERS: &str = "MIVE_LIBERTY";

/// Why there is no library.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error(
        "{tech} needs the Liberty file {file} (from {origin}); name it with --liberty, or its folder \
         in the variable {FOLDERS}"
    )]
    Missing { tech: String, file: String, origin: String },
    #[error("{path}: {message}; expected a Liberty file, which may be gzipped")]
    Read { path: PathBuf, message: String },
    #[error("{path}: {source}")]
    Text { path: PathBuf, source: LibertyError },
    #[error(
        "{place}: no two-input NAND was found, and area is counted in NANDs; is the library whole?"
    )]
    NoNand { place: String },
}

/// A library as it was read.
#[derive(Clone, Debug)]
pub struct LibraryFiles {
    /// All files as one.
    pub group: Group,
    /// Name without `.gz`, and SHA-256 of the text.
    pub files: Vec<(String, String)>,
}

impl LibraryFiles {
    /// Reads a library that is spread over one or several files.
    ///
    /// # Errors
    /// A file cannot be read or is no Liberty.
    pub fn read(paths: &[PathBuf]) -> Result<Self, LibraryError> {
        let mut group: Option<Group> = None;
        let mut files = vec![];
        for path in paths {
            let text = text_of(path)?;
            let source = |source| LibraryError::Text { path: path.clone(), source };
            let one = liberty::parse(&text).map_err(source)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let hash = Sha256::digest(&text).iter().map(|b| format!("{b:02x}")).collect();
            files.push((name.trim_end_matches(".gz").to_string(), hash));
            match &mut group {
                None => group = Some(one),
                Some(all) => all.merge(one),
            }
        }
        Ok(Self { group: group.unwrap_or_default(), files })
    }

    /// Finds and reads the library of a technology.
    ///
    /// # Errors
    /// A file is not in the folders, or as [`LibraryFiles::read`].
    pub fn find(tech: &Tech) -> Result<Option<Self>, LibraryError> {
        let Some(library) = &tech.library else { return Ok(None) };
        let folders = std::env::var_os(FOLDERS).unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
        folders.extend(library.folders.iter().map(PathBuf::from));
        let mut paths = vec![];
        for file in &library.files {
            let path = folders.iter().find_map(|folder| in_folder(folder, file));
            paths.push(path.ok_or_else(|| LibraryError::Missing {
                tech: tech.name.clone(),
                file: file.clone(),
                origin: library.origin.clone(),
            })?);
        }
        Self::read(&paths).map(Some)
    }

    /// The text for Yosys and ABC: one library, without power and without the cells `dont_use`.
    pub fn synthesis_text(&self, dont_use: &[String]) -> String {
        let mut group = self.group.clone();
        group.groups.retain(|g| {
            g.kind != "cell" || !dont_use.iter().any(|pattern| matches(pattern, g.name()))
        });
        group.print()
    }

    /// Area of a cell in um^2.
    pub fn area(&self, cell: &str) -> Option<f64> {
        self.group.all("cell").find(|c| c.name() == cell)?.number("area")
    }

    /// What a calibration needs to know of the library.
    ///
    /// # Errors
    /// It has no NAND.
    pub fn facts(&self) -> Result<crate::tech::Library, LibraryError> {
        let place = self.files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let number = |name: &str| self.group.get(name).unwrap_or("?").to_string();
        Ok(crate::tech::Library {
            origin: "given by the user".into(),
            licence: "not stated".into(),
            corner: format!(
                "process {}, {} C, {} V",
                number("nom_process"),
                number("nom_temperature"),
                number("nom_voltage")
            ),
            files: self.files.iter().map(|(name, _)| name.clone()).collect(),
            sha256: self.files.iter().map(|(_, hash)| hash.clone()).collect(),
            folders: vec![],
            dont_use: vec![],
            nand2: cells::nand2(&self.group).ok_or(LibraryError::NoNand { place })?,
            flop: cells::flop(&self.group),
            full_adder: cells::full_adder(&self.group),
        })
    }
}

/// `file` or `file.gz` in a folder or one below it.
fn in_folder(folder: &Path, file: &str) -> Option<PathBuf> {
    let in_one = |folder: &Path| {
        [folder.join(file), folder.join(format!("{file}.gz"))].into_iter().find(|p| p.is_file())
    };
    in_one(folder).or_else(|| {
        let entries = std::fs::read_dir(folder).ok()?;
        let mut below: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        below.sort();
        below.iter().filter(|p| p.is_dir()).find_map(|p| in_one(p))
    })
}

fn text_of(path: &Path) -> Result<String, LibraryError> {
    let refuse = |message: String| LibraryError::Read { path: path.into(), message };
    let bytes = std::fs::read(path).map_err(|e| refuse(e.to_string()))?;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = vec![];
        let read = GzDecoder::new(&bytes[..]).read_to_end(&mut plain);
        read.map_err(|e| refuse(format!("cannot be unpacked ({e})")))?;
        plain
    } else {
        bytes
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a name matches a pattern in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => {
            let Some(name) = name.strip_prefix(start) else { return false };
            (0..=name.len()).any(|k| name.is_char_boundary(k) && matches(rest, &name[k..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("DFF*", "DFFX1", true),
            ("DFF*", "SDFFX1", false),
            ("*x4*", "DFFx4_R", true),
            ("*x4", "DFFx4_R", false),
            ("A", "A", true),
            ("A", "AB", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}

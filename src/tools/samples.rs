//! Measured areas of random engines in a CSV that grows: an interrupted run goes on where it stopped.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::synthesis::{Measured, SynthesisError, Target, prepare, text_hash};
use crate::config::HwConfig;
use crate::engine::Engine;
use crate::tech::Flow;

/// Most lanes of a random configuration that is measured.
pub const MOST_LANES: u32 = 32;
/// Seeds from here on are held out of every fit.
pub const HELD_OUT: u64 = 1000;

const HEADER: &str = "seed,rtl,block,measured";

/// The blocks of one measured engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Of [`HwConfig::random`] with [`MOST_LANES`].
    pub seed: u64,
    /// Of the printed text; see [`text_hash`].
    pub rtl: String,
    /// One copy of each block: um^2 or look-up tables.
    pub blocks: BTreeMap<String, f64>,
}

impl Sample {
    pub fn config(&self) -> HwConfig {
        HwConfig::random(self.seed, MOST_LANES)
    }
}

/// Why the samples cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SamplesError {
    #[error("{path}:{line}: found `{found}`; expected {HEADER}")]
    Text { path: PathBuf, line: usize, found: String },
    #[error("{path}: {message}")]
    File { path: PathBuf, message: String },
    #[error("seed {seed}: {source}")]
    Synthesis { seed: u64, source: SynthesisError },
}

/// Reads the text of a CSV of samples, by seed; a later line of a seed replaces those of another text.
///
/// # Errors
/// A line has not the four columns.
pub fn parse(text: &str, path: &Path) -> Result<BTreeMap<u64, Sample>, SamplesError> {
    let mut samples: BTreeMap<u64, Sample> = BTreeMap::new();
    for (k, line) in text.lines().enumerate() {
        let wrong = || SamplesError::Text { path: path.into(), line: k + 1, found: line.into() };
        if k == 0 {
            if line != HEADER {
                return Err(wrong());
            }
            continue;
        }
        let [seed, rtl, block, measured] = line.split(',').collect::<Vec<_>>()[..] else {
            return Err(wrong());
        };
        let (Ok(seed), Ok(measured)) = (seed.parse(), measured.parse::<f64>()) else {
            return Err(wrong());
        };
        let new = || Sample { seed, rtl: rtl.into(), blocks: BTreeMap::new() };
        let sample = samples.entry(seed).or_insert_with(new);
        if sample.rtl != rtl {
            *sample = new();
        }
        sample.blocks.insert(block.into(), measured);
    }
    Ok(samples)
}

/// Reads a file of samples; a file that is not there has none.
///
/// # Errors
/// As [`parse`], and a file that cannot be read.
pub fn read(path: &Path) -> Result<BTreeMap<u64, Sample>, SamplesError> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, path),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(e) => Err(SamplesError::File { path: path.into(), message: e.to_string() }),
    }
}

fn lines(sample: &Sample) -> String {
    let mut text = String::new();
    for (block, measured) in &sample.blocks {
        let _ = writeln!(text, "{},{},{block},{measured}", sample.seed, sample.rtl);
    }
    text
}

/// The text of samples, sorted.
pub fn print(samples: &BTreeMap<u64, Sample>) -> String {
    let rows: String = samples.values().map(lines).collect();
    format!("{HEADER}\n{rows}")
}

/// The sample that a measured engine is.
fn sample(seed: u64, rtl: &str, measured: Vec<Measured>) -> Sample {
    // Five digits after the point are more than a library gives, and no rounding noise.
    let rounded = |area: f64| (area * 1e5).round() / 1e5;
    let blocks = measured.into_iter().map(|m| (m.block, rounded(m.area))).collect();
    Sample { seed, rtl: rtl.into(), blocks }
}

/// Measures one engine.
///
/// # Errors
/// As [`Target::measure`].
pub fn measure(seed: u64, target: &Target<'_>) -> Result<Sample, SamplesError> {
    let engine = Engine::describe(&HwConfig::random(seed, MOST_LANES));
    let folder = folder()?;
    let measured = target.measure(&engine, folder.path());
    let measured = measured.map_err(|source| SamplesError::Synthesis { seed, source })?;
    Ok(sample(seed, &text_hash(&engine), measured))
}

fn folder() -> Result<tempfile::TempDir, SamplesError> {
    let refuse = |e: std::io::Error| SamplesError::File {
        path: std::env::temp_dir(),
        message: e.to_string(),
    };
    tempfile::tempdir().map_err(refuse)
}

/// A technology to measure for and the file of its samples.
pub struct Subject<'t> {
    pub target: Target<'t>,
    pub path: PathBuf,
    pub samples: BTreeMap<u64, Sample>,
}

impl<'t> Subject<'t> {
    /// # Errors
    /// As [`read`].
    pub fn new(target: Target<'t>, path: PathBuf) -> Result<Self, SamplesError> {
        let samples = read(&path)?;
        Ok(Self { target, path, samples })
    }

    fn has(&self, seed: u64, rtl: &str) -> bool {
        self.samples.get(&seed).is_some_and(|s| s.rtl == rtl)
    }

    /// Adds a sample to the file.
    fn add(&mut self, sample: Sample) -> Result<(), SamplesError> {
        let append = |path: &Path| {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
            if file.metadata()?.len() == 0 {
                writeln!(file, "{HEADER}")?;
            }
            file.write_all(lines(&sample).as_bytes())
        };
        append(&self.path)
            .map_err(|e| SamplesError::File { path: self.path.clone(), message: e.to_string() })?;
        self.samples.insert(sample.seed, sample);
        Ok(())
    }
}

/// Measures every seed that a subject has not, or has of another text, and writes each to its file when it
/// is done. The part of a synthesis that knows no library is done once for all subjects, which have one
/// flow. `progress` is told the number of seeds done, of all.
///
/// # Errors
/// The first that fails; what was measured before is in the files.
pub fn complete(
    subjects: &mut [Subject<'_>],
    seeds: &[u64],
    mut progress: impl FnMut(usize),
) -> Result<(), SamplesError> {
    for (done, &seed) in seeds.iter().enumerate() {
        progress(done);
        let engine = Engine::describe(&HwConfig::random(seed, MOST_LANES));
        let rtl = text_hash(&engine);
        let source = |source| SamplesError::Synthesis { seed, source };
        let folder = folder()?;
        let mut is_prepared = false;
        for subject in subjects.iter_mut().filter(|s| !s.has(seed, &rtl)) {
            let measured = match subject.target.flow() {
                Flow::Fpga => subject.target.measure(&engine, folder.path()),
                flow => {
                    if !is_prepared {
                        prepare(&engine, flow, folder.path()).map_err(source)?;
                        is_prepared = true;
                    }
                    subject.target.measure_prepared(&engine, folder.path())
                }
            };
            subject.add(sample(seed, &rtl, measured.map_err(source)?))?;
        }
    }
    progress(seeds.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_text_replaces_an_earlier_one() {
        let text =
            "seed,rtl,block,measured\n1,aa,lane,5\n1,aa,core,6\n2,cc,lane,1.5\n1,bb,lane,7\n";
        let samples = parse(text, Path::new("runs.csv")).expect("samples");
        assert_eq!(samples.len(), 2);
        assert_eq!(samples[&1].blocks, BTreeMap::from([("lane".to_string(), 7.0)]));
        let printed = print(&samples);
        assert_eq!(parse(&printed, Path::new("again")).expect("samples"), samples);
        for bad in
            ["", "seed\n", "seed,rtl,block,measured\n1,a,b\n", "seed,rtl,block,measured\nx,a,b,1\n"]
        {
            let is_fine = bad.is_empty();
            assert_eq!(parse(bad, Path::new("bad")).is_ok(), is_fine, "{bad}");
        }
    }
}

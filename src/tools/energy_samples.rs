//! Metered energies of random engines in a CSV that grows: an interrupted run goes on where it stopped.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::meter::{MeterError, Metered, meter};
use super::netlist::Netlist;
use super::samples::{SamplesError, folder};
use super::synthesis::{Target, text_hash};
use crate::config::HwConfig;
use crate::engine::Engine;
use crate::estimate::activity::Work;
use crate::program::{bind, library};
use crate::report::activations::Activations;
use crate::report::{Request, RunError, nominal, workload};
use crate::tech::power::Cells;

/// Most lanes of a random configuration that is metered.
pub const MOST_LANES: u32 = 16;
/// Programs that are metered on each engine.
pub const PROGRAMS: [&str; 3] = ["softmax", "layernorm_affine", "rmsnorm"];
/// Chunks of a row, by the engine's seed in turn: rows in which the scalar unit waits, and the lanes do.
const CHUNKS: [u32; 3] = [8, 16, 32];

const HEADER: &str = "seed,rtl,program,n,block,row_pj,leakage_nw,area_um2";

/// One program on one engine.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergySample {
    /// Of [`HwConfig::random`] with [`MOST_LANES`].
    pub seed: u64,
    /// Of the printed text.
    pub rtl: String,
    pub program: String,
    /// Elements of a row.
    pub n: u32,
    /// All copies of each block.
    pub blocks: BTreeMap<String, Metered>,
}

impl EnergySample {
    pub fn config(&self) -> HwConfig {
        HwConfig::random(self.seed, MOST_LANES)
    }
}

/// Samples by seed and program.
pub type EnergySamples = BTreeMap<(u64, String), EnergySample>;

/// Why there is no sample.
#[derive(Debug, thiserror::Error)]
pub enum EnergyError {
    #[error(transparent)]
    Samples(#[from] SamplesError),
    #[error(transparent)]
    Rows(#[from] RunError),
    #[error("engine {seed}: {source}")]
    Meter { seed: u64, source: MeterError },
    #[error(
        "{tech}: found no energies in its library, expected internal_power; use another library"
    )]
    NoEnergies { tech: String },
}

/// Reads the text of a CSV.
///
/// # Errors
/// A line has not its columns.
pub fn parse(text: &str, path: &Path) -> Result<EnergySamples, SamplesError> {
    let mut samples = EnergySamples::new();
    for (k, line) in text.lines().enumerate() {
        let wrong = || SamplesError::Text { path: path.into(), line: k + 1, found: line.into() };
        if k == 0 {
            if line != HEADER {
                return Err(wrong());
            }
            continue;
        }
        let parts: Vec<&str> = line.split(',').collect();
        let [seed, rtl, program, n, block, row, leakage, area] = parts[..] else {
            return Err(wrong());
        };
        let number = |text: &str| text.parse::<f64>().map_err(|_| wrong());
        let seed = seed.parse().map_err(|_| wrong())?;
        let n = n.parse().map_err(|_| wrong())?;
        let new = || EnergySample {
            seed,
            rtl: rtl.into(),
            program: program.into(),
            n,
            blocks: BTreeMap::new(),
        };
        let sample = samples.entry((seed, program.to_string())).or_insert_with(new);
        // A later text, or other rows, take the place of earlier ones.
        if sample.rtl != rtl || sample.n != n {
            *sample = new();
        }
        let metered =
            Metered { row_pj: number(row)?, leakage_nw: number(leakage)?, area_um2: number(area)? };
        sample.blocks.insert(block.into(), metered);
    }
    Ok(samples)
}

/// Reads a file; one that is not there has no samples.
///
/// # Errors
/// As [`parse`], and a file that cannot be read.
pub fn read(path: &Path) -> Result<EnergySamples, SamplesError> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, path),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(EnergySamples::new()),
        Err(e) => Err(SamplesError::File { path: path.into(), message: e.to_string() }),
    }
}

fn lines(sample: &EnergySample) -> String {
    let EnergySample { seed, rtl, program, n, blocks } = sample;
    let mut text = String::new();
    for (block, m) in blocks {
        let Metered { row_pj, leakage_nw, area_um2 } = m;
        let _ = writeln!(
            text,
            "{seed},{rtl},{program},{n},{block},{row_pj:.4},{leakage_nw:.4},{area_um2:.4}"
        );
    }
    text
}

/// The built-in rows for a program on an engine with the first formats that it runs with; `None` where it runs
/// with none.
///
/// # Errors
/// There is no room for temporary files.
pub fn work(engine: &Engine, program: &str, n: u32) -> Result<Option<Work>, RunError> {
    let Some(program) = library::shipped(program) else { return Ok(None) };
    let rows = Activations::new(&program, n as usize)?;
    let config = &engine.config;
    for &input in &config.input_formats {
        for &output in &config.output_formats {
            let formats = (input, output);
            if bind(&program, engine, &nominal::binding(&program, engine, formats, n)).is_err() {
                continue;
            }
            let request = Request {
                in_format: Some(input),
                out_format: Some(output),
                ..rows.request.clone()
            };
            // Formats that the rows' own scales do not fit are passed over.
            if let Ok(work) = workload(&request, engine, 64) {
                return Ok(Some(work));
            }
        }
    }
    Ok(None)
}

/// Elements of the rows of a random engine.
pub fn row_len(seed: u64, config: &HwConfig) -> u32 {
    let chunks = CHUNKS[(seed % CHUNKS.len() as u64) as usize];
    (config.lanes * chunks).clamp(16, config.n_max.max(16)).min(config.n_max)
}

/// Synthesises one engine and meters programs on it; a program that does not run on it is left out.
///
/// # Errors
/// Yosys is missing or fails, or the netlist computes something else than the simulator.
pub fn measure(
    seed: u64,
    programs: &[&str],
    target: &Target<'_>,
    cells: &Cells,
) -> Result<Vec<EnergySample>, EnergyError> {
    let config = HwConfig::random(seed, MOST_LANES);
    let engine = Engine::describe(&config);
    let n = row_len(seed, &config);
    let failed = |source: MeterError| EnergyError::Meter { seed, source };
    let mut works = vec![];
    for &program in programs {
        works.extend(work(&engine, program, n)?.map(|w| (program, w)));
    }
    if works.is_empty() {
        return Ok(vec![]);
    }
    let place = folder()?;
    let json = target.netlist(&engine.top, place.path()).map_err(|e| failed(e.into()))?;
    let (top, prefix) = Target::names(&engine.top);
    let mut made = vec![];
    for (program, work) in works {
        let netlist = Netlist::read(&json, (&top, &prefix), cells);
        let mut netlist = netlist.map_err(|e| failed(e.into()))?;
        let reading = meter(&engine, &work, &mut netlist, cells.voltage).map_err(failed)?;
        let (rtl, blocks) = (text_hash(&engine.top), reading.blocks);
        made.push(EnergySample { seed, rtl, program: program.to_string(), n, blocks });
    }
    Ok(made)
}

/// Measures every seed that a file has not, or has of another text, and adds each when it is done. `progress`
/// is told the number of seeds done.
///
/// # Errors
/// The first that fails; what was measured before is in the file.
pub fn complete(
    path: &Path,
    seeds: &[u64],
    target: &Target<'_>,
    cells: &Cells,
    mut progress: impl FnMut(usize),
) -> Result<EnergySamples, EnergyError> {
    let mut samples = read(path)?;
    for (done, &seed) in seeds.iter().enumerate() {
        progress(done);
        let config = HwConfig::random(seed, MOST_LANES);
        let rtl = text_hash(&Engine::describe(&config).top);
        let n = row_len(seed, &config);
        let is_there = |s: &EnergySample| s.seed == seed && s.rtl == rtl && s.n == n;
        if samples.values().any(is_there) {
            continue;
        }
        for sample in measure(seed, &PROGRAMS, target, cells)? {
            append(path, &sample)
                .map_err(|e| SamplesError::File { path: path.into(), message: e.to_string() })?;
            samples.insert((seed, sample.program.clone()), sample);
        }
    }
    progress(seeds.len());
    Ok(samples)
}

fn append(path: &Path, sample: &EnergySample) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    if file.metadata()?.len() == 0 {
        writeln!(file, "{HEADER}")?;
    }
    file.write_all(lines(sample).as_bytes())
}

/// The name of a technology's file.
pub fn path(runs: &Path, tech: &str) -> PathBuf {
    runs.join(format!("{tech}_energy.csv"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_printed_and_read_again() {
        let metered = Metered { row_pj: 1.5, leakage_nw: 2.25, area_um2: 7.2576 };
        let sample = EnergySample {
            seed: 3,
            rtl: "aa".into(),
            program: "softmax".into(),
            n: 64,
            blocks: BTreeMap::from([("lane".to_string(), metered)]),
        };
        let text = format!("{HEADER}\n{}", lines(&sample));
        let samples = parse(&text, Path::new("runs.csv")).expect("samples");
        assert_eq!(samples[&(3, "softmax".to_string())], sample);
        let later = text.clone() + &lines(&EnergySample { rtl: "bb".into(), ..sample.clone() });
        let samples = parse(&later, Path::new("runs.csv")).expect("samples");
        assert_eq!(samples[&(3, "softmax".to_string())].rtl, "bb");
        for bad in ["seed\n", &text.replace("1.5", "x"), &(text.clone() + "1,2\n")] {
            assert!(parse(bad, Path::new("bad")).is_err(), "{bad}");
        }
    }
}

//! `mive accuracy`: the table of errors.
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use super::{Failure, output};
use crate::report::accuracy::{CONFIGS, Sources, csv, entries, measure_all};
use crate::tensor::AtomicFile;

/// Arguments of `mive accuracy`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the table goes [default: standard output].
    #[arg(long, value_name = "FILE.csv")]
    out: Option<PathBuf>,
    /// Folder of real tensors with a meta.json; left out without it.
    #[arg(long, value_name = "DIR")]
    public: Option<PathBuf>,
    /// Folder of stress tensors with a meta.json; left out without it.
    #[arg(long, value_name = "DIR")]
    stress: Option<PathBuf>,
    /// Only lines of this configuration.
    #[arg(long, value_name = "NAME", value_parser = CONFIGS)]
    only: Option<String>,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let sources = Sources { public: args.public.clone(), stress: args.stress.clone() };
    let mut all = entries(&sources);
    all.retain(|e| args.only.as_ref().is_none_or(|only| e.config == only));
    // A file that cannot be written is refused before the work.
    let out = args.out.as_ref().map(AtomicFile::create).transpose()?;
    let bar = indicatif::ProgressBar::new(all.len() as u64);
    let lines = measure_all(&all, &sources, &|_| bar.inc(1));
    bar.finish_and_clear();
    let lines = lines?;
    let text = csv(&lines);
    match out {
        Some(mut out) => {
            out.write_all(text.as_bytes()).map_err(|e| Failure::input(out.refusal(&e)))?;
            out.finish()?;
        }
        None => output::print(&text)?,
    }
    for line in &lines {
        let e = &line.entry;
        for reason in &line.refused {
            let place = format!("{} {} {} to {}", e.config, e.program, e.input, e.output);
            output::say(&format!("refused: {place}, {reason}"));
        }
    }
    let is_met = lines.iter().all(|l| {
        let (error, share, sqnr) = l.met();
        error && share != Some(false) && sqnr != Some(false)
    });
    Ok(ExitCode::from(u8::from(!is_met)))
}

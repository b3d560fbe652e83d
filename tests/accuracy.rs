//! The accuracy targets, on rows made here and on the real tensors where they are.
use std::path::{Path, PathBuf};

use mive::report::accuracy::{Entry, Measured, Sources, csv, entries, measure_all};
use mive::report::populations::Population;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/accuracy.csv")
}

fn judge(lines: &[Measured]) {
    let is_missed = |l: &&Measured| {
        let (error, share, sqnr) = l.met();
        !error || share == Some(false) || sqnr == Some(false)
    };
    let missed: Vec<String> = lines.iter().filter(is_missed).map(Measured::line).collect();
    assert!(missed.is_empty(), "targets missed:\n{}", missed.join("\n"));
    let refused: Vec<&String> = lines.iter().flat_map(|l| &l.refused).collect();
    assert!(refused.is_empty(), "tensors refused: {refused:#?}");
}

/// Measured lines equal those of golden/accuracy.csv; MIVE_BLESS=1 writes them there instead.
fn compare(lines: &[Measured]) {
    let key = |line: &str| line.splitn(6, ',').take(5).collect::<Vec<_>>().join(",");
    let text = std::fs::read_to_string(golden()).expect("golden/accuracy.csv");
    assert!(text.starts_with(&csv(&[])), "the header; bless with `mive accuracy --out`");
    let mut held: Vec<String> = text.lines().map(str::to_string).collect();
    let is_blessed = std::env::var_os("MIVE_BLESS").is_some_and(|v| v == "1");
    for line in lines.iter().map(Measured::line) {
        let at = held.iter().position(|h| key(h) == key(&line));
        let at = at.unwrap_or_else(|| panic!("no line for {line}"));
        if is_blessed {
            held[at] = line;
        } else {
            assert_eq!(held[at], line, "another result than golden/accuracy.csv");
        }
    }
    if is_blessed {
        std::fs::write(golden(), held.join("\n") + "\n").expect("golden/accuracy.csv");
    }
}

fn run(sources: &Sources, wanted: impl Fn(&Entry) -> bool) {
    let mut chosen = entries(sources);
    chosen.retain(wanted);
    assert!(!chosen.is_empty());
    let lines = measure_all(&chosen, sources, &|_| ()).expect("lines");
    judge(&lines);
    compare(&lines);
}

/// Lines that the development profile does in a minute.
fn is_quick(e: &Entry) -> bool {
    match e.population {
        Population::Normal | Population::RowScale => e.config != "long",
        Population::Adversarial => matches!(e.config, "edge" | "server") || e.output.bits == 16,
        _ => false,
    }
}

/// The lines that no test measures, of long rows and stress tensors, are written by
/// `mive accuracy --public ../shared/data/public --stress ../shared/data/stress --out golden/accuracy.csv` (6 minutes on two cores).
#[test]
fn the_table_is_complete_and_met() {
    let anywhere = Some(PathBuf::from("somewhere"));
    let sources = Sources { public: anywhere.clone(), stress: anywhere };
    let text = std::fs::read_to_string(golden()).expect("golden/accuracy.csv");
    let lines: Vec<Vec<&str>> = (text.lines().filter(|l| !l.starts_with('#')).skip(1))
        .map(|l| l.split(',').collect())
        .collect();
    let all = entries(&sources);
    assert_eq!(lines.len(), all.len());
    for (line, e) in lines.iter().zip(&all) {
        let (input, output) = (e.input.to_string(), e.output.to_string());
        assert_eq!(line[..5], [e.config, e.program, &input, &output, e.population.name()]);
        assert!(!line.contains(&"no"), "a target is missed: {line:?}");
        // One norm tensor of the stress set is not finite.
        let is_stressed_norm = e.population == Population::Stress && !e.program.contains("softmax");
        assert_eq!(line[6], if is_stressed_norm { "1" } else { "0" }, "refused: {line:?}");
    }
}

#[test]
fn generated_rows_meet_their_targets() {
    run(&Sources::default(), is_quick);
}

#[test]
fn real_tensors_meet_their_targets() {
    let public = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/public");
    if !public.join("meta.json").exists() {
        eprintln!("SKIPPED: no {}; real tensors were not measured", public.display());
        return;
    }
    let sources = Sources { public: Some(public), stress: None };
    run(&sources, |e| e.population == Population::Public && matches!(e.config, "edge" | "server"));
}

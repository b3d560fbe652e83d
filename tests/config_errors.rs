//! Are the messages about a configuration helpful? One file, one mistake: every TOML in
//! `tests/errors` has a snapshot of its message. The shipped configurations load.
use std::path::{Path, PathBuf};

use mive::config::{self, ConfigErrors, HwConfig};
use proptest::prelude::*;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Parses `path`, which the message names by its last part.
fn refusal(path: &Path) -> ConfigErrors {
    let text = std::fs::read_to_string(path).expect("a readable case");
    let place = path.file_name().expect("a file").to_string_lossy();
    let errors = config::parse(&text, &place).expect_err("a case that loads is no mistake");
    assert!(!errors.problems.is_empty());
    for problem in &errors.problems {
        assert!(problem.line >= 1 && problem.column >= 1, "{problem:?}");
        for part in [&problem.found, &problem.expected, &problem.help] {
            assert!(!part.is_empty() && !part.contains('\n'), "{problem:?}");
        }
    }
    errors
}

#[test]
fn every_mistake_has_its_message() {
    let mut n_cases = 0;
    insta::glob!("errors/*.toml", |path| {
        insta::assert_snapshot!("message", refusal(path));
        n_cases += 1;
    });
    assert!(n_cases > 0, "no case in tests/errors");
}

fn shipped() -> Vec<PathBuf> {
    let folder =
        std::fs::read_dir(root().join("hw_configs")).expect("the folder of configurations");
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_shipped_configuration_loads_and_prints_itself() {
    let mut hashes = std::collections::BTreeSet::new();
    for path in shipped() {
        let config = config::load(&path).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(config::parse(&config.to_toml(), "printed"), Ok(config.clone()));
        assert_eq!(Some(config.name.as_str()), path.file_stem().and_then(|stem| stem.to_str()));
        assert!(hashes.insert(config.sha256()), "{} repeats another", path.display());
    }
    assert!(hashes.len() >= 5, "{} configurations", hashes.len());
}

#[test]
fn edge_is_the_printed_defaults() {
    let path = root().join("hw_configs/edge.toml");
    let text = std::fs::read_to_string(&path).expect("edge.toml");
    assert_eq!(text, config::print_defaults());
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
    for path in shipped() {
        let text = std::fs::read_to_string(&path).expect("a configuration");
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(config::parse(&windows, "windows"), config::parse(&text, "unix"));
    }
    let errors = config::parse("name = \"a\"\r\nlanse = 1\r\n", "w").expect_err("a mistake");
    assert!(!errors.to_string().contains('\r'));
}

#[test]
fn every_spelling_of_a_table_is_read() {
    let text = HwConfig::defaults().to_toml();
    let inline = "name = \"edge\"\nengine.lanes = 8\nengine.n_max = 4_096\n\
                  formats = { output = [\"u8\", \"s8\"], \"input\" = [\"s8\"] }\n";
    assert_eq!(config::parse(inline, "inline"), config::parse(&text, "plain"));
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a written file");
        path
    };
    let latin = write("latin.toml", b"name = \"a\"\n# caf\xe9\n");
    let long = write("long.toml", &vec![b'#'; (1 << 16) + 1]);
    let message = |path: &Path| {
        let errors = config::load(path).expect_err("an unusable file");
        assert_eq!((errors.problems.len(), errors.problems[0].line), (1, 0));
        errors.to_string().replace(&format!("{}", folder.path().display()), "FOLDER")
    };
    let messages = [
        message(&folder.path().join("latni.toml")),
        message(&folder.path().join("elsewhere")),
        message(folder.path()),
        message(&latin),
        message(&long),
    ];
    insta::assert_snapshot!("unusable_files", messages.join("\n\n"));
}

#[test]
fn problems_are_plain_data() {
    let errors = config::parse("nam = 3\n", "x.toml").expect_err("a mistake");
    insta::assert_snapshot!(
        "json",
        serde_json::to_string_pretty(&errors.problems[0]).expect("plain data")
    );
}

fn legal() -> impl Strategy<Value = HwConfig> {
    let name = "[a-z][a-z0-9_]{0,31}"
        .prop_filter("a part of the engine", |name| !config::TAKEN_NAMES.contains(&name.as_str()));
    (name, any::<u64>(), 1u32..=64)
        .prop_map(|(name, seed, most)| HwConfig { name, ..HwConfig::random(seed, most) })
}

/// One change to a text: where, how much goes, what comes.
fn edit() -> impl Strategy<Value = (usize, usize, String)> {
    let piece = prop_oneof![
        "\\PC{0,4}",
        "[\\[\\]{}=.,\"'#\r\n\t 0-9a-z_-]{0,8}",
        prop::sample::select(vec![
            "\n[engine]\n",
            "\nlanes = 8\n",
            "[[lane]]",
            "= -1",
            "\"\"\"",
            "9999999999",
            "nan",
            "1979-05-27",
            "\r\n",
            "\u{feff}",
            "é",
            "\0",
            "{ a = 1 }",
            "lane.",
            "0x10",
            "\nn_max=1",
        ])
        .prop_map(String::from),
    ];
    (any::<usize>(), 0usize..40, piece)
}

fn apply(text: &str, edits: &[(usize, usize, String)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, n_removed, piece) in edits {
        let at = at % (chars.len() + 1);
        let end = (at + n_removed).min(chars.len());
        chars.splice(at..end, piece.chars());
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn a_legal_configuration_prints_itself(config in legal()) {
        prop_assert_eq!(config::parse(&config.to_toml(), "printed"), Ok(config));
    }

    #[test]
    fn no_text_panics(edits in prop::collection::vec(edit(), 1..6)) {
        for text in [config::print_defaults(), HwConfig::defaults().to_toml()] {
            if let Err(errors) = config::parse(&apply(&text, &edits), "edited") {
                prop_assert!(!errors.problems.is_empty());
                prop_assert!(errors.to_string().contains("help: "));
            }
        }
    }

    #[test]
    fn no_noise_panics(text in "\\PC*|[\\[\\]{}=.,\"'#\r\n\t 0-9a-z_-]*") {
        if let Err(errors) = config::parse(&text, "noise") {
            prop_assert!(!errors.problems.is_empty() && !errors.to_string().is_empty());
        }
    }
}

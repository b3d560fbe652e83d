//! The emitted folder: reproducible, atomic, and it runs.
use crate::common::{DIALECTS, have, quiet};
use mive::config;
use mive::emit::{EmitError, Options, write};
use mive::engine::Engine;
use mive::rtl::verilog::Dialect;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn engine(name: &str) -> Engine {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("hw_configs/{name}.toml"));
    Engine::describe(&config::load(&path).expect("a shipped configuration"))
}

fn read(root: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, at: &Path, into: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(at).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(root, &path, into);
            } else {
                let name = path.strip_prefix(root).expect("inside").display().to_string();
                into.insert(name, std::fs::read_to_string(&path).expect("text"));
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(root, root, &mut all);
    all
}

fn options(prefix: &str, dialect: Dialect) -> Options {
    Options { prefix: prefix.into(), dialect, ..Options::default() }
}

#[test]
fn the_golden_folder_is_what_is_emitted() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/rtl/tiny");
    let engine = engine("tiny");
    let dir = tempfile::tempdir().expect("a folder");
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    write(&one, &engine, &Options::default()).expect("it is written");
    write(&two, &engine, &Options::default()).expect("it is written");
    let (a, b) = (read(&one), read(&two));
    assert!(a.len() > 10);
    assert_eq!(a, b, "the same input gives the same bytes");
    if std::env::var("MIVE_BLESS").is_ok_and(|v| v == "1") {
        write(&golden, &engine, &Options::default()).expect("the golden folder is written");
    }
    let wanted = read(&golden);
    for (name, text) in &a {
        assert!(wanted.get(name) == Some(text), "golden/rtl/tiny/{name} differs; see MIVE_BLESS=1");
    }
    assert_eq!(a.len(), wanted.len());
}

#[test]
fn what_stands_there_is_not_overwritten() {
    let engine = engine("tiny");
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("out");
    std::fs::create_dir(&out).expect("a folder");
    let emit = || write(&out, &engine, &Options::default());
    std::fs::write(out.join("mine.txt"), "mine").expect("a file");
    assert!(matches!(emit(), Err(EmitError::Folder { .. })));
    std::fs::remove_file(out.join("mine.txt")).expect("removed");
    emit().expect("an empty folder is taken");
    emit().expect("an earlier output is replaced");
    std::fs::write(out.join("mine.txt"), "mine").expect("a file");
    let error = emit().expect_err("a file of the user's own").to_string();
    assert!(error.contains("mine.txt"), "{error}");
    let in_a_file = write(&out.join("mine.txt"), &engine, &Options::default());
    assert!(matches!(in_a_file, Err(EmitError::Folder { .. })));
    let left = std::fs::read_dir(dir.path()).expect("a folder").count();
    assert_eq!(left, 1, "nothing is left beside it");
    for bad in ["a b", "9", "x-"] {
        let refused = write(&out, &engine, &options(bad, Dialect::SystemVerilog));
        assert!(matches!(refused, Err(EmitError::Prefix(_))), "{bad}");
    }
    let mut config = engine.config.clone();
    config.name = "edge".into();
    let reserved = Engine::describe(&config);
    let fresh = dir.path().join("fresh");
    let refused = write(&fresh, &reserved, &options("", Dialect::SystemVerilog));
    assert!(matches!(refused, Err(EmitError::Case { .. })), "edge is a reserved word");
    config.name = "core".into();
    let refused = write(&fresh, &Engine::describe(&config), &Options::default());
    assert!(matches!(refused, Err(EmitError::Case { .. })), "core is a part");
}

#[test]
fn the_bench_passes_in_icarus_and_yosys_synthesises() {
    if !have(&["iverilog", "vvp", "yosys"]) {
        return;
    }
    for dialect in DIALECTS {
        let is_sv = dialect == Dialect::SystemVerilog;
        let dir = tempfile::tempdir().expect("a folder");
        let out = dir.path().join("a folder");
        let done = write(&out, &engine("tiny"), &options("mive_", dialect)).expect("written");
        let tb = format!("tb/mive_tiny_tb.{}", dialect.extension());
        let generation = if is_sv { "-g2012" } else { "-g2005" };
        quiet(
            Command::new("iverilog")
                .args([generation, "-Wall", "-s", "mive_tiny_tb", "-o", "tb.vvp"])
                .args(["-c", "filelist.f", &tb])
                .current_dir(&out),
            true,
        );
        let run = |folder: &Path, program: &str| {
            quiet(Command::new("vvp").args(["-n", program]).current_dir(folder), true)
        };
        let said = run(&out, "tb.vvp");
        assert!(said.contains(&format!("PASS: {} cycles", done.cycles)), "{said}");
        let said = run(dir.path(), "a folder/tb.vvp");
        assert!(said.contains("FAIL: cannot open"), "{said}");
        assert!(!said.contains("PASS"), "{said}");
        quiet(Command::new("yosys").args(["-q", "-s", "synth.ys"]).current_dir(&out), true);
    }
}

#[test]
fn two_prefixes_compile_together() {
    if !have(&["iverilog"]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let mut args = vec!["-g2012".to_string(), "-o".into(), "both.vvp".into()];
    for prefix in ["one_", "ACME_"] {
        let out = dir.path().join(prefix);
        write(&out, &engine("tiny"), &options(prefix, Dialect::SystemVerilog)).expect("written");
        for name in read(&out).keys().filter(|n| n.starts_with("rtl/")) {
            args.push(format!("{prefix}/{name}"));
        }
    }
    quiet(Command::new("iverilog").args(&args).current_dir(dir.path()), false);
}

//! The layer table of `src/lib.rs`, held to the source: who imports whom, who reads files, who prints.
use std::path::{Path, PathBuf};

/// Modules that a module may import besides itself. `None`: anything.
fn allowed(module: &str) -> Option<Vec<&'static str>> {
    let below_2 = vec!["num", "rtl", "isa", "pwl", "config", "tensor"];
    let and = |mut list: Vec<&'static str>, more: &[&'static str]| {
        list.extend_from_slice(more);
        Some(list)
    };
    match module {
        "num" => Some(vec![]),
        "rtl" | "isa" | "pwl" | "config" | "tensor" => Some(vec!["num"]),
        "gates" => Some(vec!["num", "rtl", "gates"]),
        "engine" | "program" => and(below_2, &["engine", "program"]),
        "reference" => Some(vec!["tensor", "num"]),
        "simulate" | "emit" => and(below_2, &["engine", "program", "simulate", "emit"]),
        "tech" => Some(vec!["num"]),
        "estimate" => and(below_2, &["gates", "tech", "engine", "program", "simulate"]),
        "report" | "tools" => {
            let lower = ["gates", "tech", "engine", "program", "reference", "simulate", "emit"];
            and(below_2, &[&lower[..], &["estimate", "report", "tools"]].concat())
        }
        "cli" | "main" | "lib" => None,
        other => panic!("module `{other}` is not in the layer table of src/lib.rs"),
    }
}

const READS_FILES: [&str; 7] = ["config", "tensor", "emit", "report", "tools", "cli", "main"];
const PRINTS: [&str; 2] = ["cli", "main"];

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, all);
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push(path);
        }
    }
}

/// Characters of code: no comments, no text of literals. Lines stay where they are.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let bytes: Vec<char> = text.chars().collect();
    let mut i = 0;
    while i < bytes.len() {
        let (c, next) = (bytes[i], bytes.get(i + 1).copied());
        if c == '/' && next == Some('/') {
            while i < bytes.len() && bytes[i] != '\n' {
                i += 1;
            }
        } else if c == '/' && next == Some('*') {
            while i < bytes.len() && !(bytes[i] == '*' && bytes.get(i + 1) == Some(&'/')) {
                if bytes[i] == '\n' {
                    code.push('\n');
                }
                i += 1;
            }
            i += 2;
        } else if c == 'r' && matches!(next, Some('"' | '#')) && raw_end(&bytes, i).is_some() {
            let end = raw_end(&bytes, i).expect("found just now");
            code.extend(bytes[i..end].iter().filter(|&&c| c == '\n'));
            i = end;
        } else if c == '"' {
            i += 1;
            while i < bytes.len() && bytes[i] != '"' {
                if bytes[i] == '\n' {
                    code.push('\n');
                }
                i += if bytes[i] == '\\' && bytes.get(i + 1) != Some(&'\n') { 2 } else { 1 };
            }
            i += 1;
        } else if c == '\'' && bytes.get(i + 2) == Some(&'\'') && next != Some('\\') {
            i += 3;
        } else if c == '\'' && next == Some('\\') {
            i += 3;
            while i < bytes.len() && bytes[i] != '\'' {
                i += 1;
            }
            i += 1;
        } else {
            code.push(c);
            i += 1;
        }
    }
    code
}

/// End of a raw literal that begins at `at`.
fn raw_end(text: &[char], at: usize) -> Option<usize> {
    let hashes = text[at + 1..].iter().take_while(|&&c| c == '#').count();
    (text.get(at + 1 + hashes) == Some(&'"')).then_some(())?;
    let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let from = at + 2 + hashes;
    (from..text.len()).find(|&i| text[i..].starts_with(&close)).map(|i| i + close.len())
}

/// Words of a line: identifiers and numbers.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty())
}

/// Modules named right after `crate::` or `mive::`, those of a braced list as well.
fn imports(code: &str) -> Vec<(usize, String)> {
    let mut found = vec![];
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("mive::")) {
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at..];
        let rest = &rest[rest.find("::").map_or(0, |k| k + 2)..];
        if let Some(inside) = rest.strip_prefix('{') {
            let (mut depth, mut part) = (1, String::new());
            for c in inside.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 || (c == ',' && depth == 1) {
                    found.extend(words(&part).next().map(|w| (line, w.to_string())));
                    part.clear();
                    if depth == 0 {
                        break;
                    }
                } else {
                    part.push(c);
                }
            }
        } else {
            found.extend(words(rest).next().map(|w| (line, w.to_string())));
        }
    }
    found
}

/// Source below the unit tests: `#[cfg(test)] mod tests` may import anything.
fn without_tests(code: &str) -> &str {
    code.find("#[cfg(test)]\nmod ").map_or(code, |at| &code[..at])
}

#[test]
fn layers_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = vec![];
    files(&root, &mut all);
    all.sort();
    let modules: Vec<String> = std::fs::read_to_string(root.join("lib.rs"))
        .expect("src/lib.rs")
        .lines()
        .filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';').map(str::to_string))
        .collect();
    assert!(all.len() > 40 && modules.len() >= 8, "{} files, {modules:?}", all.len());
    let mut wrong = vec![];
    for path in &all {
        let inside = path.strip_prefix(&root).expect("a path below src").to_path_buf();
        let is_test = inside.file_stem().is_some_and(|s| s == "tests")
            || inside.components().any(|c| c.as_os_str() == "tests");
        if is_test {
            continue;
        }
        let shown = inside.display();
        let first = inside.components().next().expect("a part").as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs").to_string();
        let text = std::fs::read_to_string(path).expect("a source file");
        let code = code_of(&text);
        let code = without_tests(&code);
        let allowed = allowed(&module);
        for (line, name) in imports(code) {
            let is_module = modules.contains(&name);
            let is_fine = allowed.as_ref().is_none_or(|a| a.contains(&name.as_str()));
            if is_module && name != module && !is_fine {
                wrong.push(format!("{shown}:{line}: `{module}` imports `{name}`"));
            }
        }
        for (i, line) in code.lines().enumerate() {
            let mut say = |what: &str| wrong.push(format!("{shown}:{}: {what}", i + 1));
            if module == "engine" && words(line).any(|w| w == "f64" || w == "f32") {
                say("the engine holds a floating-point number");
            }
            let has_files = line.contains("std::fs") || line.contains("fs::");
            if has_files && !READS_FILES.contains(&module.as_str()) {
                say("touches the file system");
            }
            let prints = ["print!", "println!", "eprint!", "eprintln!", "dbg!"];
            let is_macro = |m: &str| {
                line.match_indices(m)
                    .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
            };
            if prints.iter().any(|m| is_macro(m)) && !PRINTS.contains(&module.as_str()) {
                say("prints");
            }
        }
    }
    assert!(wrong.is_empty(), "{} violations\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_scanner_sees_code_alone() {
    let text = "use crate::{num::Interval, rtl::{Net, Word}}; // crate::engine\nlet s = \"crate::cli\";\n\
                let c = '\"'; crate::isa::Op; let r = r#\"crate::report\"#; /* crate::emit */";
    let names: Vec<String> = imports(&code_of(text)).into_iter().map(|(_, n)| n).collect();
    assert_eq!(names, ["num", "rtl", "isa"]);
}

//! The nearest valid name to a name that is not valid.
use std::path::Path;

use super::schema::{FIELDS, Field, TABLES};

/// Characters of a name that are compared or shown.
const SHOWN: usize = 40;

/// `text` on one line and of bearable length.
pub fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        short += "...";
    }
    short.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'")
}

/// Likeness of two names, 0 to 1, without regard to case and to `-` against `_`.
fn likeness(a: &str, b: &str) -> f64 {
    let plain =
        |s: &str| s.chars().take(SHOWN).collect::<String>().to_lowercase().replace('-', "_");
    let (a, b) = (plain(a), plain(b));
    strsim::jaro_winkler(&a, &b).max(strsim::normalized_damerau_levenshtein(&a, &b))
}

/// From here on two names count as one name misspelt. Chosen by us: `mult_bits` is near to
/// `multiplier_bits`, and no two keys of one table are near to each other.
const NEAR: f64 = 0.85;

/// The most alike of `names`, and whether it is near.
fn nearest<'a, T>(name: &str, names: impl Iterator<Item = (T, &'a str)>) -> Option<(T, bool)> {
    let scored = names.map(|(item, other)| (likeness(name, other), item));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((best.1, best.0 >= NEAR))
}

/// The valid key that an invalid key of `table` most likely stands for, whether it is near, and help.
pub fn key(table: &str, key: &str) -> (&'static Field, bool, String) {
    let named = |inside: bool| {
        FIELDS.iter().filter(move |f| (f.table == table) == inside).map(|f| (f, f.key))
    };
    let site = |f: &Field| match f.table {
        "" => "at the top, above the first table".to_string(),
        table => format!("in [{table}]"),
    };
    let elsewhere = nearest(key, named(false));
    if let Some((field, _)) = elsewhere.filter(|(f, _)| likeness(key, f.key) >= 1.0) {
        return (field, true, format!("`{}` belongs {}", field.key, site(field)));
    }
    let all = || FIELDS.iter().map(|f| (f, f.key));
    match nearest(key, named(true)).filter(|(_, is_near)| *is_near).or(elsewhere) {
        Some((field, true)) if field.table == table => {
            (field, true, format!("did you mean `{}`?", field.key))
        }
        Some((field, true)) => {
            (field, true, format!("did you mean `{}` {}?", field.key, site(field)))
        }
        _ => {
            let field =
                nearest(key, named(true)).or(nearest(key, all())).map_or(&FIELDS[0], |n| n.0);
            (field, false, format!("remove it; the nearest valid key is `{}`", field.key))
        }
    }
}

/// The valid table that an invalid table most likely stands for, whether it is near, and help.
pub fn table(name: &str) -> (&'static str, bool, String) {
    let names = TABLES.iter().map(|t| t.name).filter(|n| !n.is_empty()).map(|n| (n, n));
    match nearest(name, names) {
        Some((table, true)) => (table, true, format!("did you mean [{table}]?")),
        Some((table, false)) => {
            (table, false, format!("remove it; the nearest valid table is [{table}]"))
        }
        None => ("", false, "remove it".into()),
    }
}

/// The nearest of `names` when it is near.
pub fn word<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    nearest(name, names.iter().map(|&n| (n, n))).filter(|(_, is_near)| *is_near).map(|(n, _)| n)
}

/// TOML files in `folder`, sorted, a thousand at most.
fn toml_files(folder: &Path) -> Vec<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(1000);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".toml")).collect();
    names.sort();
    names
}

/// Help for a path that does not exist.
pub fn file_beside(path: &Path) -> String {
    let wanted =
        path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let names = toml_files(path.parent().unwrap_or(Path::new("")));
    // Compared without the ending, which every candidate has.
    let stem = |name: &str| name.trim_end_matches(".toml").to_string();
    let wanted = stem(&wanted);
    let best = names
        .iter()
        .map(|name| (likeness(&wanted, &stem(name)), name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(score, _)| *score >= 0.7);
    match best {
        Some((_, name)) => format!("did you mean {}?", path.with_file_name(name).display()),
        None => "check the path; the ready-made configurations are in hw_configs".into(),
    }
}

/// Help for a path that is a directory.
pub fn file_inside(path: &Path) -> String {
    match toml_files(path).first() {
        Some(name) => format!("name a file in it, such as {}", path.join(name).display()),
        None => "name a TOML file; this directory has none".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_keys_find_their_key() {
        for (table_name, wrong, right) in [
            ("engine", "lane", "lanes"),
            ("engine", "LANES", "lanes"),
            ("engine", "n-max", "n_max"),
            ("lane", "mult_bits", "multiplier_bits"),
            ("", "lanes", "lanes"),
            ("scalar", "newton_step", "newton_steps"),
            ("engine", "digits_bits", "digit_bits"),
        ] {
            let (field, is_near, _) = key(table_name, wrong);
            assert_eq!((field.key, is_near), (right, true), "{wrong}");
        }
        assert!(!key("engine", "colour").1);
        assert_eq!(table("engin").0, "engine");
    }

    #[test]
    fn the_keys_of_a_table_are_not_near_to_each_other() {
        for a in &FIELDS {
            for b in FIELDS.iter().filter(|b| b.table == a.table && b.key != a.key) {
                assert!(likeness(a.key, b.key) < NEAR, "{} and {}", a.key, b.key);
            }
        }
    }
}

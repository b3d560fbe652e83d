//! Fills the templates of `rtl_templates/`: `${name}` only. A name that is not given is an error.
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};
use std::collections::BTreeMap;

use super::EmitError;

/// Values by name.
pub type Values = BTreeMap<&'static str, String>;

/// Fills a template.
///
/// # Errors
/// The template names a value that is not given, or leaves one unused: a wrong template.
pub fn fill(name: &str, text: &str, values: &Values) -> Result<String, EmitError> {
    let wrong = |message: String| EmitError::Template { name: name.to_string(), message };
    let unused = values.keys().find(|k| !text.contains(&format!("${{{k}}}")));
    if let Some(key) = unused {
        return Err(wrong(format!("`{key}` is not used")));
    }
    let syntax = SyntaxConfig::builder()
        .variable_delimiters("${", "}")
        .block_delimiters("<%", "%>")
        .comment_delimiters("<#", "#>")
        .build()
        .map_err(|e| wrong(e.to_string()))?;
    let mut environment = Environment::new();
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_keep_trailing_newline(true);
    environment.render_str(text, values).map_err(|e| wrong(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_strict() {
        let values = Values::from([("a", "x".to_string())]);
        assert_eq!(fill("t", "[${a}] {% ${a}\n", &values).ok().as_deref(), Some("[x] {% x\n"));
        assert!(fill("t", "${a} ${b}", &values).is_err());
        assert!(fill("t", "nothing", &values).is_err());
    }
}

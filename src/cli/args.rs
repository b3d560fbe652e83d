//! Values of options.
use crate::num::IntFormat;

/// A format of rows: s8 or s16.
pub fn input_format(text: &str) -> Result<IntFormat, String> {
    match text.parse() {
        Ok(format @ (IntFormat::S8 | IntFormat::S16)) => Ok(format),
        _ => Err("expected s8 or s16".into()),
    }
}

/// A format of results.
pub fn output_format(text: &str) -> Result<IntFormat, String> {
    text.parse().map_err(|_| "expected s8, u8, s16 or u16".into())
}

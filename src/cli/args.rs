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

/// Threads.
pub fn jobs(text: &str) -> Result<usize, String> {
    let jobs = text.parse().ok().filter(|jobs| *jobs <= 1024);
    jobs.ok_or_else(|| "expected a number from 0 to 1024".into())
}

/// Cycles FIRST..LAST, the last one excluded.
pub fn cycles(text: &str) -> Result<std::ops::Range<u64>, String> {
    let wrong = || "expected FIRST..LAST, such as 0..200".to_string();
    let (first, last) = text.split_once("..").ok_or_else(wrong)?;
    let number = |t: &str| t.trim().parse::<u64>().map_err(|_| wrong());
    let range = number(first)?..number(last)?;
    if range.is_empty() { Err(wrong()) } else { Ok(range) }
}

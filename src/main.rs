//! Entry point: parse, call, print the error, set the exit status.
fn main() {}

//! Printed text against what it is printed from, in the open tools, from single operations to engines.
mod buffers;
mod bundles;
mod common;
mod emit;
mod lint;
mod lockstep;
mod pipeline;
mod printer;
mod watch;
mod word_ops;

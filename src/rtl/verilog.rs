//! Prints modules of the netlist as SystemVerilog or Verilog-2005, in the house style.
//!
//! The text needs no lint waiver: every extension and narrowing is written out, comparisons that the
//! intervals decide are folded, and bits that nothing reads are named `unused_`.
mod bits;
mod body;
mod expression;
mod front;
mod layout;
mod multiply;
mod registers;
mod scope;

use super::module::{MemoryKind, Module, Op};
use super::names;
use crate::num::Interval;
use std::rc::Rc;

/// Language of the printed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    SystemVerilog,
    Verilog2005,
}

impl Dialect {
    /// Extension of file names.
    pub fn extension(self) -> &'static str {
        match self {
            Dialect::SystemVerilog => "sv",
            Dialect::Verilog2005 => "v",
        }
    }
}

/// What the user chooses of the printed text.
#[derive(Clone, Debug)]
pub struct Style {
    /// Starts the name of every module.
    pub prefix: String,
    pub dialect: Dialect,
    /// Comment lines for every header: generator, configuration, hash.
    pub header: Vec<String>,
}

impl Style {
    pub fn new(dialect: Dialect) -> Self {
        Style { prefix: "mive_".to_string(), dialect, header: vec![] }
    }

    pub fn module_name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Name of the module that memories of a kind are printed as.
    pub fn memory_name(&self, kind: MemoryKind) -> String {
        self.module_name(kind.module())
    }
}

/// The text of one module.
///
/// # Panics
/// When a name is illegal or taken: a wrong description.
pub fn print(module: &Module, style: &Style) -> String {
    body::print(module, style)
}

/// The text of every distinct module under `top` with its file name, children before their parents.
///
/// # Panics
/// As [`print()`], and when two different modules share a name.
pub fn print_all(top: &Rc<Module>, style: &Style) -> Vec<(String, String)> {
    let mut modules: Vec<Rc<Module>> = vec![];
    collect(top, &mut modules);
    let file = |name: String| format!("{name}.{}", style.dialect.extension());
    let mut files = vec![];
    for kind in MemoryKind::ALL {
        let is_used = modules.iter().any(|m| m.memories.iter().any(|m| m.kind == kind));
        if is_used {
            let is_taken = modules.iter().any(|m| m.name == kind.module());
            assert!(!is_taken, "a module takes the name of a memory, {}", kind.module());
            files.push((file(style.memory_name(kind)), memory_text(style, kind)));
        }
    }
    for m in modules {
        files.push((file(style.module_name(&m.name)), print(&m, style)));
    }
    files
}

fn collect(module: &Rc<Module>, into: &mut Vec<Rc<Module>>) {
    if let Some(seen) = into.iter().find(|m| m.name == module.name) {
        let is_same = Rc::ptr_eq(seen, module) || seen == module;
        assert!(is_same, "two different modules are called {}", module.name);
        return;
    }
    for instance in &module.instances {
        collect(&instance.module, into);
    }
    into.push(module.clone());
}

fn memory_text(style: &Style, kind: MemoryKind) -> String {
    macro_rules! template {
        ($name:literal) => {
            match style.dialect {
                Dialect::SystemVerilog => {
                    include_str!(concat!("../../rtl_templates/", $name, ".sv"))
                }
                Dialect::Verilog2005 => include_str!(concat!("../../rtl_templates/", $name, ".v")),
            }
        };
    }
    let template = match kind {
        MemoryKind::Registers => template!("ram_1r1w"),
        MemoryKind::Latches => template!("ram_1r1w_latch"),
        MemoryKind::Macro => template!("ram_1r1w_macro"),
    };
    template.replace("mive_ram_1r1w", &style.module_name("ram_1r1w"))
}

/// True when the module or one below it has a register or a memory.
pub fn needs_clock(module: &Module) -> bool {
    !module.memories.is_empty()
        || module.nodes.iter().any(|n| matches!(n.op, Op::Reg { .. }))
        || module.instances.iter().any(|i| needs_clock(&i.module))
}

/// True when the module or one below it has a register with a reset value.
pub fn needs_reset(module: &Module) -> bool {
    module.nodes.iter().any(|n| matches!(n.op, Op::Reg { reset: Some(_), .. }))
        || module.instances.iter().any(|i| needs_reset(&i.module))
}

/// `signed [7:0]`, `[7:0]`, `signed` or nothing.
fn range(ty: Interval, count: u32) -> String {
    let signed = if ty.is_signed() && count == 1 { "signed" } else { "" };
    let total = ty.width() * count;
    let bits = if total == 1 { String::new() } else { format!("[{}:0]", total - 1) };
    [signed, bits.as_str()].join(" ").trim().to_string()
}

/// Format of a port: `s8`, or `16 x s8` for a bundle.
fn format(ty: Interval, count: u32) -> String {
    let one = format!("{}{}", if ty.is_signed() { 's' } else { 'u' }, ty.width());
    if count == 1 { one } else { format!("{count} x {one}") }
}

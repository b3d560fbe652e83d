//! Runs Yosys on an engine's printed text: the area of every block, hierarchy kept, memories left out.
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use sha2::{Digest, Sha256};

use super::library::LibraryFiles;
use super::{ToolError, YOSYS};
use crate::emit::EmitError;
use crate::emit::template::{Values, fill};
use crate::rtl::verilog::{Dialect, Style, print_all};
use crate::rtl::{MemoryKind, Module};
use crate::tech::cells::FullAdder;
use crate::tech::{Flow, Tech};

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum SynthesisError {
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Template(#[from] EmitError),
    #[error("{what}: {message}")]
    Folder { what: String, message: String },
    #[error("yosys left {cell} in {module}, which is no cell of {tech}")]
    Unmapped { cell: String, module: String, tech: String },
    #[error("{tech} has no flow `{flow}`; the choice is {choice}")]
    Flow { tech: String, flow: &'static str, choice: &'static str },
    #[error("yosys wrote no figures ({0}); is its version 0.23 or later?")]
    NoFigures(String),
}

/// What one module of an engine takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The module's name without prefix; `shell` for the top.
    pub block: String,
    /// One copy: um^2 for an ASIC, look-up tables for an FPGA.
    pub area: f64,
    /// Flip-flops of one copy; of an FPGA alone.
    pub flops: u64,
}

/// A technology that is ready to be synthesised for.
pub struct Target<'t> {
    tech: &'t Tech,
    flow: Flow,
    /// Area of each cell.
    areas: BTreeMap<String, f64>,
    liberty: Option<String>,
}

impl<'t> Target<'t> {
    pub fn flow(&self) -> Flow {
        self.flow
    }

    /// # Errors
    /// The technology has no such flow.
    pub fn new(
        tech: &'t Tech,
        flow: Flow,
        library: Option<&LibraryFiles>,
    ) -> Result<Self, SynthesisError> {
        let is_fpga = flow == Flow::Fpga;
        if is_fpga != tech.device.is_some() || is_fpga == library.is_some() {
            let choice = if tech.device.is_some() { "fpga" } else { "area, plain" };
            return Err(SynthesisError::Flow {
                tech: tech.name.clone(),
                flow: flow.name(),
                choice,
            });
        }
        let mut areas = BTreeMap::new();
        for cell in library.iter().flat_map(|l| l.group.all("cell")) {
            areas.insert(cell.name().to_string(), cell.number("area").unwrap_or(0.0));
        }
        let dont_use = tech.library.as_ref().map_or(&[][..], |l| &l.dont_use);
        let liberty = library.map(|l| l.synthesis_text(dont_use));
        Ok(Self { tech, flow, areas, liberty })
    }

    /// Area of every module of a design, in the order of the printed files, the top last. What the tool
    /// reads and writes is in `folder`.
    ///
    /// # Errors
    /// Yosys is missing or fails, or leaves a cell that is none of the technology's.
    pub fn measure(
        &self,
        top: &Rc<Module>,
        folder: &Path,
    ) -> Result<Vec<Measured>, SynthesisError> {
        match &self.tech.device {
            None => prepare(top, self.flow, folder)?,
            Some(device) => {
                let command = [("command", device.command.clone())];
                run_on_text(top, FPGA, &command, folder)?;
            }
        }
        self.measure_prepared(top, folder)
    }

    /// [`Target::measure`] where [`prepare`] has been at work in `folder`, for several libraries in turn.
    ///
    /// # Errors
    /// As [`Target::measure`].
    pub fn measure_prepared(
        &self,
        top: &Rc<Module>,
        folder: &Path,
    ) -> Result<Vec<Measured>, SynthesisError> {
        self.map(folder, "")?;
        self.figures(top, folder)
    }

    /// [`Target::measure`] and [`Target::netlist`] of an ASIC in one run.
    ///
    /// # Errors
    /// As [`Target::measure`].
    pub fn measure_and_netlist(
        &self,
        top: &Rc<Module>,
        folder: &Path,
    ) -> Result<(Vec<Measured>, String), SynthesisError> {
        let netlist = self.netlist(top, folder)?;
        Ok((self.figures(top, folder)?, netlist))
    }

    /// Reads what Yosys wrote into `folder`.
    fn figures(&self, top: &Rc<Module>, folder: &Path) -> Result<Vec<Measured>, SynthesisError> {
        let style = &style();
        let text = std::fs::read_to_string(folder.join("stat.txt"))
            .map_err(|e| SynthesisError::NoFigures(e.to_string()))?;
        let stat = cells_by_module(&text);
        let mut modules: Vec<String> = vec![];
        for (file, _) in print_all(top, style) {
            modules.extend(file.strip_suffix(".sv").map(String::from));
        }
        modules.retain(|name| !memory_names(style).contains(name));
        modules.iter().map(|name| self.block(top, style, name, &stat)).collect()
    }

    /// From gates to cells in `folder`, where [`prepare`] has been at work, then the commands `after`.
    fn map(&self, folder: &Path, after: &str) -> Result<(), SynthesisError> {
        let Some(text) = &self.liberty else { return Ok(()) };
        write(folder, "cells.lib", text)?;
        let adder = self.tech.library.as_ref().and_then(|l| l.full_adder.as_ref());
        let values = Values::from([("cell", adder_cell(adder))]);
        write(folder, "adder_cell.v", &fill(ADDER_CELL.0, ADDER_CELL.1, &values)?)?;
        let (name, script) = if self.flow == Flow::Area { CELLS_AREA } else { CELLS_PLAIN };
        let values = Values::from([("liberty", "cells.lib".to_string())]);
        write(folder, name, &(fill(name, script, &values)? + after))?;
        YOSYS.succeed(folder, &["-q", "-s", name])?;
        Ok(())
    }

    /// The cells of a design and how they are connected, as Yosys's JSON. What the tool reads and writes is
    /// in `folder`.
    ///
    /// # Errors
    /// As [`Target::measure`].
    pub fn netlist(&self, top: &Rc<Module>, folder: &Path) -> Result<String, SynthesisError> {
        prepare(top, self.flow, folder)?;
        self.map(folder, "write_json mapped.json\n")?;
        let refuse = |e: std::io::Error| SynthesisError::NoFigures(e.to_string());
        std::fs::read_to_string(folder.join("mapped.json")).map_err(refuse)
    }

    /// Names of an engine's modules in what the tool wrote: of the top, and what stands before the others.
    pub fn names(top: &Rc<Module>) -> (String, String) {
        let style = style();
        (style.module_name(&top.name), style.prefix.clone())
    }

    fn block(
        &self,
        top: &Rc<Module>,
        style: &Style,
        module: &str,
        stat: &Stat,
    ) -> Result<Measured, SynthesisError> {
        let figures = stat.get(module);
        let figures = figures.ok_or_else(|| SynthesisError::NoFigures(module.into()))?;
        let (mut area, mut flops) = (0.0, 0);
        for (cell, &count) in figures {
            if cell.starts_with(&style.prefix) {
                continue;
            }
            let one = match &self.tech.device {
                Some(device) => {
                    let is_flop = device.flops.iter().any(|start| cell.starts_with(start));
                    flops += if is_flop { count } else { 0 };
                    let is_other =
                        is_flop || device.free.iter().any(|start| cell.starts_with(start));
                    device.luts.get(cell).copied().or(is_other.then_some(0.0))
                }
                None => self.areas.get(cell).copied(),
            };
            area += count as f64
                * one.ok_or_else(|| SynthesisError::Unmapped {
                    cell: cell.clone(),
                    module: module.into(),
                    tech: self.tech.name.clone(),
                })?;
        }
        let is_top = module == style.module_name(&top.name);
        let name = module.strip_prefix(style.prefix.as_str()).unwrap_or(module);
        let block = if is_top { "shell".to_string() } else { name.to_string() };
        Ok(Measured { block, area, flops })
    }
}

/// Runs Yosys on a design up to the point where the library matters: `front.il` in `folder`.
///
/// # Errors
/// Yosys is missing or fails.
pub fn prepare(top: &Rc<Module>, flow: Flow, folder: &Path) -> Result<(), SynthesisError> {
    let script = if flow == Flow::Area { FRONT_AREA } else { FRONT_PLAIN };
    if flow == Flow::Area {
        for (name, text) in [ADDER, ADDERS, ADDER_CONSTANT] {
            write(folder, name, text)?;
        }
    }
    run_on_text(top, script, &[], folder)
}

/// Prints a design into `folder` and runs a script that reads it.
fn run_on_text(
    top: &Rc<Module>,
    (name, script): Template,
    more: &[(&'static str, String)],
    folder: &Path,
) -> Result<(), SynthesisError> {
    let style = style();
    let files = print_all(top, &style);
    for (name, text) in &files {
        write(folder, name, text)?;
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let printed = |ram: &String| names.iter().any(|name| *name == format!("{ram}.sv"));
    let mut rams: Vec<String> = memory_names(&style).into_iter().filter(printed).collect();
    if rams.is_empty() {
        // No name would be every module.
        rams.push(style.memory_name(MemoryKind::Registers));
    }
    let mut values = Values::from([
        ("read", format!("read_verilog -sv {}", names.join(" "))),
        ("ram", rams.join(" ")),
        ("top", style.module_name(&top.name)),
    ]);
    values.extend(more.iter().cloned());
    write(folder, name, &fill(name, script, &values)?)?;
    YOSYS.succeed(folder, &["-q", "-s", name])?;
    Ok(())
}

/// Modules that memories are printed as.
fn memory_names(style: &Style) -> Vec<String> {
    MemoryKind::ALL.iter().map(|&kind| style.memory_name(kind)).collect()
}

/// How an engine is printed for synthesis.
fn style() -> Style {
    Style::new(Dialect::SystemVerilog)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), SynthesisError> {
    let what = name.to_string();
    std::fs::write(folder.join(name), text)
        .map_err(|e| SynthesisError::Folder { what, message: e.to_string() })
}

/// Name and text of a file in `rtl_templates/synthesis`.
type Template = (&'static str, &'static str);

macro_rules! template {
    ($name:literal) => {
        ($name, include_str!(concat!("../../rtl_templates/synthesis/", $name)))
    };
}
const FRONT_AREA: Template = template!("front_area.ys");
const FRONT_PLAIN: Template = template!("front_plain.ys");
const CELLS_AREA: Template = template!("cells_area.ys");
const CELLS_PLAIN: Template = template!("cells_plain.ys");
const FPGA: Template = template!("fpga.ys");
const ADDER: Template = template!("adder.v");
const ADDERS: Template = template!("adders.v");
const ADDER_CONSTANT: Template = template!("adder_constant.v");
const ADDER_CELL: Template = template!("adder_cell.v");

/// Cells by module.
type Stat = BTreeMap<String, BTreeMap<String, u64>>;

/// Reads what `stat` prints: `=== module ===`, then a line `name count` for each cell.
fn cells_by_module(text: &str) -> Stat {
    let mut stat = Stat::new();
    let mut module = None;
    for line in text.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["===", name, "==="] => {
                stat.insert(name.to_string(), BTreeMap::new());
                module = Some(name);
            }
            ["===", ..] => module = None,
            [cell, count] if !cell.ends_with(':') => {
                if let (Some(cells), Ok(count)) =
                    (module.and_then(|m| stat.get_mut(m)), count.parse())
                {
                    cells.insert(cell.to_string(), count);
                }
            }
            _ => {}
        }
    }
    stat
}

/// The body of a full adder in the text that maps it.
fn adder_cell(adder: Option<&FullAdder>) -> String {
    let Some(adder) = adder else {
        return "  assign sum_o   = a_i ^ b_i ^ c_i;\n  \
                assign carry_o = (a_i & b_i) | (c_i & (a_i | b_i));"
            .to_string();
    };
    let [a, b, c] = &adder.inputs;
    let FullAdder { cell, sum, carry, .. } = adder;
    let (wires, out) = match adder.is_inverting {
        true => (
            "  wire sum, carry;\n  assign sum_o   = ~sum;\n  assign carry_o = ~carry;\n",
            ["carry", "sum"],
        ),
        false => ("", ["carry_o", "sum_o"]),
    };
    format!(
        "{wires}  {cell} u_cell (\n    .{a}(a_i), .{b}(b_i), .{c}(c_i), .{carry}({}), .{sum}({})\n  );",
        out[0], out[1]
    )
}

/// SHA-256 of an engine's printed text, its first 16 digits: an engine of another text is measured anew.
pub fn text_hash(top: &Rc<Module>) -> String {
    let mut hash = Sha256::new();
    for (name, text) in print_all(top, &style()) {
        hash.update(name);
        hash.update(text);
    }
    hash.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_stat_is_read() {
        let text = "\n8. Printing statistics.\n\n=== mive_a ===\n\n   Number of wires:  12\n   \
                    Number of cells:  5\n     nand2  3\n     mive_b  2\n\n=== mive_b ===\n\n   Number of \
                    cells: 1\n     inv   1\n\n=== design hierarchy ===\n\n   mive_a  1\n     mive_b  2\n";
        let stat = cells_by_module(text);
        assert_eq!(stat.len(), 2);
        assert_eq!(stat["mive_a"]["nand2"], 3);
        assert_eq!(stat["mive_b"], BTreeMap::from([("inv".to_string(), 1)]));
    }
}

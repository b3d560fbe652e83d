//! What is known of a technology: its cells, and the cost of a gate of each kind in each block. Data that
//! a calibration writes; no synthesis happens here.
pub mod cells;
pub mod liberty;
pub mod power;

use std::collections::BTreeMap;

use cells::{Cell, FullAdder};
use serde::{Deserialize, Serialize};

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        /// Technologies that are built in: name and text.
        pub const SHIPPED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../tech/", $name, ".toml")))),+];
    };
}
shipped!("sky130hd", "ihp-sg13g2", "asap7", "gf180mcu", "osu018", "ice40", "ecp5", "xc7");

/// One technology, as its file in `tech/` states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tech {
    /// A small letter, then small letters, digits and `_`.
    pub name: String,
    /// In words, with the node.
    pub title: String,
    /// The Liberty library of an ASIC technology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<Library>,
    /// The device of an FPGA technology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// Costs in area, one for each flow that was calibrated; the first is the default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub area: Vec<AreaModel>,
    /// Costs in energy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyModel>,
}

/// A Liberty library, identified by its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// Where the files come from.
    pub origin: String,
    pub licence: String,
    /// Process, temperature and voltage of the files.
    pub corner: String,
    /// File names, without `.gz`.
    pub files: Vec<String>,
    /// SHA-256 of each file's text, uncompressed.
    pub sha256: Vec<String>,
    /// Folders in which a package of the system puts the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// Cells that synthesis may not use; a `*` stands for any characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dont_use: Vec<String>,
    /// The smallest two-input NAND, one gate equivalent (GE).
    pub nand2: Cell,
    /// The smallest flip-flop without reset; `None` where every flip-flop has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flop: Option<Cell>,
    /// The smallest full adder; without one, adders are built from other cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_adder: Option<FullAdder>,
}

/// An FPGA family as Yosys knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Family and look-up table in words.
    pub family: String,
    /// The Yosys command that synthesises for it, hierarchy kept, without DSP blocks.
    pub command: String,
    /// Look-up tables that a cell takes, by the cell's name.
    pub luts: BTreeMap<String, f64>,
    /// Names of flip-flop cells start with one of these.
    pub flops: Vec<String>,
    /// Names of cells that take no look-up table start with one of these.
    pub free: Vec<String>,
    /// Shapes (words, bits) of one block RAM with one write and one read port.
    pub block_ram: Vec<[u32; 2]>,
    /// Source of the shapes.
    pub block_ram_source: String,
}

/// How area is measured: the synthesis script of `rtl_templates/synthesis`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flow {
    /// Full-adder cells, carry-save sums and ripple chains.
    Area,
    /// `synth; dfflibmap; abc` and nothing else.
    Plain,
    /// The command of an FPGA family.
    Fpga,
}

impl Flow {
    pub fn name(self) -> &'static str {
        match self {
            Flow::Area => "area",
            Flow::Plain => "plain",
            Flow::Fpga => "fpga",
        }
    }
}

/// Costs fitted for one flow, with what they were fitted to and how far they were off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AreaModel {
    pub flow: Flow,
    /// Tool and version that measured.
    pub tool: String,
    /// Random configurations (seeds of `HwConfig::random`) in the fit.
    pub fitted: u32,
    /// Random configurations that judged it and were not in the fit.
    pub held_out: u32,
    /// Error of the core, percent, over the held-out configurations: mean of the absolute values, and
    /// the largest.
    pub core_error_percent: [f64; 2],
    /// Error of the shell, percent, likewise.
    pub shell_error_percent: [f64; 2],
    /// Cost of one gate by block and kind: GE for an ASIC, look-up tables for an FPGA.
    pub costs: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Energy of what the gates of an engine do, with what it was taken from and how far it was off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergyModel {
    /// Where the costs come from, in words.
    pub source: String,
    /// Engines and programs in the fit; 0 where the costs are those of single cells.
    pub fitted: u32,
    /// Engines and programs that judged it and were not in the fit.
    pub held_out: u32,
    /// Error of the energy per row, percent, over those: mean of the absolute values, and the largest. `None`
    /// where it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_percent: Option<[f64; 2]>,
    /// Error of the leakage of an engine whose area is known, percent, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leakage_error_percent: Option<[f64; 2]>,
    /// Leakage of one GE, nW.
    pub leakage_nw_per_ge: f64,
    /// Energy of each event, fJ, by its name.
    pub costs_fj: BTreeMap<String, f64>,
}

/// Why a technology cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TechError {
    #[error("there is no technology `{name}`; the choice is {choice}, or the path of a .toml file")]
    Unknown { name: String, choice: String },
    #[error("{place}: {message}")]
    Text { place: String, message: String },
}

impl Tech {
    /// A built-in technology.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn shipped(name: &str) -> Result<Self, TechError> {
        match SHIPPED.iter().find(|(n, _)| *n == name) {
            Some((_, text)) => Self::parse(text, name),
            None => {
                let names: Vec<&str> = SHIPPED.iter().map(|(n, _)| *n).collect();
                Err(TechError::Unknown { name: name.into(), choice: names.join(", ") })
            }
        }
    }

    /// Reads the text of a technology file; `place` names its origin in the message.
    ///
    /// # Errors
    /// The text is no TOML, has an unknown or missing key, or is neither an ASIC nor an FPGA.
    pub fn parse(text: &str, place: &str) -> Result<Self, TechError> {
        let wrong = |message: String| TechError::Text { place: place.into(), message };
        let tech: Tech = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        match (&tech.library, &tech.device) {
            (Some(library), None) if library.files.len() == library.sha256.len() => Ok(tech),
            (None, Some(_)) => Ok(tech),
            (Some(_), None) => Err(wrong("[library] has not one sha256 a file".into())),
            _ => Err(wrong("expected one of [library] and [device]".into())),
        }
    }

    /// The text of the file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("plain data is TOML")
    }

    /// The costs of a flow; of the first one when none is named.
    pub fn area_model(&self, flow: Option<Flow>) -> Option<&AreaModel> {
        self.area.iter().find(|m| flow.is_none_or(|f| m.flow == f))
    }

    /// Area of one gate equivalent in um^2; `None` for an FPGA.
    pub fn ge_um2(&self) -> Option<f64> {
        self.library.as_ref().map(|l| l.nand2.area)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_technology_is_read_and_printed_again() {
        for (name, text) in SHIPPED {
            let tech = Tech::parse(text, name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(&tech.name, name);
            assert_eq!(Tech::parse(&tech.to_toml(), "printed"), Ok(tech));
        }
    }

    #[test]
    fn a_wrong_text_is_refused() {
        assert!(Tech::shipped("nothing").expect_err("unknown").to_string().contains("nothing"));
        for text in ["", "name = 1", "name = \"a\"\ntitle = \"b\"", "name = \"a\"\ncolour = 1"] {
            assert!(matches!(Tech::parse(text, "x"), Err(TechError::Text { .. })), "{text}");
        }
    }
}

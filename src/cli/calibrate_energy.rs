//! `mive calibrate --energy`: meters random engines, and fits the energies of what gates do.
use std::path::Path;

use indicatif::ProgressBar;

use super::Failure;
use crate::tech::power::Cells;
use crate::tech::{Flow, Tech};
use crate::tools::energy::{EnergyTable, calibrate, from_cells};
use crate::tools::energy_samples::{EnergyError, complete, path};
use crate::tools::library::LibraryFiles;
use crate::tools::synthesis::Target;

/// Measures what `runs` has not and gives the technology its energies.
///
/// # Errors
/// The library has no energies, or Yosys fails.
pub fn energies(
    tech: &mut Tech,
    library: Option<&LibraryFiles>,
    runs: &Path,
    seeds: &[u64],
) -> Result<EnergyTable, Failure> {
    let none = || EnergyError::NoEnergies { tech: tech.name.clone() };
    let library = library.ok_or_else(none)?;
    let cells = Cells::of(&library.group);
    let prior = from_cells(&cells).ok_or_else(none)?;
    let target = Target::new(tech, Flow::Area, Some(library))?;
    let bar = ProgressBar::new(seeds.len() as u64);
    let path = path(runs, &tech.name);
    let mut samples = complete(&path, seeds, &target, &cells, |n| bar.set_position(n as u64))?;
    bar.finish_and_clear();
    samples.retain(|(seed, _), _| seeds.contains(seed));
    let unit = tech.ge_um2().unwrap_or(1.0);
    let (model, table) = calibrate(&samples, &prior, unit)?;
    tech.energy = Some(model);
    Ok(table)
}

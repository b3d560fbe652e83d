//! The energies of IHP SG13G2: `MIVE_LIBERTY=DIR cargo run --release --example energy` writes them to
//! tech/ihp-sg13g2.toml.
use std::path::Path;

use mive::tech::Tech;
use mive::tech::power::Cells;
use mive::tools::energy::from_cells;
use mive::tools::library::LibraryFiles;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tech = Tech::shipped("ihp-sg13g2")?;
    let library = LibraryFiles::find(&tech)?.ok_or("an ASIC technology")?;
    tech.energy = from_cells(&Cells::of(&library.group));
    println!("{:#?}", tech.energy);
    std::fs::write(root.join("tech/ihp-sg13g2.toml"), tech.to_toml())?;
    Ok(())
}

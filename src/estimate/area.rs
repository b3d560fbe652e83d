//! Area by block: gates of each kind times their cost in that block.
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex};

use crate::config::HwConfig;
use crate::engine::Engine;
use crate::gates::{Counts, Kind, blast};
use crate::rtl::Module;
use crate::tech::AreaModel;

/// The block of the top module: stream registers, load port, counters.
pub const SHELL: &str = "shell";

/// The gates of one module of an engine, without what it instantiates and without its memories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The module's name; [`SHELL`] for the top.
    pub name: String,
    /// Copies in the engine.
    pub copies: u64,
    /// Of one copy.
    pub counts: Counts,
}

/// The area of one block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockArea {
    pub name: String,
    pub copies: u64,
    /// One copy, in the unit of the costs.
    pub one: f64,
}

impl BlockArea {
    /// All copies.
    pub fn all(&self) -> f64 {
        self.one * self.copies as f64
    }
}

/// The area of an engine, in GE or look-up tables as its costs are. Memories are apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    /// The top last.
    pub blocks: Vec<BlockArea>,
}

impl Area {
    /// Everything but the shell.
    pub fn core(&self) -> f64 {
        self.blocks.iter().filter(|b| b.name != SHELL).map(BlockArea::all).sum()
    }

    pub fn shell(&self) -> f64 {
        self.blocks.iter().filter(|b| b.name == SHELL).map(BlockArea::all).sum()
    }
}

/// A module in 128 bits: two modules of the same digest are taken for the same.
fn digest(module: &Module) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, module).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// Counts of the modules that this process has blasted, by digest.
static COUNTED: LazyLock<Mutex<HashMap<u128, Counts>>> = LazyLock::new(Mutex::default);
/// Blocks of the configurations that this process has described; the name is left out.
static KNOWN: LazyLock<Mutex<HashMap<HwConfig, Arc<[Block]>>>> = LazyLock::new(Mutex::default);
/// Configurations that are kept; a sweep over more of them starts anew. Chosen by us: some 100 MB.
const MOST_KNOWN: usize = 1 << 17;

fn counts_of(module: &Module) -> Counts {
    let known = || COUNTED.lock().unwrap_or_else(|e| e.into_inner());
    let key = digest(module);
    if let Some(counts) = known().get(&key) {
        return *counts;
    }
    let counts = Counts::of(&blast::module(module));
    known().insert(key, counts);
    counts
}

/// Every module of an engine with its gates, children before their parents. A module that was counted
/// before is not blasted again.
pub fn blocks(engine: &Engine) -> Vec<Block> {
    fn visit(module: &Rc<Module>, copies: u64, found: &mut Vec<(Rc<Module>, u64)>) {
        for instance in &module.instances {
            visit(&instance.module, copies * u64::from(instance.count), found);
        }
        match found.iter_mut().find(|(m, _)| Rc::ptr_eq(m, module)) {
            Some((_, n)) => *n += copies,
            None => found.push((module.clone(), copies)),
        }
    }
    let mut found = vec![];
    visit(&engine.top, 1, &mut found);
    let block = |(module, copies): (Rc<Module>, u64)| {
        let is_top = Rc::ptr_eq(&module, &engine.top);
        let name = if is_top { SHELL.to_string() } else { module.name.clone() };
        Block { name, copies, counts: counts_of(&module) }
    };
    found.into_iter().map(block).collect()
}

/// [`blocks`] of the engine of a configuration, which is described only where the process has not met it
/// before under any name.
pub fn blocks_of(config: &HwConfig) -> Arc<[Block]> {
    let key = HwConfig { name: String::new(), ..config.clone() };
    let known = || KNOWN.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(blocks) = known().get(&key) {
        return blocks.clone();
    }
    let found: Arc<[Block]> = blocks(&Engine::describe(config)).into();
    let mut known = known();
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(key, found.clone());
    found
}

/// The area of blocks by a model.
///
/// # Panics
/// When the model has no costs for a block: a technology file of another engine.
pub fn area(blocks: &[Block], model: &AreaModel) -> Area {
    let one = |block: &Block| {
        let costs = model.costs.get(&block.name);
        let costs = costs.unwrap_or_else(|| panic!("no costs for the block {}", block.name));
        Kind::ALL
            .iter()
            .map(|&k| block.counts[k] as f64 * costs.get(k.name()).unwrap_or(&0.0))
            .sum()
    };
    let of = |b: &Block| BlockArea { name: b.name.clone(), copies: b.copies, one: one(b) };
    Area { blocks: blocks.iter().map(of).collect() }
}

//! Memories of an engine: their shapes, and the block RAMs that an FPGA holds them in.
use std::rc::Rc;

use crate::engine::Engine;
use crate::rtl::Module;

/// One memory: one write port and one registered read port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    pub name: String,
    /// Words.
    pub depth: u32,
    /// Bits of a word.
    pub width: u32,
}

impl Memory {
    pub fn bits(&self) -> u64 {
        u64::from(self.depth) * u64::from(self.width)
    }

    /// The fewest block RAMs of the given shapes (words, bits), each side by side and one above the
    /// other; 0 without shapes.
    pub fn block_rams(&self, shapes: &[[u32; 2]]) -> u64 {
        let of = |[words, bits]: &[u32; 2]| {
            u64::from(self.depth.div_ceil(*words)) * u64::from(self.width.div_ceil(*bits))
        };
        shapes.iter().map(of).min().unwrap_or(0)
    }
}

/// Every memory of an engine, in the order of its description.
pub fn memories(engine: &Engine) -> Vec<Memory> {
    fn visit(module: &Rc<Module>, found: &mut Vec<Memory>) {
        found.extend(module.memories.iter().map(|m| Memory {
            name: m.name.clone(),
            depth: m.depth,
            width: m.fields.iter().map(|f| f.ty.width() * f.count).sum(),
        }));
        module.instances.iter().for_each(|i| visit(&i.module, found));
    }
    let mut found = vec![];
    visit(&engine.top, &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_rams_are_taken() {
        let memory = |depth, width| Memory { name: String::new(), depth, width };
        let shapes = [[256, 16], [512, 8], [1024, 4], [2048, 2]];
        assert_eq!(memory(256, 16).block_rams(&shapes), 1);
        assert_eq!(memory(512, 72).block_rams(&shapes), 9);
        assert_eq!(memory(600, 3).block_rams(&shapes), 1);
        assert_eq!(memory(1, 17).block_rams(&shapes), 2);
        assert_eq!(memory(8, 8).block_rams(&[]), 0);
    }

    #[test]
    fn edge_has_two_banks_and_three_stores() {
        let engine = Engine::describe(&crate::config::HwConfig::defaults());
        let found = memories(&engine);
        assert_eq!(found.len(), 5);
        let bank = found.iter().find(|m| m.name == "bank_a").expect("a bank");
        assert_eq!((bank.depth, bank.width), (512, 72));
    }
}

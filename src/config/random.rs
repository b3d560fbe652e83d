//! Random legal configurations, for tests and for the runs that fit and judge the estimates.
use super::schema::{FIELDS, Field, Kind, MOST_TREE_LEVELS, Rule};
use super::{HwConfig, Stage};
use crate::num::IntFormat;

/// The generator splitmix64: 64 bits in, 64 bits out, the same on every machine.
/// Source: G. Steele, D. Lea, C. Flood, Fast splittable pseudorandom number generators, 2014.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `n` - 1; the bias is below 2^-32 for the sizes used here.
    fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u32
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u32) as usize]
    }

    /// Some of `all`, in their order, at least one.
    fn some(&mut self, all: &[IntFormat]) -> Vec<IntFormat> {
        let chosen = 1 + self.below((1 << all.len()) - 1);
        let has = |&k: &usize| chosen >> k & 1 == 1;
        (0..all.len()).filter(has).map(|k| all[k]).collect()
    }
}

/// Keys that stay as they are.
const STAYS: [&str; 3] = ["kind", "macro_um2", "clock_ps"];
/// Keys that are drawn apart.
const APART: [&str; 2] = ["stages", "tree_levels"];

impl HwConfig {
    /// A legal configuration, the same for the same arguments on every machine.
    ///
    /// Every key is drawn over its whole range on its own (`lanes` to `most_lanes`, 1 to 64; `n_max`
    /// evenly over its binary logarithm), and a draw that breaks a rule between keys is thrown
    /// away: the result is spread evenly over the legal space. Registers are placed by hand, not by a
    /// clock, and the row buffer, which is no logic, is always the same.
    ///
    /// # Panics
    /// When `most_lanes` is not 1 to 64.
    pub fn random(seed: u64, most_lanes: u32) -> Self {
        assert!((1..=64).contains(&most_lanes), "{most_lanes} lanes at most; 1 to 64 are possible");
        let mut random = SplitMix(seed);
        loop {
            let config = Self::draw(&mut random, seed, most_lanes);
            if config.validate().is_ok() {
                return config.with_random_cuts(seed);
            }
        }
    }

    /// Registers from a generator of their own, so that the rest of a configuration is what it would be
    /// without.
    fn with_random_cuts(self, seed: u64) -> Self {
        let mut random = SplitMix(!seed);
        let chosen = random.below(1 << Stage::ALL.len());
        let has = |&k: &usize| chosen >> k & 1 == 1;
        let stages = (0..Stage::ALL.len()).filter(has).map(|k| Stage::ALL[k]).collect();
        Self { stages, tree_levels: random.below(MOST_TREE_LEVELS + 1), ..self }
    }

    /// A configuration in which every key alone is legal.
    fn draw(random: &mut SplitMix, seed: u64, most_lanes: u32) -> Self {
        let mut config = Self { name: format!("random{seed}"), ..Self::defaults() };
        let is_drawn = |f: &&Field| !STAYS.contains(&f.key) && !APART.contains(&f.key);
        for field in FIELDS.iter().filter(is_drawn) {
            match field.kind {
                Kind::Name | Kind::Rounding | Kind::Buffer | Kind::Stages => {}
                Kind::Formats { allowed, set, .. } => set(&mut config, random.some(allowed)),
                Kind::Number { rule, set, .. } => {
                    let value = match (field.key, rule) {
                        ("lanes", Rule::Range(least, _)) => {
                            least + random.below(most_lanes + 1 - least)
                        }
                        ("n_max", Rule::Range(_, most)) => {
                            let octave = random.below(most.ilog2() + 1);
                            ((1 << octave) + random.below(1 << octave)).min(most)
                        }
                        (_, Rule::Range(least, most)) => least + random.below(most + 1 - least),
                        _ => random.pick(&rule.values()),
                    };
                    set(&mut config, value);
                }
            }
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_configurations_are_legal_repeat_and_reach_every_value() {
        let all: Vec<HwConfig> = (0..400).map(|seed| HwConfig::random(seed, 32)).collect();
        assert!(all.iter().all(|c| c.validate().is_ok() && c.lanes <= 32));
        assert_eq!(all[7], HwConfig::random(7, 32));
        for field in FIELDS.iter().filter(|field| !STAYS.contains(&field.key)) {
            let Kind::Number { rule, get, .. } = field.kind else { continue };
            let mut values: Vec<u32> = all.iter().map(get).collect();
            values.sort_unstable();
            values.dedup();
            let most = rule.values().len().max(if matches!(rule, Rule::Range(..)) { 2 } else { 0 });
            assert!(values.len() >= most, "{}: {values:?}", field.key);
        }
        let widest = |c: &HwConfig| (c.input_bits(), c.output_bits());
        for pair in [(8, 8), (8, 16), (16, 8), (16, 16)] {
            assert!(all.iter().any(|c| widest(c) == pair), "{pair:?}");
        }
    }
}

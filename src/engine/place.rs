//! Chooses pipeline registers for a clock.
use super::Engine;
use super::cuts::Cuts;
use super::widths::log2_ceil;
use crate::config::{HwConfig, Stage};
use crate::rtl::timing::Path;

/// The longest path of an engine: the one question that the choice asks. Any model of delays can answer.
pub type LongestPath<'a> = &'a dyn Fn(&Engine) -> Path;

/// Registers that meet `clock_ps`: of all that do, those with the fewest bits.
///
/// # Errors
/// None do: a register in every place, and the longest path that is left.
pub fn choose(
    config: &HwConfig,
    clock_ps: u32,
    longest: LongestPath<'_>,
) -> Result<Cuts, (Cuts, Path)> {
    let path = |cuts: &Cuts| longest(&Engine::with_cuts(config, *cuts));
    let levels = log2_ceil(u64::from(config.lanes));
    let all = Cuts::of(Stage::ALL, u32::from(levels > 1));
    let best = path(&all);
    if best.ps > clock_ps {
        return Err((all, best));
    }
    // A place without whose register the clock is missed, whatever else has one, is no choice.
    let without = |stage: Stage| {
        let rest: Vec<Stage> = Stage::ALL.iter().copied().filter(|&s| s != stage).collect();
        Cuts::of(&rest, all.tree_levels)
    };
    let is_needed: Vec<bool> =
        Stage::ALL.iter().map(|&stage| path(&without(stage)).ps > clock_ps).collect();
    let mut met: Vec<(u64, Cuts)> = vec![];
    for chosen in 0..1usize << Stage::ALL.len() {
        let has = |k: &usize| chosen >> k & 1 == 1;
        if (0..Stage::ALL.len()).any(|k| is_needed[k] && !has(&k)) {
            continue;
        }
        let stages: Vec<Stage> = (0..Stage::ALL.len()).filter(has).map(|k| Stage::ALL[k]).collect();
        for tree_levels in 0..levels.max(1) {
            let cuts = Cuts::of(&stages, tree_levels);
            // More registers than in a choice that meets the clock are more bits.
            if met.iter().any(|(_, fewer)| cuts.has_all_of(fewer)) {
                continue;
            }
            let engine = Engine::with_cuts(config, cuts);
            if longest(&engine).ps <= clock_ps {
                met.push((engine.top.register_bits(), cuts));
            }
        }
    }
    let (_, cuts) = met.into_iter().min_by_key(|(bits, _)| *bits).expect("all of them meet it");
    Ok(cuts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::delay::LogicDepth;
    use crate::rtl::timing::longest_path;

    fn path(engine: &Engine) -> Path {
        longest_path(&engine.top, &LogicDepth)
    }

    /// What is chosen has the fewest register bits of everything that meets the clock.
    #[test]
    fn the_smallest_set_is_chosen() {
        let config = HwConfig { lanes: 4, ..HwConfig::defaults() };
        let mut all = vec![];
        for chosen in 0..1usize << Stage::ALL.len() {
            let has = |k: &usize| chosen >> k & 1 == 1;
            let stages: Vec<Stage> =
                (0..Stage::ALL.len()).filter(has).map(|k| Stage::ALL[k]).collect();
            for tree_levels in 0..2 {
                let engine = Engine::with_cuts(&config, Cuts::of(&stages, tree_levels));
                all.push((path(&engine).ps, engine.top.register_bits()));
            }
        }
        let fastest = all.iter().map(|(ps, _)| *ps).min().expect("a path");
        let slowest = all.iter().map(|(ps, _)| *ps).max().expect("a path");
        let mut bits = vec![];
        for clock in (fastest..=slowest).step_by(150) {
            let cuts = choose(&config, clock, &path).expect("a clock that can be met");
            let engine = Engine::with_cuts(&config, cuts);
            assert!(path(&engine).ps <= clock, "{cuts:?}");
            let met = all.iter().filter(|(ps, _)| *ps <= clock).map(|(_, bits)| *bits);
            assert_eq!(Some(engine.top.register_bits()), met.min(), "{clock}: {cuts:?}");
            bits.push(engine.top.register_bits());
        }
        assert!(bits.is_sorted_by(|a, b| a >= b) && bits.first() > bits.last(), "{bits:?}");
        let (cuts, best) = choose(&config, fastest - 1, &path).expect_err("too short");
        assert_eq!((best.ps, cuts.tree_levels), (fastest, 1));
    }
}

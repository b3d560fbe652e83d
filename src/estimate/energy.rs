//! Energy of an engine's rows: what its gates do, times what a technology says that takes.
use std::collections::BTreeMap;

use super::activity::{Activity, Event, Events};
use crate::tech::EnergyModel;

/// Energy of the rows of an activity. Memories, wires and the clock's tree are no part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// Of one row, without leakage, pJ.
    pub per_row_pj: f64,
    /// The part of it that clocks the flip-flops.
    pub clock_per_row_pj: f64,
    /// By block, of one row, pJ.
    pub blocks: BTreeMap<String, f64>,
    pub cycles_per_row: f64,
    /// uW, whatever the engine does.
    pub leakage_uw: f64,
}

/// Energy of events in fJ.
pub fn of_events(events: &Events, model: &EnergyModel) -> f64 {
    let cost = |e: &Event| model.costs_fj.get(e.name()).copied().unwrap_or(0.0);
    Event::ALL.iter().map(|e| events[*e] as f64 * cost(e)).sum()
}

/// Energy of an activity of an engine of so many GE.
pub fn energy(activity: &Activity, area_ge: f64, model: &EnergyModel) -> Energy {
    let per_row = 1e-3 / activity.rows as f64;
    let of = |e: &Events| of_events(e, model) * per_row;
    let mut clock = Events::default();
    clock[Event::Clock] = activity.total()[Event::Clock];
    Energy {
        per_row_pj: of(&activity.total()),
        clock_per_row_pj: of(&clock),
        blocks: activity.blocks.iter().map(|(name, e)| (name.clone(), of(e))).collect(),
        cycles_per_row: activity.cycles_per_row,
        leakage_uw: area_ge * model.leakage_nw_per_ge * 1e-3,
    }
}

impl Energy {
    /// Mean power in mW, leakage included, of an engine that always has rows, at a clock of so many ps.
    pub fn power_mw(&self, clock_ps: f64) -> f64 {
        // pJ a ps are W.
        1e3 * self.per_row_pj / (self.cycles_per_row * clock_ps) + 1e-3 * self.leakage_uw
    }

    /// Leakage in the time of one row, pJ.
    pub fn leakage_per_row_pj(&self, clock_ps: f64) -> f64 {
        1e-6 * self.leakage_uw * self.cycles_per_row * clock_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        let mut events = Events::default();
        events[Event::And] = 4000;
        events[Event::Clock] = 8000;
        let activity = Activity {
            rows: 2,
            cycles_per_row: 100.0,
            blocks: BTreeMap::from([("lane".to_string(), events)]),
        };
        let model = EnergyModel {
            source: "a test".into(),
            fitted: 0,
            held_out: 0,
            error_percent: None,
            leakage_error_percent: None,
            leakage_nw_per_ge: 0.1,
            costs_fj: BTreeMap::from([("and".to_string(), 10.0), ("clock".to_string(), 20.0)]),
        };
        let e = energy(&activity, 10_000.0, &model);
        assert!((e.per_row_pj - (20.0 + 80.0)).abs() < 1e-9 && e.clock_per_row_pj == 80.0);
        assert!((e.leakage_uw - 1.0).abs() < 1e-12);
        // 100 pJ in 100 ns is 1 mW, and 1 uW for 100 ns is 0.1 pJ.
        assert!((e.power_mw(1000.0) - 1.001).abs() < 1e-9);
        assert!((e.leakage_per_row_pj(1000.0) - 0.1).abs() < 1e-12);
    }
}

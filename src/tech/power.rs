//! What the cells of a Liberty library take: energy of a toggle, of a clock edge, and leakage.
//!
//! Units are those of the library throughout, turned into pF, ns, V, pJ and nW when it is read.
use std::collections::BTreeMap;

use super::cells::evaluate;
use super::liberty::Group;

/// A table over the input's slew (ns) and the load (pF); either may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    slews: Vec<f64>,
    loads: Vec<f64>,
    values: Vec<f64>,
}

impl Table {
    /// `index_1` is the slew. A table without an index is a number.
    fn of(group: &Group, scale: f64) -> Option<Self> {
        let values: Vec<f64> = group.numbers("values").iter().map(|v| v * scale).collect();
        let (mut slews, mut loads) = (group.numbers("index_1"), group.numbers("index_2"));
        if values.len() == 1 {
            (slews, loads) = (vec![], vec![]);
        }
        let fits = values.len() == slews.len().max(1) * loads.len().max(1);
        (fits && !values.is_empty()).then_some(Self { slews, loads, values })
    }

    /// Between the points of the table linearly; outside, the value at its edge.
    pub fn at(&self, slew: f64, load: f64) -> f64 {
        let (row, up) = place(&self.slews, slew);
        let (column, right) = place(&self.loads, load);
        let width = self.loads.len().max(1);
        let value = |r: usize, c: usize| self.values[r * width + c];
        let line = |r: usize| match right {
            0.0 => value(r, column),
            _ => value(r, column) * (1.0 - right) + value(r, column + 1) * right,
        };
        if up == 0.0 { line(row) } else { line(row) * (1.0 - up) + line(row + 1) * up }
    }
}

/// The point at or below `x`, and how far it is to the next, 0 to 1.
fn place(points: &[f64], x: f64) -> (usize, f64) {
    let above = points.iter().position(|&p| p > x).unwrap_or(points.len());
    if above == 0 || above == points.len() {
        return (above.saturating_sub(1), 0.0);
    }
    let (low, high) = (points[above - 1], points[above]);
    (above - 1, (x - low) / (high - low))
}

/// Tables of which the mean counts: rising and falling, and those of several conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mean(Vec<Table>);

impl Mean {
    /// 0 without a table.
    pub fn at(&self, slew: f64, load: f64) -> f64 {
        let sum: f64 = self.0.iter().map(|t| t.at(slew, load)).sum();
        sum / self.0.len().max(1) as f64
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An input pin.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub name: String,
    /// pF.
    pub capacitance: f64,
    /// Internal energy of a toggle that no output follows, pJ, over the slew.
    pub toggle: Mean,
}

/// An output pin.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub name: String,
    /// Its value for every value of the inputs, input k in bit k of the index. Of a flip-flop: 0b10 for its
    /// state, 0b01 for the state inverted.
    pub function: u64,
    /// Internal energy of one of its toggles by the input that caused it, in the order of the inputs.
    pub toggle: Vec<Mean>,
    /// Its slew.
    pub transition: Mean,
}

/// The edges of a flip-flop's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Flop {
    /// Index of the clock among the inputs.
    pub clock: usize,
    /// The next state for every value of the inputs.
    pub next_state: u64,
    /// 1 for the values of the inputs that clear the state.
    pub clear: u64,
    /// 1 for the values of the inputs that set the state.
    pub preset: u64,
    /// Internal energy of the rising edge, pJ, by `2 * (next state) + state` before it.
    pub rise: [Mean; 4],
    /// Of the falling edge.
    pub fall: [Mean; 4],
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub name: String,
    /// um^2.
    pub area: f64,
    /// nW, the mean over its states.
    pub leakage: f64,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    pub flop: Option<Flop>,
}

/// Cells whose functions are known: gates and flip-flops.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// V.
    pub voltage: f64,
    pub cells: BTreeMap<String, Cell>,
}

/// Most inputs of a cell, so that its function is 64 bits.
const MOST_INPUTS: usize = 6;

impl Cells {
    /// The cells of a library. Latches, gated clocks, three-state drivers and fillers are left out.
    pub fn of(library: &Group) -> Self {
        let voltage = library.number("nom_voltage").unwrap_or(1.0);
        let unit = library.attributes.iter().find(|(n, _)| n == "capacitive_load_unit");
        let factor = unit.and_then(|(_, v)| v.first()?.trim_matches('"').trim().parse().ok());
        let is_femto = unit.is_some_and(|(_, v)| {
            v.get(1).is_some_and(|u| u.trim_matches('"').trim().eq_ignore_ascii_case("ff"))
        });
        let capacitance = factor.unwrap_or(1.0) * if is_femto { 1e-3 } else { 1.0 };
        let leakage = match library.get("leakage_power_unit").unwrap_or("1nW") {
            u if u.ends_with("pW") => 1e-3,
            u if u.ends_with("uW") => 1e3,
            u if u.ends_with("mW") => 1e6,
            _ => 1.0,
        };
        // The unit of internal energy is that of V^2 times the unit of capacitance.
        let units = Units { capacitance, energy: capacitance, leakage };
        let cells = library.all("cell").filter_map(|cell| read(cell, &units));
        Self { voltage, cells: cells.map(|c| (c.name.clone(), c)).collect() }
    }
}

struct Units {
    capacitance: f64,
    energy: f64,
    leakage: f64,
}

/// The values of an expression for every value of the inputs and, above them, of the state.
fn table_of(text: &str, inputs: &[&str], state: Option<&str>) -> Option<u64> {
    let n = inputs.len() + usize::from(state.is_some());
    if n > MOST_INPUTS {
        return None;
    }
    let mut bits = 0;
    for case in 0..1u64 << n {
        let value = |name: &str| {
            let k = inputs.iter().position(|&i| i == name);
            let k = k.or((state == Some(name)).then_some(inputs.len()))?;
            Some(case >> k & 1 == 1)
        };
        bits |= u64::from(evaluate(text, &value)?) << case;
    }
    Some(bits)
}

/// Rising and falling tables of groups.
fn both<'g>(groups: impl Iterator<Item = &'g Group>, kinds: [&str; 2], scale: f64) -> Mean {
    let mut tables = vec![];
    for group in groups {
        for kind in kinds {
            tables.extend(group.all(kind).filter_map(|t| Table::of(t, scale)));
        }
    }
    Mean(tables)
}

const POWER: [&str; 2] = ["rise_power", "fall_power"];

/// Groups with a condition, or all of them where none has one: the one without is the default of the others.
fn conditional(groups: Vec<&Group>) -> Vec<&Group> {
    let with: Vec<&Group> = groups.iter().copied().filter(|g| g.get("when").is_some()).collect();
    if with.is_empty() { groups } else { with }
}

fn read(cell: &Group, units: &Units) -> Option<Cell> {
    let sort = |way: &str| -> Vec<&Group> {
        cell.all("pin").filter(|p| p.get("direction") == Some(way)).collect()
    };
    let (inputs, outputs) = (sort("input"), sort("output"));
    let names: Vec<&str> = inputs.iter().map(|p| p.name()).collect();
    let other = ["latch", "statetable", "latch_bank"].iter().any(|k| cell.all(k).next().is_some());
    let is_clock_gate = cell.get("clock_gating_integrated_cell").is_some();
    let is_open = outputs.iter().any(|p| p.get("three_state").is_some());
    if other || is_clock_gate || is_open || outputs.is_empty() || names.len() > MOST_INPUTS {
        return None;
    }
    let ff = cell.all("ff").next();
    let states = ff.map_or(&[][..], |ff| &ff.arguments);
    let mut made = vec![];
    for pin in &outputs {
        let function = pin.get("function")?;
        let function = match states.iter().position(|s| s == function) {
            Some(k) => 0b10 >> k,
            None if ff.is_some() => return None,
            None => table_of(function, &names, None)?,
        };
        let of = |input: &&str| {
            let related = pin.all("internal_power").filter(|g| {
                g.get("related_pin").is_some_and(|r| r.split_whitespace().any(|n| n == *input))
            });
            both(conditional(related.collect()).into_iter(), POWER, units.energy)
        };
        let timing = pin.all("timing").filter(|t| {
            !matches!(t.get("timing_type"), Some("clear" | "preset" | "three_state_disable"))
        });
        let transition = both(timing, ["rise_transition", "fall_transition"], 1.0);
        let toggle = names.iter().map(of).collect();
        made.push(Output { name: pin.name().into(), function, toggle, transition });
    }
    let is_clearing = |when: &str| {
        // A condition under which nothing but a reset holds.
        let Some(ff) = ff else { return false };
        let forced = ["clear", "preset"].map(|k| ff.get(k).and_then(|t| table_of(t, &names, None)));
        let forced = forced.into_iter().flatten().fold(0, |all, f| all | f);
        table_of(when, &names, None).is_some_and(|holds| holds & !forced == 0)
    };
    let input = |pin: &&Group| {
        let mut groups = conditional(pin.all("internal_power").collect());
        groups.retain(|g| !g.get("when").is_some_and(is_clearing));
        Input {
            name: pin.name().into(),
            capacitance: pin.number("capacitance").unwrap_or(0.0) * units.capacitance,
            toggle: both(groups.into_iter(), POWER, units.energy),
        }
    };
    let flop = match ff {
        Some(ff) => Some(flop(ff, &inputs, &names, &states[0], units)?),
        None => None,
    };
    let states: Vec<f64> = cell.all("leakage_power").filter_map(|l| l.number("value")).collect();
    let mean = states.iter().sum::<f64>() / states.len().max(1) as f64;
    Some(Cell {
        name: cell.name().into(),
        area: cell.number("area").unwrap_or(0.0),
        leakage: cell.number("cell_leakage_power").unwrap_or(mean) * units.leakage,
        inputs: inputs.iter().map(input).collect(),
        outputs: made,
        flop,
    })
}

fn flop(ff: &Group, inputs: &[&Group], names: &[&str], state: &str, units: &Units) -> Option<Flop> {
    let clock = names.iter().position(|n| ff.get("clocked_on") == Some(*n))?;
    let table = |name: &str| ff.get(name).map_or(Some(0), |text| table_of(text, names, None));
    let next_state = table("next_state")?;
    let (clear, preset) = (table("clear")?, table("preset")?);
    // Where nothing clears or sets, every condition holds that the inputs leave.
    let powers: Vec<&Group> = inputs[clock].all("internal_power").collect();
    let edge = |kind: &str, next: u64, held: u64| {
        let holds = |group: &&Group| {
            let Some(when) = group.get("when") else { return false };
            // `Q` is the output in conditions; the state has another name.
            (0..1u64 << names.len()).any(|case| {
                let is_idle = clear >> case & 1 == 0 && preset >> case & 1 == 0;
                let value = |name: &str| match names.iter().position(|n| *n == name) {
                    Some(k) => Some(case >> k & 1 == 1),
                    None if name == state || name == "Q" => Some(held == 1),
                    None if name.starts_with('Q') => Some(held == 0),
                    None => None,
                };
                is_idle && next_state >> case & 1 == next && evaluate(when, &value) == Some(true)
            })
        };
        let found: Vec<&Group> = powers.iter().copied().filter(holds).collect();
        let default = powers.iter().copied().filter(|g| g.get("when").is_none());
        let chosen = if found.is_empty() { default.collect() } else { found };
        both(chosen.into_iter(), [kind, ""], units.energy)
    };
    let of = |kind: &str| std::array::from_fn(|k| edge(kind, k as u64 >> 1, k as u64 & 1));
    Some(Flop { clock, next_state, clear, preset, rise: of("rise_power"), fall: of("fall_power") })
}

#[cfg(test)]
mod tests {
    use super::super::liberty::parse;
    use super::*;

    const TEXT: &str = r#"library (small) {
  capacitive_load_unit (1, pf); nom_voltage : 1.2; leakage_power_unit : "1pW";
  cell (XOR) { area : 4; cell_leakage_power : 80;
    pin (X) { direction : output; function : "(A^B)";
      timing () { related_pin : "A"; rise_transition (t) { index_1 ("0.1, 0.3"); index_2 ("1, 2");
        values ("1, 2", "3, 4"); } }
      internal_power () { related_pin : "A"; rise_power (s) { values ("9"); } }
      internal_power () { related_pin : "A"; when : "B";
        rise_power (s) { values ("1"); } fall_power (s) { values ("2"); } }
      internal_power () { related_pin : "B"; rise_power (s) { values ("5"); } } }
    pin (A) { direction : input; capacitance : 0.002; }
    pin (B) { direction : input; capacitance : 0.003; } }
  cell (DFF) { area : 9; ff (IQ, IQN) { clocked_on : "CK"; next_state : "D"; clear : "!RN"; }
    leakage_power () { value : 100; } leakage_power () { value : 300; }
    pin (QN) { direction : output; function : "IQN"; }
    pin (D) { direction : input; } pin (RN) { direction : input; }
    pin (CK) { direction : input; clock : true;
      internal_power () { when : "D&RN&Q"; rise_power (s) { values ("3"); } fall_power (s) { values ("4"); } }
      internal_power () { when : "D&!RN&!Q"; rise_power (s) { values ("99"); } }
      internal_power () { rise_power (s) { values ("7"); } } } }
  cell (LATCH) { area : 3; latch (IQ, IQN) { enable : "G"; } pin (Q) { direction : output; function : "IQ"; } }
}"#;

    #[test]
    fn energies_are_read_by_cause_and_state() {
        let cells = Cells::of(&parse(TEXT).expect("a library"));
        assert_eq!(cells.cells.len(), 2);
        let xor = &cells.cells["XOR"];
        assert_eq!((xor.outputs[0].function, xor.leakage), (0b0110, 0.08));
        let toggle = &xor.outputs[0].toggle;
        assert_eq!((toggle[0].at(0.1, 1.0), toggle[1].at(0.0, 0.0)), (1.5, 5.0));
        let slew = &xor.outputs[0].transition;
        assert_eq!((slew.at(0.2, 1.5), slew.at(0.0, 9.0), slew.at(9.0, 1.5)), (2.5, 2.0, 3.5));
        let dff = &cells.cells["DFF"];
        let flop = dff.flop.as_ref().expect("a flip-flop");
        assert_eq!((dff.leakage, dff.outputs[0].function, flop.clock), (0.2, 0b01, 2));
        assert_eq!(flop.rise[0b11].at(0.0, 0.0), 3.0);
        assert_eq!(flop.fall[0b11].at(0.0, 0.0), 4.0);
        assert_eq!(flop.rise[0b10].at(0.0, 0.0), 7.0, "no condition: the default");
        assert_eq!(flop.fall[0b10].at(0.0, 0.0), 0.0);
    }
}

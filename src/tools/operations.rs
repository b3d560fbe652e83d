//! One module for each operation and width: what an operation costs alone, and how far an estimate of it is
//! off. Costs are fitted to some widths and judged on others.
use std::path::Path;
use std::rc::Rc;

use super::calibrate::{Error, ErrorTable};
use super::samples::{SamplesError, folder};
use super::synthesis::{SynthesisError, Target, prepare, text_hash};
use crate::estimate::fit::{Sample, non_negative};
use crate::gates::{Counts, Kind, blast};
use crate::num::Interval;
use crate::rtl::{Module, Net, Word};
use crate::tech::Flow;

/// Widths in the fit, bits.
const FITTED: [u32; 3] = [8, 16, 24];
/// Widths that judge it.
const HELD_OUT: [u32; 2] = [12, 20];
/// The block under whose name the costs of operations stand.
pub const BLOCK: &str = "operation";

/// What an operation is made of: a net, two signed words of some width and a bit.
type Make = for<'n> fn(&'n Net, Word<'n>, Word<'n>, Word<'n>) -> Word<'n>;

/// Name and description of each operation.
const OPERATIONS: [(&str, Make); 12] = [
    ("add", |_, a, b, _| a + b),
    ("subtract", |_, a, b, _| a - b),
    ("less", |_, a, b, _| a.less(b)),
    ("equal", |_, a, b, _| a.equal(b)),
    ("choose", |_, a, b, s| s.mux(a, b)),
    ("select", |net, a, b, _| {
        let low = net.constant(0);
        net.select(b.bits(0, 2), &[a, b, low, a.shift_left(1)])
    }),
    ("shift_right", |_, a, b, _| a.shift_right_by(b.bits(0, 4))),
    ("multiply", |_, a, b, _| a * b.signed_bits(0, b.width() / 2)),
    ("multiply_add", |_, a, b, _| a.mul_add(b.signed_bits(0, b.width() / 2), b)),
    ("table", |_, a, _, _| {
        // Entries without a pattern that an optimiser could find.
        let mask = (1i64 << a.width()) - 1;
        let entry = |k: i64| (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15u64 as i64) >> 8 & mask;
        let entries: Vec<i64> = (0..32).map(entry).collect();
        a.bits(0, 5).rom("entries", &entries)
    }),
    ("register", |net, a, _, _| {
        let q = net.state("held", a.ty(), 1, None);
        net.drive(q, a, None);
        q
    }),
    ("register_enable", |net, a, _, s| {
        let q = net.state("held", a.ty(), 1, None);
        net.drive(q, a, Some(s));
        q
    }),
];

/// An operation at one width.
pub struct Operation {
    pub name: &'static str,
    pub width: u32,
    module: Rc<Module>,
}

/// Every operation at every width.
fn operations() -> Vec<Operation> {
    let mut all = vec![];
    for (name, make) in OPERATIONS {
        for width in FITTED.into_iter().chain(HELD_OUT) {
            let net =
                Net::new(&format!("{name}_{width}"), "src/tools/operations.rs", "one operation.");
            let ty = Interval::signed(width);
            let a = net.input("a", ty, "first word");
            let b = net.input("b", ty, "second word");
            let s = net.input("s", Interval::unsigned(1), "choice");
            let y = make(&net, a, b, s);
            let y = if y.name().is_empty() { y.named("result") } else { y };
            net.output("y", y, "result");
            all.push(Operation { name, width, module: net.finish() });
        }
    }
    all
}

/// A design that holds them all.
fn design(all: &[Operation]) -> Rc<Module> {
    let net = Net::new("operations", "src/tools/operations.rs, fn design", "every operation once.");
    let widest = Interval::signed(24);
    let a = net.input("a", widest, "first word");
    let b = net.input("b", widest, "second word");
    let s = net.input("s", Interval::unsigned(1), "choice");
    for operation in all {
        let name = format!("{}_{}x", operation.name, operation.width);
        let [a, b] = [a, b].map(|word| word.signed_bits(0, operation.width));
        let ports = [("a", a), ("b", b), ("s", s)];
        let y = net.instance(&name, &operation.module, 1, &ports)[0];
        net.output(&name, y, "its result");
    }
    net.finish()
}

const HEADER: &str = "rtl,operation,width,measured";

/// Measured areas by operation and width, in um^2 or look-up tables.
pub type Measurements = Vec<(String, u32, f64)>;

/// What a file holds of these operations; `None` when it has none, or those of another text.
///
/// # Errors
/// A line has not the four columns, or the file cannot be read.
pub fn read(path: &Path) -> Result<Option<Measurements>, SamplesError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(SamplesError::File { path: path.into(), message: e.to_string() }),
    };
    let hash = text_hash(&design(&operations()));
    let mut all = vec![];
    for (k, line) in text.lines().enumerate().skip(1) {
        let wrong = || SamplesError::Text { path: path.into(), line: k + 1, found: line.into() };
        let [rtl, name, width, measured] = line.split(',').collect::<Vec<_>>()[..] else {
            return Err(wrong());
        };
        if rtl != hash {
            return Ok(None);
        }
        let width = width.parse().map_err(|_| wrong())?;
        all.push((name.to_string(), width, measured.parse().map_err(|_| wrong())?));
    }
    Ok((!all.is_empty()).then_some(all))
}

/// What the file holds, or a measurement, which is then written there.
///
/// # Errors
/// As [`Target::measure`], and a file that cannot be read or written.
pub fn complete(path: &Path, target: &Target<'_>) -> Result<Measurements, SamplesError> {
    if let Some(known) = read(path)? {
        return Ok(known);
    }
    let all = operations();
    let top = design(&all);
    let folder = folder()?;
    let source = |source: SynthesisError| SamplesError::Operations { source };
    let measured = match target.flow() {
        Flow::Fpga => target.measure(&top, folder.path()),
        flow => prepare(&top, flow, folder.path())
            .and_then(|()| target.measure_prepared(&top, folder.path())),
    };
    let measured = measured.map_err(source)?;
    let (hash, mut text) = (text_hash(&top), format!("{HEADER}\n"));
    let mut found = vec![];
    for o in &all {
        let block = measured.iter().find(|m| m.block == o.module.name);
        let area = (block.map_or(0.0, |m| m.area) * 1e5).round() / 1e5;
        text += &format!("{hash},{},{},{area}\n", o.name, o.width);
        found.push((o.name.to_string(), o.width, area));
    }
    let write = std::fs::write(path, text);
    write.map_err(|e| SamplesError::File { path: path.into(), message: e.to_string() })?;
    Ok(found)
}

fn counts(operation: &Operation) -> [f64; Kind::ALL.len()] {
    let counts = Counts::of(&blast::module(&operation.module));
    Kind::ALL.map(|k| counts[k] as f64)
}

/// Costs of gates in operations that stand alone, from the widths in the fit.
pub fn fit_costs(
    measured: &Measurements,
    unit: f64,
    prior: &[f64; Kind::ALL.len()],
) -> [f64; Kind::ALL.len()] {
    let all = operations();
    let samples: Vec<Sample<{ Kind::ALL.len() }>> = (all.iter())
        .filter(|o| FITTED.contains(&o.width))
        .filter_map(|o| {
            let (.., area) = measured.iter().find(|(n, w, _)| n == o.name && *w == o.width)?;
            (*area > 0.0).then(|| Sample { counts: counts(o), measured: area / unit })
        })
        .collect();
    non_negative(&samples, prior)
}

/// The error of each operation over the widths that had no part in the fit.
pub fn errors(measured: &Measurements, unit: f64, costs: &[f64; Kind::ALL.len()]) -> ErrorTable {
    let all = operations();
    let mut table = ErrorTable::new();
    for (name, _) in OPERATIONS {
        let errors: Vec<f64> = (all.iter())
            .filter(|o| o.name == name && HELD_OUT.contains(&o.width))
            .filter_map(|o| {
                let (.., area) = measured.iter().find(|(n, w, _)| n == o.name && *w == o.width)?;
                let estimate: f64 = counts(o).iter().zip(costs).map(|(n, c)| n * c).sum();
                (*area > 0.0).then(|| 100.0 * (estimate / (area / unit) - 1.0))
            })
            .collect();
        if !errors.is_empty() {
            table.insert(format!("{BLOCK} {name}"), Error::of(&errors));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_printed_and_counted() {
        let all = operations();
        let top = design(&all);
        let style = crate::rtl::verilog::Style::new(crate::rtl::verilog::Dialect::Verilog2005);
        assert_eq!(crate::rtl::verilog::print_all(&top, &style).len(), all.len() + 1);
        assert_eq!(all.len(), OPERATIONS.len() * 5);
        for o in &all {
            assert!(counts(o).iter().sum::<f64>() > 0.0, "{}_{} has no gate", o.name, o.width);
        }
    }
}

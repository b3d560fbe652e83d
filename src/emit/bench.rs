//! Test benches around an emitted top module, printed from the layout of a recorded cycle.
use super::EmitError;
use super::template::{Values, fill};
use crate::simulate::record::{Layout, Wire};

/// Names that a bench is printed with.
#[derive(Clone, Debug)]
pub struct Names {
    /// Module under test, with its prefix.
    pub top: String,
    /// Module of the bench.
    pub bench: String,
}

fn range(bits: u32) -> String {
    if bits == 1 { String::new() } else { format!("[{}:0] ", bits - 1) }
}

fn slice(of: &str, low: u32, bits: u32) -> String {
    if bits == 1 { format!("{of}[{low}]") } else { format!("{of}[{}:{low}]", low + bits - 1) }
}

fn connections(layout: &Layout, stimulus: &str) -> String {
    let inputs = layout.inputs.iter();
    let inputs = inputs.map(|w| format!("    .{}_i({})", w.name, slice(stimulus, w.low, w.bits())));
    let outputs = layout.outputs.iter().map(|w| format!("    .{0}_o({0}_o)", w.name));
    inputs.chain(outputs).collect::<Vec<_>>().join(",\n")
}

fn wires(layout: &Layout) -> String {
    let one = |w: &Wire| format!("  wire {}{}_o;\n", range(w.bits()), w.name);
    layout.outputs.iter().map(one).collect()
}

/// The self-checking bench that is emitted. `files` are the vectors that it runs by itself; `header`
/// are comment lines.
///
/// # Errors
/// As `fill`.
pub fn self_checking(
    layout: &Layout,
    names: &Names,
    files: &[String],
    header: &[String],
) -> Result<String, EmitError> {
    let mut checks = vec![];
    for (k, w) in layout.outputs.iter().enumerate() {
        let want = slice("line", w.low, w.bits());
        checks.push(format!(
            "      if (line[{mask}] && {name}_o !== {want}) begin\n        \
             mismatches = mismatches + 1;\n        \
             if (mismatches <= 20) begin\n          \
             $display(\"MISMATCH: cycle %0d: {name}: expected %h, got %h\", cycle,\n                   \
             {want}, {name}_o);\n        end\n      end",
            mask = layout.mask_low + k as u32,
            name = w.name,
        ));
    }
    let stimulus_high = layout.outputs.first().map_or(layout.bits, |w| w.low) - 1;
    let runs: Vec<String> = files.iter().map(|f| format!("      run(\"{f}\");")).collect();
    let header: String = header.iter().map(|l| format!("// {l}\n")).collect();
    let values = Values::from([
        ("top", names.top.clone()),
        ("bench", names.bench.clone()),
        ("header", header),
        ("line_high", (layout.bits - 1).to_string()),
        ("stimulus_high", stimulus_high.to_string()),
        ("wires", wires(layout)),
        ("connections", connections(layout, "stimulus")),
        ("checks", checks.join("\n")),
        ("runs", runs.join("\n")),
    ]);
    fill("test_bench.v", include_str!("../../rtl_templates/test_bench.v"), &values)
}

/// The C++ bench and its wrapper module, for Verilator: (wrapper, main).
///
/// # Errors
/// As `fill`.
pub fn for_verilator(layout: &Layout, names: &Names) -> Result<(String, String), EmitError> {
    let outputs = &layout.outputs;
    let got_bits: u32 = outputs.iter().map(Wire::bits).sum();
    let reversed = |text: &dyn Fn(usize, &Wire) -> String| -> String {
        let all: Vec<String> = outputs.iter().enumerate().map(|(k, w)| text(k, w)).collect();
        all.into_iter().rev().map(|l| format!("    {l}")).collect::<Vec<_>>().join(",\n")
    };
    let verdict = |k: usize, w: &Wire| {
        let mask = layout.mask_low + k as u32;
        format!("line_i[{mask}] & ({}_o != {})", w.name, slice("line_i", w.low, w.bits()))
    };
    let values = Values::from([
        ("top", names.top.clone()),
        ("bench", names.bench.clone()),
        ("line_high", (layout.bits - 1).to_string()),
        ("got_high", (got_bits + 63).to_string()),
        ("count_high", (outputs.len() - 1).to_string()),
        ("wires", wires(layout)),
        ("connections", connections(layout, "line_i")),
        ("outputs", reversed(&|_, w| format!("{}_o", w.name))),
        ("verdicts", reversed(&verdict)),
    ]);
    let text = include_str!("../../rtl_templates/lockstep_top.v");
    let wrapper = fill("lockstep_top.v", text, &values)?;
    let mut low = 0;
    let mut table = vec![];
    for w in outputs {
        table.push(format!("  {{\"{}\", {low}, {}, {}}},", w.name, w.low, w.bits()));
        low += w.bits();
    }
    let values = Values::from([
        ("bench", names.bench.clone()),
        ("digits", layout.digits().to_string()),
        ("table", table.join("\n")),
    ]);
    let text = include_str!("../../rtl_templates/lockstep_main.cpp");
    Ok((wrapper, fill("lockstep_main.cpp", text, &values)?))
}

//! Keys that are legal alone and not together.
use super::HwConfig;
use super::hw_config::BufferKind;
use super::read::Reading;
use crate::num::IntFormat;

/// Two keys that are legal alone and not together.
pub struct Clash {
    /// Full names; the problem is shown at the first that the text sets.
    pub keys: [&'static str; 2],
    /// What is found at each.
    found: [String; 2],
    /// The rule for each, as seen from it.
    expected: [String; 2],
    help: String,
}

impl Clash {
    /// Reports it at the first of the two keys that the text sets.
    pub fn report(self, reading: &mut Reading) {
        let at = usize::from(!reading.entries.contains_key(self.keys[0]));
        let other = self.keys[1 - at];
        let source = match reading.entries.get(other) {
            Some(entry) => format!("line {}", reading.line(entry.span.start)),
            None => "by default".into(),
        };
        let Some(entry) = reading.entries.get(self.keys[at]) else { return };
        let span = entry.span.clone();
        let expected =
            format!("{}, as {other} is {} ({source})", self.expected[at], self.found[1 - at]);
        reading.report(span, self.keys[at], &self.found[at], &expected, self.help);
    }
}

/// Least `multiplier_bits` of an engine with a 16-bit output: the table of the logarithm has that
/// many fraction bits less one in its argument, 8 or more in its slope, and 26 in its result.
const WIDE_OUTPUT_MULTIPLIER_BITS: u32 = 19;

/// Help where registers are placed twice.
const BY_CLOCK: &str = "a clock places every register itself; leave out one of the two";

/// Every contradiction in a configuration.
pub fn clashes(c: &HwConfig) -> Vec<Clash> {
    let mut clashes = Vec::new();
    let clash = |keys, found: [u32; 2], expected: [String; 2], help: String| Clash {
        keys,
        found: found.map(|v| v.to_string()),
        expected,
        help,
    };
    let (lanes, n_max) = (c.lanes, c.n_max);
    if n_max < lanes {
        clashes.push(clash(
            ["engine.n_max", "engine.lanes"],
            [n_max, lanes],
            [format!("at least {lanes}"), format!("at most {n_max}")],
            format!("round n_max up to {lanes}; a shorter row would leave lanes idle for ever"),
        ));
    }
    let (fraction, width) = (c.exp_fraction_bits, c.multiplier_bits);
    if fraction + 5 > width {
        let lower = if width >= 13 {
            format!(", or lower exp_fraction_bits to {}", width - 5)
        } else {
            String::new()
        };
        clashes.push(clash(
            ["lane.exp_fraction_bits", "lane.multiplier_bits"],
            [fraction, width],
            [format!("at most {}", width - 5), format!("at least {}", fraction + 5)],
            format!(
                "the argument has 5 bits above its fraction; raise multiplier_bits to {}{lower}",
                fraction + 5
            ),
        ));
    }
    let output = c.output_bits();
    let quoted = |formats: &[IntFormat]| {
        let quoted: Vec<String> = formats.iter().map(|f| format!("\"{f}\"")).collect();
        format!("[{}]", quoted.join(", "))
    };
    // Where a mantissa is shifted up to the output's binary point, and to that of the sum of a row
    // of one element, no place is left over.
    let most = output + 4;
    if fraction > most {
        clashes.push(Clash {
            keys: ["lane.exp_fraction_bits", "formats.output"],
            found: [fraction.to_string(), quoted(&c.output_formats)],
            expected: [format!("at most {most}"), "a 16-bit format".into()],
            help: format!(
                "an exponential has no use for more than 4 bits below its {output}-bit code; lower \
                 exp_fraction_bits to {most}"
            ),
        });
    }
    if output == 16 && width < WIDE_OUTPUT_MULTIPLIER_BITS {
        let least = WIDE_OUTPUT_MULTIPLIER_BITS;
        clashes.push(Clash {
            keys: ["lane.multiplier_bits", "formats.output"],
            found: [width.to_string(), quoted(&c.output_formats)],
            expected: [format!("at least {least}"), "no format wider than 8 bits".into()],
            help: format!(
                "the logarithm of a row's sum has 26 fraction bits for a 16-bit code; raise \
                 multiplier_bits to {least}, or leave the 16-bit formats out"
            ),
        });
    }
    let (segments, most) = (c.exp_segments, 1 << (fraction - 2));
    if segments > most {
        let least = segments.ilog2() + 2;
        clashes.push(clash(
            ["lane.exp_segments", "lane.exp_fraction_bits"],
            [segments, fraction],
            [format!("at most {most}"), format!("at least {least}")],
            format!(
                "a segment needs at least 4 argument steps; lower exp_segments to {most}, or raise \
                 exp_fraction_bits to {least}"
            ),
        ));
    }
    if c.reciprocal_segments > 0 && c.element_bits < 16 {
        clashes.push(clash(
            ["scalar.reciprocal_segments", "row_buffer.element_bits"],
            [c.reciprocal_segments, c.element_bits],
            ["0".into(), "16".into()],
            "the table serves stored exponentials, which need 16 bits; set element_bits = 16 in \
             [row_buffer], or reciprocal_segments = 0"
                .into(),
        ));
    }
    if c.clock_ps > 0 && c.tree_levels > 0 {
        clashes.push(clash(
            ["pipeline.tree_levels", "pipeline.clock_ps"],
            [c.tree_levels, c.clock_ps],
            ["0".into(), "0".into()],
            BY_CLOCK.into(),
        ));
    }
    if c.clock_ps > 0 && !c.stages.is_empty() {
        let names: Vec<String> = c.stages.iter().map(|s| format!("\"{}\"", s.text())).collect();
        clashes.push(Clash {
            keys: ["pipeline.stages", "pipeline.clock_ps"],
            found: [format!("[{}]", names.join(", ")), c.clock_ps.to_string()],
            expected: ["[]".into(), "0".into()],
            help: BY_CLOCK.into(),
        });
    }
    if c.macro_um2 > 0 && c.buffer_kind != BufferKind::Macro {
        clashes.push(Clash {
            keys: ["row_buffer.macro_um2", "row_buffer.kind"],
            found: [c.macro_um2.to_string(), format!("\"{}\"", c.buffer_kind.text())],
            expected: ["0".into(), "\"macro\"".into()],
            help:
                "the area is that of a macro; set kind = \"macro\" in [row_buffer], or leave it out"
                    .into(),
        });
    }
    if c.element_bits < c.input_bits() {
        let wide = c.input_formats.iter().find(|f| f.bits > c.element_bits);
        let name = wide.map_or(String::new(), IntFormat::to_string);
        clashes.push(Clash {
            keys: ["row_buffer.element_bits", "formats.input"],
            found: [c.element_bits.to_string(), quoted(&c.input_formats)],
            expected: ["16".into(), format!("no format wider than {} bits", c.element_bits)],
            help: format!(
                "the row buffer holds the input; set element_bits = 16 in [row_buffer], or leave \
                 out {name}"
            ),
        });
    }
    clashes
}

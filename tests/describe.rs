//! Every legal configuration can be described and printed.
use std::path::Path;
use std::rc::Rc;

use mive::config::{self, HwConfig, TAKEN_NAMES};
use mive::engine::Engine;
use mive::rtl::Module;
use mive::rtl::verilog::{Dialect, Style, print_all};
use proptest::prelude::*;

#[test]
fn shipped_configurations_describe() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("hw_configs");
    let mut n = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of configurations") {
        let path = entry.expect("an entry").path();
        let config = config::load(&path).expect("a shipped configuration is legal");
        assert!(Engine::describe(&config).top.register_bits() > 100);
        n += 1;
    }
    assert!(n >= 5);
}

/// Names of the modules below `module`, the memory's included.
fn names_below(module: &Rc<Module>, names: &mut Vec<String>) {
    names.extend(module.memories.iter().map(|m| m.kind.module().to_string()));
    for instance in &module.instances {
        names.push(instance.module.name.clone());
        names_below(&instance.module, names);
    }
}

/// Describes and prints; the names of all modules must be known to the check of a configuration.
fn describe_and_print(config: &HwConfig) {
    let engine = Engine::describe(config);
    let mut names = vec![];
    names_below(&engine.top, &mut names);
    for name in &names {
        assert!(TAKEN_NAMES.contains(&name.as_str()), "`{name}` is missing in TAKEN_NAMES");
    }
    for dialect in [Dialect::SystemVerilog, Dialect::Verilog2005] {
        let files = print_all(&engine.top, &Style::new(dialect));
        assert!(files.len() >= 8, "{}: {} files", config.name, files.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_passes_the_check_is_described_and_printed(seed in any::<u64>(), most_lanes in 1u32..=64) {
        describe_and_print(&HwConfig::random(seed, most_lanes));
    }
}

/// Where the rules between keys meet their limits.
#[test]
fn the_corners_of_the_legal_space_are_described_and_printed() {
    let mut n = 0;
    for formats in 0..4 {
        let (input, output) = (8 << (formats & 1), 8 << (formats >> 1));
        let signed = |bits| format!("s{bits}").parse().expect("a format");
        for (multiplier_bits, exp_fraction_bits) in [(13, 8), (16, 11), (19, 14), (28, 20), (28, 8)]
        {
            for digit_bits in [2, 15] {
                for (n_max, lanes) in [(1, 1), (64, 64), (131_072, 1), (131_072, 64)] {
                    let config = HwConfig {
                        name: "corner".into(),
                        input_formats: vec![signed(input)],
                        output_formats: vec![signed(output)],
                        multiplier_bits: if output == 16 {
                            multiplier_bits.max(19)
                        } else {
                            multiplier_bits
                        },
                        exp_fraction_bits: exp_fraction_bits.min(output + 4),
                        exp_segments: 4,
                        element_bits: 16,
                        reciprocal_segments: 4,
                        rsqrt_segments: 4,
                        log2_segments: 4,
                        newton_steps: 1,
                        digit_bits,
                        n_max,
                        lanes,
                        ..HwConfig::defaults()
                    };
                    config.validate().unwrap_or_else(|errors| panic!("{errors}"));
                    describe_and_print(&config);
                    n += 1;
                }
            }
        }
    }
    assert_eq!(n, 4 * 5 * 2 * 4);
}

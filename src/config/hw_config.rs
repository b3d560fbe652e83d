//! The validated configuration: every number of it, its text and its hash.
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::{ConfigErrors, parse, schema};
use crate::num::IntFormat;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }
        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
            /// The word used in a configuration.
            pub fn text(self) -> &'static str { match self { $($name::$variant => $text),+ } }
            /// Words of all of them, in order.
            pub fn names() -> Vec<&'static str> { Self::ALL.iter().map(|v| v.text()).collect() }
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.text() == text)
            }
        }
    };
}

words! {
/// A place for pipeline registers, besides those between the levels of the reduction trees.
Stage {
    /// Before the maximum of the elements that are loaded.
    Load = "load",
    /// Before the multiplier of each lane.
    Operands = "operands",
    /// Between a lane's multiply-add and its shifter.
    Product = "product",
    /// Between a lane's shifter and the reduction tree.
    Leaf = "leaf",
    /// Between a lane's shifter and its output stage.
    Output = "output",
    /// At the operands of the scalar unit.
    Scalar = "scalar",
}}

words! {
/// What a bank of the row buffer is made of.
BufferKind {
    FlipFlops = "flip_flops",
    Latches = "latches",
    /// A memory macro of the technology, in the place of a wrapper module.
    Macro = "macro",
}}

/// What distinguishes one engine from another. Every value obeys the rules of the schema when it
/// comes from [`parse`]; after changing a field, call [`HwConfig::validate`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct HwConfig {
    /// Prefix of every emitted name: a small letter, then small letters, digits and `_`; 1 to 32
    /// characters, and not the name of one of the engine's modules.
    pub name: String,
    /// Copies of the element datapath, 1 to 64.
    pub lanes: u32,
    /// Longest row, elements, `lanes` to 131072.
    pub n_max: u32,
    /// Signed formats a row may arrive in, in the order s8, s16.
    #[serde(serialize_with = "as_text")]
    pub input_formats: Vec<IntFormat>,
    /// Formats a row may leave in, in the order s8, u8, s16, u16.
    #[serde(serialize_with = "as_text")]
    pub output_formats: Vec<IntFormat>,
    /// Width of the broadcast operand and of the lane register, bits, 12 to 28; 19 or more with a
    /// 16-bit output.
    pub multiplier_bits: u32,
    /// Segments of the exponential's table, a power of two, 4 to 256 and at most
    /// 2^(`exp_fraction_bits` - 2).
    pub exp_segments: u32,
    /// Fraction bits of the exponential's argument, 8 to 20, at most `multiplier_bits` - 5 and at
    /// most 4 more than the bits of the widest output.
    pub exp_fraction_bits: u32,
    /// Width of an element of the row buffer, bits, 8 or 16; at least the widest input.
    pub element_bits: u32,
    /// What the banks of the row buffer are made of.
    pub buffer_kind: BufferKind,
    /// Area of one bank's macro, um^2; 0 when the technology's density is taken.
    pub macro_um2: u32,
    /// Bits of the serial operand that the scalar multiplier takes each cycle, 2 to 15.
    pub digit_bits: u32,
    /// Segments of the reciprocal root's table, a power of two, 4 to 256.
    pub rsqrt_segments: u32,
    /// Segments of the logarithm's table, a power of two, 4 to 512.
    pub log2_segments: u32,
    /// Segments of the reciprocal's table, a power of two, 4 to 256; 0 when softmax keeps no
    /// exponentials.
    pub reciprocal_segments: u32,
    /// Newton steps after the reciprocal root's table, 0 or 1.
    pub newton_steps: u32,
    /// Micro-ops of the vector program memory, 4 to 64.
    pub vector_words: u32,
    /// Micro-ops of the scalar program memory, 16 to 256.
    pub scalar_words: u32,
    /// Clock period for which registers are placed, ps, 100 to 1000000; 0 when `stages` and
    /// `tree_levels` say where.
    pub clock_ps: u32,
    /// Places that get a pipeline register, in the order of [`Stage`].
    pub stages: Vec<Stage>,
    /// Levels of a reduction tree between two registers, 1 to 5; 0 for none.
    pub tree_levels: u32,
}

fn as_text<S: Serializer>(formats: &[IntFormat], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(formats.iter().map(IntFormat::to_string))
}

fn widest(formats: &[IntFormat]) -> u32 {
    formats.iter().map(|format| format.bits).max().unwrap_or(0)
}

impl HwConfig {
    /// The values of `hw_configs/edge.toml`. All of them are choices of ours.
    pub fn defaults() -> Self {
        Self {
            name: "edge".into(),
            lanes: 8,
            n_max: 4096,
            input_formats: vec![IntFormat::S8],
            output_formats: vec![IntFormat::S8, IntFormat::U8],
            multiplier_bits: 16,
            exp_segments: 16,
            exp_fraction_bits: 11,
            element_bits: 8,
            buffer_kind: BufferKind::FlipFlops,
            macro_um2: 0,
            digit_bits: 7,
            rsqrt_segments: 32,
            log2_segments: 32,
            reciprocal_segments: 0,
            newton_steps: 0,
            vector_words: 8,
            scalar_words: 64,
            clock_ps: 0,
            stages: vec![],
            tree_levels: 0,
        }
    }

    /// Width of the widest input format, bits, 8 or 16.
    pub fn input_bits(&self) -> u32 {
        widest(&self.input_formats)
    }

    /// Width of the widest output format, bits, 8 or 16.
    pub fn output_bits(&self) -> u32 {
        widest(&self.output_formats)
    }

    /// Chunks of the longest row, 1 to 131072.
    pub fn n_chunks_max(&self) -> u32 {
        self.n_max.div_ceil(self.lanes.max(1))
    }

    /// The full configuration without comments, one text for one configuration:
    /// `parse(&config.to_toml(), ..)` gives `config` again.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for table in &schema::TABLES {
            if !table.name.is_empty() {
                text += &format!("\n[{}]\n", table.name);
            }
            for field in schema::fields_of(table.name) {
                text += &format!("{} = {}\n", field.key, field.kind.print(self));
            }
        }
        text
    }

    /// SHA-256 of [`HwConfig::to_toml`], 64 hexadecimal digits.
    pub fn sha256(&self) -> String {
        Sha256::digest(self.to_toml()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Checks a configuration that was made or changed in code.
    ///
    /// # Errors
    /// As [`parse`]; the lines are those of [`HwConfig::to_toml`].
    pub fn validate(&self) -> Result<(), ConfigErrors> {
        parse(&self.to_toml(), &self.name).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_follow_from_the_fields() {
        let mut config = HwConfig { lanes: 3, n_max: 64, ..HwConfig::defaults() };
        assert_eq!((config.input_bits(), config.output_bits(), config.n_chunks_max()), (8, 8, 22));
        config.output_formats.push(IntFormat::U16);
        config.multiplier_bits = 24;
        assert_eq!(config.output_bits(), 16);
        assert_eq!(config.validate(), Ok(()));
        config.lanes = 65;
        assert!(config.validate().is_err());
    }

    #[test]
    fn the_hash_sees_every_field() {
        let hash = HwConfig::defaults().sha256();
        assert_eq!(hash.len(), 64);
        assert_ne!(hash, HwConfig { scalar_words: 97, ..HwConfig::defaults() }.sha256());
    }

    #[test]
    fn json_has_formats_as_text() {
        let json = serde_json::to_value(HwConfig::defaults()).expect("plain data");
        assert_eq!(json["output_formats"], serde_json::json!(["s8", "u8"]));
    }
}

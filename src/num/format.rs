//! Integer formats: a width and a signedness, written `s8` or `u16`.
use std::fmt;
use std::str::FromStr;

/// Width and signedness of an integer code, written `s8`, `u8`, `s16` or `u16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntFormat {
    /// Width in bits, 8 or 16.
    pub bits: u32,
    /// Two's complement when true.
    pub is_signed: bool,
}

impl IntFormat {
    pub const S8: IntFormat = IntFormat { bits: 8, is_signed: true };
    pub const U8: IntFormat = IntFormat { bits: 8, is_signed: false };
    pub const S16: IntFormat = IntFormat { bits: 16, is_signed: true };
    pub const U16: IntFormat = IntFormat { bits: 16, is_signed: false };

    /// Smallest code.
    pub fn min(self) -> i64 {
        if self.is_signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    /// Largest code.
    pub fn max(self) -> i64 {
        if self.is_signed { (1 << (self.bits - 1)) - 1 } else { (1 << self.bits) - 1 }
    }
}

impl fmt::Display for IntFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", if self.is_signed { 's' } else { 'u' }, self.bits))
    }
}

impl FromStr for IntFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "s8" => Ok(Self::S8),
            "u8" => Ok(Self::U8),
            "s16" => Ok(Self::S16),
            "u16" => Ok(Self::U16),
            _ => Err(format!("`{text}` is not a format; expected s8, u8, s16 or u16")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_range_round_trip() {
        for (text, min, max) in
            [("s8", -128, 127), ("u8", 0, 255), ("s16", -32768, 32767), ("u16", 0, 65535)]
        {
            let format: IntFormat = text.parse().expect("a legal format");
            assert_eq!((format.to_string().as_str(), format.min(), format.max()), (text, min, max));
        }
        assert!("s9".parse::<IntFormat>().is_err());
    }
}

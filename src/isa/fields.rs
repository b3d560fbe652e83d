//! Bit fields of an instruction word: names, widths and positions, lowest field first.

/// One field of an instruction word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    /// Width in bits, 1 to 62.
    pub bits: u32,
    /// Two's complement when true.
    pub is_signed: bool,
}

/// The fields of one kind of word, lowest first, without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSet {
    pub fields: Vec<Field>,
}

impl FieldSet {
    /// From (name, bits); a name that ends in `±` is a signed field of that name without it.
    pub fn new(fields: &[(&'static str, u32)]) -> Self {
        let fields = fields
            .iter()
            .map(|&(name, bits)| match name.strip_suffix('±') {
                Some(name) => Field { name, bits, is_signed: true },
                None => Field { name, bits, is_signed: false },
            })
            .collect();
        Self { fields }
    }

    /// Width of the whole word in bits.
    pub fn width(&self) -> u32 {
        self.fields.iter().map(|f| f.bits).sum()
    }

    /// Index of a field by its name.
    pub fn index(&self, name: &str) -> usize {
        self.fields.iter().position(|f| f.name == name).expect("a field of this set")
    }

    /// Lowest bit of a field.
    pub fn offset(&self, index: usize) -> u32 {
        self.fields[..index].iter().map(|f| f.bits).sum()
    }

    /// Packs values, in the order of the fields. A value outside its field is given back as its index.
    pub fn encode(&self, values: &[i64]) -> Result<u128, usize> {
        let mut word = 0u128;
        for (i, (f, &v)) in self.fields.iter().zip(values).enumerate() {
            let (lo, hi) = if f.is_signed {
                (-(1i64 << (f.bits - 1)), (1i64 << (f.bits - 1)) - 1)
            } else {
                (0, (1i64 << f.bits) - 1)
            };
            if v < lo || v > hi {
                return Err(i);
            }
            let mask = (1u128 << f.bits) - 1;
            word |= (v as u128 & mask) << self.offset(i);
        }
        Ok(word)
    }

    /// Unpacks a word; the inverse of [`FieldSet::encode`].
    pub fn decode(&self, word: u128) -> Vec<i64> {
        (0..self.fields.len())
            .map(|i| {
                let f = &self.fields[i];
                let raw = (word >> self.offset(i)) & ((1u128 << f.bits) - 1);
                let value = raw as i64;
                if f.is_signed && raw >> (f.bits - 1) == 1 {
                    value - (1i64 << f.bits)
                } else {
                    value
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        let set = FieldSet::new(&[("a", 2), ("b±", 5), ("c", 1)]);
        assert_eq!(set.width(), 8);
        for a in 0..4 {
            for b in -16..16 {
                for c in 0..2 {
                    let word = set.encode(&[a, b, c]).expect("in range");
                    assert_eq!(set.decode(word), [a, b, c]);
                }
            }
        }
        assert_eq!(set.encode(&[4, 0, 0]), Err(0));
        assert_eq!(set.encode(&[0, 16, 0]), Err(1));
    }
}

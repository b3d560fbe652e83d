//! Integer intervals `[lo, hi]`: the type of every word. Width and signedness follow from them.
use std::fmt;

/// All integers from `lo` to `hi`, both included. Bounds stay inside 63 bits so that sums and
/// products of intervals can be formed in `i128` and checked when they come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    pub lo: i64,
    pub hi: i64,
}

#[allow(clippy::should_implement_trait)]
impl Interval {
    /// # Panics
    /// When `lo > hi`: a wrong description of the hardware, never a user's input.
    pub fn new(lo: i64, hi: i64) -> Self {
        assert!(lo <= hi, "empty interval [{lo}, {hi}]");
        Self { lo, hi }
    }

    /// Every value of an unsigned word of `bits` bits (0 to 62).
    pub fn unsigned(bits: u32) -> Self {
        assert!(bits <= 62, "an unsigned word of {bits} bits; the widest is 62");
        Self::new(0, (1i64 << bits) - 1)
    }

    /// Every value of a two's complement word of `bits` bits (1 to 63).
    pub fn signed(bits: u32) -> Self {
        assert!((1..=63).contains(&bits), "a signed word of {bits} bits; 1 to 63 are possible");
        Self::new(-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
    }

    pub fn is_signed(self) -> bool {
        self.lo < 0
    }

    /// Bits of the narrowest word that holds every value; at least 1.
    pub fn width(self) -> u32 {
        let magnitude = |v: i64| 64 - if v < 0 { !v } else { v }.leading_zeros();
        let bits = magnitude(self.lo).max(magnitude(self.hi));
        (bits + u32::from(self.is_signed())).max(1)
    }

    pub fn contains(self, value: i64) -> bool {
        self.lo <= value && value <= self.hi
    }

    pub fn union(self, other: Self) -> Self {
        Self::new(self.lo.min(other.lo), self.hi.max(other.hi))
    }

    fn from_wide(lo: i128, hi: i128, what: &str) -> Self {
        let fits = |v: i128| i64::try_from(v).is_ok_and(|v| v.abs() < 1 << 62);
        assert!(fits(lo) && fits(hi), "{what} needs more than 63 bits: [{lo}, {hi}]");
        Self::new(lo as i64, hi as i64)
    }

    pub fn add(self, o: Self) -> Self {
        Self::from_wide(
            i128::from(self.lo) + i128::from(o.lo),
            i128::from(self.hi) + i128::from(o.hi),
            "a sum",
        )
    }

    pub fn sub(self, o: Self) -> Self {
        Self::from_wide(
            i128::from(self.lo) - i128::from(o.hi),
            i128::from(self.hi) - i128::from(o.lo),
            "a difference",
        )
    }

    pub fn mul(self, o: Self) -> Self {
        let c = [(self.lo, o.lo), (self.lo, o.hi), (self.hi, o.lo), (self.hi, o.hi)]
            .map(|(a, b)| i128::from(a) * i128::from(b));
        let (lo, hi) = c.iter().fold((c[0], c[0]), |(l, h), &v| (l.min(v), h.max(v)));
        Self::from_wide(lo, hi, "a product")
    }

    pub fn shift_left(self, k: u32) -> Self {
        Self::from_wide(i128::from(self.lo) << k, i128::from(self.hi) << k, "a left shift")
    }

    /// Floor of every value divided by 2^k.
    pub fn shift_right(self, k: u32) -> Self {
        let k = k.min(63);
        Self::new(self.lo >> k, self.hi >> k)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{} [{}, {}]",
            if self.is_signed() { 's' } else { 'u' },
            self.width(),
            self.lo,
            self.hi
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_is_the_narrowest_word() {
        for (lo, hi, width) in [
            (0, 0, 1),
            (0, 1, 1),
            (0, 255, 8),
            (-1, 0, 1),
            (-128, 127, 8),
            (-129, 0, 9),
            (-1, 255, 9),
        ] {
            assert_eq!(Interval::new(lo, hi).width(), width, "[{lo}, {hi}]");
        }
    }

    #[test]
    fn arithmetic_covers_every_pair() {
        let (a, b) = (Interval::new(-3, 5), Interval::new(-7, 2));
        for x in a.lo..=a.hi {
            for y in b.lo..=b.hi {
                assert!(
                    a.add(b).contains(x + y)
                        && a.sub(b).contains(x - y)
                        && a.mul(b).contains(x * y)
                );
            }
        }
        assert_eq!((a.mul(b).lo, a.mul(b).hi), (-35, 21));
    }
}

//! When a source offers and a sink takes: always, or at random with a named seed.

/// A pattern of offers and takes, one pair a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Of 65536 cycles, how many pause.
    pauses: u32,
    state: u64,
}

impl Stall {
    /// Never pauses.
    pub fn none() -> Self {
        Self { pauses: 0, state: 1 }
    }

    /// Pauses each side with probability `p` (0 to 1, below 1), from a seed.
    pub fn random(p: f64, seed: u64) -> Self {
        Self { pauses: (p.clamp(0.0, 0.99) * 65536.0) as u32, state: seed.wrapping_mul(2) | 1 }
    }

    /// (the source offers, the sink takes) in the next cycle.
    pub fn cycle(&mut self) -> (bool, bool) {
        if self.pauses == 0 {
            return (true, true);
        }
        let mut go = || {
            // xorshift64*: small, and the same on every machine.
            self.state ^= self.state >> 12;
            self.state ^= self.state << 25;
            self.state ^= self.state >> 27;
            (self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 48) as u32 >= self.pauses
        };
        (go(), go())
    }
}

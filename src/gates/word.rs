//! Operations on words of literals, in the structures that synthesis gives them: ripple chains,
//! carry-save columns, choices bit by bit.
use super::build::{Bit, Builder};
use super::graph::{Lit, Origin, Role};

/// A two's complement or unsigned word, lowest bit first; at least one bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub bits: Vec<Lit>,
    pub is_signed: bool,
}

impl Value {
    pub fn new(bits: Vec<Lit>, is_signed: bool) -> Self {
        Self { bits, is_signed }
    }

    /// `value` modulo 2^width.
    pub fn constant(value: i64, width: u32, is_signed: bool) -> Self {
        let bit = |k: u32| Lit::constant(value >> k.min(63) & 1 == 1);
        Self::new((0..width).map(bit).collect(), is_signed)
    }

    pub fn width(&self) -> u32 {
        self.bits.len() as u32
    }

    /// The bit above the word: its sign, or 0.
    fn extension(&self) -> Lit {
        match (self.is_signed, self.bits.last()) {
            (true, Some(&sign)) => sign,
            _ => Lit::FALSE,
        }
    }

    /// Bits `low` and up; beyond the word its extension.
    pub fn bits(&self, low: u32, width: u32) -> Vec<Lit> {
        let bit = |k: u32| self.bits.get(k as usize).copied().unwrap_or(self.extension());
        (low..low + width).map(bit).collect()
    }

    /// Bits without the highest ones that repeat the sign, or are 0.
    pub fn trimmed(&self) -> u32 {
        let mut width = self.bits.len();
        let is_idle = |k: usize| match self.is_signed {
            true => k > 0 && self.bits[k] == self.bits[k - 1],
            false => k > 0 && self.bits[k] == Lit::FALSE,
        };
        while width > 1 && is_idle(width - 1) {
            width -= 1;
        }
        width as u32
    }

    /// The lowest `width` bits, extended where the word is shorter.
    pub fn resized(&self, width: u32) -> Vec<Lit> {
        self.bits(0, width)
    }

    /// The value where every bit is constant.
    pub fn as_constant(&self) -> Option<i64> {
        let mut value = 0i64;
        for (k, bit) in self.bits(0, 64).into_iter().enumerate() {
            value |= i64::from(bit.as_constant()?) << k;
        }
        Some(value)
    }
}

impl Builder {
    /// A ripple chain: the sum modulo 2^width, and the carries out of the two top bits (the second
    /// is the lower one's; the carry in where there is one bit).
    fn chain(&mut self, a: &[Bit], b: &[Bit], carry: Lit) -> (Vec<Lit>, [Lit; 2]) {
        let mut sum = vec![];
        let mut carries = [Bit::from(carry); 2];
        for (&a, &b) in a.iter().zip(b) {
            let (s, c) = self.add([a, b, carries[0]], Role::Chain);
            sum.push(s.lit);
            carries = [c, carries[0]];
        }
        (sum, carries.map(|c| c.lit))
    }

    /// `a + b + carry` modulo 2^width, both of that width.
    pub fn sum(&mut self, a: &[Lit], b: &[Lit], carry: Lit) -> Vec<Lit> {
        self.chain(&seen(a), &seen(b), carry).0
    }

    /// `a < b`, from the carries of `a - b`.
    pub fn less(&mut self, a: &[Lit], b: &[Lit], is_signed: bool) -> Lit {
        let inverted: Vec<Lit> = b.iter().map(|&l| !l).collect();
        let (difference, [carry, below]) = self.chain(&seen(a), &seen(&inverted), Lit::TRUE);
        if !is_signed {
            return !carry;
        }
        let overflow = self.xor(carry, below);
        self.xor(overflow, difference[difference.len() - 1])
    }

    pub fn equal(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let same: Vec<Lit> = a.iter().zip(b).map(|(&a, &b)| !self.xor(a, b)).collect();
        self.all(&same)
    }

    /// The conjunction of bits, as a balanced tree.
    fn all(&mut self, bits: &[Lit]) -> Lit {
        match bits {
            [] => Lit::TRUE,
            [one] => *one,
            _ => {
                let (low, high) = bits.split_at(bits.len() / 2);
                let (low, high) = (self.all(low), self.all(high));
                self.and(low, high)
            }
        }
    }

    pub fn choose(&mut self, s: Lit, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
        a.iter().zip(b).map(|(&a, &b)| self.mux(s, a, b)).collect()
    }

    /// `options[index]`, the last for an index past the end: choices on the bits of the index, the
    /// highest outermost.
    pub fn select(&mut self, index: &[Lit], options: &[Vec<Lit>]) -> Vec<Lit> {
        let last = &options[options.len() - 1];
        let Some((&top, below)) = index.split_last().filter(|_| options.len() > 1) else {
            return options[0].clone();
        };
        let half = 1usize << below.len().min(40);
        if options.len() <= half {
            let rest = self.select(below, options);
            return self.choose(top, last, &rest);
        }
        let high = self.select(below, &options[half..]);
        let low = self.select(below, &options[..half]);
        self.choose(top, &high, &low)
    }

    /// `table[index]` as a tree of choices between constants, in which equal parts are one.
    pub fn table(&mut self, index: &[Lit], entries: &[i64], width: u32) -> Vec<Lit> {
        let words: Vec<Vec<Lit>> =
            entries.iter().map(|&v| Value::constant(v, width, false).bits).collect();
        let before = std::mem::replace(&mut self.origin, Origin::Table);
        let word = self.select(index, &words);
        self.origin = before;
        word
    }

    /// Shifts right by an unsigned amount; `fill` comes in at the top. A choice for each bit of the
    /// amount, the lowest first.
    pub fn shift_right(&mut self, a: &[Lit], amount: &[Lit], fill: Lit) -> Vec<Lit> {
        let mut word = a.to_vec();
        for (k, &bit) in amount.iter().enumerate() {
            let by = 1usize << k.min(40);
            let moved: Vec<Lit> =
                (0..word.len()).map(|i| word.get(i + by).copied().unwrap_or(fill)).collect();
            word = self.choose(bit, &moved, &word);
        }
        word
    }

    /// Shifts left by an unsigned amount, modulo 2^width.
    pub fn shift_left(&mut self, a: &[Lit], amount: &[Lit]) -> Vec<Lit> {
        let reversed: Vec<Lit> = a.iter().rev().copied().collect();
        let mut word = self.shift_right(&reversed, amount, Lit::FALSE);
        word.reverse();
        word
    }
}

fn seen(word: &[Lit]) -> Vec<Bit> {
    word.iter().map(|&lit| lit.into()).collect()
}

/// Bits to be added, by their place.
pub struct Columns {
    bits: Vec<Vec<Lit>>,
}

impl Columns {
    pub fn new(width: u32) -> Self {
        Self { bits: vec![vec![]; width as usize] }
    }

    /// Adds a bit at a place. The same bit twice is that bit one place up.
    pub fn add(&mut self, bit: Lit, place: usize) {
        if place >= self.bits.len() || bit == Lit::FALSE {
            return;
        }
        match self.bits[place].iter().position(|&b| b == bit) {
            Some(k) => {
                self.bits[place].remove(k);
                self.add(bit, place + 1);
            }
            None => self.bits[place].push(bit),
        }
    }

    /// Adds a word, extended to the full width.
    pub fn add_word(&mut self, word: &Value) {
        for (place, bit) in word.resized(self.bits.len() as u32).into_iter().enumerate() {
            self.add(bit, place);
        }
    }

    /// Adds 2^place times a constant.
    pub fn add_constant(&mut self, value: i128) {
        for place in 0..self.bits.len() {
            self.add(Lit::constant(value >> place.min(127) & 1 == 1), place);
        }
    }

    /// Adds the rows of `a * b`: the wider factor times a digit of -2 to 2, read from two bits of the
    /// narrower and the bit below them (Booth). A negative row is the complement, with its sign inverted;
    /// the ones that complete it and those of the rows' signs are added beside it.
    pub fn add_product(&mut self, builder: &mut Builder, a: &Value, b: &Value) {
        let width = self.bits.len() as u32;
        // Bits beyond those of the product count for nothing.
        let cut = |v: &Value| Value::new(v.resized(v.width().min(width)), v.is_signed);
        let (a, b) = (cut(a), cut(b));
        let (wide, narrow) = if a.width() >= b.width() { (a, b) } else { (b, a) };
        let sign = wide.width() + u32::from(!wide.is_signed);
        let bits = narrow.width();
        let digits = if narrow.is_signed { bits.div_ceil(2) } else { bits / 2 + 1 };
        let mut signs: i128 = 0;
        for i in 0..digits.min(width.div_ceil(2)) {
            let pair = narrow.bits(2 * i, 2);
            let below = if i == 0 { Lit::FALSE } else { narrow.bits(2 * i - 1, 1)[0] };
            let (low, high) = (pair[0], pair[1]);
            let is_one = builder.xor(low, below);
            let is_two = builder.xor(high, low);
            let is_two = builder.and(is_two, !is_one);
            for k in 0..(sign + 1).min(width - 2 * i) {
                let once = builder.and(is_one, wide.bits(k, 1)[0]);
                let twice = if k == 0 { Lit::FALSE } else { wide.bits(k - 1, 1)[0] };
                let twice = builder.and(is_two, twice);
                let either = builder.or(once, twice);
                let bit = builder.xor(either, high).inverted(k == sign);
                self.add(bit, (2 * i + k) as usize);
            }
            self.add(high, (2 * i) as usize);
            signs += 1 << (sign + 2 * i);
        }
        self.add_constant(-signs);
    }

    /// Adds `k * a` as shifted copies, by the signed digits of k without two neighbours.
    pub fn add_multiple(&mut self, a: &Value, k: i64) {
        let width = self.bits.len() as u32;
        let mut rest = i128::from(k);
        for place in 0..width {
            if rest & 1 == 1 {
                let digit = 2 - (rest & 3);
                for (i, bit) in a.resized(width - place).into_iter().enumerate() {
                    self.add(bit.inverted(digit < 0), i + place as usize);
                }
                if digit < 0 {
                    self.add_constant(1 << place);
                }
                rest -= digit;
            }
            rest >>= 1;
        }
    }

    /// Words of one bit a column, as full as they come, constants first; and bits of place 0 that fill what
    /// each adder of two words or more leaves open below its lowest carry.
    fn words(&mut self) -> (Vec<Vec<Bit>>, Vec<Bit>) {
        for column in &mut self.bits {
            column.sort_by_key(|bit| bit.as_constant().is_some());
        }
        let (mut words, mut low): (Vec<Vec<Bit>>, Vec<Bit>) = (vec![], vec![]);
        while self.bits.iter().any(|column| !column.is_empty()) {
            words
                .push(self.bits.iter_mut().map(|c| c.pop().unwrap_or(Lit::FALSE).into()).collect());
            while let Some(bits) = self.fill(words.len() - 1 - low.len()) {
                low.extend(bits);
            }
        }
        (words, low)
    }

    /// One bit of each of the deepest columns, as bits of place 0 (2^k of them for a bit of place k), when no
    /// column above place 4 is as deep and there is room for all: a word less to add.
    fn fill(&mut self, room: usize) -> Option<Vec<Bit>> {
        let deepest = self.bits.iter().map(Vec::len).max().filter(|&depth| depth > 0)?;
        let places: Vec<usize> =
            (0..self.bits.len()).filter(|&k| self.bits[k].len() == deepest).collect();
        let is_low = places.iter().all(|&k| k <= 4);
        if !is_low || places.iter().map(|k| 1 << k).sum::<usize>() > room {
            return None;
        }
        let mut bits = vec![];
        for place in places {
            let bit = self.bits[place].pop()?;
            bits.extend(std::iter::repeat_n(Bit::from(bit), 1 << place));
        }
        Some(bits)
    }

    /// The sum: three words to two until two are left, then a chain.
    pub fn sum(mut self, builder: &mut Builder) -> Vec<Lit> {
        let width = self.bits.len();
        let (mut words, mut low) = self.words();
        while words.len() > 2 {
            let mut fewer = vec![];
            for three in words.chunks(3) {
                match three {
                    [a, b, c] => {
                        let [sums, mut carries] = save(builder, a, b, c);
                        carries[0] = low.pop().unwrap_or(carries[0]);
                        fewer.extend([sums, carries]);
                    }
                    rest => fewer.extend(rest.iter().cloned()),
                }
            }
            words = fewer;
        }
        let carry = low.pop().map_or(Lit::FALSE, |bit| bit.lit);
        debug_assert!(low.is_empty(), "an adder for each bit below the carries");
        let mut words = words.into_iter();
        match (words.next(), words.next()) {
            (Some(a), Some(b)) => builder.chain(&a, &b, carry).0,
            (Some(a), None) => a.into_iter().map(|bit| bit.lit).collect(),
            _ => vec![Lit::FALSE; width],
        }
    }
}

/// Three words as their sum bits and their carries, an adder a column between the outermost columns that
/// are not all 0.
fn save(builder: &mut Builder, a: &[Bit], b: &[Bit], c: &[Bit]) -> [Vec<Bit>; 2] {
    const ZERO: Bit = Bit { lit: Lit::FALSE, is_seen: true };
    let width = a.len();
    let is_zero = |k: &usize| [a[*k], b[*k], c[*k]] == [ZERO; 3];
    let start = (0..width).take_while(is_zero).count();
    let stop = width - (0..width).rev().take_while(is_zero).count();
    let mut sums = vec![ZERO; width];
    let mut carries = vec![ZERO; width + 1];
    for k in start..stop {
        (sums[k], carries[k + 1]) = builder.add([a[k], b[k], c[k]], Role::Save);
    }
    carries.truncate(width);
    [sums, carries]
}

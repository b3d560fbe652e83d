//! Random modules: every operation, bundles, registers with feedback, memories, instances.
use mive::num::Interval;
use mive::rtl::{Module, Net, Word};
use std::rc::Rc;

/// Small and its own, so that a seed means the same for ever (splitmix64).
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Any value; the ends more often than others.
    pub fn value(&mut self, ty: Interval) -> i64 {
        match self.below(8) {
            0 => ty.lo,
            1 => ty.hi,
            _ => {
                (i128::from(ty.lo)
                    + i128::from(self.next()) % (i128::from(ty.hi) - i128::from(ty.lo) + 1))
                    as i64
            }
        }
    }

    fn interval(&mut self) -> Interval {
        let bits = [1, 3, 8, 12, 16, 31, 32, 33, 40][self.below(9) as usize];
        match self.below(3) {
            0 => Interval::unsigned(bits),
            1 => Interval::signed(bits),
            _ => {
                let (a, b) =
                    (self.value(Interval::signed(bits)), self.value(Interval::signed(bits)));
                Interval::new(a.min(b), a.max(b))
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Known<'a> {
    w: Word<'a>,
    rank: Option<u32>,
    /// The same in all streams and lanes.
    control: bool,
}

struct Maker<'a, 'r> {
    net: &'a Net,
    rng: &'r mut Rng,
    words: Vec<Known<'a>>,
    names: u32,
    bundle: u32,
}

/// A module with children `depth` levels deep; inputs called `c..` are for control, `x..` for data.
pub fn module(rng: &mut Rng, name: &str, depth: u32) -> Rc<Module> {
    let children: Vec<Rc<Module>> = (0..if depth == 0 { 0 } else { 2 })
        .map(|i| module(rng, &format!("{name}_{i}"), depth - 1))
        .collect();
    let net = Net::new(name, "tests", "Random.");
    let bundle = 2 + rng.below(3) as u32;
    let mut m = Maker { net: &net, rng, words: vec![], names: 0, bundle };
    m.ports();
    let states = m.states();
    for i in 0..24 {
        m.operation();
        if i % 12 == 5 && m.rng.chance(60) {
            m.memory(i);
        }
        if let (true, Some(child)) = (i % 8 == 7, children.get(i / 8)) {
            m.instance(child, i);
        }
    }
    m.drive(&states);
    for i in 0..6 {
        let k = m.words[m.words.len() - 1 - m.rng.below(20) as usize];
        net.output(&format!("y{i}"), k.w, "");
    }
    net.output("c", m.pick(|k| k.control).w, "");
    net.finish()
}

impl<'a> Maker<'a, '_> {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("w{}", self.names)
    }

    fn add(&mut self, w: Word<'a>, from: &[Known<'a>]) {
        let w = w.named(&self.name());
        let rank = from.iter().find_map(|k| k.rank);
        let control = from.iter().all(|k| k.control) && w.count() == 1;
        self.words.push(Known { w, rank, control });
    }

    fn ports(&mut self) {
        for (i, bits) in [1, 1, 2, 3, 8].into_iter().enumerate() {
            let w = self.net.input(&format!("c{i}"), Interval::unsigned(bits), "");
            self.words.push(Known { w, rank: Some(0), control: true });
        }
        for i in 0..5 {
            let ty = if i == 0 { Interval::unsigned(1) } else { self.rng.interval() };
            let count = if i > 2 { self.bundle } else { 1 };
            let w = self.net.input_bundle(&format!("x{i}"), ty, count, "");
            self.words.push(Known { w, rank: Some(0), control: false });
        }
        for v in [0, 1, -3, 100_000, 1 << 35] {
            let w = self.net.constant(v);
            self.words.push(Known { w, rank: None, control: true });
        }
    }

    fn states(&mut self) -> Vec<Known<'a>> {
        let mut states = vec![];
        for i in 0..8 {
            let bits = [1, 2, 9, 16, 32, 34][self.rng.below(6) as usize];
            let ty = match self.rng.chance(50) && bits > 1 {
                true => Interval::signed(bits),
                false => Interval::unsigned(bits),
            };
            let reset = if self.rng.chance(50) { Some(self.rng.value(ty)) } else { None };
            let control = i < 3;
            let count = if control || self.rng.chance(50) { 1 } else { self.bundle };
            let w = self.net.state(&format!("s{i}"), ty, count, reset);
            let known = Known { w, rank: None, control };
            self.words.push(known);
            states.push(known);
        }
        states
    }

    fn pick(&mut self, is: impl Fn(&Known<'a>) -> bool) -> Known<'a> {
        let found: Vec<Known<'a>> = self.words.iter().copied().filter(is).collect();
        // Late words more often, so that the graph is deep.
        let (a, b) = (self.rng.below(found.len() as u64), self.rng.below(found.len() as u64));
        found[a.max(b) as usize]
    }

    /// A word of at most `bits` bits that may meet words of `rank`.
    fn narrow(
        &mut self,
        bits: u32,
        rank: Option<u32>,
        is: impl Fn(&Known<'a>) -> bool,
    ) -> Known<'a> {
        let meets = move |k: &Known<'a>| k.rank.is_none() || rank.is_none() || k.rank == rank;
        if self.rng.chance(80)
            && self.words.iter().any(|k| meets(k) && is(k) && k.w.width() <= bits)
        {
            return self.pick(|k| meets(k) && is(k) && k.w.width() <= bits);
        }
        let k = self.pick(|k| meets(k) && is(k));
        if k.w.width() <= bits {
            return k;
        }
        let low = self.rng.below(4) as u32;
        let signed = self.rng.chance(50);
        let w = if signed { k.w.signed_bits(low, bits) } else { k.w.bits(low, bits) };
        self.add(w, &[k]);
        *self.words.last().unwrap()
    }

    fn unsigned(
        &mut self,
        bits: u32,
        rank: Option<u32>,
        is: impl Fn(&Known<'a>) -> bool,
    ) -> Known<'a> {
        let k = self.narrow(bits, rank, &is);
        if k.w.ty().lo >= 0 {
            return k;
        }
        let w = k.w.bits(0, bits);
        self.add(w, &[k]);
        *self.words.last().unwrap()
    }

    fn operation(&mut self) {
        // Some operations are of control words only, so that there is control to speak of.
        let only = self.rng.chance(35);
        let lanes = self.bundle;
        let is =
            move |k: &Known| (!only || k.control) && (k.w.count() == 1 || k.w.count() == lanes);
        let a = self.narrow(45, None, is);
        let r = a.rank;
        match self.rng.below(25) {
            0 | 1 => {
                let b = self.narrow(45, r, is);
                self.add(a.w + b.w, &[a, b]);
            }
            2 => {
                let b = self.narrow(45, r, is);
                self.add(a.w - b.w, &[a, b]);
            }
            3 => {
                let (a, b) = (self.narrow(30, r, is), self.narrow(30, r, is));
                self.pair(a, b, |a, b| a * b);
            }
            4 | 5 => {
                let (a, b) = (self.narrow(24, r, is), self.narrow(30, r, is));
                let c = self.narrow(45, r, is);
                self.triple(a, b, c, |a, b, c| a.mul_add(b, c));
            }
            6 => {
                let k = 1 + self.rng.below(9) as u32;
                self.add(a.w.shift_left(k), &[a]);
            }
            7 => {
                let k = 1 + self.rng.below(60) as u32;
                self.add(a.w.shift_right(k), &[a]);
            }
            8 => {
                let b = self.unsigned(7, r, is);
                self.pair(a, b, |a, b| a.shift_right_by(b));
            }
            9 => {
                let b = self.unsigned(4, r, is);
                self.pair(a, b, |a, b| a.shift_left_by(b));
            }
            10 => {
                let b = self.narrow(45, r, is);
                self.pair(a, b, |a, b| a.less(b));
            }
            11 => {
                let b = self.narrow(45, r, is);
                self.pair(a, b, |a, b| a.equal(b));
            }
            12 => {
                let (a, b) = (self.unsigned(1, r, is), self.unsigned(1, r, is));
                self.pair(a, b, |a, b| a & b);
            }
            13 => {
                let (a, b) = (self.unsigned(1, r, is), self.unsigned(1, r, is));
                self.pair(a, b, |a, b| !(a | b));
            }
            14..=16 => {
                let control = self.rng.chance(60);
                let c = self.unsigned(1, r, |k| is(k) && (!control || k.control));
                if c.w.ty() != Interval::unsigned(1) {
                    return;
                }
                let (a, b) = (self.narrow(60, r, is), self.narrow(60, r, is));
                self.triple(c, a, b, |c, a, b| c.mux(a, b));
            }
            17 => {
                let control = self.rng.chance(60);
                let i = self.unsigned(2, r, |k| is(k) && (!control || k.control));
                let (a, b) = (self.narrow(60, r, is), self.narrow(60, r, is));
                let net = self.net;
                self.triple(i, a, b, |i, a, b| net.select(i, &[a, b, a]));
            }
            18 => {
                // Narrow again what arithmetic made wide.
                let b = self.narrow(45, r, is);
                if meet(&[a, b]) {
                    let sum = (a.w + b.w).named(&self.name());
                    let back = (sum - b.w).named(&self.name());
                    self.add(back.fit(a.w.ty()), &[a, b]);
                }
            }
            19 => {
                let width = 1 + self.rng.below(40) as u32;
                let low = self.rng.below(30) as u32;
                let signed = self.rng.chance(50);
                let w = if signed { a.w.signed_bits(low, width) } else { a.w.bits(low, width) };
                self.add(w, &[a]);
            }
            20 => {
                let b = self.unsigned(12, r, is);
                self.pair(a, b, |a, b| a.concat(b));
            }
            21 => {
                let i = self.unsigned(4, r, is);
                let ty = self.rng.interval();
                let table: Vec<i64> = (0..11).map(|_| self.rng.value(ty)).collect();
                let name = format!("table{}", self.names);
                self.add(i.w.rom(&name, &table), &[i]);
            }
            22 => {
                let w = a.w.stage().named(&self.name());
                let rank = Some(a.rank.unwrap_or(0) + 1);
                self.words.push(Known { w, rank, control: a.control });
            }
            23 => match a.w.count() {
                1 => self.add(a.w.spread(self.bundle), &[a]),
                n => {
                    let k = self.rng.below(n.into()) as u32;
                    self.add(a.w.lane(k), &[a]);
                }
            },
            _ => {
                let parts: Vec<Known> =
                    (0..self.bundle).map(|_| self.narrow(50, r, |k| k.w.count() == 1)).collect();
                if meet(&parts) {
                    let words: Vec<Word> = parts.iter().map(|k| k.w).collect();
                    self.add(self.net.gather(&words), &parts);
                }
            }
        }
    }

    fn pair(&mut self, a: Known<'a>, b: Known<'a>, f: impl Fn(Word<'a>, Word<'a>) -> Word<'a>) {
        if meet(&[a, b]) {
            self.add(f(a.w, b.w), &[a, b]);
        }
    }

    fn triple(
        &mut self,
        a: Known<'a>,
        b: Known<'a>,
        c: Known<'a>,
        f: impl Fn(Word<'a>, Word<'a>, Word<'a>) -> Word<'a>,
    ) {
        if meet(&[a, b, c]) {
            self.add(f(a.w, b.w, c.w), &[a, b, c]);
        }
    }

    fn memory(&mut self, i: usize) {
        let is = |k: &Known| k.control;
        // What is written comes of one rank, and what is read at.
        let (now, lanes) = (Some(0), self.bundle);
        let (we, re) = (self.unsigned(1, now, is), self.unsigned(1, now, is));
        let (wa, ra) = (self.unsigned(2, now, is), self.unsigned(2, now, is));
        let (d, e, c) = (
            self.narrow(50, now, |_| true),
            self.narrow(16, now, move |k| k.w.count() == lanes || k.w.count() == 1),
            self.narrow(20, now, is),
        );
        let fields: Vec<(&str, Interval, u32)> = [("d", d), ("e", e), ("c", c)]
            .iter()
            .map(|(n, k)| (*n, k.w.ty(), k.w.count()))
            .collect();
        let write = (we.w, wa.w, &[d.w, e.w, c.w][..]);
        let m = self.net.memory(&format!("m{i}"), "", 4, &fields);
        self.net.drive_memory(m, write, (re.w, ra.w));
        for (f, k) in [d, e, c].into_iter().enumerate() {
            let known = Known { w: self.net.read(m, f), rank: None, control: k.control };
            self.words.push(known);
        }
    }

    fn instance(&mut self, child: &Rc<Module>, i: usize) {
        let copies = if self.rng.chance(40) { 1 } else { self.bundle };
        let mut inputs = vec![];
        for &id in &child.inputs {
            let (name, ty, count) = (child.name_of(id), child.nodes[id].ty, child.nodes[id].count);
            let fits = |k: &Known| ty.contains(k.w.ty().lo) && ty.contains(k.w.ty().hi);
            let control = name.starts_with('c');
            let each = self.rng.chance(60);
            let wanted = if control {
                1
            } else if each {
                copies * count
            } else {
                count
            };
            let now = |k: &Known| k.rank.is_none_or(|rank| rank == 0);
            let right =
                |k: &Known| k.w.count() == wanted && (!control || k.control) && fits(k) && now(k);
            let found = match self.words.iter().any(right) {
                true => self.pick(right).w,
                // Nothing fits: constants, one a lane.
                false => {
                    let words: Vec<Word> =
                        (0..wanted).map(|_| self.net.constant(self.rng.value(ty))).collect();
                    let w = if wanted == 1 { words[0] } else { self.net.gather(&words) };
                    w.named(&self.name())
                }
            };
            inputs.push((name.to_string(), found));
        }
        let inputs: Vec<(&str, Word)> = inputs.iter().map(|(n, w)| (n.as_str(), *w)).collect();
        let outs = self.net.instance(&format!("u{i}"), child, copies, &inputs);
        for w in outs {
            let rank = w.rank().map(|rank| rank.stage);
            self.words.push(Known { w, rank, control: false });
        }
    }

    fn drive(&mut self, states: &[Known<'a>]) {
        for s in states {
            let (ty, count) = (s.w.ty(), s.w.count());
            let source = self.pick(|k| k.w.count() == count && (!s.control || k.control));
            let fits = ty.contains(source.w.ty().lo) && ty.contains(source.w.ty().hi);
            let next = match (fits, ty.is_signed()) {
                (true, _) => source.w,
                (false, true) => source.w.signed_bits(0, ty.width()),
                (false, false) => source.w.bits(0, ty.width()),
            };
            let on = match self.rng.below(if s.control { 2 } else { 3 }) {
                0 => None,
                1 => Some(self.unsigned(1, source.rank, |k| k.control).w),
                _ => {
                    let fits = |k: &Known| k.w.count() == 1 || k.w.count() == count;
                    Some(self.unsigned(1, source.rank, fits).w)
                }
            };
            self.net.drive(s.w, next, on);
        }
    }
}

fn meet(all: &[Known]) -> bool {
    let ranks: Vec<u32> = all.iter().filter_map(|k| k.rank).collect();
    let counts: Vec<u32> = all.iter().map(|k| k.w.count()).filter(|&c| c > 1).collect();
    ranks.windows(2).all(|p| p[0] == p[1]) && counts.windows(2).all(|p| p[0] == p[1])
}

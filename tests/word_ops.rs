//! Every operation of the netlist, printed and simulated, equals the plain evaluator.
mod common;
use common::{compare, have, lint, write_all};
use mive::num::Interval;
use mive::rtl::module::{Module, NodeId};
use mive::rtl::{Net, Word};
use std::collections::HashMap;
use std::rc::Rc;

const TOOLS: [&str; 4] = ["iverilog", "vvp", "verilator", "yosys"];

/// Small intervals: one bit of either sign, whole words, asymmetric, off zero, a single value.
const SMALL: [(i64, i64); 11] =
    [(0, 1), (-1, 0), (0, 7), (-4, 3), (-3, 5), (2, 6), (-1, 6), (0, 5), (-5, -2), (3, 3), (0, 0)];

fn interval((lo, hi): (i64, i64)) -> Interval {
    Interval::new(lo, hi)
}

/// Inputs of one group of cases: their nodes and every combination of values to try.
type Group = (Vec<NodeId>, Vec<Vec<i64>>);

/// Runs all groups of a module at once, each through its own combinations.
fn stimuli(groups: &[Group]) -> Vec<HashMap<(NodeId, u32), i64>> {
    let longest = groups.iter().map(|(_, combinations)| combinations.len()).max().unwrap_or(0);
    (0..longest)
        .map(|k| {
            let mut all = HashMap::new();
            for (ids, combinations) in groups {
                let values = &combinations[k % combinations.len()];
                all.extend(ids.iter().zip(values).map(|(&id, &v)| ((id, 0), v)));
            }
            all
        })
        .collect()
}

fn exhaustive(types: &[Interval]) -> Vec<Vec<i64>> {
    types.iter().fold(vec![vec![]], |done, ty| {
        done.iter().flat_map(|head| (ty.lo..=ty.hi).map(|v| [&head[..], &[v]].concat())).collect()
    })
}

/// Splitmix64: reproducible numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn within(&mut self, ty: Interval) -> i64 {
        let span = (ty.hi as i128 - ty.lo as i128 + 1) as u128;
        (ty.lo as i128 + (u128::from(self.next()) % span) as i128) as i64
    }

    /// An interval of at most `bits` bits, often against the ends of a word.
    fn interval(&mut self, bits: u32) -> Interval {
        let width = 1 + (self.next() % u64::from(bits)) as u32;
        let word = match self.next() % 2 {
            0 => Interval::unsigned(width.min(62)),
            _ => Interval::signed(width),
        };
        match self.next() % 2 {
            0 => word,
            _ => {
                let (a, b) = (self.within(word), self.within(word));
                Interval::new(a.min(b), a.max(b))
            }
        }
    }

    /// Corners of the intervals, then anything.
    fn combinations(&mut self, types: &[Interval], count: usize) -> Vec<Vec<i64>> {
        let one = |r: &mut Self, ty: Interval| match r.next() % 8 {
            0 => ty.lo,
            1 => ty.hi,
            2 if ty.contains(0) => 0,
            3 if ty.contains(-1) => -1,
            _ => r.within(ty),
        };
        (0..count).map(|_| types.iter().map(|&ty| one(self, ty)).collect()).collect()
    }
}

/// A module under test: inputs `g<n>a`, `g<n>b` and so on, one output for each case.
struct Bench {
    net: Net,
    groups: Vec<(Vec<Interval>, Vec<Vec<i64>>)>,
}

impl Bench {
    fn new(name: &str) -> Self {
        Bench { net: Net::new(name, "tests/word_ops.rs", "operations under test."), groups: vec![] }
    }

    /// Builds the cases of one group from its operands; each case has a tag.
    fn group<F>(net: &Net, index: usize, types: &[Interval], build: F)
    where
        F: for<'a> Fn(&'a Net, &[Word<'a>]) -> Vec<(String, Word<'a>)>,
    {
        let letters = ["a", "b", "c", "d", "e"];
        let words: Vec<Word<'_>> = types
            .iter()
            .zip(letters)
            .map(|(&ty, letter)| net.input(&format!("g{index}{letter}"), ty, "operand"))
            .collect();
        for (tag, word) in build(net, &words) {
            let name = format!("g{index}{tag}");
            let named = if word.name().is_empty() { word } else { word.named(&name) };
            net.output(&format!("{name}_out"), named, "result");
        }
    }

    fn add<F>(&mut self, types: &[Interval], combinations: Vec<Vec<i64>>, build: F)
    where
        F: for<'a> Fn(&'a Net, &[Word<'a>]) -> Vec<(String, Word<'a>)>,
    {
        Self::group(&self.net, self.groups.len(), types, build);
        self.groups.push((types.to_vec(), combinations));
    }

    /// Simulates, lints and returns how many words were compared.
    fn run(self) -> usize {
        let module = self.net.finish();
        let mut ids = module.inputs.iter().copied();
        let groups: Vec<Group> = self
            .groups
            .into_iter()
            .map(|(types, combos)| (ids.by_ref().take(types.len()).collect(), combos))
            .collect();
        let compared = compare(&module, &stimuli(&groups));
        clean(&module);
        assert!(compared > 0);
        eprintln!("{}: {compared} words compared in each dialect", module.name);
        compared
    }
}

fn clean(module: &Rc<Module>) {
    for dialect in common::DIALECTS {
        let dir = tempfile::tempdir().expect("a folder");
        let files = write_all(dir.path(), module, dialect);
        lint(&files, &module.name, dialect);
    }
}

/// Operations of two words. A case named here is declared under its tag; the others are written in place.
fn two<'a>(a: Word<'a>, b: Word<'a>) -> Vec<(String, Word<'a>)> {
    let named = |tag: &str, w: Word<'a>| (tag.to_string(), w.named("named"));
    let mut cases = vec![
        named("add", a + b),
        named("sub", a - b),
        named("mul", a * b),
        named("less", a.less(b)),
        ("lessplain".to_string(), a.less(b)),
        named("equal", a.equal(b)),
        ("equalplain".to_string(), a.equal(b)),
    ];
    if b.ty().lo >= 0 {
        cases.push(named("concat", a.concat(b)));
        cases.push(named("right", a.shift_right_by(b)));
        if b.ty().hi < 8 {
            cases.push(named("left", a.shift_left_by(b)));
        }
    }
    if a.width() == 1 && b.width() == 1 {
        cases.push(named("and", a & b));
        cases.push(named("or", a | b));
        cases.push(("nand".to_string(), !(a & (b | !a))));
    }
    cases
}

fn one(a: Word<'_>) -> Vec<(String, Word<'_>)> {
    let mut cases = vec![];
    for k in [1, 2, 3, 7] {
        cases.push((format!("left{k}"), a.shift_left(k)));
        cases.push((format!("right{k}"), a.shift_right(k).named("named")));
        cases.push((format!("rightplain{k}"), a.shift_right(k)));
    }
    for (low, width) in [(0, 1), (0, 2), (0, 4), (1, 2), (2, 1), (2, 5), (6, 1), (6, 3)] {
        cases.push((format!("bits{low}w{width}"), a.bits(low, width)));
        cases.push((format!("sbits{low}w{width}"), a.signed_bits(low, width).named("named")));
        let mixed = a.signed_bits(low, width).shift_left(2).bits(1, 4).shift_right(1);
        cases.push((format!("mixed{low}w{width}"), mixed));
    }
    cases.push(("wider".to_string(), a.fit(Interval::signed(9))));
    for k in [-9, -4, -1, 0, 1, 3, 6] {
        let tag = if k < 0 { format!("m{}", -k) } else { format!("p{k}") };
        cases.push((format!("is{tag}"), a.equals(k)));
    }
    if a.width() == 1 {
        cases.push(("not".to_string(), !a));
    }
    if a.ty().lo >= 0 {
        cases.push(("rom".to_string(), a.rom("table_plain", &[5, -3, 2, 7, 0])));
        cases.push(("romnamed".to_string(), a.rom("table_unsigned", &[5, 3, 2]).named("named")));
        cases.push(("romsingle".to_string(), a.rom("table_single", &[5])));
        cases.push(("rombits".to_string(), a.rom("table_plain", &[5, -3, 2, 7, 0]).bits(1, 4)));
    }
    cases
}

#[test]
fn two_words_exhaustively() {
    if !have(&TOOLS) {
        return;
    }
    let mut bench = Bench::new("two_words");
    for a in SMALL {
        for b in SMALL {
            let types = [interval(a), interval(b)];
            bench.add(&types, exhaustive(&types), |_, w| two(w[0], w[1]));
        }
    }
    assert!(bench.run() > 50_000);
}

#[test]
fn one_word_exhaustively() {
    if !have(&TOOLS) {
        return;
    }
    let mut bench = Bench::new("one_word");
    for a in SMALL {
        let types = [interval(a)];
        bench.add(&types, exhaustive(&types), |_, w| one(w[0]));
    }
    // Narrowing, for values that fit.
    for (from, to) in [((-8, 7), (-3, 3)), ((-8, 7), (0, 7)), ((0, 15), (2, 5)), ((-8, 7), (-1, 0))]
    {
        let values = (to.0..=to.1).map(|v| vec![v]).collect();
        bench.add(&[interval(from)], values, move |_, w| {
            vec![
                ("fit".to_string(), w[0].fit(interval(to)).named("named")),
                ("fitplain".to_string(), w[0].fit(interval(to))),
                ("fitadd".to_string(), (w[0].fit(interval(to)) + w[0]).named("named")),
            ]
        });
    }
    bench.run();
}

#[test]
fn constants_exhaustively() {
    if !have(&TOOLS) {
        return;
    }
    let mut bench = Bench::new("constants");
    for a in SMALL {
        let types = [interval(a)];
        bench.add(&types, exhaustive(&types), |net, w| {
            let mut cases = vec![];
            for k in [-128, -7, -1, 0, 1, 3, 6, 23, 127] {
                let tag = if k < 0 { format!("m{}", -k) } else { format!("p{k}") };
                let c = net.constant(k);
                cases.push((format!("add{tag}"), (w[0] + c).named("named")));
                cases.push((format!("rsub{tag}"), (c - w[0]).named("named")));
                cases.push((format!("mul{tag}"), (w[0] * c).named("named")));
                cases.push((format!("muladd{tag}"), c.mul_add(w[0], w[0]).named("named")));
                cases.push((format!("less{tag}"), w[0].less(c)));
                cases.push((format!("more{tag}"), c.less(w[0])));
            }
            cases
        });
    }
    bench.run();
}

#[test]
fn three_words_exhaustively() {
    if !have(&TOOLS) {
        return;
    }
    let mut bench = Bench::new("three_words");
    let few = [SMALL[0], SMALL[1], SMALL[3], SMALL[4], SMALL[5], SMALL[7]];
    for a in few {
        for b in few {
            for c in few {
                let types = [interval(a), interval(b), interval(c)];
                bench.add(&types, exhaustive(&types), |_, w| {
                    vec![("muladd".to_string(), w[0].mul_add(w[1], w[2]).named("named"))]
                });
            }
        }
    }
    for a in SMALL {
        for b in SMALL {
            let types = [interval((0, 1)), interval(a), interval(b)];
            bench.add(&types, exhaustive(&types), |_, w| {
                let narrow = w[1].less(w[2]).mux(w[1], w[2]).named("named");
                vec![
                    ("mux".to_string(), w[0].mux(w[1], w[2]).named("named")),
                    ("least".to_string(), narrow),
                ]
            });
        }
    }
    for index in [(0, 1), (0, 3), (0, 4), (0, 11), (1, 2), (2, 2)] {
        let options = [(0, 2), (-2, 1), (0, 0), (3, 5)].map(interval);
        let types = [&[interval(index)], &options[..]].concat();
        bench.add(&types, exhaustive(&types), |net, w| {
            let mut cases = vec![];
            for n in 1..=4 {
                let chosen = net.select(w[0], &w[1..=n]).named("named");
                cases.push((format!("select{n}"), chosen));
            }
            let many = [w[1], w[2], w[3], w[4], w[1], w[1], w[4]];
            cases.push(("selectmany".to_string(), net.select(w[0], &many).named("named")));
            cases
        });
    }
    bench.run();
}

#[test]
fn wide_words_at_random() {
    if !have(&TOOLS) {
        return;
    }
    let mut random = Random(20_240_517);
    let mut bench = Bench::new("wide_words");
    for _ in 0..24 {
        let types = [random.interval(30), random.interval(30), random.interval(60)];
        let combinations = random.combinations(&types, 200);
        bench.add(&types, combinations, |_, w| {
            let mut cases = vec![
                ("mul".to_string(), (w[0] * w[1]).named("named")),
                ("muladd".to_string(), w[0].mul_add(w[1], w[2]).named("named")),
                ("add".to_string(), (w[0] + w[2]).named("named")),
                ("sub".to_string(), (w[1] - w[2]).named("named")),
                ("less".to_string(), w[2].less(w[1])),
                ("equal".to_string(), w[2].equal(w[0])),
                ("bits".to_string(), w[2].bits(7, 41)),
                ("sbits".to_string(), w[2].signed_bits(13, 50)),
                ("right".to_string(), w[2].shift_right(23)),
                ("fold".to_string(), (w[2].shift_right(9) + w[0].shift_left(4)).named("named")),
            ];
            if w[1].ty().lo >= 0 {
                cases.push(("rightby".to_string(), w[2].shift_right_by(w[1]).named("named")));
                let amount = w[1].bits(0, 5);
                cases.push(("leftby".to_string(), w[0].shift_left_by(amount).named("named")));
                if w[0].width() + w[1].width() <= 60 {
                    cases.push(("concat".to_string(), w[0].concat(w[1])));
                }
            }
            cases
        });
    }
    assert!(bench.run() > 40_000);
}

/// Bundles: every operation lane by lane, against the evaluator that walks single lanes.
#[test]
fn bundles_at_random() {
    if !have(&TOOLS) {
        return;
    }
    let mut random = Random(77);
    let mut compared = 0;
    for (tag, lanes) in [("two", 2), ("five", 5), ("sixteen", 16)] {
        let module = bundle_module(&format!("bundles_{tag}"), lanes);
        let mut all = vec![];
        for _ in 0..400 {
            let mut one = HashMap::new();
            for &id in &module.inputs {
                for lane in 0..module.nodes[id].count {
                    one.insert((id, lane), random.within(module.nodes[id].ty));
                }
            }
            all.push(one);
        }
        compared += compare(&module, &all);
        clean(&module);
    }
    assert!(compared > 10_000);
}

fn bundle_module(name: &str, lanes: u32) -> Rc<Module> {
    let net = Net::new(name, "tests/word_ops.rs", "bundles under test.");
    let a = net.input_bundle("a", interval((-100, 27)), lanes, "signed bundle");
    let b = net.input_bundle("b", interval((0, 200)), lanes, "unsigned bundle");
    let bit = net.input_bundle("bit", interval((0, 1)), lanes, "one bit a lane");
    let sign = net.input_bundle("sign", interval((-1, 0)), lanes, "one signed bit a lane");
    let index = net.input_bundle("pick", interval((0, 3)), lanes, "index of each lane");
    let x = net.input("x", interval((-8, 7)), "one word for all lanes");
    let choose = net.input("choose", interval((0, 1)), "one bit for all lanes");
    let out = |name: &str, w: Word<'_>| net.output(name, w, "result");
    net.section("Arithmetic.");
    out("sum", (a + b).named("sum"));
    out("difference", (x - a).named("difference"));
    out("product", (a * b).named("product"));
    out("scaled", a.mul_add(x, b).named("scaled"));
    out("crossed", a.mul_add(sign, x).named("crossed"));
    out("threefold", (a * net.constant(-3)).named("threefold"));
    net.section("Choices.");
    out("either", bit.mux(a, b).named("either"));
    out("common", choose.mux(a, x).named("common"));
    out("larger", a.less(b).mux(b, a).named("larger"));
    out("chosen", net.select(index, &[a, b, x, sign]).named("chosen"));
    out("equal", a.equal(x));
    out("logic", !(bit & a.less(x)) | sign.bit(0));
    net.section("Bits.");
    out("high", a.bits(3, 4));
    out("low", a.signed_bits(0, 3).named("low"));
    out("halves", b.shift_right(1));
    out("shifted", a.shift_left(2).named("shifted"));
    out("by_amount", a.shift_right_by(index).named("by_amount"));
    out("up", bit.shift_left_by(index).named("up"));
    out("joined", a.concat(b));
    out("narrow", b.bits(1, 5).fit(Interval::unsigned(5)).named("narrow"));
    out("looked_up", index.rom("curve", &[-3, 9, 4, 0]));
    out("next_up", index.rom("curve", &[-3, 9, 4, 0]).named("curve_value"));
    net.section("Lanes.");
    out("spread", x.spread(lanes));
    out("spread_named", x.spread(lanes).named("spread_words"));
    out("first", (a.lane(0) + b.shift_right(2).lane(1)).named("first"));
    let turned: Vec<Word<'_>> = (0..lanes).map(|k| a.lane((k + 1) % lanes)).collect();
    let turned = net.gather(&turned).named("turned");
    out("turned", turned);
    out("step", (turned - a).named("step"));
    net.finish()
}

/// Instances of one copy and of one copy a lane, with wide ports too, against the evaluator.
#[test]
fn instances_over_lanes() {
    if !have(&TOOLS) {
        return;
    }
    let leaf = {
        let net = Net::new("leaf", "tests/word_ops.rs", "a product and a pair.");
        let x = net.input("x", interval((-20, 20)), "own word");
        let gain = net.input("gain", interval((0, 9)), "shared word");
        let pair = net.input_bundle("pair", interval((-4, 3)), 2, "two words");
        net.output("y", x.mul_add(gain, pair.lane(1)).named("total"), "x * gain + high word");
        net.output("both", (pair + x).named("shifted_pair"), "both words plus x");
        net.finish()
    };
    let lanes = 4;
    let net = Net::new("many", "tests/word_ops.rs", "copies of the leaf.");
    let x = net.input_bundle("x", interval((-20, 20)), lanes, "words");
    let narrow = net.input_bundle("narrow", interval((-2, 1)), lanes, "narrow words");
    let gain = net.input("gain", interval((0, 7)), "gain");
    let pairs = net.input_bundle("pairs", interval((-4, 3)), 2 * lanes, "two words a lane");
    let thin = net.input_bundle("thin", interval((0, 1)), 2 * lanes, "two bits a lane");
    let pair = net.input_bundle("pair", interval((-1, 1)), 2, "two words for all");
    let out = |name: &str, w: Word<'_>| net.output(name, w, "result");
    let plain = net.instance("plain", &leaf, lanes, &[("x", x), ("gain", gain), ("pair", pairs)]);
    let wired = [("x", narrow), ("gain", thin.lane(3)), ("pair", thin)];
    let cast = net.instance("cast", &leaf, lanes, &wired);
    let shared = net.instance(
        "shared",
        &leaf,
        lanes,
        &[("x", plain[0].signed_bits(0, 3)), ("gain", gain), ("pair", pair)],
    );
    let single =
        net.instance("single", &leaf, 1, &[("x", x.lane(2)), ("gain", gain), ("pair", pair)]);
    for (name, words) in [("plain", &plain), ("cast", &cast), ("shared", &shared)] {
        out(&format!("{name}_total"), words[0]);
        out(&format!("{name}_pair"), words[1]);
    }
    out("single_total", single[0]);
    let module = net.finish();
    let mut random = Random(5);
    let all: Vec<HashMap<(NodeId, u32), i64>> = (0..500)
        .map(|_| {
            let lanes = module.inputs.iter().flat_map(|&id| {
                let node = &module.nodes[id];
                (0..node.count).map(move |lane| (id, lane, node.ty))
            });
            lanes.map(|(id, lane, ty)| ((id, lane), random.within(ty))).collect()
        })
        .collect();
    assert!(compare(&module, &all) > 3_000);
    clean(&module);
}

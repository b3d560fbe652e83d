//! Every operation of the netlist, printed and simulated, equals the plain evaluator.
use crate::common::{Random, TOOLS, clean, compare, have, interval};
use mive::num::Interval;
use mive::rtl::module::NodeId;
use mive::rtl::{Net, Word};
use std::collections::HashMap;

/// Small intervals: one bit of either sign, whole words, asymmetric, off zero, a single value.
const SMALL: [(i64, i64); 11] =
    [(0, 1), (-1, 0), (0, 7), (-4, 3), (-3, 5), (2, 9), (-1, 6), (0, 5), (-5, -2), (3, 3), (0, 0)];

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

/// A module under test: inputs `g<n>a`, `g<n>b` and so on, one output for each case.
struct Bench {
    net: Net,
    groups: Vec<(Vec<Interval>, Vec<Vec<i64>>)>,
}

impl Bench {
    fn new(name: &str) -> Self {
        Bench {
            net: Net::new(name, "tests/rtl/word_ops.rs", "operations under test."),
            groups: vec![],
        }
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
    if a.ty().lo >= 0 && b.ty().lo >= 0 && a.width() == b.width() {
        cases.push(named("and", a & b));
        cases.push(named("or", a | b));
    }
    if a.width() == 1 && b.width() == 1 && a.ty().lo >= 0 && b.ty().lo >= 0 {
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

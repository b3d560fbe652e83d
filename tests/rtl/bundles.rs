//! Bundles and instances over lanes, printed and simulated, equal the plain evaluator.
use crate::common::{Random, TOOLS, clean, compare, have, interval};
use mive::num::Interval;
use mive::rtl::module::{Module, NodeId};
use mive::rtl::{Net, Word};
use std::collections::HashMap;
use std::rc::Rc;

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
    let net = Net::new(name, "tests/rtl/bundles.rs", "bundles under test.");
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
        let net = Net::new("leaf", "tests/rtl/bundles.rs", "a product and a pair.");
        let x = net.input("x", interval((-20, 20)), "own word");
        let gain = net.input("gain", interval((0, 9)), "shared word");
        let pair = net.input_bundle("pair", interval((-4, 3)), 2, "two words");
        net.output("y", x.mul_add(gain, pair.lane(1)).named("total"), "x * gain + high word");
        net.output("both", (pair + x).named("shifted_pair"), "both words plus x");
        net.finish()
    };
    let lanes = 4;
    let net = Net::new("many", "tests/rtl/bundles.rs", "copies of the leaf.");
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

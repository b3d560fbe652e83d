//! How fast a lane array steps: `cargo test --release --test stepper speed -- --ignored --nocapture`.
use crate::random::Rng;
use mive::num::Interval;
use mive::rtl::step::{Mode, Program, Stepper};
use mive::rtl::{Module, Net, Op};
use std::rc::Rc;
use std::time::Instant;

/// Something like a lane: four micro-operations share a multiplier of 18 by 18 bits and an adder of 40.
fn lane() -> Rc<Module> {
    let net = Net::new("lane", "tests", "A lane to be timed.");
    let op = net.input("op", Interval::unsigned(2), "");
    let on = net.input("on", Interval::unsigned(1), "");
    let shift = net.input("shift", Interval::unsigned(5), "");
    let pivot = net.input("pivot", Interval::signed(16), "");
    let x = net.input("x", Interval::signed(16), "");
    let gamma = net.input("gamma", Interval::signed(16), "");
    let keep = net.input("keep", Interval::unsigned(1), "");
    let zero = net.constant(0);

    let t = (x - pivot).named("t");
    let kept = keep.mux(t, zero).named("kept").stage();
    let (op1, shift1, on1, gamma1) =
        (op.named("op").stage(), shift.stage(), on.stage(), gamma.stage());
    let negative = kept.less(zero).named("negative");
    let magnitude = negative.mux((zero - kept).named("neg"), kept).named("magnitude");
    let segment = magnitude.bits(12, 4).named("segment");
    let slope_table: Vec<i64> = (0..16).map(|i| i * 977 - 7000).collect();
    let base_table: Vec<i64> = (0..16).map(|i| i * 331_071 - 1_000_000).collect();
    let slope = segment.rom("slope", &slope_table).named("slope");
    let base = segment.rom("base", &base_table).named("base");
    let b = net.select(op1, &[kept, slope, gamma1, zero]).named("b").stage();
    let c = net.select(op1, &[zero, base, gamma1, kept]).named("c").stage();
    let a = kept.named("a_in").stage().named("a");
    let (op2, shift2, on2) = (op1.stage(), shift1.stage(), on1.stage());
    let product = a.mul_add(b, c).named("product").stage();
    let (op3, shift3, on3) = (op2.stage(), shift2.stage(), on2.stage());
    let sum_q = net.state("sum", Interval::signed(44), 1, Some(0));
    let sum = (sum_q + product).named("sum_next");
    net.drive(
        sum_q,
        sum.signed_bits(0, 44).named("sum_wrapped"),
        Some((on3 & op3.equals(0)).named("sum_on")),
    );
    let most_q = net.state("most", Interval::signed(40), 1, Some(-(1 << 39)));
    let larger = most_q.less(product).named("larger");
    let top = larger.mux(product, most_q).named("top");
    net.drive(
        most_q,
        top.signed_bits(0, 40).named("top_fit"),
        Some((on3 & op3.equals(3)).named("most_on")),
    );
    let shifted = product.shift_right_by(shift3).named("shifted");
    let rounded =
        ((shifted + net.constant(1)).named("plus").shift_right(1)).named("rounded").stage();
    let (low, high) = (net.constant(-128), net.constant(127));
    let under = rounded.less(low).named("under");
    let over = high.less(rounded).named("over");
    let y = under.mux(low, over.mux(high, rounded).named("upper")).named("y_wide");
    let y = y.fit(Interval::signed(8)).named("y").stage();
    net.output("y", y, "");
    net.output("sum", sum_q, "");
    net.finish()
}

fn array(lanes: u32) -> (Rc<Module>, usize) {
    let lane = lane();
    let data =
        |n: &&mive::rtl::Node| n.rank.is_none_or(|r| r.stage != 0) || !matches!(n.op, Op::Input);
    let nodes = lane.nodes.iter().filter(data).filter(|n| !matches!(n.op, Op::Const(_))).count();
    let net = Net::new("array", "tests", "Lanes and a row buffer.");
    let op = net.input("op", Interval::unsigned(2), "");
    let on = net.input("on", Interval::unsigned(1), "");
    let shift = net.input("shift", Interval::unsigned(5), "");
    let pivot = net.input("pivot", Interval::signed(16), "");
    let gamma = net.input_bundle("gamma", Interval::signed(16), lanes, "");
    let keep = net.input_bundle("keep", Interval::unsigned(1), lanes, "");
    let x = net.input_bundle("x", Interval::signed(16), lanes, "");
    let address = net.input("address", Interval::unsigned(5), "");
    let fields = [("x", Interval::signed(16), lanes)];
    let row = net.memory("row", "", 32, &fields);
    net.drive_memory(row, (on, address, &[x]), (on, address));
    let x = net.read(row, 0);
    let inputs = [
        ("op", op),
        ("on", on),
        ("shift", shift),
        ("pivot", pivot),
        ("x", x),
        ("gamma", gamma),
        ("keep", keep),
    ];
    let outs = net.instance("lane", &lane, lanes, &inputs);
    net.output("y", outs[0], "");
    (net.finish(), nodes)
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let lanes = 32;
    let (m, nodes) = array(lanes);
    let program = Program::new(&m, &["x", "pivot"]);
    let port = |n: &str| program.input(n);
    let (op, on, address, x) = (port("op"), port("on"), port("address"), port("x"));
    println!("{nodes} nodes a lane, {lanes} lanes");
    for streams in [16, 32, 64] {
        for mode in [Mode::Full, Mode::Results] {
            let mut s = Stepper::new(&program, streams);
            s.set_mode(mode);
            s.want_outputs(false);
            let mut rng = Rng(7);
            let words: Vec<i32> = (0..lanes as usize * streams)
                .map(|_| rng.value(Interval::signed(16)) as i32)
                .collect();
            s.set_varying(x, &words);
            s.set_uniform(on, 1);
            s.set_uniform(port("keep"), 1);
            s.set_uniform(port("gamma"), 77);
            s.set_uniform(port("shift"), 9);
            let run = |s: &mut Stepper, cycles: i64| {
                for t in 0..cycles {
                    s.set_uniform(op, t / 64 % 4);
                    s.set_uniform(address, t % 32);
                    s.settle();
                    s.clock();
                }
            };
            run(&mut s, 1000);
            let cycles = 20_000;
            let start = Instant::now();
            run(&mut s, cycles);
            let each = start.elapsed().as_secs_f64() / cycles as f64;
            let ops = (nodes * words.len()) as f64;
            println!(
                "{mode:?}: {streams} streams, {:.2} us a cycle, {:.2} G word-ops/s",
                each * 1e6,
                ops / each * 1e-9
            );
        }
    }
}

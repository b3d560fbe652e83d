//! What the stepper refuses, with the names; and small cases whose answer is plain.
use mive::num::Interval;
use mive::rtl::step::{Mode, Program, Stepper};
use mive::rtl::{Net, Op};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

fn message(f: impl FnOnce()) -> String {
    let cause = catch_unwind(AssertUnwindSafe(f)).expect_err("it has to be refused");
    cause.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn a_combinational_loop_is_named() {
    let net = Net::new("m", "tests", "");
    let x = net.input("x", Interval::signed(8), "");
    let a = (x + x).named("a");
    net.output("y", (a + x).named("b"), "");
    let mut m = Rc::try_unwrap(net.finish()).expect("ours alone");
    m.nodes[1].op = Op::Add(0, 2);
    let text = message(|| drop(Program::new(&m, &[])));
    assert!(text.contains("loop") && text.contains("\"a\"") && text.contains("\"b\""), "{text}");
}

#[test]
fn a_memory_addressed_by_data_is_refused() {
    let net = Net::new("m", "tests", "");
    let x = net.input("x", Interval::unsigned(2), "");
    let on = net.constant(1);
    let mem = net.memory("ram", "", 4, &[("d", x.ty(), 1)]);
    net.drive_memory(mem, (on, x, &[x]), (on, on));
    net.output("y", net.read(mem, 0), "");
    let m = net.finish();
    Program::new(&m, &[]);
    let text = message(|| drop(Program::new(&m, &["x"])));
    assert!(text.contains("ram: its write address (x)"), "{text}");
}

#[test]
fn a_fit_that_does_not_fit_is_named_in_checked_mode() {
    let net = Net::new("m", "tests", "");
    let x = net.input("x", Interval::signed(40), "");
    net.output("y", x.fit(Interval::signed(8)).named("small"), "");
    let program = Program::new(&net.finish(), &["x"]);
    let mut s = Stepper::new(&program, 2);
    s.set_checked(true);
    // Looked at before the narrow storage drops the high bits.
    s.set_varying(program.input("x"), &[5, 1i64 << 32], |stream| stream..stream + 1, 0);
    let text = message(|| s.settle());
    assert!(text.contains("small is 4294967296 in lane 0 of stream 1"), "{text}");
}

#[test]
fn a_read_during_a_write_gives_the_old_word() {
    for varying in [&[][..], &["d"]] {
        for mode in [Mode::Full, Mode::Results] {
            let net = Net::new("m", "tests", "");
            let d = net.input("d", Interval::unsigned(8), "");
            let (on, at) = (net.constant(1), net.constant(2));
            let mem = net.memory("ram", "", 4, &[("d", d.ty(), 1)]);
            net.drive_memory(mem, (on, at, &[d]), (on, at));
            net.output("y", net.read(mem, 0), "");
            let program = Program::new(&net.finish(), varying);
            let mut s = Stepper::new(&program, 1);
            s.set_mode(mode);
            let mut seen: Vec<i64> = vec![];
            for t in 1..5 {
                s.set_uniform(program.input("d"), 10 * t);
                s.settle();
                seen.extend(s.get_stream(program.output("y"), 0));
                s.clock();
            }
            // The word written in a cycle is read in the next one, and seen in the one after.
            assert_eq!(seen, [0, 0, 10, 20]);
        }
    }
}

#[test]
fn registers_in_a_ring_turn() {
    let net = Net::new("m", "tests", "");
    let ty = Interval::unsigned(4);
    let x = net.input("x", ty, "");
    let load = net.input("load", Interval::unsigned(1), "");
    let q: Vec<_> = (0..3).map(|i| net.state(&format!("r{i}"), ty, 1, Some(i))).collect();
    let first = load.mux(x, q[2]).named("first");
    for (to, from) in [(q[0], first), (q[1], q[0]), (q[2], q[1])] {
        net.drive(to, from, None);
    }
    net.output("y", q[0], "");
    let program = Program::new(&net.finish(), &["x"]);
    let mut s = Stepper::new(&program, 3);
    s.set_mode(Mode::Results);
    s.set_varying(program.input("x"), &[7, 8, 9], |stream| stream..stream + 1, 0);
    let mut seen = vec![];
    for t in 0..6 {
        s.set_uniform(program.input("load"), i64::from(t == 1));
        s.settle();
        seen.extend(s.get_stream(program.output("y"), 1));
        s.clock();
    }
    assert_eq!(seen, [0, 2, 8, 0, 2, 8]);
}

#[test]
fn a_program_is_shared_by_threads() {
    let net = Net::new("m", "tests", "");
    let x = net.input("x", Interval::signed(8), "");
    net.output("y", (x + x).named("twice"), "");
    let program = Program::new(&net.finish(), &["x"]);
    std::thread::scope(|scope| {
        for v in 0..3 {
            let program = &program;
            scope.spawn(move || {
                let mut s = Stepper::new(program, 2);
                s.set_varying(program.input("x"), &[v, -v], |stream| stream..stream + 1, 0);
                s.settle();
                let mut y = vec![];
                s.get_varying(program.output("y"), |_, lanes| y.push(lanes[0]));
                assert_eq!(y, [2 * v, -2 * v]);
            });
        }
    });
}

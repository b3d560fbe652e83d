//! The stepper against an evaluator that knows nothing of flattening, batching or skipping.
mod oracle;
mod random;
mod refusals;

use mive::rtl::Module;
use mive::rtl::step::{Mode, Program, Stepper, WordId};
use random::Rng;
use std::rc::Rc;

/// Inputs of one cycle: a port a list of `[lane][stream]`.
fn inputs(rng: &mut Rng, m: &Module, streams: usize) -> Vec<Vec<i64>> {
    let port = |&id: &usize| {
        let n = &m.nodes[id];
        let words = n.count as usize * streams;
        if m.name_of(id).starts_with('c') {
            return vec![rng.value(n.ty); words];
        }
        (0..words).map(|_| rng.value(n.ty)).collect()
    };
    m.inputs.iter().map(port).collect()
}

fn apply(s: &mut Stepper, m: &Module, inputs: &[Vec<i64>]) {
    for (&id, values) in m.inputs.iter().zip(inputs) {
        let port = s.program().input(m.name_of(id));
        if m.name_of(id).starts_with('c') {
            s.set_uniform(port, values[0]);
        } else {
            // `[stream][lane]`, as a user has them.
            let (streams, lanes) = (s.streams(), values.len() / s.streams());
            let rows: Vec<i64> = (0..streams)
                .flat_map(|stream| values.iter().skip(stream).step_by(streams).copied())
                .collect();
            s.set_varying(port, &rows, |stream| stream * lanes..(stream + 1) * lanes, 0);
        }
    }
}

fn data_inputs(m: &Module) -> Vec<&str> {
    m.inputs.iter().map(|&id| m.name_of(id)).filter(|n| n.starts_with('x')).collect()
}

fn compare(seed: u64, depth: u32) {
    let mut rng = Rng(seed);
    let m: Rc<Module> = random::module(&mut rng, "top", depth);
    let program = Program::new(&m, &data_inputs(&m));
    let streams = 1 + rng.below(9) as usize;
    let mut full = Stepper::new(&program, streams);
    full.set_checked(true);
    if seed % 2 == 1 {
        full.set_portable();
    }
    let mut fast = Stepper::new(&program, streams);
    fast.set_mode(Mode::Results);
    let mut oracles: Vec<_> = (0..streams).map(|_| oracle::Copy::new(&m)).collect();
    for cycle in 0..30 {
        if rng.chance(4) {
            full.reset();
            fast.reset();
            oracles.iter_mut().for_each(oracle::Copy::reset);
        }
        let inputs = inputs(&mut rng, &m, streams);
        let wanted = rng.chance(60);
        fast.want_outputs(wanted);
        for s in [&mut full, &mut fast] {
            apply(s, &m, &inputs);
            s.settle();
        }
        for (stream, oracle) in oracles.iter_mut().enumerate() {
            let own = inputs.iter().map(|v| v.iter().skip(stream).step_by(streams));
            let own: Vec<Vec<i128>> = own.map(|v| v.map(|&x| x.into()).collect()).collect();
            oracle.settle(&own);
            for (i, w) in program.words().iter().enumerate() {
                let want = oracle.word(&w.name);
                let at = || format!("seed {seed}, cycle {cycle}, stream {stream}: {}", w.name);
                let wide = |v: Vec<i64>| v.into_iter().map(i128::from).collect::<Vec<_>>();
                assert_eq!(wide(full.read(WordId(i), stream)), want, "{}", at());
                if w.is_register {
                    assert_eq!(wide(fast.read(WordId(i), stream)), want, "results: {}", at());
                }
            }
            for (port, (name, _)) in m.outputs.iter().enumerate() {
                for s in [&full, &fast] {
                    if wanted || std::ptr::eq(s, &full) {
                        let own = s.get_stream(program.output(name), stream);
                        let own: Vec<i128> = own.into_iter().map(i128::from).collect();
                        assert_eq!(own, oracle.output(port), "seed {seed}, output {name}");
                    }
                }
            }
            for (name, address, want) in oracle.memories("") {
                for s in [&full, &fast] {
                    let have = s.read_memory(&name, address, stream);
                    assert!(have.iter().map(|&v| i128::from(v)).eq(want.iter().copied()), "{name}");
                }
            }
            oracle.clock();
        }
        full.clock();
        fast.clock();
    }
}

#[test]
fn random_modules_step_like_the_oracle() {
    for seed in 0..400 {
        compare(seed, 0);
    }
}

#[test]
fn random_hierarchies_step_like_the_oracle() {
    for seed in 1000..1150 {
        compare(seed, 2);
    }
}

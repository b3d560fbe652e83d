//! The oracle: one stream, one instance at a time, in 128 bits, straight from the hierarchy.
use mive::num::Interval;
use mive::rtl::{Module, Op};
use std::cell::RefCell;
use std::rc::Rc;

type Lanes = Vec<i128>;

/// One copy of a module with its state.
pub struct Copy {
    module: Rc<Module>,
    values: RefCell<Vec<Option<Lanes>>>,
    registers: Vec<Lanes>,
    /// `[memory][field][address]`
    memories: Vec<Vec<Vec<Lanes>>>,
    reads: Vec<Vec<Lanes>>,
    children: Vec<Vec<Copy>>,
}

struct Frame<'a> {
    copy: &'a Copy,
    parent: Option<(&'a Frame<'a>, usize, usize)>,
    inputs: &'a [Lanes],
}

fn rest(ty: Interval) -> i128 {
    if ty.contains(0) { 0 } else { ty.lo.into() }
}

impl Copy {
    pub fn new(module: &Rc<Module>) -> Self {
        let m = module;
        let mut copy = Self {
            module: m.clone(),
            values: RefCell::new(vec![None; m.nodes.len()]),
            registers: vec![vec![]; m.nodes.len()],
            memories: m
                .memories
                .iter()
                .map(|mem| {
                    let fields = mem.fields.iter();
                    fields
                        .map(|f| vec![vec![rest(f.ty); f.count as usize]; mem.depth as usize])
                        .collect()
                })
                .collect(),
            reads: vec![],
            children: m
                .instances
                .iter()
                .map(|i| (0..i.count).map(|_| Copy::new(&i.module)).collect())
                .collect(),
        };
        copy.reset();
        copy
    }

    pub fn reset(&mut self) {
        for (n, r) in self.module.nodes.iter().zip(&mut self.registers) {
            if let Op::Reg { reset, .. } = n.op {
                *r = vec![reset.map_or(rest(n.ty), i128::from); n.count as usize];
            }
        }
        self.reads = self
            .module
            .memories
            .iter()
            .map(|m| m.fields.iter().map(|f| vec![rest(f.ty); f.count as usize]).collect())
            .collect();
        self.children.iter_mut().flatten().for_each(Copy::reset);
    }

    fn forget(&self) {
        self.values.borrow_mut().fill(None);
        self.children.iter().flatten().for_each(Copy::forget);
    }

    /// Evaluates everything for these inputs, in the order of the ports.
    pub fn settle(&self, inputs: &[Lanes]) {
        self.forget();
        Frame { copy: self, parent: None, inputs }.all();
    }

    /// A word by its hierarchical name, after [`Self::settle`].
    pub fn word(&self, name: &str) -> Lanes {
        if let Some(id) = self.module.nodes.iter().position(|n| n.name.as_deref() == Some(name)) {
            return self.values.borrow()[id].clone().expect("settled");
        }
        let (instance, rest) = name.split_once('.').expect("a word of an instance");
        let i = self.module.instances.iter().position(|i| i.name == instance).expect("instance");
        self.children[i].iter().flat_map(|c| c.word(rest)).collect()
    }

    pub fn output(&self, port: usize) -> Lanes {
        self.values.borrow()[self.module.outputs[port].1].clone().expect("settled")
    }

    /// Every memory field: name, address, lanes.
    pub fn memories(&self, path: &str) -> Vec<(String, usize, Lanes)> {
        let mut found = vec![];
        for (mem, held) in self.module.memories.iter().zip(&self.memories) {
            for (f, words) in mem.fields.iter().zip(held) {
                for (address, w) in words.iter().enumerate() {
                    found.push((format!("{path}{}.{}", mem.name, f.name), address, w.clone()));
                }
            }
        }
        for (i, copies) in self.module.instances.iter().zip(&self.children) {
            let path = format!("{path}{}.", i.name);
            let lists: Vec<_> = copies.iter().map(|c| c.memories(&path)).collect();
            for k in 0..lists[0].len() {
                let (name, address, _) = &lists[0][k];
                let lanes = lists.iter().flat_map(|l| l[k].2.clone()).collect();
                found.push((name.clone(), *address, lanes));
            }
        }
        found
    }

    pub fn clock(&mut self) {
        let values = self.values.borrow().clone();
        let of = |id: usize| values[id].clone().expect("settled");
        for (id, n) in self.module.nodes.iter().enumerate() {
            if let Op::Reg { next, enable, .. } = n.op {
                let (next, enable) = (of(next.unwrap()), enable.map_or(vec![1], of));
                for (l, r) in self.registers[id].iter_mut().enumerate() {
                    if enable[l % enable.len()] != 0 {
                        *r = next[l];
                    }
                }
            }
        }
        for (k, m) in self.module.memories.iter().enumerate() {
            for (f, &data) in m.write_data.iter().enumerate() {
                if of(m.read_enable)[0] != 0 {
                    self.reads[k][f] = self.memories[k][f][of(m.read_address)[0] as usize].clone();
                }
                if of(m.write_enable)[0] != 0 {
                    self.memories[k][f][of(m.write_address)[0] as usize] = of(data);
                }
            }
        }
        self.children.iter_mut().flatten().for_each(Copy::clock);
    }
}

impl Frame<'_> {
    fn all(&self) {
        for id in 0..self.copy.module.nodes.len() {
            self.value(id);
        }
        for (i, copies) in self.copy.children.iter().enumerate() {
            for (c, copy) in copies.iter().enumerate() {
                Frame { copy, parent: Some((self, i, c)), inputs: &[] }.all();
            }
        }
    }

    fn value(&self, id: usize) -> Lanes {
        if let Some(v) = &self.copy.values.borrow()[id] {
            return v.clone();
        }
        let v = self.evaluate(id);
        let n = &self.copy.module.nodes[id];
        assert_eq!(v.len(), n.count as usize, "{:?}", n.name);
        for &x in &v {
            assert!(x >= n.ty.lo.into() && x <= n.ty.hi.into(), "{:?} is {x}, {}", n.name, n.ty);
        }
        self.copy.values.borrow_mut()[id] = Some(v.clone());
        v
    }

    fn input(&self, id: usize) -> Lanes {
        let m = &self.copy.module;
        let port = m.inputs.iter().position(|&p| p == id).unwrap();
        let Some((parent, instance, c)) = self.parent else { return self.inputs[port].clone() };
        let have = parent.value(parent.copy.module.instances[instance].inputs[port]);
        let count = m.nodes[id].count as usize;
        if have.len() == count { have } else { have[c * count..][..count].to_vec() }
    }

    fn evaluate(&self, id: usize) -> Lanes {
        let n = &self.copy.module.nodes[id];
        let lanes = n.count as usize;
        let x: Vec<Lanes> = n.op.operands().iter().map(|&a| self.value(a)).collect();
        let each = |f: &dyn Fn(&[i128]) -> i128| -> Lanes {
            let lane = |l: usize| -> Vec<i128> { x.iter().map(|v| v[l % v.len()]).collect() };
            (0..lanes).map(|l| f(&lane(l))).collect()
        };
        match &n.op {
            Op::Input => self.input(id),
            Op::Const(v) => vec![i128::from(*v)],
            Op::Add(..) => each(&|v| v[0] + v[1]),
            Op::Sub(..) => each(&|v| v[0] - v[1]),
            Op::Mul(..) => each(&|v| v[0] * v[1]),
            Op::MulAdd(..) => each(&|v| v[0] * v[1] + v[2]),
            Op::ShiftLeft(_, k) => each(&|v| v[0] << k),
            Op::ShiftRight(_, k) => each(&|v| v[0] >> k),
            Op::ShiftRightBy(..) => each(&|v| v[0] >> v[1].min(100)),
            Op::ShiftLeftBy(..) => each(&|v| v[0] << v[1]),
            Op::Less(..) => each(&|v| (v[0] < v[1]).into()),
            Op::Equal(..) => each(&|v| (v[0] == v[1]).into()),
            Op::And(..) => each(&|v| v[0] & v[1]),
            Op::Or(..) => each(&|v| v[0] | v[1]),
            Op::Not(_) => each(&|v| 1 - v[0]),
            Op::Mux(..) => each(&|v| if v[0] == 1 { v[1] } else { v[2] }),
            Op::Select(..) => each(&|v| v[1 + (v[0] as usize).min(v.len() - 2)]),
            Op::Fit(_) => each(&|v| v[0]),
            Op::Bits(_, k) => {
                let modulus = 1i128 << n.ty.width();
                each(&|v| {
                    let bits = (v[0] >> k).rem_euclid(modulus);
                    if n.ty.is_signed() && bits >= modulus / 2 { bits - modulus } else { bits }
                })
            }
            Op::Concat(_, low) => {
                let k = self.copy.module.nodes[*low].ty.width();
                each(&|v| (v[0] << k) + v[1])
            }
            Op::Rom(_, _, t) => each(&|v| t[(v[0] as usize).min(t.len() - 1)].into()),
            Op::Reg { .. } => self.copy.registers[id].clone(),
            Op::MemRead { memory, field } => self.copy.reads[*memory][*field].clone(),
            Op::InstanceOut { instance, port } => {
                let copies = self.copy.children[*instance].iter().enumerate();
                copies
                    .flat_map(|(c, copy)| {
                        let frame = Frame { copy, parent: Some((self, *instance, c)), inputs: &[] };
                        frame.value(copy.module.outputs[*port].1)
                    })
                    .collect()
            }
            Op::Lane(_, k) => vec![x[0][*k as usize]],
            Op::Gather(_) => x.iter().map(|v| v[0]).collect(),
            Op::Spread(_) => vec![x[0][0]; lanes],
        }
    }
}

//! Specialising: what has to be done for the data words in a cycle, given the control words that steer it.
use super::flatten::{Func, Id, Kind};
use super::program::{Program, ScalarOp, Src, Store, is_wide, scalar_ops};
use std::collections::HashMap;

/// One step of a cycle for the streams of a tile, in order.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Kernel(KernelOp),
    /// The words must lie in the interval of the node (looked at in checked mode).
    Check(Id, Src),
}

#[derive(Clone, Debug)]
pub(super) struct KernelOp {
    pub func: Func,
    pub node: Id,
    pub out: u32,
    pub lanes: u32,
    /// Range in [`List::args`].
    pub args: (u32, u32),
}

/// What is done in a cycle.
#[derive(Default)]
pub(super) struct List {
    /// First what no stream can change,
    pub scalars: Vec<ScalarOp>,
    /// then the rest.
    pub steps: Vec<Step>,
    pub args: Vec<Src>,
    pub pool: Vec<(u32, u32)>,
    /// At the clock: first copies of words into buffers,
    pub copies: Vec<(Src, u32)>,
    /// then reads of memory fields into buffers,
    pub reads: Vec<(usize, u32)>,
    /// then writes of memory fields,
    pub writes: Vec<(usize, Src)>,
    /// then exchanges of buffers.
    pub swaps: Vec<(u32, u32)>,
    /// Where each output is; none when it was not evaluated.
    pub outputs: Vec<Option<Src>>,
    /// Where each word is, when all are evaluated.
    pub words: Vec<Src>,
}

/// What to evaluate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wanted {
    /// Every word.
    pub all: bool,
    pub outputs: bool,
}

struct Compiler<'a> {
    program: &'a Program,
    slots: &'a [i64],
    wanted: Wanted,
    src: Vec<Src>,
    list: List,
}

/// The list for the control words in `slots`.
pub(super) fn compile(program: &Program, slots: &[i64], wanted: Wanted) -> List {
    let src = program.src.clone();
    let mut c = Compiler { program, slots, wanted, src, list: List::default() };
    let needed = c.needed();
    for &id in &program.net.order {
        if needed[id] {
            c.emit(id);
        }
    }
    c.clock();
    let known = |id: Id| needed[id] || !program.net.nodes[id].by_stream;
    c.list.outputs =
        program.net.outputs.iter().map(|&(_, id)| known(id).then(|| c.src[id])).collect();
    match wanted.all {
        true => c.list.words = c.src,
        false => c.reuse(),
    }
    c.list
}

impl Compiler<'_> {
    fn on(&self, enable: Option<u32>) -> bool {
        enable.is_none_or(|at| self.slots[at as usize] != 0)
    }

    /// The operand that a steered choice takes, when all lanes take the same.
    fn chosen(&self, func: Func, args: &[Id]) -> Option<Id> {
        let index = match func {
            Func::Mux => |v: i64, _: usize| 2 - (v as usize).min(1),
            Func::Select => |v: i64, n: usize| 1 + (v as usize).min(n - 2),
            _ => return None,
        };
        let Src::Slot { at, lanes, .. } = self.program.src[args[0]] else { return None };
        if self.program.net.nodes[args[0]].by_stream {
            return None;
        }
        let mut taken =
            self.slots[at as usize..][..lanes as usize].iter().map(|&v| args[index(v, args.len())]);
        let first = taken.next()?;
        taken.all(|one| one == first).then_some(first)
    }

    /// Data words that have to be evaluated.
    fn needed(&self) -> Vec<bool> {
        let net = &self.program.net;
        // Words without a name are parts of others.
        let mut needed: Vec<bool> =
            net.nodes.iter().map(|n| self.wanted.all && !n.name.is_empty()).collect();
        for r in self.program.data_regs.iter().filter(|r| self.on(r.enable)) {
            needed[r.next] = true;
        }
        for f in self.program.fields.iter().filter(|f| f.by_stream) {
            let enable = net.memories[f.memory].write_enable;
            needed[f.data] |= self.is_set(enable);
        }
        if self.wanted.outputs {
            net.outputs.iter().for_each(|&(_, id)| needed[id] = true);
        }
        for &id in net.order.iter().rev() {
            if !needed[id] || !net.nodes[id].by_stream {
                needed[id] = false;
                continue;
            }
            match &net.nodes[id].kind {
                Kind::Fn(func, args) => match self.chosen(*func, args) {
                    Some(one) => needed[one] = true,
                    None => args.iter().for_each(|&a| needed[a] = true),
                },
                _ => net.operands(id).iter().for_each(|&a| needed[a] = true),
            }
        }
        needed
    }

    fn is_set(&self, id: Id) -> bool {
        match self.program.src[id] {
            Src::Slot { at, .. } => self.slots[at as usize] != 0,
            Src::Buf { .. } => unreachable!("a control word"),
        }
    }

    fn is_wide(&self, src: Src) -> bool {
        match src {
            Src::Slot { wide, .. } => wide,
            Src::Buf { id, .. } => self.program.stores[id as usize].wide,
        }
    }

    fn emit(&mut self, id: Id) {
        let node = &self.program.net.nodes[id];
        match &node.kind {
            Kind::Input | Kind::Const(_) | Kind::Reg { .. } | Kind::MemRead { .. } => {}
            Kind::Alias(a) => self.src[id] = self.src[*a],
            Kind::Lanes(parts) => {
                let parts: Vec<Src> = parts.iter().map(|&(s, l)| self.src[s].lane(l)).collect();
                match Src::join(&parts) {
                    Some(whole) => self.src[id] = whole,
                    None => self.compute(id, Func::Lanes, &parts),
                }
            }
            Kind::Fn(func, args) => {
                if let Some(one) = self.chosen(*func, args) {
                    self.src[id] = self.src[one];
                    return;
                }
                let from: Vec<Src> = args.iter().map(|&a| self.src[a]).collect();
                if *func == Func::Copy {
                    let ty = self.program.net.nodes[args[0]].ty;
                    if !(node.ty.contains(ty.lo) && node.ty.contains(ty.hi)) {
                        self.list.steps.push(Step::Check(id, from[0]));
                    }
                    if self.is_wide(from[0]) == is_wide(node.ty) {
                        self.src[id] = from[0];
                        return;
                    }
                }
                self.compute(id, *func, &from);
            }
        }
    }

    fn compute(&mut self, id: Id, func: Func, from: &[Src]) {
        let lanes = match func {
            Func::Lanes => from.len() as u32,
            _ => from.iter().map(|s| s.lanes()).max().expect("operands"),
        };
        if from.iter().all(|s| matches!(s, Src::Slot { .. })) {
            let at = self.program.late[id];
            let List { pool, scalars, .. } = &mut self.list;
            scalar_ops(func, id, at, lanes, from, pool, |op| scalars.push(op));
            self.src[id] = Src::Slot { at, lanes, wide: is_wide(self.program.net.nodes[id].ty) };
            return;
        }
        let Src::Buf { id: out, .. } = self.program.src[id] else { unreachable!("a data word") };
        let start = self.list.args.len() as u32;
        self.list.args.extend(from);
        let args = (start, self.list.args.len() as u32);
        self.list.steps.push(Step::Kernel(KernelOp { func, node: id, out, lanes, args }));
        self.src[id] = Src::Buf { id: out, first: 0, lanes };
    }

    /// What the clock does: a register takes over the buffer of its next value if nobody else needs it,
    /// or gets a copy.
    fn clock(&mut self) {
        let p = self.program;
        // Registers that change, with where their next value comes from.
        let mut moves: Vec<(u32, u32)> = vec![];
        for (i, f) in p.fields.iter().enumerate().filter(|(_, f)| f.by_stream) {
            let m = &p.net.memories[f.memory];
            if let (Some(Src::Buf { id, .. }), true) = (f.read, self.is_set(m.read_enable)) {
                self.list.reads.push((i, f.stage));
                moves.push((id, f.stage));
            }
            if self.is_set(m.write_enable) {
                self.list.writes.push((i, self.src[f.data]));
            }
        }
        let changing: Vec<(u32, u32, Src)> = p
            .data_regs
            .iter()
            .filter(|r| self.on(r.enable))
            .map(|r| (r.buf, r.stage, self.src[r.next]))
            .filter(|&(buf, _, next)| !matches!(next, Src::Buf { id, first: 0, .. } if id == buf))
            .collect();
        let mut free = vec![true; p.stores.len()];
        for &id in &p.net.inputs {
            if let Src::Buf { id, .. } = p.src[id] {
                free[id as usize] = false;
            }
        }
        for r in &p.data_regs {
            free[r.buf as usize] = false;
        }
        for f in &p.fields {
            if let Some(Src::Buf { id, .. }) = f.read {
                free[id as usize] = false;
            }
        }
        let overwritten = moves.iter().map(|m| m.0).chain(changing.iter().map(|c| c.0));
        overwritten.for_each(|buf| free[buf as usize] = true);
        for (buf, stage, next) in changing {
            match next {
                Src::Buf { id, first: 0, lanes }
                    if free[id as usize]
                        && p.stores[id as usize] == p.stores[buf as usize]
                        && lanes == p.stores[buf as usize].lanes =>
                {
                    free[id as usize] = false;
                    moves.push((buf, id));
                }
                _ => {
                    self.list.copies.push((next, stage));
                    moves.push((buf, stage));
                }
            }
        }
        self.list.swaps = exchanges(&moves);
    }
}

impl Compiler<'_> {
    /// Gives a computed word the buffer of one that is no longer needed, so that few are in use.
    fn reuse(&mut self) {
        let p = self.program;
        let List { steps, args, copies, writes, swaps, outputs, .. } = &mut self.list;
        let mut last: Vec<usize> = vec![0; p.stores.len()];
        let used = |src: &Src| match src {
            Src::Buf { id, .. } => Some(*id as usize),
            Src::Slot { .. } => None,
        };
        for (at, step) in steps.iter().enumerate() {
            let srcs = match step {
                Step::Kernel(op) => &args[op.args.0 as usize..op.args.1 as usize],
                Step::Check(_, src) => std::slice::from_ref(src),
            };
            srcs.iter().filter_map(used).for_each(|id| last[id] = at);
        }
        let at_clock = copies.iter().map(|c| &c.0).chain(writes.iter().map(|w| &w.1));
        let kept = at_clock.chain(outputs.iter().flatten()).filter_map(used);
        let kept = kept.chain(swaps.iter().flat_map(|s| [s.0 as usize, s.1 as usize]));
        for id in kept.collect::<Vec<_>>() {
            last[id] = usize::MAX;
        }
        let mut place: Vec<u32> = (0..p.stores.len() as u32).collect();
        let mut is_scratch = vec![false; p.stores.len()];
        let mut free: HashMap<Store, Vec<u32>> = HashMap::new();
        let renamed = |place: &[u32], src: Src| match src {
            Src::Buf { id, first, lanes } => Src::Buf { id: place[id as usize], first, lanes },
            slot => slot,
        };
        for (at, step) in steps.iter_mut().enumerate() {
            let mut dying = vec![];
            let mut visit = |src: &mut Src, is_scratch: &[bool]| {
                if let Src::Buf { id, .. } = *src {
                    let own = id as usize;
                    if is_scratch[own] && last[own] == at && !dying.contains(&own) {
                        dying.push(own);
                    }
                }
                *src = renamed(&place, *src);
            };
            match step {
                Step::Check(_, src) => visit(src, &is_scratch),
                Step::Kernel(op) => {
                    let range = op.args.0 as usize..op.args.1 as usize;
                    args[range].iter_mut().for_each(|src| visit(src, &is_scratch));
                    let own = op.out as usize;
                    is_scratch[own] = true;
                    if let Some(other) = free.get_mut(&p.stores[own]).and_then(Vec::pop) {
                        place[own] = other;
                    }
                    op.out = place[own];
                }
            }
            for own in dying {
                free.entry(p.stores[own]).or_default().push(place[own]);
            }
        }
        copies.iter_mut().for_each(|c| c.0 = renamed(&place, c.0));
        writes.iter_mut().for_each(|w| w.1 = renamed(&place, w.1));
        outputs.iter_mut().flatten().for_each(|o| *o = renamed(&place, *o));
        for (a, b) in swaps {
            (*a, *b) = (place[*a as usize], place[*b as usize]);
        }
    }
}

/// Moves that happen at once, as exchanges in order. Each buffer is written once and read once at most.
fn exchanges(moves: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut from: HashMap<u32, u32> = moves.iter().copied().collect();
    let is_read: std::collections::HashSet<u32> = moves.iter().map(|m| m.1).collect();
    let mut swaps = vec![];
    // Chains start at a buffer that nobody reads; what is left are rings.
    let ends = moves.iter().map(|m| m.0).filter(|d| !is_read.contains(d));
    for start in ends.chain(moves.iter().map(|m| m.0)) {
        let mut to = start;
        while let Some(source) = from.remove(&to) {
            if source == start {
                break;
            }
            swaps.push((to, source));
            to = source;
        }
    }
    swaps
}

#[cfg(test)]
mod tests {
    use super::exchanges;

    #[test]
    fn exchanges_are_parallel_moves() {
        for moves in [
            vec![(1, 0), (2, 1), (3, 2)],
            vec![(0, 1), (1, 0)],
            vec![(0, 1), (1, 2), (2, 0), (4, 3)],
        ] {
            let mut held: Vec<u32> = (0..5).collect();
            exchanges(&moves).iter().for_each(|&(a, b)| held.swap(a as usize, b as usize));
            assert!(moves.iter().all(|&(to, from)| held[to as usize] == from), "{moves:?}");
        }
    }
}

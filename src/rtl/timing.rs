//! The longest path between registers of a design, by a delay for each operation.
//!
//! A path starts at a register, a memory's read word or an input port, and ends at a register, a memory's
//! port or an output port. Copies of an instance are alike, so one of them is walked.
use super::module::{Module, Node, NodeId, Op};

/// What operations take, ps.
pub trait Delay {
    /// From the operands to the result. Wiring (slices, constant shifts, lanes) is not asked for.
    fn operation(&self, node: &Node, operands: &[&Node]) -> u32;
    /// From the clock edge to a register's word.
    fn launch(&self) -> u32;
    /// By how much a word must be there before the edge.
    fn capture(&self) -> u32;
}

/// A path with the names of the words along it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// From edge to edge, ps.
    pub ps: u32,
    /// From the first word to the last, with the path of their instances: `core.lane.t_q`.
    pub words: Vec<String>,
}

/// When a word has settled, and which word it waited for.
#[derive(Clone, Copy)]
struct Arrival {
    ps: u32,
    after: Option<(usize, NodeId)>,
}

struct Frame<'m> {
    module: &'m Module,
    /// The frame above and the instance in it.
    above: Option<(usize, usize)>,
    path: String,
    below: Vec<usize>,
    arrivals: Vec<Option<Arrival>>,
}

struct Walk<'m, D> {
    delay: &'m D,
    frames: Vec<Frame<'m>>,
}

/// The longest path of a design.
pub fn longest_path(top: &Module, delay: &impl Delay) -> Path {
    let mut walk = Walk { delay, frames: vec![] };
    walk.open(top, None, String::new());
    let mut worst = Path { ps: 0, words: vec![] };
    for frame in 0..walk.frames.len() {
        for (end, name) in ends(walk.frames[frame].module, frame == 0) {
            let ps = walk.arrival(frame, end).ps;
            if ps > 0 && ps + delay.capture() > worst.ps {
                let mut words = walk.words(frame, end);
                words.extend(name.map(|name| walk.label(frame, &name)));
                worst = Path { ps: ps + delay.capture(), words };
            }
        }
    }
    worst
}

/// Words at the ends of paths, with the name of the register or port that takes them.
fn ends(module: &Module, is_top: bool) -> Vec<(NodeId, Option<String>)> {
    let mut ends = vec![];
    for node in &module.nodes {
        if let Op::Reg { next, enable, .. } = node.op {
            ends.extend(next.into_iter().chain(enable).map(|id| (id, node.name.clone())));
        }
    }
    for m in &module.memories {
        let ports = [m.write_enable, m.write_address, m.read_enable, m.read_address];
        ends.extend(ports.iter().chain(&m.write_data).map(|&id| (id, Some(m.name.clone()))));
    }
    if is_top {
        ends.extend(module.outputs.iter().map(|(name, id)| (*id, Some(name.clone()))));
    }
    ends
}

impl<'m, D: Delay> Walk<'m, D> {
    fn open(&mut self, module: &'m Module, above: Option<(usize, usize)>, path: String) -> usize {
        let this = self.frames.len();
        let arrivals = vec![None; module.nodes.len()];
        self.frames.push(Frame { module, above, path: path.clone(), below: vec![], arrivals });
        for (k, instance) in module.instances.iter().enumerate() {
            let dot = if path.is_empty() { "" } else { "." };
            let below = self.open(
                &instance.module,
                Some((this, k)),
                format!("{path}{dot}{}", instance.name),
            );
            self.frames[this].below.push(below);
        }
        this
    }

    fn arrival(&mut self, frame: usize, id: NodeId) -> Arrival {
        if let Some(known) = self.frames[frame].arrivals[id] {
            return known;
        }
        let module = self.frames[frame].module;
        let node = &module.nodes[id];
        let through = |walk: &mut Self, f: usize, id: NodeId| {
            let ps = walk.arrival(f, id).ps;
            Arrival { ps, after: Some((f, id)) }
        };
        let start = Arrival { ps: self.delay.launch(), after: None };
        let arrival = match &node.op {
            Op::Const(_) => Arrival { ps: 0, after: None },
            Op::Reg { .. } | Op::MemRead { .. } => start,
            Op::Input => match self.frames[frame].above {
                None => start,
                Some((above, instance)) => {
                    let port = module.inputs.iter().position(|&p| p == id).expect("an input");
                    let driver = self.frames[above].module.instances[instance].inputs[port];
                    through(self, above, driver)
                }
            },
            Op::InstanceOut { instance, port } => {
                let below = self.frames[frame].below[*instance];
                let inside = module.instances[*instance].module.outputs[*port].1;
                through(self, below, inside)
            }
            op => {
                let operands = op.operands();
                let mut last = Arrival { ps: 0, after: None };
                for &operand in &operands {
                    let arrival = through(self, frame, operand);
                    if arrival.ps > last.ps {
                        last = arrival;
                    }
                }
                if !is_wiring(op) && last.ps > 0 {
                    let operands: Vec<&Node> = operands.iter().map(|&o| &module.nodes[o]).collect();
                    last.ps += self.delay.operation(node, &operands);
                }
                last
            }
        };
        self.frames[frame].arrivals[id] = Some(arrival);
        arrival
    }

    fn label(&self, frame: usize, name: &str) -> String {
        let path = &self.frames[frame].path;
        if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
    }

    /// Names along the path to a word, each once.
    fn words(&self, frame: usize, id: NodeId) -> Vec<String> {
        let mut words: Vec<String> = vec![];
        let mut at = Some((frame, id));
        while let Some((f, id)) = at {
            let name = self.frames[f].module.name_of(id);
            let is_port = matches!(self.frames[f].module.nodes[id].op, Op::InstanceOut { .. });
            if !name.is_empty() && !is_port {
                words.push(self.label(f, name));
            }
            at = self.frames[f].arrivals[id].and_then(|arrival| arrival.after);
        }
        words.reverse();
        words.dedup();
        words
    }
}

/// True for operations that are wires.
fn is_wiring(op: &Op) -> bool {
    use Op::*;
    matches!(
        op,
        ShiftLeft(..)
            | ShiftRight(..)
            | Fit(_)
            | Bits(..)
            | Concat(..)
            | Lane(..)
            | Gather(_)
            | Spread(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::Interval;
    use crate::rtl::Net;

    struct Unit;

    impl Delay for Unit {
        fn operation(&self, node: &Node, _: &[&Node]) -> u32 {
            if matches!(node.op, Op::Mul(..)) { 100 } else { 10 }
        }
        fn launch(&self) -> u32 {
            3
        }
        fn capture(&self) -> u32 {
            2
        }
    }

    #[test]
    fn paths_go_through_instances_and_end_at_registers() {
        let ty = Interval::unsigned(4);
        let child = Net::new("square", "tests", "Its square and more.");
        let x = child.input("x", ty, "");
        child.output("square", (x * x).named("square"), "");
        child.output("same", x, "");
        let child = child.finish();
        let net = Net::new("top", "tests", "One long path.");
        let q = net.state("a", ty, 1, None);
        let outs = net.instance("unit", &child, 1, &[("x", q)]);
        net.drive(q, (outs[1] + net.constant(1)).named("up").bits(0, 4), None);
        let sum = (outs[0] + outs[1]).named("sum");
        let b = net.state("b", sum.ty(), 1, None);
        net.drive(b, sum, None);
        let path = longest_path(&net.finish(), &Unit);
        assert_eq!(path.ps, 3 + 100 + 10 + 2);
        assert_eq!(path.words, ["a_q", "unit.x", "unit.square", "sum", "b_q"]);
    }
}

//! Shapes and order of the flat nodes.
//!
//! What differs neither from lane to lane nor from stream to stream is found by a fixpoint through
//! registers and memories, so that a control that reaches every lane is held once.
use super::flatten::{Func, Id, Kind, Netlist};

impl Netlist {
    /// Nodes read in the same cycle.
    pub fn operands(&self, id: Id) -> Vec<Id> {
        match &self.nodes[id].kind {
            Kind::Input | Kind::Const(_) | Kind::Reg { .. } | Kind::MemRead { .. } => vec![],
            Kind::Alias(a) => vec![*a],
            Kind::Lanes(parts) => {
                let mut ids: Vec<Id> = parts.iter().map(|p| p.0).collect();
                ids.dedup();
                ids
            }
            Kind::Fn(_, args) => args.clone(),
        }
    }

    fn shape_of(&self, id: Id) -> (bool, bool) {
        let n = &self.nodes[id];
        let join = |ids: &[Id]| {
            ids.iter().fold((false, false), |(l, s), &i| {
                (l | self.nodes[i].by_lane, s | self.nodes[i].by_stream)
            })
        };
        let (lane, stream) = match &n.kind {
            Kind::Input => (true, n.by_stream),
            Kind::Const(_) => (false, false),
            Kind::Alias(a) => join(&[*a]),
            Kind::Lanes(parts) => {
                let (first, lane) = parts[0];
                let same = parts
                    .iter()
                    .all(|p| p.0 == first && (p.1 == lane || !self.nodes[first].by_lane));
                (!same, join(&self.operands(id)).1)
            }
            Kind::Fn(_, args) => join(args),
            Kind::Reg { next, enable, .. } => {
                let mut ids = vec![*next];
                ids.extend(enable);
                join(&ids)
            }
            Kind::MemRead { memory, field } => join(&[self.memories[*memory].fields[*field].data]),
        };
        (lane && n.lanes > 1, stream)
    }

    /// Finds what differs by lane and by stream: the least fixpoint.
    pub fn shapes(&mut self) {
        loop {
            let mut changed = false;
            for id in 0..self.nodes.len() {
                let (lane, stream) = self.shape_of(id);
                let n = &mut self.nodes[id];
                changed |= (lane && !n.by_lane) || (stream && !n.by_stream);
                (n.by_lane, n.by_stream) = (n.by_lane | lane, n.by_stream | stream);
            }
            if !changed {
                break;
            }
        }
        for mem in &self.memories {
            for (what, id) in [
                ("write enable", mem.write_enable),
                ("write address", mem.write_address),
                ("read enable", mem.read_enable),
                ("read address", mem.read_address),
            ] {
                let n = &self.nodes[id];
                assert!(
                    !n.by_lane && !n.by_stream,
                    "{}: its {what} ({}) depends on data, or differs from lane to lane",
                    mem.name,
                    self.label(id)
                );
            }
        }
    }

    /// A register whose enable is no single control bit takes a chosen value every cycle instead.
    pub fn steer(&mut self) {
        for id in 0..self.nodes.len() {
            let Kind::Reg { next, enable: Some(enable), reset } = self.nodes[id].kind else {
                continue;
            };
            if !self.nodes[enable].by_lane && !self.nodes[enable].by_stream {
                continue;
            }
            let (ty, lanes) = (self.nodes[id].ty, self.nodes[id].lanes);
            let chosen = self.push(Kind::Fn(Func::Mux, vec![enable, next, id]), ty, lanes);
            let shape = (self.nodes[id].by_lane, self.nodes[id].by_stream);
            (self.nodes[chosen].by_lane, self.nodes[chosen].by_stream) = shape;
            self.nodes[id].kind = Kind::Reg { next: chosen, enable: None, reset };
        }
    }

    pub fn label(&self, id: Id) -> String {
        let n = &self.nodes[id];
        if n.name.is_empty() { format!("unnamed {:?} of {}", n.kind, n.ty) } else { n.name.clone() }
    }

    /// Sorts; depth first, so that a loop is found with its words.
    pub fn sort(&mut self) {
        // 0: not seen, 1: on the path, 2: done.
        let mut state = vec![0u8; self.nodes.len()];
        let mut order = vec![];
        for root in 0..self.nodes.len() {
            if state[root] != 0 {
                continue;
            }
            state[root] = 1;
            let mut path = vec![(root, self.operands(root), 0)];
            while let Some((id, operands, at)) = path.last_mut() {
                let Some(&next) = operands.get(*at) else {
                    state[*id] = 2;
                    order.push(*id);
                    path.pop();
                    continue;
                };
                *at += 1;
                match state[next] {
                    0 => {
                        state[next] = 1;
                        let operands = self.operands(next);
                        path.push((next, operands, 0));
                    }
                    1 => {
                        let start = path.iter().position(|p| p.0 == next).expect("on the path");
                        let names: Vec<String> = path[start..]
                            .iter()
                            .map(|p| &self.nodes[p.0].name)
                            .filter(|n| !n.is_empty())
                            .cloned()
                            .collect();
                        panic!("a combinational loop, each read by the one before: {names:?}");
                    }
                    _ => {}
                }
            }
        }
        self.order = order;
    }
}

//! What has a clock or a hierarchy: registers, memories and instances.
use super::body::{Printer, Statement};
use super::scope::At;
use super::{needs_clock, needs_reset};
use crate::num::Interval;
use crate::rtl::module::{NodeId, Op};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One register, ready to print.
struct Register {
    target: String,
    next: String,
    enable: Option<String>,
    reset: Option<String>,
    /// Lanes that are enabled one by one.
    lanes: Option<u32>,
}

impl Printer<'_> {
    /// One clocked block for each section, for registers with and without reset, after the words they take.
    pub fn registers(&mut self) {
        let mut groups: BTreeMap<(usize, bool), Vec<Register>> = BTreeMap::new();
        for id in 0..self.module.nodes.len() {
            if let Op::Reg { next: Some(next), enable, reset } = self.module.nodes[id].op {
                let mut reads = vec![id, next];
                reads.extend(enable);
                let group = self.latest_section(&reads);
                let register = self.register(id, next, enable, reset, group);
                groups.entry((group, reset.is_none())).or_default().push(register);
            }
        }
        for ((group, _), registers) in groups {
            let (looped, plain): (Vec<_>, Vec<_>) =
                registers.into_iter().partition(|r| r.lanes.is_some());
            let mut blocks = vec![];
            if !plain.is_empty() {
                blocks.push(self.clocked(&plain, 2));
            }
            for r in looped {
                let name = r.target.split('[').next().unwrap_or_default().to_string();
                let open = self.open_loop(r.lanes.unwrap_or(1), &name);
                blocks.push(format!("{open}{}  end\n", self.clocked(&[r], 4)));
            }
            let text = &mut self.groups[group].clocked;
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&blocks.join("\n"));
        }
    }

    fn register(
        &mut self,
        id: NodeId,
        next: NodeId,
        enable: Option<NodeId>,
        reset: Option<i64>,
        group: usize,
    ) -> Register {
        let node = &self.module.nodes[id];
        let (ty, count) = (node.ty, node.count);
        let signal = self.scope.signal_of(id).expect("a register has a name");
        let name = self.signal_name(signal);
        let by_lane = enable.is_some_and(|e| self.module.nodes[e].count > 1);
        let lanes = by_lane.then_some(count);
        let value = super::bits::Value::constant(reset.unwrap_or(0), ty.width(), ty.is_signed());
        let zero = self.scope.writer().text(&value);
        let repeated = count > 1 && !by_lane;
        let next = match by_lane {
            true => self.scope.print(&self.scope.operand(next, At::Each, ty.width())),
            false => {
                let base = name.trim_end_matches("_q").to_string();
                self.whole(next, ty, count, &format!("{base}_d"), group)
            }
        };
        Register {
            target: if by_lane { self.lane_of(signal) } else { name },
            next,
            enable: enable.map(|e| self.scope.print(&self.scope.value(e, At::Each))),
            reset: reset.map(|_| if repeated { format!("{{{count}{{{zero}}}}}") } else { zero }),
            lanes,
        }
    }

    fn clocked(&self, registers: &[Register], indent: usize) -> String {
        let pad = " ".repeat(indent);
        let always = if self.is_sv() { "always_ff" } else { "always" };
        let has_reset = registers[0].reset.is_some();
        let edge = if has_reset { " or negedge rst_ni" } else { "" };
        let mut out = format!("{pad}{always} @(posedge clk_i{edge}) begin\n");
        let mut enables: Vec<Option<&String>> = vec![];
        for r in registers {
            if !enables.contains(&r.enable.as_ref()) {
                enables.push(r.enable.as_ref());
            }
        }
        // The only enable joins the branch of the reset.
        let joined = if let (true, [Some(only)]) = (has_reset, &enables[..]) {
            Some((*only).clone())
        } else {
            None
        };
        if has_reset {
            let _ = writeln!(out, "{pad}  if (!rst_ni) begin");
            let resets = registers.iter().filter_map(|r| Some((&r.target, r.reset.as_ref()?)));
            let rows: Vec<_> = resets.map(|(to, v)| (to.clone(), format!(" <= {v};"))).collect();
            out.push_str(&lines(&rows, indent + 4));
            let branch = match &joined {
                Some(enable) => format!("end else if ({enable}) begin"),
                None => "end else begin".to_string(),
            };
            out.push_str(&super::layout::statement(&branch, indent + 2));
        }
        let inner = indent + if has_reset { 4 } else { 2 };
        for enable in enables {
            let same = registers.iter().filter(|r| r.enable.as_ref() == enable);
            let rows: Vec<_> =
                same.map(|r| (r.target.clone(), format!(" <= {};", r.next))).collect();
            match enable {
                Some(enable) if joined.is_none() => {
                    out.push_str(&super::layout::statement(&format!("if ({enable}) begin"), inner));
                    out.push_str(&lines(&rows, inner + 2));
                    let _ = writeln!(out, "{}end", " ".repeat(inner));
                }
                _ => out.push_str(&lines(&rows, inner)),
            }
        }
        if has_reset {
            let _ = writeln!(out, "{pad}  end");
        }
        let _ = writeln!(out, "{pad}end");
        out
    }

    pub fn memory(&mut self, index: usize) {
        let m = &self.module.memories[index];
        let reads: Vec<(NodeId, usize, usize)> = (0..self.module.nodes.len())
            .filter_map(|id| match self.module.nodes[id].op {
                Op::MemRead { memory, field } if memory == index => {
                    Some((id, field, self.module.nodes[id].section))
                }
                _ => None,
            })
            .collect();
        let mut sources = vec![m.write_enable, m.write_address, m.read_enable, m.read_address];
        sources.extend(&m.write_data);
        sources.extend(reads.iter().map(|(id, ..)| *id));
        let group = self.latest_section(&sources);
        let width: u32 = m.fields.iter().map(|f| f.ty.width() * f.count).sum();
        let address = Interval::unsigned((u32::BITS - (m.depth - 1).leading_zeros()).max(1));
        let mut data = vec![];
        for (field, &word) in m.fields.iter().zip(&m.write_data) {
            let name = format!("{}_{}_write", m.name, field.name);
            data.push(self.whole(word, field.ty, field.count, &name, group));
        }
        data.reverse();
        let data =
            if data.len() == 1 { data[0].clone() } else { format!("{{{}}}", data.join(", ")) };
        let bus_name = format!("{}_word", m.name);
        let one_bit = Interval::unsigned(1);
        let bus = self.scope.declare(&bus_name, one_bit, width);
        self.declare_in(group, "wire", one_bit, width, &bus_name);
        let mut connections = vec![("clk_i".to_string(), "clk_i".to_string())];
        for (port, node, ty) in [
            ("wen_i", m.write_enable, one_bit),
            ("waddr_i", m.write_address, address),
            ("ren_i", m.read_enable, one_bit),
            ("raddr_i", m.read_address, address),
        ] {
            let text = self.scope.print(&self.scope.operand(node, At::Each, ty.width()));
            connections.push((port.to_string(), text));
        }
        connections.insert(3, ("wdata_i".to_string(), data));
        connections.push(("rdata_o".to_string(), bus_name));
        let parameters = [("Depth", m.depth), ("Width", width), ("AddressBits", address.width())]
            .map(|(name, value)| format!(".{name}({value})"));
        let head =
            format!("{} #({}) u_{}", self.style.memory_name(m.kind), parameters.join(", "), m.name);
        let mut text = super::layout::comment(&m.doc, 2);
        text.push_str(&self.connected(&head, &connections, 2));
        self.groups[group].statements.push(Statement::Block(text));
        let mut low = 0;
        let offsets: Vec<u32> = m
            .fields
            .iter()
            .map(|f| {
                low += f.ty.width() * f.count;
                low - f.ty.width() * f.count
            })
            .collect();
        for (id, field, _) in reads {
            let f = &m.fields[field];
            let part = self.scope.slice(bus, 0, offsets[field], f.ty.width() * f.count);
            let right = self.scope.print(&part);
            let signal = self.scope.signal_of(id).expect("a read word has a name");
            self.assign(group, self.signal_name(signal), right, None);
        }
    }

    pub fn instance(&mut self, index: usize) {
        let i = &self.module.instances[index];
        let child = &i.module;
        let mut sources = i.inputs.clone();
        let mut outputs: Vec<(usize, NodeId)> = vec![];
        for (id, node) in self.module.nodes.iter().enumerate() {
            if let Op::InstanceOut { instance, port } = node.op {
                if instance == index {
                    outputs.push((port, id));
                }
            }
        }
        sources.extend(outputs.iter().map(|(_, id)| *id));
        let group = self.latest_section(&sources);
        let mut connections = vec![];
        for (needed, name) in [(needs_clock(child), "clk_i"), (needs_reset(child), "rst_ni")] {
            if needed {
                connections.push((name.to_string(), name.to_string()));
            }
        }
        for (&port, &node) in child.inputs.iter().zip(&i.inputs) {
            let name = child.name_of(port);
            let text = self.connection(i.count, &i.name, name, &child.nodes[port], node, group);
            connections.push((format!("{name}_i"), text));
        }
        for (port, (name, inner)) in child.outputs.iter().enumerate() {
            let ty = child.nodes[*inner].ty;
            let lanes = child.nodes[*inner].count;
            let Some((_, id)) = outputs.iter().find(|(p, _)| *p == port) else { continue };
            let signal = self.scope.signal_of(*id).expect("an output has a name");
            let width = ty.width() * lanes;
            let slice = match i.count {
                1 => self.scope.whole_signal(signal),
                _ => self.scope.slice(signal, width, 0, width),
            };
            connections.push((format!("{name}_o"), self.scope.writer().text(&slice)));
        }
        let head = format!("{} u_{}", self.style.module_name(&child.name), i.name);
        let text = match i.count {
            1 => self.connected(&head, &connections, 2),
            n => {
                let body = self.connected(&head, &connections, 4);
                // A loop over a word of the same name would take the same block name.
                let is_taken = self.scope.signals.iter().any(|s| s.name == i.name);
                let block = if is_taken { format!("{}_lanes", i.name) } else { i.name.clone() };
                format!("{}{body}  end\n", self.open_loop(n, &block))
            }
        };
        self.groups[group].statements.push(Statement::Block(text));
    }

    /// What drives one input port of one copy of an instance.
    fn connection(
        &mut self,
        copies: u32,
        instance: &str,
        port: &str,
        child: &crate::rtl::module::Node,
        node: NodeId,
        group: usize,
    ) -> String {
        let (ty, lanes) = (child.ty, child.count);
        let have = self.module.nodes[node].count;
        if lanes == 1 && (have == 1 || copies > 1) {
            return self.scope.print(&self.scope.operand(node, At::Each, ty.width()));
        }
        let name = format!("{instance}_{port}_source");
        if have <= lanes || copies == 1 {
            return self.whole(node, ty, lanes, &name, group);
        }
        // A bundle of bundles: each copy takes `lanes` neighbours.
        let is_ready = self.module.nodes[node].ty.width() == ty.width();
        let signal = match self.scope.signal_of(node) {
            Some(signal) if is_ready => signal,
            _ => {
                let signal = self.scope.declare(&name, ty, have);
                self.declare_in(group, "wire", ty, have, &name);
                let right = self.scope.print(&self.scope.operand(node, At::Each, ty.width()));
                let to = self.lane_of(signal);
                self.assign(group, to, right, Some(have));
                signal
            }
        };
        let width = ty.width() * lanes;
        self.scope.print(&self.scope.slice(signal, width, 0, width))
    }

    /// An instance with one connection a line; a port joined to a word of its own name is short in SV.
    fn connected(&self, head: &str, connections: &[(String, String)], indent: usize) -> String {
        let pad = " ".repeat(indent);
        let longest = connections.iter().map(|(port, _)| port.len()).max().unwrap_or(0);
        let mut out = super::layout::statement(&format!("{head} ("), indent);
        for (k, (port, text)) in connections.iter().enumerate() {
            let comma = if k + 1 < connections.len() { "," } else { "" };
            let line = match self.is_sv() && port == text {
                true => format!(".{port}{comma}"),
                false => format!(".{port:<longest$}({text}){comma}"),
            };
            out.push_str(&super::layout::statement(&line, indent + 2));
        }
        let _ = writeln!(out, "{pad});");
        out
    }
}

fn lines(rows: &[(String, String)], indent: usize) -> String {
    let aligned = super::layout::aligned(rows);
    aligned.iter().map(|line| super::layout::statement(line, indent)).collect()
}

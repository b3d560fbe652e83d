//! The text of one module: header, ports, functions, and one group of statements for each section.
use super::front::columns;
use super::scope::{At, Scope};
use super::{Dialect, Style, layout, multiply, range};
use crate::num::Interval;
use crate::rtl::module::{Module, NodeId, Op};
use std::fmt::Write as _;

/// One statement of a section; a long right-hand side has several lines.
pub enum Statement {
    /// Target, right-hand side, and the number of lanes when it stands in a loop.
    Assign(String, String, Option<u32>),
    /// A comment on the assignment that follows, and the lanes of its loop.
    Note(String, Option<u32>),
    /// Lines as they are.
    Block(String),
}

/// What is printed under one comment.
#[derive(Default)]
pub struct Group {
    /// Kind, range and name.
    pub declarations: Vec<(String, String, String)>,
    pub statements: Vec<Statement>,
    pub clocked: String,
}

pub struct Printer<'m> {
    pub scope: Scope<'m>,
    pub module: &'m Module,
    pub style: &'m Style,
    pub groups: Vec<Group>,
}

pub fn print(module: &Module, style: &Style) -> String {
    let mut p = Printer {
        scope: Scope::new(module, style),
        module,
        style,
        groups: module.sections.iter().map(|_| Group::default()).collect(),
    };
    for id in 0..module.nodes.len() {
        p.node(id);
    }
    for k in 0..module.memories.len() {
        p.memory(k);
    }
    for k in 0..module.instances.len() {
        p.instance(k);
    }
    p.registers();
    for (name, id) in &module.outputs {
        p.output(name, *id);
    }
    let functions = p.functions();
    let groups: Vec<String> = (0..p.groups.len()).map(|g| p.group(g)).collect();
    let unused = p.unused();
    let groups = groups.concat();
    let mut ports = p.ports();
    if !groups.contains("for (") {
        // A lane count without a loop over lanes: Verilog-2005 would declare an idle genvar.
        ports = ports.replace(&format!("  genvar {};\n\n", p.scope.lane), "");
    }
    let parts = [p.header(), ports, functions, groups, unused];
    let name = style.module_name(&module.name);
    let end = match style.dialect {
        Dialect::SystemVerilog => format!("endmodule : {name}\n"),
        Dialect::Verilog2005 => "endmodule\n".to_string(),
    };
    parts.concat() + &end
}

impl Printer<'_> {
    pub fn is_sv(&self) -> bool {
        self.style.dialect == Dialect::SystemVerilog
    }

    pub fn declare_in(&mut self, group: usize, kind: &str, ty: Interval, count: u32, name: &str) {
        let kind = if self.is_sv() { "logic" } else { kind };
        let row = (kind.to_string(), range(ty, count), name.to_string());
        self.groups[group].declarations.push(row);
    }

    pub fn signal_name(&self, signal: usize) -> String {
        self.scope.signals[signal].name.clone()
    }

    /// Declares a node that has a name and, when it is combinational, assigns it.
    fn node(&mut self, id: NodeId) {
        let Some(signal) = self.scope.signal_of(id) else { return };
        let node = &self.module.nodes[id];
        let name = self.signal_name(signal);
        let kind = if matches!(node.op, Op::Reg { .. }) { "reg" } else { "wire" };
        if node.op != Op::Input {
            self.declare_in(node.section, kind, node.ty, node.count, &name);
        }
        match node.op {
            Op::Input | Op::Reg { .. } | Op::MemRead { .. } | Op::InstanceOut { .. } => return,
            _ => {}
        }
        let is_bundle = node.count > 1;
        let lanes = (is_bundle && !matches!(node.op, Op::Gather(_))).then_some(node.count);
        let target = match lanes {
            None => name.clone(),
            Some(_) => self.lane_of(signal),
        };
        if let Some(note) = multiply::note(&self.scope, id) {
            self.groups[node.section].statements.push(Statement::Note(note, lanes));
        }
        let mut right = self.scope.expression(id, At::Each);
        if let Some(wider) = right.is_wider {
            // Verilog-2005 cannot narrow an expression: it goes through a word of its own.
            let is_signed = right.text.contains(">>>");
            let full = if is_signed { Interval::signed(wider) } else { Interval::unsigned(wider) };
            let source = self.scope.declare(&format!("{name}_source"), full, node.count);
            let source_name = self.signal_name(source);
            self.declare_in(node.section, "wire", full, node.count, &source_name);
            let to = if is_bundle { self.lane_of(source) } else { source_name };
            self.assign(node.section, to, right.text, lanes);
            let stride = if is_bundle { wider } else { 0 };
            let narrow = self.scope.slice(source, stride, 0, node.ty.width());
            right.text = self.scope.print(&narrow);
        }
        self.assign(node.section, target, right.text, lanes);
    }

    pub fn assign(&mut self, group: usize, to: String, right: String, lanes: Option<u32>) {
        self.groups[group].statements.push(Statement::Assign(to, right, lanes));
    }

    /// One lane of a bundle, as the target of an assignment in a loop.
    pub fn lane_of(&self, signal: usize) -> String {
        let width = self.scope.signals[signal].width;
        let total = self.scope.signals[signal].total();
        if total == width {
            return self.signal_name(signal);
        }
        match self.scope.slice(signal, width, 0, width).pieces[..] {
            [super::bits::Piece::Slice(ref s)] => self.scope.writer().slice(s),
            _ => unreachable!("a slice is one piece"),
        }
    }

    /// All lanes of a node, each in the width of `ty`, as one expression. Where the lanes are written in
    /// place or are too narrow, a word called `name` takes them first.
    pub fn whole(
        &mut self,
        id: NodeId,
        ty: Interval,
        count: u32,
        name: &str,
        group: usize,
    ) -> String {
        let node = &self.module.nodes[id];
        let width = ty.width();
        if node.count == 1 {
            let one = self.scope.print(&self.scope.operand(id, At::Each, width));
            return if count == 1 { one } else { format!("{{{count}{{{one}}}}}") };
        }
        if let (Some(signal), true) = (self.scope.signal_of(id), node.ty.width() == width) {
            return self.scope.print(&self.scope.whole_signal(signal));
        }
        if let Op::Spread(a) = &node.op {
            let one = self.scope.print(&self.scope.operand(*a, At::Each, width));
            return format!("{{{}{{{one}}}}}", node.count);
        }
        let signal = self.scope.declare(name, ty, node.count);
        self.declare_in(group, "wire", ty, node.count, name);
        let right = self.scope.print(&self.scope.operand(id, At::Each, width));
        let to = self.lane_of(signal);
        self.assign(group, to, right, Some(node.count));
        self.scope.print(&self.scope.whole_signal(signal))
    }

    fn output(&mut self, name: &str, id: NodeId) {
        let node = &self.module.nodes[id];
        let is_in_place = self.scope.signal_of(id).is_none() && !matches!(node.op, Op::Spread(_));
        let (to, right, lanes) = if node.count > 1 && is_in_place {
            let width = node.ty.width();
            let to = self.scope.writer().lane_text(&format!("{name}_o"), width, 0, width);
            (to, self.scope.print(&self.scope.value(id, At::Each)), Some(node.count))
        } else {
            let source = format!("{name}_source");
            let right = self.whole(id, node.ty, node.count, &source, node.section);
            (format!("{name}_o"), right, None)
        };
        self.assign(node.section, to, right, lanes);
    }

    /// The section after which every declared word behind these nodes can be read.
    pub fn latest_section(&self, ids: &[NodeId]) -> usize {
        let mut latest = 0;
        for &id in ids {
            let node = &self.module.nodes[id];
            let section = match self.scope.signal_of(id) {
                Some(_) => node.section,
                None => self.latest_section(&node.op.operands()),
            };
            latest = latest.max(section);
        }
        latest
    }

    fn group(&self, index: usize) -> String {
        let group = &self.groups[index];
        let mut out = String::new();
        let rows: Vec<Vec<String>> = group
            .declarations
            .iter()
            .map(|(kind, range, name)| vec![kind.clone(), range.clone(), format!("{name};")])
            .collect();
        for line in columns(&rows) {
            let _ = writeln!(out, "  {line}");
        }
        let mut at = 0;
        while at < group.statements.len() {
            let lanes_of = |s: &Statement| match s {
                Statement::Assign(_, _, lanes) | Statement::Note(_, lanes) => Some(*lanes),
                Statement::Block(_) => None,
            };
            let kind = lanes_of(&group.statements[at]);
            let run = match kind {
                None => 1,
                Some(_) => {
                    group.statements[at..].iter().take_while(|s| lanes_of(s) == kind).count()
                }
            };
            self.run(&group.statements[at..at + run], kind.flatten(), &mut out);
            at += run;
        }
        if !group.clocked.is_empty() {
            let gap = if out.is_empty() { "" } else { "\n" };
            let _ = write!(out, "{gap}{}", group.clocked);
        }
        if out.is_empty() {
            return out;
        }
        let comment = layout::comment(&self.module.sections[index], 2);
        format!("{comment}{out}\n")
    }

    /// Statements of one kind: plain assignments, or those of one loop over lanes.
    fn run(&self, statements: &[Statement], lanes: Option<u32>, out: &mut String) {
        let indent = if lanes.is_some() { 4 } else { 2 };
        let mut rows = vec![];
        for s in statements {
            match s {
                Statement::Assign(to, right, _) => {
                    rows.push((format!("assign {to}"), format!(" = {right};")));
                }
                Statement::Block(text) => out.push_str(text),
                Statement::Note(..) => {}
            }
        }
        if let (Some(count), Some((first, _))) = (lanes, rows.first()) {
            let name = first.trim_start_matches("assign ").split('[').next().unwrap_or("lanes");
            out.push_str(&self.open_loop(count, name));
        }
        let mut assigned = layout::aligned(&rows).into_iter();
        for s in statements {
            match s {
                Statement::Note(text, _) => out.push_str(&layout::comment(text, indent)),
                Statement::Assign(..) => {
                    let line = assigned.next().unwrap_or_default();
                    out.push_str(&layout::statement(&line, indent));
                }
                Statement::Block(_) => {}
            }
        }
        if lanes.is_some() {
            out.push_str("  end\n");
        }
    }

    pub fn open_loop(&self, count: u32, name: &str) -> String {
        let (lane, genvar) = (&self.scope.lane, if self.is_sv() { "genvar " } else { "" });
        format!(
            "  for ({genvar}{lane} = 0; {lane} < {count}; {lane} = {lane} + 1) begin : gen_{name}\n"
        )
    }

    /// One word for each signal of which some bits have no reader.
    fn unused(&mut self) -> String {
        const MOST_RUNS: usize = 4;
        let kind = if self.is_sv() { "logic" } else { "wire" };
        let mut out = String::new();
        for signal in 0..self.scope.signals.len() {
            let runs = self.scope.unread(signal);
            if runs.is_empty() {
                continue;
            }
            let slices: Vec<_> = if runs.len() > MOST_RUNS {
                vec![self.scope.whole_signal(signal)]
            } else {
                runs.iter().map(|&(low, w)| self.scope.slice(signal, 0, low, w)).collect()
            };
            let w = self.scope.writer();
            let right = match &slices[..] {
                [one] if one.width() == 1 => w.text(one),
                [one] => format!("^{}", w.text(one)),
                many => {
                    let parts: Vec<String> = many.iter().rev().map(|s| w.text(s)).collect();
                    format!("^{{{}}}", parts.join(", "))
                }
            };
            let name = format!("unused_{}", self.signal_name(signal));
            self.scope.claim(&name);
            let _ = writeln!(out, "  {kind} {name};");
            out.push_str(&layout::statement(&format!("assign {name} = {right};"), 2));
        }
        if out.is_empty() {
            return out;
        }
        format!("  // Bits that nothing reads.\n{out}\n")
    }
}

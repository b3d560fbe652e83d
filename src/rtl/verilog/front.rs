//! What stands before the statements of a module: header, ports and functions.
use super::body::Printer;
use super::scope::Table;
use super::{format, layout, multiply, needs_clock, needs_reset, range};
use crate::num::Interval;
use std::fmt::Write as _;

impl Printer<'_> {
    pub fn header(&self) -> String {
        let m = self.module;
        let mut out =
            layout::comment(&format!("{}: {}", self.style.module_name(&m.name), m.doc), 0);
        out.push_str("//\n");
        for line in &self.style.header {
            out.push_str(&layout::comment(line, 0));
        }
        let source = format!("Source: {}. Do not edit; run `mive emit` instead.", m.source);
        out.push_str(&layout::comment(&source, 0));
        let mut rows = vec![["", "port", "format", "meaning"].map(String::from).to_vec()];
        let meaning = |name: &str| {
            let doc = m.port_docs.iter().find(|(port, _)| port == name);
            doc.map_or(String::new(), |(_, doc)| doc.clone())
        };
        for &id in &m.inputs {
            let (node, name) = (&m.nodes[id], m.name_of(id));
            let format = format(node.ty, node.count);
            rows.push(vec![String::new(), format!("{name}_i"), format, meaning(name)]);
        }
        for (name, id) in &m.outputs {
            let node = &m.nodes[*id];
            let format = format(node.ty, node.count);
            rows.push(vec![String::new(), format!("{name}_o"), format, meaning(name)]);
        }
        if rows.len() > 1 {
            out.push_str("//\n");
        }
        for row in layout::table(&rows, "  ").into_iter().filter(|_| rows.len() > 1) {
            let _ = writeln!(out, "//{}", if row.is_empty() { row } else { format!(" {row}") });
        }
        out
    }

    pub fn ports(&self) -> String {
        let m = self.module;
        let kind = if self.is_sv() { "logic" } else { "wire" };
        let mut rows: Vec<Vec<String>> = vec![];
        let mut port = |direction: &str, range: String, name: String| {
            rows.push(vec![format!("{direction} {kind}"), range, name]);
        };
        if needs_clock(m) {
            port("input ", String::new(), "clk_i".into());
        }
        if needs_reset(m) {
            port("input ", String::new(), "rst_ni".into());
        }
        for &id in &m.inputs {
            let node = &m.nodes[id];
            port("input ", range(node.ty, node.count), format!("{}_i", m.name_of(id)));
        }
        for (name, id) in &m.outputs {
            let node = &m.nodes[*id];
            port("output", range(node.ty, node.count), format!("{name}_o"));
        }
        let mut out = format!("module {} (\n", self.style.module_name(&m.name));
        let lines = columns(&rows);
        for (k, line) in lines.iter().enumerate() {
            let comma = if k + 1 < lines.len() { "," } else { "" };
            let _ = writeln!(out, "  {line}{comma}");
        }
        out.push_str(");\n\n");
        let has_lanes =
            m.nodes.iter().any(|n| n.count > 1) || m.instances.iter().any(|i| i.count > 1);
        if !self.is_sv() && has_lanes {
            let _ = write!(out, "  genvar {};\n\n", self.scope.lane);
        }
        out
    }

    /// Tables and rows of products.
    pub fn functions(&self) -> String {
        let tables = self.scope.tables.iter().filter(|(_, table)| table.entries.len() > 1);
        let tables = tables.map(|(name, table)| self.table(name, table));
        let rows = self.scope.rows.keys().map(|&id| multiply::row_function(&self.scope, id));
        tables.chain(rows).map(|f| f.text(self.is_sv())).collect()
    }

    fn table(&self, name: &str, table: &Table) -> Function {
        let (rows, ty) = (table.entries.len(), table.ty);
        let argument = &self.scope.argument;
        let reachable = rows.min(1usize.checked_shl(table.index_width).unwrap_or(rows));
        let mut lines = vec![];
        for (k, &entry) in table.entries[..reachable].iter().enumerate() {
            let label = match k + 1 == reachable {
                true => "default: ".to_string(),
                false => format!("{}'d{k}: ", table.index_width),
            };
            let value = super::bits::Value::constant(entry, ty.width(), ty.is_signed());
            lines.push((label, format!("{name} = {};", self.scope.writer().text(&value))));
        }
        let lines = layout::aligned(&lines).into_iter().map(|line| format!("  {line}"));
        let head = [format!("case ({argument})")].into_iter();
        Function {
            comment: format!("Table {name}: {rows} entries, {}.", format(ty, 1)),
            name: name.to_string(),
            result: ty,
            arguments: vec![(argument.clone(), table.index_width)],
            body: head.chain(lines).chain(["endcase".to_string()]).collect(),
        }
    }
}

/// A function of unsigned words.
pub struct Function {
    pub comment: String,
    pub name: String,
    pub result: Interval,
    /// Name and width in bits.
    pub arguments: Vec<(String, u32)>,
    /// Lines of the body.
    pub body: Vec<String>,
}

impl Function {
    fn text(&self, is_sv: bool) -> String {
        let spaced = |r: String| if r.is_empty() { r } else { format!("{r} ") };
        let result = spaced(range(self.result, 1));
        let kind = if is_sv { "input logic" } else { "input" };
        let inputs: Vec<String> = self
            .arguments
            .iter()
            .map(|(name, bits)| {
                format!("{kind} {}{name}", spaced(range(Interval::unsigned(*bits), 1)))
            })
            .collect();
        let mut out = layout::comment(&self.comment, 2);
        let name = &self.name;
        if is_sv {
            let inputs = inputs.join(", ");
            let head = format!("function automatic logic {result}{name}({inputs});");
            out.push_str(&layout::statement(&head, 2));
        } else {
            let _ = writeln!(out, "  function {result}{name};");
            for input in inputs {
                let _ = writeln!(out, "    {input};");
            }
        }
        for line in &self.body {
            out.push_str(&layout::statement(line, 4));
        }
        out.push_str("  endfunction\n\n");
        out
    }
}

/// Rows as columns; a column that is empty everywhere takes no room.
pub fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let used: Vec<usize> = (0..count).filter(|&c| rows.iter().any(|r| !r[c].is_empty())).collect();
    let kept: Vec<Vec<String>> =
        rows.iter().map(|r| used.iter().map(|&c| r[c].clone()).collect()).collect();
    layout::table(&kept, " ")
}

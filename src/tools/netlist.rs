//! A synthesised netlist, cell by cell: read from Yosys's JSON, flattened, and stepped without delays for 64
//! streams at once. Nothing of the engine's own description is in it but the behaviour of its memories.
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::tech::power::{Cell, Cells};

/// Why a netlist cannot be stepped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetlistError {
    #[error("the netlist of yosys is not readable: {0}")]
    Text(String),
    #[error("{module} holds {cell}, whose function the library does not tell")]
    Cell { module: String, cell: String },
    #[error("cells feed themselves: {0} of them have no order")]
    Loop(usize),
}

/// A number of a net. Nets 0 and 1 are constants.
pub type Net = usize;

/// A gate.
#[derive(Clone, Debug)]
pub struct Gate<'c> {
    pub cell: &'c Cell,
    pub block: usize,
    pub inputs: Vec<Net>,
    /// `None` where nothing reads an output.
    pub outputs: Vec<Option<Net>>,
}

/// A memory with a registered read port, as `rtl_templates/ram_1r1w.sv` has it.
#[derive(Clone, Debug)]
struct Memory {
    write_enable: Net,
    write_address: Vec<Net>,
    write_data: Vec<Net>,
    read_enable: Net,
    read_address: Vec<Net>,
    read_data: Vec<Net>,
    /// Word after word, a bit of all streams each.
    words: Vec<u64>,
}

/// A flattened netlist with its state.
#[derive(Clone, Debug)]
pub struct Netlist<'c> {
    /// In the order in which they settle.
    pub gates: Vec<Gate<'c>>,
    pub flops: Vec<Gate<'c>>,
    memories: Vec<Memory>,
    /// Names of the blocks: modules without prefix, the top's as it is.
    pub blocks: Vec<String>,
    /// What drives each net that no cell drives: the block of a memory's word or of the top's inputs.
    pub entries: Vec<(Net, usize)>,
    ports: BTreeMap<String, Vec<Net>>,
    /// Of each net, a bit a stream.
    pub values: Vec<u64>,
    /// Of each flip-flop.
    pub state: Vec<u64>,
}

/// Nets under way: those that are one have one root.
#[derive(Default)]
struct Nets(Vec<usize>);

impl Nets {
    fn new_net(&mut self) -> usize {
        self.0.push(self.0.len());
        self.0.len() - 1
    }

    fn root(&mut self, mut net: usize) -> usize {
        while self.0[net] != net {
            self.0[net] = self.0[self.0[net]];
            net = self.0[net];
        }
        net
    }

    /// Constants stay roots.
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

struct Reader<'c, 'j> {
    modules: &'j Map<String, Value>,
    cells: &'c Cells,
    prefix: String,
    nets: Nets,
    gates: Vec<Gate<'c>>,
    flops: Vec<Gate<'c>>,
    memories: Vec<Memory>,
    blocks: Vec<String>,
    entries: Vec<(Net, usize)>,
}

fn wrong(what: impl Into<String>) -> NetlistError {
    NetlistError::Text(what.into())
}

impl<'c> Netlist<'c> {
    /// Reads the text of `write_json`. `prefix` stands before the names of modules.
    ///
    /// # Errors
    /// The text is another one, or holds cells that are none of the library's.
    pub fn read(
        text: &str,
        (top, prefix): (&str, &str),
        cells: &'c Cells,
    ) -> Result<Self, NetlistError> {
        let json: Value = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
        let modules = json["modules"].as_object().ok_or_else(|| wrong("it has no modules"))?;
        let mut reader = Reader {
            modules,
            cells,
            prefix: prefix.into(),
            nets: Nets::default(),
            gates: vec![],
            flops: vec![],
            memories: vec![],
            blocks: vec![],
            entries: vec![],
        };
        (0..2).for_each(|_| {
            reader.nets.new_net();
        });
        let ports = reader.module(top)?;
        let outside = modules[top]["ports"].as_object().into_iter().flatten();
        for (name, port) in outside {
            if port["direction"] == "input" {
                reader.entries.extend(ports[name].iter().map(|&net| (net, 0)));
            }
        }
        reader.finish(ports)
    }
}

impl<'c> Reader<'c, '_> {
    /// Flattens one copy of a module and gives the nets of its ports.
    fn module(&mut self, name: &str) -> Result<BTreeMap<String, Vec<Net>>, NetlistError> {
        let modules = self.modules;
        let module = modules.get(name).ok_or_else(|| wrong(format!("no module {name}")))?;
        let block_name = name.strip_prefix(&self.prefix).unwrap_or(name).to_string();
        let block = match self.blocks.iter().position(|b| *b == block_name) {
            Some(block) => block,
            None => {
                self.blocks.push(block_name);
                self.blocks.len() - 1
            }
        };
        let mut own: BTreeMap<u64, Net> = BTreeMap::new();
        let mut bits = |nets: &mut Nets, value: &Value| -> Result<Vec<Net>, NetlistError> {
            let list = value.as_array().ok_or_else(|| wrong("bits are no list"))?;
            let mut made = vec![];
            for bit in list {
                made.push(match (bit.as_u64(), bit.as_str()) {
                    (Some(k), _) => *own.entry(k).or_insert_with(|| nets.new_net()),
                    (_, Some("1")) => 1,
                    // A bit that nobody cares about is 0.
                    _ => 0,
                });
            }
            Ok(made)
        };
        let mut ports = BTreeMap::new();
        for (port, value) in module["ports"].as_object().into_iter().flatten() {
            ports.insert(port.clone(), bits(&mut self.nets, &value["bits"])?);
        }
        for cell in module["cells"].as_object().into_iter().flatten().map(|(_, c)| c) {
            let kind = cell["type"].as_str().unwrap_or("");
            let mut pins = BTreeMap::new();
            for (pin, value) in cell["connections"].as_object().into_iter().flatten() {
                pins.insert(pin.as_str(), bits(&mut self.nets, value)?);
            }
            if let Some(of) = self.cells.cells.get(kind) {
                let net = |pin: &str| pins.get(pin).and_then(|b| b.first()).copied();
                let gate = Gate {
                    cell: of,
                    block,
                    inputs: of.inputs.iter().map(|p| net(&p.name).unwrap_or(0)).collect(),
                    outputs: of.outputs.iter().map(|p| net(&p.name)).collect(),
                };
                if of.flop.is_some() { &mut self.flops } else { &mut self.gates }.push(gate);
            } else if pins.contains_key("rdata_o") {
                self.memory(&pins, block)?;
            } else if modules.contains_key(kind) {
                let inner = self.module(kind)?;
                for (pin, outside) in &pins {
                    let inside = inner.get(*pin).ok_or_else(|| wrong(format!("no port {pin}")))?;
                    for (&a, &b) in outside.iter().zip(inside) {
                        self.nets.join(a, b);
                    }
                }
            } else {
                return Err(NetlistError::Cell { module: name.into(), cell: kind.into() });
            }
        }
        Ok(ports)
    }

    fn memory(
        &mut self,
        pins: &BTreeMap<&str, Vec<Net>>,
        block: usize,
    ) -> Result<(), NetlistError> {
        let port = |name: &str| {
            pins.get(name).cloned().ok_or_else(|| wrong(format!("a memory without {name}")))
        };
        let (read_data, write_address) = (port("rdata_o")?, port("waddr_i")?);
        self.entries.extend(read_data.iter().map(|&net| (net, block)));
        self.memories.push(Memory {
            words: vec![0; read_data.len() << write_address.len()],
            write_enable: port("wen_i")?[0],
            write_data: port("wdata_i")?,
            read_enable: port("ren_i")?[0],
            read_address: port("raddr_i")?,
            write_address,
            read_data,
        });
        Ok(())
    }

    fn finish(
        mut self,
        mut ports: BTreeMap<String, Vec<Net>>,
    ) -> Result<Netlist<'c>, NetlistError> {
        // Roots get numbers without gaps; constants keep theirs.
        let mut number = vec![usize::MAX; self.nets.0.len()];
        let mut count = 0;
        for (net, number) in number.iter_mut().enumerate() {
            if self.nets.root(net) == net {
                *number = count;
                count += 1;
            }
        }
        let mut nets = self.nets;
        let mut moved = |net: &mut Net| *net = number[nets.root(*net)];
        for gate in self.gates.iter_mut().chain(&mut self.flops) {
            gate.inputs.iter_mut().for_each(&mut moved);
            gate.outputs.iter_mut().flatten().for_each(&mut moved);
        }
        for m in &mut self.memories {
            moved(&mut m.write_enable);
            moved(&mut m.read_enable);
            for bits in [&mut m.write_address, &mut m.write_data] {
                bits.iter_mut().for_each(&mut moved);
            }
            for bits in [&mut m.read_address, &mut m.read_data] {
                bits.iter_mut().for_each(&mut moved);
            }
        }
        ports.values_mut().flatten().for_each(&mut moved);
        self.entries.iter_mut().for_each(|(net, _)| moved(net));
        let gates = in_order(self.gates, count)?;
        let mut values = vec![0; count];
        values[1] = u64::MAX;
        Ok(Netlist {
            gates,
            state: vec![0; self.flops.len()],
            flops: self.flops,
            memories: self.memories,
            blocks: self.blocks,
            entries: self.entries,
            ports,
            values,
        })
    }
}

/// Gates behind those that drive them.
fn in_order(gates: Vec<Gate<'_>>, nets: usize) -> Result<Vec<Gate<'_>>, NetlistError> {
    let mut driver = vec![usize::MAX; nets];
    for (k, gate) in gates.iter().enumerate() {
        gate.outputs.iter().flatten().for_each(|&net| driver[net] = k);
    }
    let mut readers: Vec<Vec<usize>> = vec![vec![]; gates.len()];
    let mut waits = vec![0; gates.len()];
    for (k, gate) in gates.iter().enumerate() {
        for &net in gate.inputs.iter().filter(|&&net| driver[net] != usize::MAX) {
            readers[driver[net]].push(k);
            waits[k] += 1;
        }
    }
    let mut order: Vec<usize> = (0..gates.len()).filter(|&k| waits[k] == 0).collect();
    let mut at = 0;
    while at < order.len() {
        for &reader in &readers[order[at]] {
            waits[reader] -= 1;
            if waits[reader] == 0 {
                order.push(reader);
            }
        }
        at += 1;
    }
    if order.len() < gates.len() {
        return Err(NetlistError::Loop(gates.len() - order.len()));
    }
    let mut gates: Vec<Option<Gate<'_>>> = gates.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|k| gates[k].take()).collect())
}

/// A function of up to six inputs for 64 cases at once.
pub fn function(table: u64, inputs: &[u64]) -> u64 {
    let mut parts = [0u64; 64];
    let mut n = 1 << inputs.len();
    for (k, part) in parts[..n].iter_mut().enumerate() {
        *part = 0u64.wrapping_sub(table >> k & 1);
    }
    for &x in inputs {
        n /= 2;
        for k in 0..n {
            parts[k] = (x & parts[2 * k + 1]) | (!x & parts[2 * k]);
        }
    }
    parts[0]
}

impl Netlist<'_> {
    /// The nets of a port, lowest bit first; empty where there is none.
    pub fn port(&self, name: &str) -> &[Net] {
        self.ports.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn set(&mut self, name: &str, bits: &[u64]) {
        for (k, &bit) in bits.iter().enumerate() {
            if let Some(&net) = self.ports.get(name).and_then(|p| p.get(k)) {
                self.values[net] = bit;
            }
        }
    }

    /// Computes every gate from the ports, the flip-flops and the memories' words.
    pub fn settle(&mut self) {
        for (flop, &state) in self.flops.iter().zip(&self.state) {
            for (pin, net) in flop.cell.outputs.iter().zip(&flop.outputs) {
                if let Some(net) = *net {
                    self.values[net] = if pin.function == 0b10 { state } else { !state };
                }
            }
        }
        let mut inputs = [0u64; 6];
        for gate in &self.gates {
            for (x, &net) in inputs.iter_mut().zip(&gate.inputs) {
                *x = self.values[net];
            }
            for (pin, net) in gate.cell.outputs.iter().zip(&gate.outputs) {
                if let Some(net) = *net {
                    self.values[net] = function(pin.function, &inputs[..gate.inputs.len()]);
                }
            }
        }
    }

    /// What each flip-flop takes at the clock edge.
    pub fn next_states(&self) -> Vec<u64> {
        let next = |flop: &Gate<'_>| {
            let of = flop.cell.flop.as_ref().expect("a flip-flop");
            let inputs: Vec<u64> = flop.inputs.iter().map(|&net| self.values[net]).collect();
            let [next, clear, preset] =
                [of.next_state, of.clear, of.preset].map(|table| function(table, &inputs));
            (next | preset) & !clear
        };
        self.flops.iter().map(next).collect()
    }

    /// The clock edge.
    pub fn clock(&mut self) {
        let next = self.next_states();
        for m in &mut self.memories {
            // An address is the same in all streams: control does not depend on data.
            let value = |net: Net| self.values[net] & 1;
            let address = |bits: &[Net]| -> usize {
                bits.iter().enumerate().map(|(k, &net)| (value(net) as usize) << k).sum()
            };
            let width = m.read_data.len();
            let (from, to) = (address(&m.read_address), address(&m.write_address));
            let read = value(m.read_enable) == 1;
            let word: Vec<u64> = m.words[from * width..][..width].to_vec();
            if value(m.write_enable) == 1 {
                for (held, &net) in m.words[to * width..][..width].iter_mut().zip(&m.write_data) {
                    *held = self.values[net];
                }
            }
            if read {
                for (&net, bit) in m.read_data.iter().zip(word) {
                    self.values[net] = bit;
                }
            }
        }
        self.state = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tech::liberty::parse;

    const LIBRARY: &str = r#"library (l) {
  cell (NAND) { area : 1; pin (A) { direction : input; } pin (B) { direction : input; }
    pin (Y) { direction : output; function : "!(A&B)"; } }
  cell (DFF) { area : 5; ff (IQ, IQN) { clocked_on : "CK"; next_state : "D"; clear : "!RN"; }
    pin (CK) { direction : input; } pin (D) { direction : input; } pin (RN) { direction : input; }
    pin (Q) { direction : output; function : "IQ"; } }
}"#;

    /// A child that is an and made of two NANDs, and a flip-flop behind it whose output feeds it.
    const TEXT: &str = r#"{ "modules": {
      "m_and": { "ports": { "a": { "direction": "input", "bits": [2] }, "b": { "direction": "input", "bits": [3] },
                            "y": { "direction": "output", "bits": [5] } },
        "cells": {
          "second": { "type": "NAND", "connections": { "A": [4], "B": ["1"], "Y": [5] } },
          "first": { "type": "NAND", "connections": { "A": [2], "B": [3], "Y": [4] } } } },
      "m_top": { "ports": { "clk": { "direction": "input", "bits": [2] }, "rn": { "direction": "input", "bits": [3] },
                            "x": { "direction": "input", "bits": [4] }, "q": { "direction": "output", "bits": [5] } },
        "cells": {
          "u_and": { "type": "m_and", "connections": { "a": [4], "b": ["1"], "y": [6] } },
          "r": { "type": "DFF", "connections": { "CK": [2], "D": [6], "RN": [3], "Q": [5] } } } } } }"#;

    #[test]
    fn a_netlist_is_flattened_ordered_and_stepped() {
        let cells = Cells::of(&parse(LIBRARY).expect("a library"));
        let mut netlist = Netlist::read(TEXT, ("m_top", "m_"), &cells).expect("a netlist");
        assert_eq!(netlist.blocks, ["top", "and"]);
        assert_eq!((netlist.gates.len(), netlist.flops.len()), (2, 1));
        netlist.set("rn", &[u64::MAX]);
        for x in [0b1010, 0b0110] {
            netlist.set("x", &[x]);
            netlist.settle();
            netlist.clock();
            netlist.settle();
            assert_eq!(netlist.values[netlist.port("q")[0]], x);
        }
        netlist.set("rn", &[0]);
        netlist.settle();
        netlist.clock();
        assert_eq!(netlist.state, [0]);
    }

    #[test]
    fn functions_are_tables() {
        let (a, b, c) = (0b1111_0000, 0b1100_1100, 0b1010_1010);
        assert_eq!(function(0b0111, &[a, b]) & 0xff, !(a & b) & 0xff);
        assert_eq!(function(0b1001_0110, &[a, b, c]) & 0xff, a ^ b ^ c);
        // Input 0 is the lowest bit of the index.
        assert_eq!(function(0b0010, &[a, b]) & 0xff, a & !b & 0xff);
    }

    #[test]
    fn other_cells_and_loops_are_refused() {
        let cells = Cells::of(&parse(LIBRARY).expect("a library"));
        let other = TEXT.replace("NAND", "NOR");
        let error = Netlist::read(&other, ("m_top", "m_"), &cells).expect_err("no such cell");
        assert!(matches!(error, NetlistError::Cell { .. }), "{error}");
        let fed_back = TEXT.replace(r#""A": [2], "B": [3]"#, r#""A": [5], "B": [3]"#);
        let error = Netlist::read(&fed_back, ("m_top", "m_"), &cells).expect_err("a loop");
        assert_eq!(error, NetlistError::Loop(2));
        assert!(Netlist::read("{}", ("m_top", "m_"), &cells).is_err());
    }
}

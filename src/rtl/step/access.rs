//! Ports and words of a [`Stepper`] from outside.
use super::Stepper;
use super::program::{Program, Src, WordInfo};
use super::words::Buf;
use crate::num::Interval;

/// An input port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct In(usize);

/// An output port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Out(usize);

/// A word of the hierarchy: index into [`Program::words`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordId(pub usize);

/// A type in which words cross: `i32` for those that fit, or `i64`.
pub trait Value: Copy + Into<i64> + TryFrom<i64> {}
impl Value for i32 {}
impl Value for i64 {}

impl Program {
    /// # Panics
    /// When there is no such input.
    pub fn input(&self, name: &str) -> In {
        let mut inputs = self.net.inputs.iter();
        In(inputs
            .position(|&id| self.net.nodes[id].name == name)
            .unwrap_or_else(|| panic!("there is no input {name}")))
    }

    /// # Panics
    /// When there is no such output.
    pub fn output(&self, name: &str) -> Out {
        let mut outputs = self.net.outputs.iter();
        Out(outputs
            .position(|(n, _)| n == name)
            .unwrap_or_else(|| panic!("there is no output {name}")))
    }

    /// Interval and lanes of an input.
    pub fn input_type(&self, port: In) -> (Interval, u32) {
        let n = &self.net.nodes[self.net.inputs[port.0]];
        (n.ty, n.lanes)
    }

    /// Interval and lanes of an output.
    pub fn output_type(&self, port: Out) -> (Interval, u32) {
        let n = &self.net.nodes[self.net.outputs[port.0].1];
        (n.ty, n.lanes)
    }

    /// Whether an output can differ from stream to stream.
    pub fn output_varies(&self, port: Out) -> bool {
        self.net.nodes[self.net.outputs[port.0].1].by_stream
    }

    /// All named words of the hierarchy.
    pub fn words(&self) -> &[WordInfo] {
        &self.words
    }

    /// Looks a word up by its hierarchical name, as `lane.sum_q`.
    pub fn word(&self, name: &str) -> Option<WordId> {
        self.words.iter().position(|w| w.name == name).map(WordId)
    }
}

impl Stepper {
    fn out_of_range(&self, id: usize, value: i64) -> ! {
        let n = &self.program.net.nodes[id];
        panic!("input {} takes {} and is set to {value}", n.name, n.ty)
    }

    /// Sets an input of all streams, in every lane.
    ///
    /// # Panics
    /// When the value is outside the port's interval.
    pub fn set_uniform(&mut self, port: In, value: i64) {
        let id = self.program.net.inputs[port.0];
        if !self.program.net.nodes[id].ty.contains(value) {
            self.out_of_range(id, value);
        }
        self.fill(id, Some(value));
    }

    /// Sets the lanes of an input for all streams.
    ///
    /// # Panics
    /// When there are more or fewer values than lanes, or one is outside the port's interval.
    pub fn set_uniform_lanes(&mut self, port: In, values: &[i64]) {
        let id = self.program.net.inputs[port.0];
        let n = &self.program.net.nodes[id];
        assert_eq!(values.len(), n.lanes as usize, "{}: one value a lane", n.name);
        if let Some(&v) = values.iter().find(|&&v| !n.ty.contains(v)) {
            self.out_of_range(id, v);
        }
        match self.program.src[id] {
            Src::Slot { at, .. } => {
                self.slots[at as usize..][..values.len()].copy_from_slice(values);
            }
            Src::Buf { id, .. } => {
                for (l, &v) in values.iter().enumerate() {
                    let range = l * self.streams..(l + 1) * self.streams;
                    match &mut self.bufs[id as usize] {
                        Buf::I32(b) => b[range].fill(v as i32),
                        Buf::I64(b) => b[range].fill(v),
                    }
                }
            }
        }
    }

    /// Sets a varying input: `[lane][stream]`.
    ///
    /// # Panics
    /// When the port is not varying, when there are more or fewer values than words, and in checked mode
    /// when one is outside the port's interval.
    pub fn set_varying<T: Value>(&mut self, port: In, values: &[T]) {
        let node = self.program.net.inputs[port.0];
        let n = &self.program.net.nodes[node];
        assert_eq!(values.len(), n.lanes as usize * self.streams, "{}: one value a word", n.name);
        if self.checked {
            if let Some(v) = values.iter().find(|&&v| !n.ty.contains(v.into())) {
                self.out_of_range(node, (*v).into());
            }
        }
        let Src::Buf { id, .. } = self.program.src[node] else {
            panic!("input {} is the same for all streams", n.name)
        };
        match &mut self.bufs[id as usize] {
            Buf::I32(b) => b.iter_mut().zip(values).for_each(|(b, &v)| *b = v.into() as i32),
            Buf::I64(b) => b.iter_mut().zip(values).for_each(|(b, &v)| *b = v.into()),
        }
    }

    fn output(&self, port: Out) -> (Src, usize) {
        let id = self.program.net.outputs[port.0].1;
        let lanes = self.program.net.nodes[id].lanes as usize;
        if !self.program.net.nodes[id].by_stream {
            return (self.program.src[id], lanes);
        }
        let found = self.list.outputs.get(port.0).copied().flatten();
        let name = &self.program.net.outputs[port.0].0;
        (found.unwrap_or_else(|| panic!("output {name} was not evaluated")), lanes)
    }

    /// An output that is the same for all streams; lane 0 of a bundle. Readable after
    /// [`Stepper::settle_control`].
    ///
    /// # Panics
    /// When it depends on a varying input.
    pub fn get_uniform(&self, port: Out) -> i64 {
        match self.output(port).0 {
            Src::Slot { at, .. } => self.slots[at as usize],
            Src::Buf { .. } => {
                panic!("output {} varies", self.program.net.outputs[port.0].0)
            }
        }
    }

    /// Any output, `[lane][stream]`.
    ///
    /// # Panics
    /// When it was not evaluated, or a value does not fit `T`.
    pub fn get_varying<T: Value>(&self, port: Out, to: &mut Vec<T>) {
        let (src, lanes) = self.output(port);
        let value = |v: i64| T::try_from(v).unwrap_or_else(|_| panic!("{v} does not fit"));
        to.clear();
        for l in 0..lanes as u32 {
            match src.lane(if src.lanes() > 1 { l } else { 0 }) {
                Src::Slot { at, .. } => {
                    to.extend((0..self.streams).map(|_| value(self.slots[at as usize])));
                }
                Src::Buf { id, first, .. } => {
                    let range = first as usize * self.streams..(first as usize + 1) * self.streams;
                    match &self.bufs[id as usize] {
                        Buf::I32(b) => to.extend(b[range].iter().map(|&v| value(v.into()))),
                        Buf::I64(b) => to.extend(b[range].iter().map(|&v| value(v))),
                    }
                }
            }
        }
    }

    /// The lanes of a word in one stream. Between [`Stepper::settle`] and [`Stepper::clock`] every word is
    /// there in full mode; in results mode, and after the clock, control words, inputs and registers.
    ///
    /// # Panics
    /// For a computed data word in results mode.
    pub fn read(&self, word: WordId, stream: usize) -> Vec<i64> {
        assert!(stream < self.streams, "stream {stream} of {}", self.streams);
        let node = self.program.words[word.0].node;
        let n = &self.program.net.nodes[node];
        let src = match self.list.words.get(node) {
            Some(&src) => src,
            None => {
                use super::flatten::Kind::{Input, MemRead, Reg};
                let state = matches!(n.kind, Input | Reg { .. } | MemRead { .. });
                assert!(state || !n.by_stream, "{} is read in results mode", n.name);
                self.program.src[node]
            }
        };
        (0..n.lanes)
            .map(|l| match src.lane(if src.lanes() > 1 { l } else { 0 }) {
                Src::Slot { at, .. } => self.slots[at as usize],
                Src::Buf { id, first, .. } => {
                    self.bufs[id as usize].get(first as usize * self.streams + stream)
                }
            })
            .collect()
    }

    /// The lanes of one field of a memory at one address in one stream; the field's name is
    /// `instance.memory.field`.
    ///
    /// # Panics
    /// When there is no such field or address.
    pub fn read_memory(&self, name: &str, address: usize, stream: usize) -> Vec<i64> {
        let p = &self.program;
        let mut names =
            p.net.memories.iter().flat_map(|m| {
                m.fields.iter().map(move |f| (m, f, format!("{}.{}", m.name, f.name)))
            });
        let at = names.position(|(.., n)| n == name);
        let i = at.unwrap_or_else(|| panic!("there is no memory field {name}"));
        let (f, m) = (&p.fields[i], &p.net.memories[p.fields[i].memory]);
        assert!(address < m.depth && stream < self.streams, "{name}: address {address}");
        let lanes = p.net.nodes[f.data].lanes;
        (0..lanes)
            .map(|l| {
                let lane = (address * f.lanes as usize) + if f.lanes > 1 { l as usize } else { 0 };
                let (streams, s) = if f.by_stream { (self.streams, stream) } else { (1, 0) };
                self.storage[i].get(lane * streams + s)
            })
            .collect()
    }
}

//! Ports and words of a [`Stepper`] from outside.
use super::Stepper;
use super::program::{Program, Src, WordInfo};
use super::tile::Tile;
use super::transpose;
use super::words::{Buf, Num};
use crate::num::Interval;
use std::ops::Range;

/// An input port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct In(usize);

/// An output port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Out(usize);

/// A word of the hierarchy: index into [`Program::words`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordId(pub usize);

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
                for tile in &mut self.tiles {
                    for (l, &v) in values.iter().enumerate() {
                        let range = l * tile.streams..(l + 1) * tile.streams;
                        match &mut tile.bufs[id as usize] {
                            Buf::I32(b) => b[range].fill(v as i32),
                            Buf::I64(b) => b[range].fill(v),
                        }
                    }
                }
            }
        }
    }

    /// Sets a varying input of every stream: its lanes are the part of `from` that `part` gives, from lane 0
    /// on; lanes past the end of the part take `rest`.
    ///
    /// # Panics
    /// When the port is not varying, and in checked mode when a value is outside its interval.
    pub fn set_varying<T: Num>(
        &mut self,
        port: In,
        from: &[T],
        part: impl Fn(usize) -> Range<usize>,
        rest: i64,
    ) {
        let node = self.program.net.inputs[port.0];
        let n = &self.program.net.nodes[node];
        let Src::Buf { id, .. } = self.program.src[node] else {
            panic!("input {} is the same for all streams", n.name)
        };
        if self.checked {
            let mut values = (0..self.streams).flat_map(|s| from[part(s)].iter().map(|v| v.wide()));
            if let Some(v) = values.find(|&v| !n.ty.contains(v)) {
                self.out_of_range(node, v);
            }
        }
        let mut first = 0;
        for tile in &mut self.tiles {
            let part = |s| part(first + s);
            transpose::gather(
                self.isa,
                &mut tile.bufs[id as usize],
                tile.streams,
                from,
                &part,
                rest,
            );
            first += tile.streams;
        }
    }

    /// Writes an output of every stream, as `map` has it, to the part of `to` that `part` gives: lane 0 first,
    /// and no more lanes than the part has places.
    ///
    /// # Panics
    /// When it was not evaluated, or is the same for all streams.
    pub fn get_rows<O: Num>(
        &self,
        port: Out,
        to: &mut [O],
        part: impl Fn(usize) -> Range<usize>,
        map: impl Fn(i32) -> i32,
    ) {
        let Src::Buf { id, first: lane, lanes } = self.output(port).0 else {
            panic!("output {} is the same for all streams", self.program.net.outputs[port.0].0)
        };
        let lanes = lane as usize..(lane + lanes) as usize;
        let mut first = 0;
        for tile in &self.tiles {
            let from = (&tile.bufs[id as usize], lanes.clone());
            let part = |s| part(first + s);
            transpose::scatter(self.isa, from, tile.streams, to, &part, &map);
            first += tile.streams;
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

    /// Shows the lanes of any output to `see`, stream by stream.
    ///
    /// # Panics
    /// When it was not evaluated.
    pub fn get_varying(&self, port: Out, mut see: impl FnMut(usize, &[i64])) {
        let (src, lanes) = self.output(port);
        let mut words = vec![0; lanes];
        let mut stream = 0;
        for tile in &self.tiles {
            for s in 0..tile.streams {
                self.lanes_of(src, tile, s, &mut words);
                see(stream, &words);
                stream += 1;
            }
        }
    }

    /// The lanes of any output in one stream.
    ///
    /// # Panics
    /// When it was not evaluated.
    pub fn get_stream(&self, port: Out, stream: usize) -> Vec<i64> {
        let (src, lanes) = self.output(port);
        let (tile, s) = self.place(stream);
        let mut words = vec![0; lanes];
        self.lanes_of(src, tile, s, &mut words);
        words
    }

    fn lanes_of(&self, src: Src, tile: &Tile, s: usize, words: &mut [i64]) {
        match src {
            Src::Slot { at, lanes: 1, .. } => words.fill(self.slots[at as usize]),
            Src::Slot { at, .. } => {
                words.copy_from_slice(&self.slots[at as usize..][..words.len()])
            }
            Src::Buf { id, first, lanes } => {
                let stride = if lanes > 1 { tile.streams } else { 0 };
                let from = first as usize * tile.streams + s;
                let words = words.iter_mut().enumerate();
                match &tile.bufs[id as usize] {
                    Buf::I32(b) => words.for_each(|(l, w)| *w = b[from + l * stride].into()),
                    Buf::I64(b) => words.for_each(|(l, w)| *w = b[from + l * stride]),
                }
            }
        }
    }

    /// The tile of a stream and its number in there.
    fn place(&self, stream: usize) -> (&Tile, usize) {
        assert!(stream < self.streams, "stream {stream} of {}", self.streams);
        (&self.tiles[stream / self.per_tile], stream % self.per_tile)
    }

    /// The lanes of a word in one stream. Between [`Stepper::settle`] and [`Stepper::clock`] every word is
    /// there in full mode; in results mode, and after the clock, control words, inputs and registers.
    ///
    /// # Panics
    /// For a computed data word in results mode.
    pub fn read(&self, word: WordId, stream: usize) -> Vec<i64> {
        let (tile, stream) = self.place(stream);
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
        let mut words = vec![0; n.lanes as usize];
        self.lanes_of(src, tile, stream, &mut words);
        words
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
        assert!(address < m.depth, "{name}: address {address}");
        let (tile, stream) = self.place(stream);
        let lanes = p.net.nodes[f.data].lanes;
        (0..lanes)
            .map(|l| {
                let lane = (address * f.lanes as usize) + if f.lanes > 1 { l as usize } else { 0 };
                match f.by_stream {
                    true => tile.storage[i].get(lane * tile.streams + stream),
                    false => self.storage[i].get(lane),
                }
            })
            .collect()
    }
}

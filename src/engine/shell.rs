//! The shell: AXI4-Stream names, the load port's address map, the descriptor, counters and sticky bits.
use super::core::{parameter_address_bits, without_immediate};
use super::cuts::Cuts;
use super::tree::reduce;
use super::widths::Widths;
use crate::config::HwConfig;
use crate::isa::FieldSet;
use crate::num::Interval;
use crate::rtl::{Module, Net};
use std::rc::Rc;

/// Spaces of the load port: the two top bits of its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    Vector = 0,
    Scalar = 1,
    Parameters = 2,
    /// The word holds the last chunk's index, above it the parameter bank and, where chunks take turns, one
    /// bit that says that they do not. Written last.
    Descriptor = 3,
}

/// Bits of the load port's address below the space.
pub fn index_bits(config: &HwConfig, w: &Widths) -> u32 {
    let (v, s) = super::control::counter_bits(config.vector_words, config.scalar_words);
    v.max(s).max(parameter_address_bits(w))
}

/// Describes the whole design.
pub fn describe(
    config: &HwConfig,
    w: &Widths,
    cuts: &Cuts,
    core: &Rc<Module>,
    vector: &FieldSet,
    scalar: &FieldSet,
) -> Rc<Module> {
    let net = Net::new(
        &config.name,
        "src/engine/shell.rs, fn describe",
        "integer vector engine for LayerNorm, RMSNorm and Softmax, behind AXI4-Stream ports.",
    );
    words(&net, config, w, cuts, core, vector, scalar);
    net.finish()
}

fn words(
    net: &Net,
    config: &HwConfig,
    w: &Widths,
    cuts: &Cuts,
    core: &Rc<Module>,
    vector: &FieldSet,
    scalar: &FieldSet,
) {
    let bit = Interval::unsigned(1);
    let unsigned = Interval::unsigned;
    let lanes = w.lanes;
    let index = index_bits(config, w);
    let s_tdata = net.input_bundle("s_axis_tdata", Interval::signed(w.input), lanes, "elements");
    let s_tkeep = net.input_bundle("s_axis_tuser_keep", bit, lanes, "0 masks an element");
    let s_k = net.input("s_axis_tuser_k", unsigned(4), "row scale 2^-k, on the row's first beat");
    let s_tvalid = net.input("s_axis_tvalid", bit, "a beat is offered");
    let s_tlast = net.input("s_axis_tlast", bit, "last beat of the row");
    let m_tready = net.input("m_axis_tready", bit, "the output beat is taken");
    let load_valid = net.input("load_valid", bit, "a word is offered to the load port");
    let load_address = net.input("load_address", unsigned(index + 2), "space, then index");
    let low = without_immediate(scalar).width();
    let takes_turns = cuts.group() > 1;
    let word_bits = vector.width().max(low).max(w.chunk + 1 + u32::from(takes_turns));
    let load_word = net.input("load_word", unsigned(word_bits), "the word, or the descriptor");
    let immediate_ty = Interval::signed(w.scalar);
    let immediate = net.input("load_immediate", immediate_ty, "immediate of a scalar word");
    let gamma_ty = Interval::signed(w.input);
    let gamma = net.input_bundle("load_gamma", gamma_ty, lanes, "gamma of a chunk");
    let beta_ty = Interval::signed(w.beta);
    let beta = net.input_bundle("load_beta", beta_ty, lanes, "beta and half of a chunk");
    let load_tail = net.input_bundle("load_tail", bit, lanes, "lanes of the last chunk");
    let clear = net.input("clear", bit, "clears the count and the sticky bits");

    net.section("Load port: programs and descriptor wait until no row is inside.");
    let is_set = net.state("is_set_up", bit, 1, Some(0));
    let last_index = net.state("last_index", unsigned(w.chunk), 1, Some(0));
    let bank = net.state("bank", bit, 1, Some(0));
    let tail = net.state("tail", bit, lanes, Some(0));
    let space = load_address.bits(index, 2).named("load_space");
    let is_parameters = space.equals(Space::Parameters as i64);
    let waits = (load_valid & !is_parameters).named("load_waits");
    let set_up = (is_set & !waits).named("set_up");
    let idle = net.state("was_idle", bit, 1, Some(1));
    let load_ready = (is_parameters | idle).named("load_ready");
    let taken = (load_valid & load_ready).named("load_taken");
    let writes =
        |space_code: Space, name: &str| (taken & space.equals(space_code as i64)).named(name);
    let vector_we = writes(Space::Vector, "vector_we");
    let scalar_we = writes(Space::Scalar, "scalar_we");
    let parameter_we = writes(Space::Parameters, "parameter_we");
    let descriptor_we = writes(Space::Descriptor, "descriptor_we");
    net.drive(is_set, net.constant(1), Some(descriptor_we));
    net.drive(last_index, load_word.bits(0, w.chunk), Some(descriptor_we));
    net.drive(bank, load_word.bit(w.chunk), Some(descriptor_we));
    let spaced = takes_turns.then(|| {
        let spaced = net.state("is_spaced", bit, 1, Some(0));
        net.drive(spaced, load_word.bit(w.chunk + 1), Some(descriptor_we));
        ("spaced", spaced)
    });
    net.drive(tail, load_tail, Some(descriptor_we));

    net.section("Output register: while it is full and not taken, the lanes hold.");
    let valid = net.state("out_is_full", bit, 1, Some(0));
    let hold = (valid & !m_tready).named("hold");

    net.section("Core.");
    let mut inputs = vec![
        ("set_up", set_up),
        ("last_index", last_index),
        ("tail", tail),
        ("bank", bank),
        ("in_valid", s_tvalid),
        ("in_data", s_tdata),
        ("in_keep", s_tkeep),
        ("in_k", s_k),
        ("in_last", s_tlast),
        ("hold", hold),
        ("vector_we", vector_we),
        ("scalar_we", scalar_we),
        ("parameter_we", parameter_we),
        ("address", load_address.bits(0, index)),
        ("vector_word", load_word.bits(0, vector.width())),
        ("scalar_word", load_word.bits(0, low)),
        ("immediate", immediate),
        ("gamma", gamma),
        ("beta", beta),
    ];
    inputs.extend(spaced);
    let outs = net.instance("core", core, 1, &inputs);
    let core_out = |name: &str| {
        outs[core.outputs.iter().position(|(n, _)| n == name).expect("an output of the core")]
    };
    net.drive(idle, (core_out("idle") & !(s_tvalid & set_up)).named("idle_d"), None);

    net.section("Saturation count, sticky bits and the row's status.");
    let writes = core_out("out_writes");
    net.drive(valid, (writes | hold).named("out_is_full_d"), None);
    let held = |name: &str| {
        let word = core_out(name);
        let q = net.state(name, word.ty(), word.count(), None);
        net.drive(q, word, Some(writes));
        q
    };
    let (data, keep, last) = (held("out_data"), held("out_keep"), held("out_last"));
    let (first, masked, over) = (held("out_first"), held("out_masked"), held("out_saturated"));
    let sent = (valid & m_tready).named("beat_is_sent");
    let pipe = net.pipe(None);
    let each = (0..lanes).map(|k| over.lane(k)).collect();
    let count = reduce(&pipe, 0, each, |a, b, tag| (a + b).named(&format!("count_{tag}x")));
    let saturations = net.state("saturations", unsigned(32), 1, Some(0));
    let up = (saturations + count).named("saturations_up");
    let most = net.constant(unsigned(32).hi);
    // Bit 32 is set from 2^32 on, the sum being far below 2^33.
    let is_full = up.bit(32).named("saturations_are_full");
    let up = is_full.mux(most, up).named("saturations_bounded").fit(unsigned(32));
    let next = sent.mux(up, saturations).named("saturations_on");
    let next = clear.mux(net.constant(0), next).named("saturations_d");
    net.drive(saturations, next, None);
    let any = (!count.equals(0)).named("beat_is_saturated");
    let so_far = net.state("row_was_saturated", bit, 1, Some(0));
    let row_saturated = (any | so_far & !first).named("row_is_saturated");
    net.drive(so_far, row_saturated, Some(sent));
    let wrong = net.state("length_was_wrong", bit, 1, Some(0));
    let wrong_next = (core_out("length_is_wrong") | wrong & !clear).named("length_was_wrong_d");
    net.drive(wrong, wrong_next, None);

    net.output("s_axis_tready", core_out("in_ready"), "the beat is taken");
    net.output("m_axis_tvalid", valid, "an output beat is offered");
    net.output("m_axis_tdata", data, "output codes");
    net.output("m_axis_tkeep", keep, "elements that exist");
    net.output("m_axis_tlast", last, "last beat of the row");
    net.output("m_axis_tuser_masked", last & masked, "the row is fully masked");
    net.output("m_axis_tuser_saturated", last & row_saturated, "a code of the row was saturated");
    net.output("m_axis_tuser_length", last & wrong, "a row of another length was dropped");
    net.output("load_ready", load_ready, "the word is taken");
    net.output("saturations", saturations, "saturated codes since clear, at most 2^32 - 1");
    net.output("length_was_wrong", wrong, "a row of another length was dropped since clear");
}

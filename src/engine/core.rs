//! The core: loader data path, two row banks, program and parameter stores, lanes, trees, accumulators
//! and the output register, wired to the sequencer and the scalar unit.
use super::cuts::Cuts;
use super::tables::Tables;
use super::widths::{GUARD, OUTPUT_FRACTION, Widths};
use super::{control, lane, scalar, tree};
use crate::config::{BufferKind, HwConfig};
use crate::isa::{C, Field, FieldSet, P, Reduce, ScalarKind};
use crate::num::Interval;
use crate::rtl::{MemoryKind, Module, Net, Word};
use std::rc::Rc;

/// Bits of the parameter store's address: a bank bit above the chunk.
pub fn parameter_address_bits(w: &Widths) -> u32 {
    w.chunk + 1
}

/// Fields of a data word, cut from its low bits up.
fn cut<'a>(data: Word<'a>, fields: &FieldSet) -> Vec<Word<'a>> {
    (0..fields.fields.len())
        .map(|i| {
            let f = &fields.fields[i];
            let from = fields.offset(i);
            if f.is_signed { data.signed_bits(from, f.bits) } else { data.bits(from, f.bits) }
        })
        .collect()
}

/// Names and types of a word's fields, as fields of a memory.
fn memory_fields(fields: &FieldSet) -> Vec<(&'static str, Interval, u32)> {
    let ty = |f: &Field| match f.is_signed {
        true => Interval::signed(f.bits),
        false => Interval::unsigned(f.bits),
    };
    fields.fields.iter().map(|f| (f.name, ty(f), 1)).collect()
}

/// The scalar word's fields below its immediate, which is the last.
pub fn without_immediate(fields: &FieldSet) -> FieldSet {
    FieldSet { fields: fields.fields[..fields.fields.len() - 1].to_vec() }
}

/// Describes the core.
pub fn describe(
    config: &HwConfig,
    w: &Widths,
    tables: &Tables,
    cuts: &Cuts,
    vector: &FieldSet,
    scalar_fields: &FieldSet,
) -> Rc<Module> {
    let net = Net::new(
        "core",
        "src/engine/core.rs, fn describe",
        "lanes, trees, scalar unit, sequencer, row banks and stores; streams in and out.",
    );
    words(&net, config, w, tables, cuts, vector, scalar_fields);
    net.finish()
}

fn words<'a>(
    net: &'a Net,
    config: &HwConfig,
    w: &Widths,
    tables: &Tables,
    cuts: &Cuts,
    vector: &FieldSet,
    scalar_fields: &FieldSet,
) {
    let bit = Interval::unsigned(1);
    let unsigned = Interval::unsigned;
    let lanes = w.lanes;
    let chunk = unsigned(w.chunk);
    let zero = net.constant(0);
    let (v_bits, s_bits) = control::counter_bits(config.vector_words, config.scalar_words);
    let (shift_at, out_at) = (cuts.shift(), cuts.outputs());

    let set_up = net.input("set_up", bit, "a descriptor is loaded and none is being written");
    let last_index = net.input("last_index", chunk, "index of a row's last chunk");
    let tail = net.input_bundle("tail", bit, lanes, "lanes that exist in the last chunk");
    let bank = net.input("bank", bit, "bank of the parameter store in use");
    let spaced = (cuts.group() > 1).then(|| net.input("spaced", bit, "chunks take no turns"));
    let in_valid = net.input("in_valid", bit, "a beat is offered");
    let in_data = net.input_bundle("in_data", Interval::signed(w.input), lanes, "elements");
    let in_keep = net.input_bundle("in_keep", bit, lanes, "elements that are not masked");
    let in_k = net.input("in_k", unsigned(4), "the row's scale is the tensor's times 2^-k");
    let in_last = net.input("in_last", bit, "last beat of the row");
    let hold = net.input("hold", bit, "the output register is full and not taken");
    let vector_we = net.input("vector_we", bit, "write a vector micro-op");
    let scalar_we = net.input("scalar_we", bit, "write a scalar micro-op");
    let parameter_we = net.input("parameter_we", bit, "write the parameters of a chunk");
    let address_bits = v_bits.max(s_bits).max(parameter_address_bits(w));
    let address = net.input("address", unsigned(address_bits), "address of the write");
    let vector_in = net.input("vector_word", unsigned(vector.width()), "vector micro-op to write");
    let low_bits = without_immediate(scalar_fields).width();
    let scalar_in = net.input("scalar_word", unsigned(low_bits), "scalar micro-op to write");
    let immediate_ty = Interval::signed(w.scalar);
    let immediate_in = net.input("immediate", immediate_ty, "its immediate");
    let gamma_ty = Interval::signed(w.input);
    let gamma_in = net.input_bundle("gamma", gamma_ty, lanes, "gamma of a chunk");
    let beta_in =
        net.input_bundle("beta", Interval::signed(w.beta), lanes, "beta and half of a chunk");

    let is_cut = cuts.leaves().max(out_at) > 0;
    let advance = is_cut.then(|| (!hold).named("advance").unranked());
    let lanes_pipe = net.pipe(advance);
    // A word at a stage of the lanes. What a micro-op knows of its row is read when it is issued, at
    // stage 0, and goes along; a row that is loaded meanwhile changes nothing.
    let at = |word: Word<'a>, stage: u32| lanes_pipe.delay(word, stage);

    net.section("Stores: a word is read one cycle after its address.");
    let v_fields = memory_fields(vector);
    let v_store = net.memory("vector_store", "vector program", config.vector_words, &v_fields);
    let s_fields = memory_fields(scalar_fields);
    let s_store = net.memory("scalar_store", "scalar program", config.scalar_words, &s_fields);
    let v: Vec<Word> = (0..v_fields.len()).map(|i| net.read(v_store, i).pinned()).collect();
    let s: Vec<Word> = (0..s_fields.len()).map(|i| net.read(s_store, i)).collect();
    let vf = |name: &str| v[vector.index(name)];
    let sf = |name: &str| s[scalar_fields.index(name)];

    net.section("Sequencer.");
    let reduces = (!vf("reduce").equals(Reduce::None.code())).named("reduces");
    let sequencer = control::describe(w, cuts, config.vector_words, config.scalar_words);
    let mut told = vec![
        ("set_up", set_up),
        ("last_index", last_index),
        ("in_valid", in_valid),
        ("in_last", in_last),
        ("hold", hold),
        ("v_end", vf("end")),
        ("v_last", vf("last")),
        ("v_release", vf("release")),
        ("v_reduces", reduces),
        ("s_mul", sf("kind").equals(ScalarKind::Mul.code())),
        ("s_take", sf("kind").equals(ScalarKind::Take.code())),
        ("s_end", sf("end")),
    ];
    if cuts.scalar {
        told.push(("s_adds", sf("kind").equals(ScalarKind::Alu.code())));
    }
    told.extend(spaced.map(|spaced| ("spaced", spaced)));
    let outs = net.instance("sequencer", &sequencer, 1, &told);
    let seq = |name: &str| {
        let i = sequencer.outputs.iter().position(|(n, _)| n == name).expect("an output");
        outs[i]
    };
    net.drive_memory(
        v_store,
        (vector_we, address.bits(0, v_bits), &cut(vector_in, vector)),
        (seq("fetch"), seq("fetch_pc")),
    );
    let mut scalar_words = cut(scalar_in, &without_immediate(scalar_fields));
    scalar_words.push(immediate_in);
    net.drive_memory(
        s_store,
        (scalar_we, address.bits(0, s_bits), &scalar_words),
        (net.constant(1), seq("scalar_pc")),
    );

    net.section("Loader: lanes past the row's end and masked lanes are not kept.");
    let load_last = seq("load_last");
    let one_each = net.constant(1).spread(lanes);
    let exists = load_last.mux(tail, one_each).named("load_exists");
    let load_keep = (exists & in_keep).named("load_keep");
    let no_element = zero.spread(lanes);
    // What is not kept is 0 from here on: it is in no sum and in no block exponent.
    let load_x = load_keep.mux(in_data, no_element).named("load_x");
    // Registers here are not held: a beat that was taken goes on to the row's words.
    let load_pipe = net.pipe(None).tagged("load");
    let (tree_at, max_at) = (cuts.loads(), cuts.maximum(lanes));
    let loading = |name: &str, stage: u32| load_pipe.delay(seq(name), stage);
    let loads = |name: &str, stage: u32| load_pipe.delay_valid(seq(name), stage);
    let tree_x = load_pipe.delay(load_x, tree_at);
    let tree_keep = load_pipe.delay(load_keep, tree_at);
    let max_tree = tree::max(w, cuts);
    let inputs = [("x", tree_x), ("keep", tree_keep)];
    let chunk_max = net.instance_in(&load_pipe, "max_tree", &max_tree, 1, &inputs)[0];
    let element = Interval::signed(w.input);
    let running = net.state("load_max", element, 1, None);
    let (first, on) = (loading("load_first", max_at), loads("load", max_at));
    let is_larger = first | running.less(chunk_max);
    let load_max = is_larger.mux(chunk_max, running).named("load_max_d");
    net.drive(running, load_max, Some(on));
    let bits = Interval::unsigned(w.input - 1);
    let running_bits = net.state("load_bits", bits, 1, None);
    let before = first.mux(zero, running_bits).named("load_bits_before");
    let magnitude = tree::magnitude(w, cuts);
    let inputs = [("x", tree_x), ("before", before)];
    let magnitude = net.instance_in(&load_pipe, "magnitude", &magnitude, 1, &inputs);
    net.drive(running_bits, magnitude[0], Some(on));
    let any = (0..lanes).map(|k| tree_keep.lane(k)).reduce(|a, b| a | b).expect("a lane");
    let running_any = net.state("load_any_so_far", bit, 1, None);
    let load_any = (any | running_any & !loading("load_first", tree_at)).named("load_any_d");
    net.drive(running_any, load_any, Some(loads("load", tree_at)));
    let running_k = net.state("load_k", unsigned(4), 1, None);
    let load_k = seq("load_first").mux(in_k, running_k).named("load_k_d");
    net.drive(running_k, load_k, Some(seq("load")));

    net.section("What is known of the two rows in flight.");
    let load_row = seq("load_row");
    // When row a or b is loaded, at a stage of the loader.
    let loaded_at = |stage: u32, what: &str| {
        let (is_loaded, row) = (loads("row_is_loaded", stage), loading("load_row", stage));
        [("a", !row), ("b", row)].map(|(tag, here)| {
            let name = format!("row_{tag}_{what}");
            (is_loaded & here).named(&name)
        })
    };
    let at_load = loaded_at(0, "is_loaded");
    let at_tree = if tree_at == 0 { at_load } else { loaded_at(tree_at, "is_in_tree") };
    let at_max = if max_at == tree_at { at_tree } else { loaded_at(max_at, "has_max") };
    let per_row = |name: &str, value: Word<'a>, loaded: [Word<'a>; 2]| {
        let q = ["a", "b"].map(|r| net.state(&format!("{name}_{r}"), value.ty(), 1, None));
        for i in 0..2 {
            net.drive(q[i], value, Some(loaded[i]));
        }
        q
    };
    let [max_a, max_b] = per_row("row_max", load_max, at_max);
    let [any_a, any_b] = per_row("row_any", load_any, at_tree);
    let [k_a, k_b] = per_row("row_k", load_k, at_load);
    let [places_a, places_b] = per_row("row_places", magnitude[1], at_max);
    let run_row = seq("run_row");
    let scalar_row = seq("scalar_row");
    let scalar_max = scalar_row.mux(max_b, max_a).named("scalar_max");
    let scalar_k = scalar_row.mux(k_b, k_a).named("scalar_k");
    let run_any = run_row.mux(any_b, any_a).named("run_any");

    net.section("Row banks.");
    let data = Interval::signed(config.element_bits);
    let step = seq("step");
    // Whether a micro-op at a stage of the lanes is carried out in this cycle.
    let is_valid = |stage: u32| lanes_pipe.delay_valid(step, stage);
    let step_at = |stage: u32, name: &str| match advance {
        Some(advance) if stage > 0 => (is_valid(stage) & advance).named(name),
        _ => step,
    };
    let step_shift = step_at(shift_at, "step_shift");
    let run_chunk = seq("run_chunk");
    let fetch_row = seq("fetch_row");
    let fetch_chunk = seq("fetch_chunk");
    let bank_fields = [("x", data, lanes), ("keep", bit, lanes)];
    let banks = ["bank_a", "bank_b"]
        .map(|name| net.memory(name, "row bank: one chunk a word", w.chunks, &bank_fields));
    let kind = match config.buffer_kind {
        BufferKind::FlipFlops => MemoryKind::Registers,
        BufferKind::Latches => MemoryKind::Latches,
        BufferKind::Macro => MemoryKind::Macro,
    };
    banks.iter().for_each(|&bank| net.print_memory_as(bank, kind));
    let read = banks.map(|bank| (net.read(bank, 0).pinned(), net.read(bank, 1).pinned()));
    let row_data = run_row.mux(read[1].0, read[0].0).named("row_data");
    let keep = run_row.mux(read[1].1, read[0].1).named("row_keep");
    let x = row_data.signed_bits(0, w.input).named("row_x");
    let beta_ty = Interval::signed(w.beta);
    let write_at = address.bits(0, parameter_address_bits(w));
    let read_at = (seq("fetch"), bank.concat(fetch_chunk));
    let words = 2 << w.chunk;
    let (gamma, beta) = if out_at == 0 {
        let doc = "gamma and beta of a chunk, two banks";
        let fields = [("gamma", gamma_ty, lanes), ("beta", beta_ty, lanes)];
        let store = net.memory("parameters", doc, words, &fields);
        net.drive_memory(store, (parameter_we, write_at, &[gamma_in, beta_in]), read_at);
        (net.read(store, 0).pinned(), net.read(store, 1).pinned())
    } else {
        // Beta is read when the output stage comes to it: a late address is far less than a late word.
        let gammas = net.memory(
            "gammas",
            "gamma of a chunk, two banks",
            words,
            &[("gamma", gamma_ty, lanes)],
        );
        net.drive_memory(gammas, (parameter_we, write_at, &[gamma_in]), read_at);
        let betas =
            net.memory("betas", "beta of a chunk, two banks", words, &[("beta", beta_ty, lanes)]);
        let late = bank.unranked().concat(at(run_chunk, out_at - 1));
        net.drive_memory(
            betas,
            (parameter_we, write_at, &[beta_in]),
            (advance.expect("a cut"), late),
        );
        (net.read(gammas, 0).pinned(), lanes_pipe.read(betas, 0, out_at))
    };

    net.section("The row's shift with the micro-op's amount.");
    let element_sum = Interval::signed(w.element_total);
    let sums = net.state("total", unsigned(w.total), 1, None);
    let elements = net.state("element_total", element_sum, 1, None);
    let unit = scalar::describe(w, tables, cuts, scalar_fields, config.newton_steps > 0);
    let mut unit_inputs = vec![
        ("on", seq("scalar_on")),
        ("digit_first", seq("digit_first")),
        ("row", scalar_row),
        ("run_row", run_row),
        ("total", sums),
        ("elements", elements),
        ("max", scalar_max),
        ("k", scalar_k),
    ];
    for name in [
        "kind",
        "rd",
        "ra",
        "rb",
        "a",
        "b",
        "subtract",
        "round",
        "dst",
        "x",
        "y",
        "table",
        "flag",
        "immediate",
    ] {
        unit_inputs.push((name, sf(name)));
    }
    let row = net.instance("scalar_unit", &unit, 1, &unit_inputs);
    let (scale, shift, addend) = (row[0], row[1], row[2]);
    let by_row = (shift + vf("amount")).named("amount_of_row");
    let places = run_row.mux(places_b, places_a).named("run_places");
    let block = by_row.less(places).mux(by_row, places).named("block");
    // Of two stages before the shifter, the second takes the second half.
    let half_at = shift_at / 2;
    let own_amount = at(vf("amount"), half_at);
    let [shift, by_row, block] = [shift, by_row, block].map(|word| at(word, half_at));
    let rest = (shift - block).named("amount_left");
    let point = net.constant(i64::from(OUTPUT_FRACTION) - 2 * i64::from(GUARD));
    let after = (rest - point).named("amount_after");
    let select = at(vf("shift"), half_at);
    let (own, in_lane) = (select.bits(0, 2), select.bit(2));
    let amount = net.select(own, &[own_amount, by_row, block, after]).named("amount_shared");
    let amount = in_lane.mux(by_row, amount).named("amount_sum");
    let most = unsigned(w.shift).hi;
    let is_negative = amount.less(zero).named("amount_is_negative");
    let over = net.constant(most).less(amount).named("amount_is_large");
    let amount = over.mux(net.constant(most), amount.bits(0, w.shift)).named("amount_over");
    let amount = is_negative.mux(zero, amount).named("amount_used");

    net.section("Lanes.");
    let is_scale = vf("p").equals(P::Scale.code());
    let scale = is_scale.mux(scale, zero).named("scale_used");
    let is_row_addend = vf("c").equals(C::Row.code());
    let addend = is_row_addend.mux(addend, zero).named("addend_used");
    let lane_module = lane::describe(w, tables, cuts);
    let mut lane_inputs = vec![];
    for &id in &lane_module.inputs {
        let name = lane_module.name_of(id);
        let stage = lane_module.nodes[id].rank.map_or(0, |rank| rank.stage);
        let word = match name {
            "advance" => advance.expect("a cut"),
            "step" => step_shift,
            "x" => x,
            "keep" => keep,
            "gamma" => gamma,
            "beta" => beta,
            "scale" => scale,
            "addend" => addend,
            "amount" => amount,
            "stored" => row_data.bits(0, 16),
            "beta_on" => vf("beta"),
            other => vf(other),
        };
        lane_inputs.push((name, if name == "advance" { word } else { at(word, stage) }));
    }
    let lane_outs = net.instance_in(&lanes_pipe, "lane", &lane_module, lanes, &lane_inputs);
    let (y, saturated, leaf) = (lane_outs[0], lane_outs[1], lane_outs[2]);

    net.section("Writes to the row banks: the loader's, and exponentials in their row's place.");
    let stored = w.can_store.then(|| {
        let stores = step_shift & at(vf("store"), shift_at);
        let late = [run_row, run_chunk, keep].map(|word| at(word, shift_at));
        lanes_pipe.leave([stores, late[0], late[1], lane_outs[3].signed_bits(0, 16), late[2]])
    });
    for (i, tag) in ["a", "b"].iter().enumerate() {
        let here = |row: Word<'a>| if i == 1 { row } else { !row };
        let mut we = (seq("load") & here(load_row)).named(&format!("bank_{tag}_load"));
        let (mut at, mut data) = (seq("load_chunk"), [load_x, load_keep]);
        if let Some([stores, row, chunk, word, keep]) = stored {
            let stores = (stores & here(row)).named(&format!("bank_{tag}_store"));
            we = (we | stores).named(&format!("bank_{tag}_we"));
            at = stores.mux(chunk, at).named(&format!("bank_{tag}_address"));
            data = [
                stores.mux(word, load_x).named(&format!("bank_{tag}_x_d")),
                stores.mux(keep, load_keep).named(&format!("bank_{tag}_keep_d")),
            ];
        }
        let re = (seq("fetch") & here(fetch_row)).named(&format!("bank_{tag}_re"));
        net.drive_memory(banks[i], (we, at, &data), (re, fetch_chunk));
    }

    net.section("Sums of the pass, one cycle behind the root of the tree.");
    // What leaves the lanes cannot be held any more; the step says whether it counts.
    let sums_pipe = net.pipe(None).tagged("sum");
    let leaf_at = |word: Word<'a>| sums_pipe.enter(at(word, cuts.leaves()));
    let step_leaf = sums_pipe.enter(step_at(cuts.leaves(), "step_leaf"));
    let sum_tree = tree::sum(w, leaf.ty(), cuts);
    let leaf = sums_pipe.enter(leaf);
    let root = net.instance_in(&sums_pipe, "sum_tree", &sum_tree, 1, &[("leaf", leaf)])[0];
    let root_q = net.state("root", root.ty(), 1, None);
    let root_at = cuts.root(lanes);
    let is_new = step_leaf & leaf_at(reduces);
    let root_new = match root_at - cuts.leaves() {
        0 => is_new.named("root_en"),
        _ => sums_pipe.delay_valid(is_new.named("leaf_is_new"), root_at),
    };
    net.drive(root_q, root, Some(root_new));
    let follows = |name: &str, value: Word<'_>, reset| {
        let q = net.state(name, value.ty(), 1, reset);
        net.drive(q, value, None);
        q
    };
    let root_on = follows("root_is_new", root_new, Some(0));
    let first = sums_pipe.delay(leaf_at(seq("run_is_first")), root_at);
    let root_first = follows("root_is_first", first, None);
    let pair = leaf_at(vf("reduce")).equals(Reduce::Pair.code());
    let pair = if root_at > cuts.leaves() { pair.named("leaf_is_pair") } else { pair };
    let root_pair = follows("root_is_pair", sums_pipe.delay(pair, root_at), None);
    let low = root_q.bits(0, w.pair_low);
    let whole_bits = w.total.min(root_q.width());
    let part = root_pair.mux(low, root_q.bits(0, whole_bits)).named("root_total");
    let old = root_first.mux(zero, sums).named("total_before");
    let total = (old + part).named("total_sum").bits(0, w.total);
    net.drive(sums, total, Some(root_on));
    let upper = root_q.shift_right(w.pair_low).fit(element_sum).named("root_elements");
    let old = root_first.mux(zero, elements).named("element_total_before");
    let total = (old + upper).named("element_total_sum").signed_bits(0, w.element_total);
    net.drive(elements, total, Some((root_on & root_pair).named("element_total_en")));

    net.section("Output, for the shell's register.");
    let out = at(vf("out"), out_at);
    let writes = (step_at(out_at, "step_out") & !out.equals(0)).named("out_writes");
    let run_last = at(seq("run_is_last"), out_at);
    // The tail stays as it is while a row is inside.
    let out_keep = run_last.mux(tail.unranked(), one_each).named("out_keep");
    let masked = !at(run_any, out_at);
    let masked = masked.named("row_is_masked");
    let first = at(seq("run_is_first"), out_at);
    let leave = [writes, y, out_keep, run_last, first, masked, saturated];
    let [writes, y, out_keep, run_last, first, masked, saturated] = lanes_pipe.leave(leave);
    let in_flight = (1..=out_at).map(|stage| is_valid(stage).unranked());
    let idle = in_flight.fold(seq("idle"), |idle, valid| idle & !valid);
    net.output("in_ready", seq("in_ready"), "the offered beat is taken");
    net.output("out_writes", writes, "a chunk of output is ready");
    net.output("out_data", y, "output codes");
    net.output("out_keep", out_keep, "elements that exist");
    net.output("out_last", run_last, "last chunk of the row");
    net.output("out_first", first, "first chunk of the row");
    net.output("out_masked", masked, "every element is masked");
    net.output("out_saturated", saturated, "codes that were saturated");
    net.output("length_is_wrong", seq("length_is_wrong"), "a row of another length was dropped");
    net.output("idle", idle, "no row is inside");
}

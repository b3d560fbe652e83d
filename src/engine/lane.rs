//! One lane: one multiply-add, one right shifter, the exponential's table, the register T and the
//! output stage. Every micro-op of every operator goes through this one path, in one cycle or in the
//! stages of its cuts.
use super::cuts::Cuts;
use super::tables::Tables;
use super::widths::{GUARD, OUTPUT_FRACTION, Widths};
use crate::isa::{C, Out, Shift, VectorOp};
use crate::num::Interval;
use crate::rtl::{Module, Net};
use std::rc::Rc;

/// Describes the lane. Combinational from its inputs to its outputs but for T and the cuts. A word that
/// all lanes share enters at the stage that reads it.
pub fn describe(w: &Widths, tables: &Tables, cuts: &Cuts) -> Rc<Module> {
    let net = Net::new(
        "lane",
        "src/engine/lane.rs, fn describe",
        "one lane: multiply-add, exponential table, shifter, register T and output stage.",
    );
    let fields = VectorOp::fields();
    let unsigned = Interval::unsigned;
    let signed = Interval::signed;
    let (mul_at, shift_at, out_at) = (cuts.multiply(), cuts.shift(), cuts.outputs());

    let advance = (cuts.leaves().max(out_at) > 0)
        .then(|| net.input("advance", unsigned(1), "nothing holds the pipeline").unranked());
    let pipe = net.pipe(advance);
    let control = |name: &str, stage: u32, doc: &str| {
        let bits = fields.fields[fields.index(name)].bits;
        pipe.input(name, unsigned(bits), stage, doc)
    };
    let step = pipe.input("step", unsigned(1), shift_at, "a micro-op is here and nothing holds it");
    let x = net.input("x", signed(w.input), "element");
    let keep = pipe.input("keep", unsigned(1), shift_at, "the element exists and is not masked");
    let gamma = net.input("gamma", signed(w.input), "scale parameter of the element");
    let beta = pipe.input("beta", signed(w.beta), out_at, "offset parameter plus one half LSB");
    let scale = net.input("scale", unsigned(w.p - 1), "mantissa of the row, or 0 if not chosen");
    let addend = net.input("addend", signed(w.addend), "addend of the row, or 0 if not chosen");
    let amount =
        pipe.input("amount", unsigned(w.shift), shift_at, "shift of the row and the micro-op");
    let stored = w
        .can_store
        .then(|| net.input("stored", unsigned(16), "stored exponential: exponent and fraction"));
    let p_select = control("p", 0, "broadcast operand");
    let q_select = control("q", 0, "element operand");
    let c_select = control("c", 0, "addend");
    let source_select = control("source", shift_at, "what is shifted");
    let shift_select = control("shift", shift_at, "amount of the shift");
    let t_select = control("t", shift_at, "what T takes");
    let reduce_select = control("reduce", shift_at, "what the tree adds");
    let out_select = control("out", out_at, "saturation of the output");
    let is_wide = (w.output > 8).then(|| control("wide", out_at, "codes of 16 bits"));
    let use_beta = pipe.input("beta_on", unsigned(1), out_at, "add beta and not the half alone");

    net.section("The exponential's argument in T: -t, with exponent n and fraction.");
    let t = net.state("t", signed(w.p), 1, None).pinned();
    let fraction_bits = w.exp_fraction;
    let segment_bits = tables.exp2.segment_bits();
    let lo_bits = fraction_bits - segment_bits;
    let segment = t.bits(lo_bits, segment_bits).named("segment");
    let position = t.bits(0, lo_bits).named("position");
    let octave = t.bits(fraction_bits, w.exponent).named("octave");
    let exponent = (net.constant(0) - octave).named("octave_below").bits(0, w.exponent);
    let exponent = exponent.named("exponent");
    let slope = segment.rom("exp2_slope", &tables.exp2.slope).named("slope");
    let intercept = segment.rom("exp2_intercept", &tables.exp2.intercept).named("intercept");

    net.section("The one multiply-add.");
    // What is chosen for all lanes at once comes in as 0 where it is not: an OR costs less than a choice.
    let own = net.select(p_select, &[net.constant(0), t, x, slope]).named("multiplicand_own");
    let p = (own.bits(0, w.p) | scale.bits(0, w.p)).named("multiplicand");
    let mut q_options = vec![x, gamma, position];
    if let Some(stored) = stored {
        let fraction = stored.bits(0, w.stored_fraction);
        q_options.push(net.constant(1).concat(fraction).named("stored_mantissa"));
    }
    let q = net.select(q_select, &q_options).named("multiplier");
    let is_intercept = c_select.equals(C::Intercept.code());
    let start = is_intercept.mux(intercept, net.constant(0)).named("intercept_used");
    let start = start.shift_left(tables.exp2.intercept_shift);
    let coarse_bits = w.addend - GUARD;
    let c = (start.bits(0, coarse_bits) | addend.bits(GUARD, coarse_bits)).named("coarse_addend");
    let [p, q, c] = [p, q, c].map(|word| pipe.delay(word, mul_at));
    let sum = p.signed_bits(0, w.p).mul_add(q, c.signed_bits(0, coarse_bits)).named("multiply_add");
    let sum = pipe.delay(sum, shift_at);
    let mut fine = addend.bits(0, GUARD);
    if shift_at > 0 {
        fine = pipe.delay(fine.named("fine_addend"), shift_at);
    }
    let product = sum.concat(fine).named("product");

    net.section("The mantissa of the exponential, in [1, 2).");
    let drop = tables.exp2.slope_bits + tables.exp2.input_bits - tables.exp2.output_bits;
    let mut mantissa = sum.bits(drop, fraction_bits + 1).named("mantissa");
    if w.can_store && w.stored_fraction < fraction_bits {
        let store = control("store", shift_at, "the exponential is written to the row buffer");
        let cut = fraction_bits - w.stored_fraction;
        let kept = mantissa.shift_right(cut).shift_left(cut);
        mantissa = store.mux(kept, mantissa).named("mantissa_used");
    }

    net.section("The one shifter.");
    let exponential = mantissa.shift_left(w.sum_fraction - fraction_bits);
    let source = net.select(source_select, &[product, exponential]).named("shift_source");
    let exponent = pipe.delay(exponent, shift_at);
    let mut own = exponent;
    if let Some(stored) = stored {
        let mut n = stored.bits(w.stored_fraction, w.exponent);
        if shift_at > 0 {
            n = pipe.delay(n.named("stored_exponent"), shift_at);
        }
        let total = (n + amount).named("stored_amount");
        let most = net.constant(unsigned(w.shift).hi);
        let over = most.less(total).named("stored_amount_is_large");
        let bounded = over.mux(most, total.bits(0, w.shift)).named("stored_amount_used");
        let is_stored = shift_select.equals(Shift::Stored.code());
        own = is_stored.mux(bounded, exponent).named("own_amount");
    }
    // Only the two amounts that differ from lane to lane have the top bit of the field.
    let by = shift_select.bit(2).mux(own, amount).named("shift_amount");
    let shifted = source.shift_right_by(by).named("shifted");

    net.section("What T takes.");
    // A block number fits by construction; an argument is never positive where the element is kept. A masked
    // element's is the lowest, whose exponential is 0 in every place; norms have no mask.
    let octaves = fraction_bits + w.exponent;
    let beyond = shifted.shift_right(octaves).named("t_beyond");
    let lowest = shifted.bits(fraction_bits, w.exponent).equals(0);
    let is_below = shifted.bit(shifted.width() - 1) & (!beyond.equals(-1) | lowest);
    let is_below = is_below | !keep;
    let is_below = (t_select.equals(2) & is_below).named("t_is_below");
    let floor = net.constant(1 << fraction_bits);
    let t_next = is_below.mux(floor, shifted.signed_bits(0, w.p)).named("t_d");
    let t_on = (step & !t_select.equals(0)).named("t_en");
    net.drive(t, t_next, Some(t_on));

    net.section("What the reduction tree adds: the value, or the value with the element above it.");
    let is_pair = reduce_select.equals(2);
    let x = pipe.delay(x, shift_at);
    let low = shifted.bits(0, w.pair_low);
    let top_bits = (w.sum_fraction + 1).saturating_sub(w.pair_low);
    let upper = if top_bits == 0 {
        is_pair.mux(x, net.constant(0)).named("leaf_upper")
    } else {
        is_pair.mux(x, shifted.bits(w.pair_low, top_bits)).named("leaf_upper")
    };
    let low = if w.sum_fraction + 1 < w.pair_low {
        let masked = shifted.bits(0, w.sum_fraction + 1);
        is_pair.mux(low, masked).named("leaf_lower")
    } else {
        low
    };
    let leaf = pipe.delay(upper.concat(low).named("leaf"), cuts.leaves());

    net.section("The output stage: one rounding, then saturation.");
    // Beta is half as large as the words of so many bits: beyond them no beta brings a value back.
    let near_bits = w.beta + 1;
    let beyond = shifted.shift_right(near_bits - 1).named("out_beyond");
    let is_near = (beyond.equals(0) | beyond.equals(-1)).named("out_is_near");
    let (mut near, mut far_sign) =
        (shifted.signed_bits(0, near_bits), shifted.bit(shifted.width() - 1));
    if out_at > shift_at {
        (near, far_sign) = (near.named("out_near"), far_sign.named("out_far_sign"));
    }
    let [near, is_near, far_sign, keep_out] =
        [near, is_near, far_sign, keep].map(|word| pipe.delay(word, out_at));
    let half = net.constant(1 << (OUTPUT_FRACTION - 1));
    let offset = use_beta.mux(beta, half).named("out_offset");
    let sum = (near + offset).named("out_sum");
    let rounded = sum.shift_right(OUTPUT_FRACTION).named("out_rounded");
    let is_unsigned = out_select.equals(Out::Unsigned.code()).named("out_is_unsigned");
    let is_offset = out_select.equals(Out::Offset.code());
    let sign = rounded.bit(rounded.width() - 1);
    let is_negative = is_near.mux(sign, far_sign).named("out_is_negative");
    // A code of `bits` bits, raw: (code, whether it was saturated).
    let code = |bits: u32, tag: &str| {
        let above = rounded.shift_right(bits).named(&format!("above_{tag}"));
        let top = rounded.bit(bits - 1).named(&format!("top_{tag}"));
        let fits_signed = (above.equals(0) & !top) | (above.equals(-1) & top);
        let fits = is_unsigned.mux(above.equals(0), fits_signed).named(&format!("holds_{tag}"));
        let fits = (is_near & fits).named(&format!("fits_{tag}"));
        let limit_top = !is_unsigned.equal(is_negative);
        let top_bit = fits.mux(top, limit_top).named(&format!("code_top_{tag}"));
        let rest_limit = is_negative.mux(net.constant(0), net.constant((1 << (bits - 1)) - 1));
        let rest_limit = rest_limit.named(&format!("limit_{tag}"));
        let rest = fits.mux(rounded.bits(0, bits - 1), rest_limit).named(&format!("rest_{tag}"));
        let top_bit = is_offset.mux(!top_bit, top_bit).named(&format!("code_sign_{tag}"));
        (top_bit.concat(rest).named(&format!("code_{tag}")), (!fits).named(&format!("over_{tag}")))
    };
    let (mut y, mut over) = code(8, "narrow");
    if let Some(is_wide) = is_wide {
        let (wide, wide_over) = code(16, "wide");
        y = is_wide.mux(wide, y).named("code");
        over = is_wide.mux(wide_over, over).named("over");
    }
    if w.can_store {
        // A stored mantissa has no code for 0.
        y = keep_out.mux(y, net.constant(0)).named("code_kept");
    }
    net.output("y", y, "output code; 0 where the element is masked");
    net.output("saturated", (over & keep_out).named("saturated"), "the code was saturated");
    net.output("leaf", leaf, "addend of the reduction tree");
    if w.can_store {
        let cut = fraction_bits.saturating_sub(w.stored_fraction);
        let fraction = mantissa.bits(cut, w.stored_fraction.min(fraction_bits));
        let pad = w.stored_fraction.saturating_sub(fraction_bits);
        let fraction = fraction.shift_left(pad).bits(0, w.stored_fraction);
        net.output("store", exponent.concat(fraction).named("store_word"), "{n, fraction}");
    }
    net.finish()
}

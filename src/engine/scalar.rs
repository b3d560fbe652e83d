//! The scalar unit: four registers, an accumulator, one adder, a digit-serial multiplier, a normaliser
//! and the tables. It turns a row's sums into the row's mantissa, shift and addend.
//!
//! A g register is a signed word of W bits: an integer, or a fraction with W - 2 fraction bits. The
//! accumulator A has F fraction bits and works modulo 2^width; the programs keep it in range.
use super::cuts::Cuts;
use super::tables::Tables;
use super::widths::{GUARD, Widths};
use crate::isa::{AluA, AluB, Dst, FieldSet, ScalarKind, Table as TableCode, X, Y};
use crate::num::Interval;
use crate::rtl::{Module, Net, Word};
use std::rc::Rc;

/// The row's shift, signed, before a micro-op's immediate is added.
pub const ROW_SHIFT_BITS: u32 = 8;

/// Leading-one normaliser: the word moved up until its top bit is 1, `keep` bits of it, and the number
/// of places, 0 to width - 1 (a word of 0 gives the largest).
fn normalise<'a>(net: &'a Net, word: Word<'a>, width: u32, keep: u32) -> (Word<'a>, Word<'a>) {
    let mut v = word;
    let mut have = width;
    let mut places: Option<Word<'a>> = None;
    let mut level = super::widths::bits_for(u64::from(width) - 1);
    while level > 0 {
        level -= 1;
        let by = 1 << level;
        let is_low = v.bits(have - by, by).equals(0).named(&format!("top{by}_is_clear"));
        let rest = (1 << level) - 1;
        let need = (keep + rest).min(have);
        let moved = if have - by >= need {
            v.bits(have - by - need, need)
        } else {
            v.bits(0, have - by).shift_left(need + by - have)
        };
        v = is_low.mux(moved, v.bits(have - need, need)).named(&format!("moved{by}"));
        have = need;
        places = Some(match places {
            None => is_low,
            Some(p) => p.concat(is_low),
        });
    }
    let _ = net;
    (v, places.expect("a word of two bits or more"))
}

/// Describes the scalar unit.
pub fn describe(
    w: &Widths,
    tables: &Tables,
    cuts: &Cuts,
    fields: &FieldSet,
    newton: bool,
) -> Rc<Module> {
    let net = Net::new(
        "scalar_unit",
        "src/engine/scalar.rs, fn describe",
        "turns the sums of a pass into the row's mantissa, shift and addend.",
    );
    words(&net, w, tables, cuts, fields, newton);
    net.finish()
}

fn words(net: &Net, w: &Widths, tables: &Tables, cuts: &Cuts, fields: &FieldSet, newton: bool) {
    let bit = Interval::unsigned(1);
    let reg = Interval::signed(w.scalar);
    let acc = Interval::signed(w.accumulator);
    let f = w.accumulator_fraction;
    let zero = net.constant(0);
    let control = |name: &'static str| {
        let field = &fields.fields[fields.index(name)];
        let ty = if field.is_signed {
            Interval::signed(field.bits)
        } else {
            Interval::unsigned(field.bits)
        };
        net.input(name, ty, "field of the scalar micro-op")
    };

    let on = net.input("on", bit, "a micro-op is under way");
    let first = net.input("digit_first", bit, "a product reads its operands");
    let row = net.input("row", bit, "row that the micro-op works for");
    let run_row = net.input("run_row", bit, "row whose results are shown");
    let total_ty = Interval::unsigned(w.total);
    let total = net.input("total", total_ty, "the pass's sum, of squares or exponentials");
    let elements = net.input("elements", Interval::signed(w.element_total), "sum of the elements");
    let max = net.input("max", Interval::signed(w.input), "largest kept element of the row");
    let k = net.input("k", Interval::unsigned(4), "the row's scale is the tensor's times 2^-k");
    let kind = control("kind");
    let (rd, ra, rb) = (control("rd"), control("ra"), control("rb"));
    let (a_select, b_select) = (control("a"), control("b"));
    let (subtract, round) = (control("subtract"), control("round"));
    let (dst, x_select, y_select) = (control("dst"), control("x"), control("y"));
    let (table, flag, immediate) = (control("table"), control("flag"), control("immediate"));
    let is = |kind_code: ScalarKind| kind.equals(kind_code.code());

    let g: Vec<Word> =
        ["a", "b", "c", "d"].iter().map(|r| net.state(&format!("g_{r}"), reg, 1, None)).collect();
    let a = net.state("acc", acc, 1, None);
    let e = net.state("leading", Interval::unsigned(w.leading), 1, None);
    let is_zero = net.state("acc_was_zero", bit, 1, None);
    let high = net.state("product_high", reg, 1, None);
    let low = net.state("product_low", Interval::unsigned(w.scalar), 1, None);

    net.section("Operands.");
    let ga = net.select(ra, &g).named("operand_a");
    let gb = net.select(rb, &g).named("operand_b");
    let even = !e.bit(0);

    net.section("Tables: slope, intercept and position at the mantissa in operand_a.");
    let mut slopes = vec![];
    let mut intercepts = vec![];
    let mut positions = vec![];
    let mut kinds = vec![("log2", &tables.log2), ("rsqrt", &tables.rsqrt)];
    if let Some(t) = &tables.reciprocal {
        kinds.push(("recip", t));
    }
    for (name, t) in &kinds {
        let has_parity = *name == "rsqrt";
        let top = t.segment_bits();
        let lo = t.input_bits - top;
        let base = w.scalar - 2 - t.input_bits;
        let index = ga.bits(base + lo, top);
        let index = if has_parity { (!even).concat(index) } else { index };
        let index = index.named(&format!("{name}_segment"));
        slopes.push(index.rom(&format!("{name}_slope"), &t.slope).named(&format!("{name}_rise")));
        let icpt = index.rom(&format!("{name}_intercept"), &t.intercept);
        let icpt = icpt.named(&format!("{name}_start")).shift_left(t.intercept_shift);
        intercepts.push(if *name == "log2" {
            let fraction = t.slope_bits + t.input_bits;
            e.concat(icpt.bits(0, fraction)).named("log2_start_above")
        } else {
            icpt
        });
        positions.push(ga.bits(base, lo));
    }
    let slope = net.select(table, &slopes).named("table_slope");
    let intercept = net.select(table, &intercepts).named("table_intercept");
    let position = net.select(table, &positions).named("table_position");

    net.section("The digit-serial product: {product_high, product_low} = x * y, low digit first.");
    let cut = w.scalar - 2;
    let above = high.concat(low.bits(cut, 2)).named("product_above");
    let mut x_options = vec![ga, max, slope];
    if newton {
        x_options.push(even.mux(ga.shift_right(1), ga).named("operand_halved"));
    }
    let x = net.select(x_select, &x_options).named("product_x");
    let minus_k = (zero - k).named("minus_k");
    let k_part = net.select(table, &[k, minus_k, zero]).named("power_of_k");
    let power_of = immediate.bits(0, 6) + k_part;
    let power_of = power_of.named("power_sum");
    let is_small = power_of.less(zero).named("power_is_small");
    let power_of = is_small.mux(zero, power_of).named("power_raised");
    let most = i64::from(w.scalar) - 2;
    let is_large = net.constant(most).less(power_of).named("power_is_large");
    let power_of = is_large.mux(net.constant(most), power_of).named("power_bounded");
    let power_of = power_of.fit(Interval::new(0, most));
    let power = net.constant(1).shift_left_by(power_of).named("power");
    let high_part = above.signed_bits(0, w.scalar);
    let y = net
        .select(y_select, &[gb, immediate, high_part, position, power])
        .named("product_y")
        .bits(0, w.scalar);
    let is_mul = on & is(ScalarKind::Mul);
    let mut first_operand =
        net.select(a_select, &[zero, a, ga, immediate, intercept]).named("adder_a");
    let mut x = x;
    if cuts.scalar {
        // The multiplier and the adder take turns, so one register serves both.
        let read = is(ScalarKind::Mul).mux(x, first_operand).named("operand_d");
        let operand = net.state("operand", read.ty(), 1, None);
        net.drive(operand, read, Some((on & first).named("operand_en")));
        (x, first_operand) = (operand.signed_bits(0, w.scalar), operand);
    }
    let d = w.scalar / w.digits;
    // The last digit carries the sign: it is the one that leaves no other behind.
    let count_bits = Interval::new(0, i64::from(w.digits)).width();
    let count = net.state("digits_left", Interval::unsigned(count_bits), 1, None);
    // Below 0 nobody looks: the register holds.
    let counted = (count - net.constant(1)).named("digits_left_down").bits(0, count_bits);
    let counted = first.mux(net.constant(i64::from(w.digits)), counted).named("digits_left_d");
    net.drive(count, counted, Some(is_mul));
    let is_last = count.equals(1);
    let digit = is_last.mux(low.signed_bits(0, d), low.bits(0, d)).named("product_digit");
    let partial = x.mul_add(digit, high).named("product_partial");
    let high_next = partial.shift_right(d).fit(reg);
    let high_next = first.mux(zero, high_next).named("product_high_d");
    let low_next = partial.bits(0, d).concat(low.bits(d, w.scalar - d)).named("product_low_on");
    let low_next = first.mux(y, low_next).named("product_low_d");
    net.drive(high, high_next, Some(is_mul));
    net.drive(low, low_next, Some(is_mul));

    net.section("The adder.");
    let upper = w.accumulator.saturating_sub(w.scalar).max(1).min(w.scalar);
    let product = high.signed_bits(0, upper).concat(low).named("product");
    let product = product.signed_bits(0, w.accumulator);
    let product_f = product.bits(0, w.accumulator - f).shift_left(f);
    let product_f = product_f.signed_bits(0, w.accumulator);
    let second = net.select(b_select, &[zero, product, product_f, above]).named("adder_b_plain");
    let inverted = (net.constant(-1) - second).named("adder_b_inverted");
    let second = subtract.mux(inverted, second).named("adder_b");
    let carry = (subtract | round & low.bit(cut - 1)).named("adder_carry");
    let pair = (first_operand + second).named("adder_pair");
    let sum = (pair + carry).named("adder_sum");
    debug_assert!(AluA::ALL.len() == 5 && AluB::ALL.len() == 4);

    net.section("The normaliser: mantissa of A in [1, 2) and the place of its leading one.");
    let magnitude_bits = w.accumulator - 1;
    let magnitude = a.bits(0, magnitude_bits).named("magnitude");
    let (mantissa, places) = normalise(net, magnitude, magnitude_bits, w.p);
    let places = places.named("leading_zeros");
    let e_next = (net.constant(i64::from(magnitude_bits) - 1) - places).named("leading_d");
    let e_next = e_next.bits(0, w.leading);
    let norms = (on & is(ScalarKind::Norm)).named("norms");
    net.drive(e, e_next, Some(norms));
    net.drive(is_zero, magnitude.equals(0), Some(norms));
    let mantissa = mantissa.shift_left(w.scalar - 1 - w.p).named("mantissa");

    net.section("The row's mantissa, shift and addend.");
    let is_plain = table.equals(TableCode::Log2.code());
    let below_one = (!ga.bit(w.scalar - 2) & !is_plain).named("mantissa_is_below_one");
    let from = w.scalar - w.p;
    let scale = below_one.mux(ga.bits(from - 1, w.p - 1), ga.bits(from, w.p - 1));
    let scale = scale.named("scale_d");
    let by_exponent = net.select(table, &[zero, e.shift_right(1), e]).named("shift_of_exponent");
    let shift_base = immediate.signed_bits(0, ROW_SHIFT_BITS - 1);
    let shift_pair = (shift_base + by_exponent).named("shift_pair");
    let shift_sum = (shift_pair + below_one).named("shift_sum");
    let shift_next = shift_sum.fit(Interval::signed(ROW_SHIFT_BITS)).named("shift_d");
    let addend_next = a.shift_right(f - GUARD).signed_bits(0, w.addend).named("addend_d");
    let sets_scale = on & is(ScalarKind::SetS);
    let sets_addend = on & is(ScalarKind::SetC);
    let shown = |name: &str, ty: Interval, next, when: Word<'_>| {
        let q = ["a", "b"].map(|r| net.state(&format!("{name}_{r}"), ty, 1, None));
        let here = [
            (when & !row).named(&format!("{name}_a_en")),
            (when & row).named(&format!("{name}_b_en")),
        ];
        net.drive(q[0], next, Some(here[0]));
        net.drive(q[1], next, Some(here[1]));
        net.output(name, run_row.mux(q[1], q[0]).named(name), "of the row on the lanes");
    };
    shown("scale", Interval::unsigned(w.p - 1), scale, sets_scale);
    shown("shift", Interval::signed(ROW_SHIFT_BITS), shift_next, sets_scale);
    shown("addend", Interval::signed(w.addend), addend_next, sets_addend);

    net.section("What the registers take.");
    let takes = (on & is(ScalarKind::Take)).named("takes");
    let adds = on & is(ScalarKind::Alu);
    let adds = if cuts.scalar { adds & !first } else { adds }.named("adds");
    let total_f =
        flag.mux(total.bits(0, w.accumulator - f).shift_left(f), total).named("total_used");
    let a_next =
        takes.mux(total_f.signed_bits(0, w.accumulator), sum.signed_bits(0, w.accumulator));
    let a_next = a_next.named("acc_d");
    net.drive(a, a_next, Some(takes | adds & dst.equals(Dst::Acc.code())));
    let results: Vec<Word> = kinds
        .iter()
        .map(|(name, t)| {
            let drop = t.slope_bits + t.input_bits - t.output_bits;
            let value = sum.shift_right(drop);
            if *name == "log2" {
                value.signed_bits(0, w.scalar)
            } else {
                let up = w.scalar - 2 - t.output_bits;
                value.bits(0, t.output_bits + 1).shift_left(up)
            }
        })
        .collect();
    let result = net.select(table, &results).named("table_result");
    let result = is_zero.mux(zero, result).named("table_value");
    let added = dst.equals(Dst::Table.code()).mux(result, sum.signed_bits(0, w.scalar));
    let added = added.named("adder_to_g");
    let by_kind = [added, zero, mantissa, scale, zero, elements];
    let g_next = net.select(kind, &by_kind).named("g_d");
    let to_g = adds & !dst.equals(Dst::Acc.code());
    let writes = (to_g | norms | sets_scale | takes).named("g_writes");
    for (i, q) in g.iter().enumerate() {
        let here = writes & rd.equals(i as i64);
        net.drive(*q, g_next, Some(here.named(&format!("{}_en", q.name().trim_end_matches("_q")))));
    }
    debug_assert!(X::ALL.len() == 4 && Y::ALL.len() == 5);
}

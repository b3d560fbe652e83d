//! What one operation computes, on plain integers: the oracle of the stepper and of the printed text.
use super::module::Op;
use crate::num::Interval;

/// The value of one lane of a node of type `ty`, from the value and the type of each operand in the order
/// of [`Op::operands`]. Nothing here shares code with the stepper or with the printer.
///
/// # Panics
/// When the operation computes nothing from its operands (ports, registers, memories, instances, gather),
/// or when the result lies outside `ty`, which is a wrong description or an operand out of its range.
pub fn evaluate(op: &Op, ty: Interval, operands: &[(i64, Interval)]) -> i64 {
    let v = |k: usize| i128::from(operands[k].0);
    let bit = |k: usize| v(k) & 1;
    let past_end = |index: i128, len: usize| usize::try_from(index).unwrap_or(0).min(len - 1);
    let result: i128 = match op {
        Op::Const(value) => i128::from(*value),
        Op::Add(..) => v(0) + v(1),
        Op::Sub(..) => v(0) - v(1),
        Op::Mul(..) => v(0) * v(1),
        Op::MulAdd(..) => v(0) * v(1) + v(2),
        Op::ShiftLeft(_, k) => v(0) << k,
        Op::ShiftRight(_, k) => v(0) >> (*k).min(100),
        Op::ShiftRightBy(..) => v(0) >> v(1).min(100),
        Op::ShiftLeftBy(..) => v(0) << v(1),
        Op::Less(..) => i128::from(v(0) < v(1)),
        Op::Equal(..) => i128::from(v(0) == v(1)),
        Op::And(..) => v(0) & v(1),
        Op::Or(..) => v(0) | v(1),
        Op::Not(_) => 1 - bit(0),
        Op::Mux(..) => v(if bit(0) == 1 { 1 } else { 2 }),
        Op::Select(_, options) => v(1 + past_end(v(0), options.len())),
        Op::Fit(_) | Op::Lane(..) | Op::Spread(_) => v(0),
        Op::Bits(_, k) => {
            let width = ty.width();
            let field = (v(0) >> (*k).min(100)) & ((1 << width) - 1);
            let is_negative = ty.is_signed() && field >> (width - 1) == 1;
            if is_negative { field - (1 << width) } else { field }
        }
        Op::Concat(..) => (v(0) << operands[1].1.width()) + v(1),
        Op::Rom(_, _, table) => i128::from(table[past_end(v(0), table.len())]),
        Op::Input
        | Op::Reg { .. }
        | Op::MemRead { .. }
        | Op::InstanceOut { .. }
        | Op::Gather(_) => panic!("{op:?} computes nothing from its operands"),
    };
    let result = i64::try_from(result).expect("a word of at most 63 bits");
    assert!(ty.contains(result), "{op:?} of {operands:?} gives {result}, outside {ty}");
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_beyond_the_word_repeat_its_sign() {
        let word = [(-3, Interval::signed(4))];
        assert_eq!(evaluate(&Op::Bits(0, 2), Interval::unsigned(4), &word), 15);
        assert_eq!(evaluate(&Op::Bits(0, 0), Interval::signed(2), &word), 1);
        assert_eq!(evaluate(&Op::Bits(0, 1), Interval::signed(1), &word), 0);
    }

    #[test]
    fn an_index_past_the_end_takes_the_last() {
        let table = Op::Rom(0, "table".into(), std::rc::Rc::new(vec![4, 5, 9]));
        let index = Interval::unsigned(4);
        assert_eq!(evaluate(&table, Interval::new(4, 9), &[(7, index)]), 9);
        let options = Op::Select(0, vec![1, 2]);
        let words = [(3, index), (6, index), (8, index)];
        assert_eq!(evaluate(&options, index, &words), 8);
    }
}

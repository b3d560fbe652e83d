//! The minimax fit. The error of a line, rounded down at the worst place, is a maximum of functions
//! that are affine in slope and intercept; it is convex, so two nested searches find the best real
//! line of a segment inside the limits on its result. The integer lines near it are then scored,
//! and a shortest path over the segments picks one of them each so that no joint steps backwards.
use std::cmp::Ordering;
use std::f64::consts::LN_2;

use super::{Function, Table};

/// Bits that an intercept keeps below the LSB of the result.
const GUARD_BITS: u32 = 4;
/// Integer slopes tried on each side of the best real one.
const SLOPE_REACH: i64 = 3;
/// Intercepts tried on each side of the best real one; just over half an output LSB.
const INTERCEPT_REACH: i64 = 9;
/// Input widths up to which every candidate line is scored at every input.
const SCORE_EXHAUSTIVELY_BITS: u32 = 16;
/// Widths of the shorter of input and output up to which `max_error` is exact.
const MEASURE_EXACTLY_BITS: u32 = 18;

/// Fits `function` with `segments` uniform segments for `input_bits` of fraction, a result of
/// `output_bits` fraction bits and slopes of `slope_bits` fraction bits. Deterministic.
///
/// # Panics
/// When the sizes make no table: `segments` must be a power of two (at least 2 for
/// `ReciprocalRoot`) with no more segments than inputs, `input_bits` 1 to 30, `output_bits` 1 to 30,
/// `slope_bits` 4 to 30, and `output_bits <= slope_bits + input_bits`.
pub fn fit(
    function: Function,
    segments: u32,
    input_bits: u32,
    output_bits: u32,
    slope_bits: u32,
) -> Table {
    assert!(
        segments.is_power_of_two() && segments.trailing_zeros() >= function.parity_bits(),
        "{segments} segments"
    );
    assert!((1..=30).contains(&input_bits), "{input_bits} input bits; 1 to 30 are possible");
    assert!((1..=30).contains(&output_bits), "{output_bits} output bits; 1 to 30 are possible");
    assert!((4..=30).contains(&slope_bits), "{slope_bits} slope bits; 4 to 30 are possible");
    assert!(
        output_bits <= slope_bits + input_bits,
        "{output_bits} output bits exceed the product's"
    );
    assert!(
        segments.trailing_zeros() - function.parity_bits() <= input_bits,
        "{segments} segments of {input_bits} input bits"
    );
    let mut table = Table {
        function,
        segments,
        input_bits,
        output_bits,
        slope_bits,
        slope: Vec::new(),
        intercept: Vec::new(),
        intercept_shift: (slope_bits + input_bits - output_bits).saturating_sub(GUARD_BITS),
        max_error: 0.0,
    };
    let mut fits: Vec<Segment> = (0..segments).map(|index| Segment::new(&table, index)).collect();
    let candidates: Vec<Vec<Line>> = fits.iter().map(Segment::candidates).collect();
    for (row, pick) in candidates.iter().zip(best_path(&candidates, function)) {
        table.slope.push(row[pick].slope);
        table.intercept.push(row[pick].intercept);
    }
    if !table.is_monotone() {
        // An exact origin with few segments: its far end is off by more than the candidates span.
        // Refit in order, each segment starting no further back than the one before it ended.
        let mut joint = None;
        for (index, segment) in fits.iter_mut().enumerate() {
            segment.joint = joint;
            let lines = segment.candidates();
            if let Some(line) = lines.iter().min_by(|a, b| a.error.total_cmp(&b.error)) {
                (table.slope[index], table.intercept[index]) = (line.slope, line.intercept);
                joint = Some(line.last);
            }
        }
    }
    table.max_error = (table.slope.iter().zip(&table.intercept).zip(&fits))
        .map(|((&slope, &intercept), segment)| segment.measure(slope, intercept))
        .fold(0.0, f64::max);
    table
}

/// An integer line that keeps its segment within the legal results.
#[derive(Clone, Copy)]
struct Line {
    slope: i64,
    intercept: i64,
    /// Largest error in the segment.
    error: f64,
    /// Results at the first and the last input of the segment.
    first: i64,
    last: i64,
}

/// The largest errors of a line above and below the function.
struct Excess {
    above: f64,
    below: f64,
}

impl Excess {
    fn worst(&self) -> f64 {
        self.above.max(self.below)
    }
}

/// One segment and the formats of the table it belongs to.
struct Segment {
    function: Function,
    parity: u32,
    /// True for the segment that holds `u = 0` (and parity 0).
    is_origin: bool,
    /// A result that the first one of the segment may not lie behind.
    joint: Option<i64>,
    /// `u` of the first input.
    start: i64,
    /// Index of the last input, from 0.
    last_lo: i64,
    input_bits: u32,
    output_bits: u32,
    slope_bits: u32,
    intercept_shift: u32,
    result_shift: u32,
}

impl Segment {
    fn new(table: &Table, index: u32) -> Self {
        let rows = 1u32 << table.segment_bits();
        Self {
            function: table.function,
            parity: index / rows,
            is_origin: index == 0,
            joint: None,
            start: i64::from(index % rows) << table.lo_bits(),
            last_lo: (1i64 << table.lo_bits()) - 1,
            input_bits: table.input_bits,
            output_bits: table.output_bits,
            slope_bits: table.slope_bits,
            intercept_shift: table.intercept_shift,
            result_shift: table.result_shift(),
        }
    }

    /// The fraction at `lo`.
    fn fraction(&self, lo: i64) -> f64 {
        (self.start + lo) as f64 / power_of_two(self.input_bits)
    }

    /// The real value at `lo`.
    fn value(&self, lo: i64) -> f64 {
        self.function.value(self.parity, self.fraction(lo))
    }

    /// `approximation - value`, divided by the value where errors are relative.
    fn error(&self, approximation: f64, value: f64) -> f64 {
        let difference = approximation - value;
        if self.function.has_relative_error() { difference / value } else { difference }
    }

    /// An intercept of one, as a number of intercept units.
    fn intercept_unit(&self) -> f64 {
        power_of_two(self.slope_bits + self.input_bits - self.intercept_shift)
    }

    fn raw(&self, slope: i64, intercept: i64, lo: i64) -> i64 {
        slope * lo + (intercept << self.intercept_shift)
    }

    /// Bounds on the error of the line over the whole segment, every real fraction included, when
    /// rounding down may take anything below one LSB anywhere.
    fn bound(&self, slope: f64, intercept: f64) -> Excess {
        let (first, last) = (self.fraction(0), self.fraction(self.last_lo));
        // Where the error before rounding is stationary; the error has one bend and no more.
        let stationary = match self.function {
            Function::Exp2 if slope > 0.0 => libm::log2(slope / LN_2),
            Function::Log2 if slope > 0.0 => 1.0 / (slope * LN_2) - 1.0,
            Function::Reciprocal if slope < 0.0 => (first - 1.0 - intercept / slope) / 2.0,
            Function::ReciprocalRoot if slope < 0.0 => (first - 2.0 - intercept / slope) / 3.0,
            _ => first,
        };
        let lsb = 1.0 / power_of_two(self.output_bits);
        let mut excess = Excess { above: f64::NEG_INFINITY, below: f64::NEG_INFINITY };
        for f in [first, stationary.clamp(first, last), last] {
            let (line, value) =
                (intercept + slope * (f - first), self.function.value(self.parity, f));
            excess.above = excess.above.max(self.error(line, value));
            excess.below = excess.below.max(-self.error(line - lsb, value));
        }
        excess
    }

    /// Intercepts that keep every result legal for this slope, both ends included; none when the
    /// first exceeds the second.
    fn legal_intercepts(&self, slope: i64) -> (i64, i64) {
        let (min, max) = self.function.result_range(self.output_bits);
        let swing = slope * self.last_lo;
        let mut least = (min << self.result_shift) - swing.min(0);
        let mut most = ((max + 1) << self.result_shift) - 1 - swing.max(0);
        if self.is_origin && !self.function.is_decreasing() {
            // The first result is exact: the smallest legal one.
            most = most.min(((min + 1) << self.result_shift) - 1);
        }
        match self.joint {
            Some(joint) if self.function.is_decreasing() => {
                most = most.min(((joint + 1) << self.result_shift) - 1);
            }
            Some(joint) => least = least.max(joint << self.result_shift),
            None => {}
        }
        (-(-least >> self.intercept_shift), most >> self.intercept_shift)
    }

    /// The best real intercept for a slope, in intercept units and within the legal ones, and a
    /// bound on its error. A slope without legal intercepts gets an error above 10^6.
    fn best_intercept(&self, slope: i64) -> (i64, f64) {
        let (least, most) = self.legal_intercepts(slope);
        if least > most {
            return (least, 1e6 + (least - most) as f64);
        }
        let unit = self.intercept_unit();
        let real_slope = slope as f64 / power_of_two(self.slope_bits);
        let (mut low, mut high) = (least as f64 / unit, most as f64 / unit);
        // `above` grows with the intercept and `below` falls: the best is where they cross.
        for _ in 0..48 {
            let middle = (low + high) / 2.0;
            let excess = self.bound(real_slope, middle);
            if excess.above < excess.below {
                low = middle;
            } else {
                high = middle;
            }
        }
        (libm::round(low * unit) as i64, self.bound(real_slope, low).worst())
    }

    /// The integer slope whose best real intercept has the smallest error bound.
    fn best_slope(&self) -> i64 {
        // Between the steepest and the flattest tangent, with a margin for rounding.
        let derivative = |f: f64| match self.function {
            Function::Exp2 => LN_2 * libm::exp2(f),
            Function::Log2 => 1.0 / (LN_2 * (1.0 + f)),
            Function::Reciprocal => -1.0 / ((1.0 + f) * (1.0 + f)),
            Function::ReciprocalRoot => -0.5 * self.function.value(self.parity, f) / (1.0 + f),
        };
        let ends = [0, self.last_lo + 1].map(|lo| {
            libm::round(derivative(self.fraction(lo)) * power_of_two(self.slope_bits)) as i64
        });
        let (mut low, mut high) = (ends[0].min(ends[1]) - 2, ends[0].max(ends[1]) + 2);
        while high - low > 2 {
            let third = (high - low) / 3;
            if self.best_intercept(low + third).1 <= self.best_intercept(high - third).1 {
                high -= third;
            } else {
                low += third;
            }
        }
        low + 1
    }

    /// The legal integer lines around the best real one, each with its error.
    fn candidates(&self) -> Vec<Line> {
        let values: Option<Vec<f64>> = (self.input_bits <= SCORE_EXHAUSTIVELY_BITS)
            .then(|| (0..=self.last_lo).map(|lo| self.value(lo)).collect());
        let mut lines = Vec::new();
        let best = self.best_slope();
        for slope in best - SLOPE_REACH..=best + SLOPE_REACH {
            if slope != 0 && (slope < 0) != self.function.is_decreasing() {
                continue;
            }
            let (least, most) = self.legal_intercepts(slope);
            let centre = self.best_intercept(slope).0;
            for intercept in
                least.max(centre - INTERCEPT_REACH)..=most.min(centre + INTERCEPT_REACH)
            {
                let error = match &values {
                    Some(values) => self.score(slope, intercept, values),
                    None => self
                        .bound(
                            slope as f64 / power_of_two(self.slope_bits),
                            intercept as f64 / self.intercept_unit(),
                        )
                        .worst(),
                };
                let result = |lo| self.raw(slope, intercept, lo) >> self.result_shift;
                lines.push(Line {
                    slope,
                    intercept,
                    error,
                    first: result(0),
                    last: result(self.last_lo),
                });
            }
        }
        assert!(!lines.is_empty(), "no legal line at u = {}: too few segments or bits", self.start);
        lines
    }

    /// Largest error over every input, whose values are given.
    fn score(&self, slope: i64, intercept: i64, values: &[f64]) -> f64 {
        let lsb = 1.0 / power_of_two(self.output_bits);
        let mut raw = self.raw(slope, intercept, 0);
        let mut worst = 0.0f64;
        for &value in values {
            worst = worst.max(self.error((raw >> self.result_shift) as f64 * lsb, value).abs());
            raw += slope;
        }
        worst
    }

    /// Largest error over every input: exact where a walk over the distinct results is short, an
    /// upper bound elsewhere.
    fn measure(&self, slope: i64, intercept: i64) -> f64 {
        if self.input_bits.min(self.output_bits) > MEASURE_EXACTLY_BITS {
            let real_slope = slope as f64 / power_of_two(self.slope_bits);
            return self.bound(real_slope, intercept as f64 / self.intercept_unit()).worst();
        }
        let lsb = 1.0 / power_of_two(self.output_bits);
        let base = self.raw(slope, intercept, 0);
        let (mut lo, mut worst) = (0, 0.0f64);
        while lo <= self.last_lo {
            let result = self.raw(slope, intercept, lo) >> self.result_shift;
            // The last input with this result; between the two the error is monotone.
            let end = match slope.cmp(&0) {
                Ordering::Greater => (((result + 1) << self.result_shift) - 1 - base) / slope,
                Ordering::Less => (base - (result << self.result_shift)) / -slope,
                Ordering::Equal => self.last_lo,
            }
            .min(self.last_lo);
            for lo in [lo, end] {
                worst = worst.max(self.error(result as f64 * lsb, self.value(lo)).abs());
            }
            lo = end + 1;
        }
        worst
    }
}

/// Cost of a path of lines: joints that step backwards, then the largest error, then the sum of
/// errors.
#[derive(Clone, Copy)]
struct Cost {
    backward_joints: u32,
    worst: f64,
    sum: f64,
}

impl Cost {
    fn then(self, is_backward: bool, line: &Line) -> Self {
        Self {
            backward_joints: self.backward_joints + u32::from(is_backward),
            worst: self.worst.max(line.error),
            sum: self.sum + line.error,
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        (self.backward_joints.cmp(&other.backward_joints))
            .then(self.worst.total_cmp(&other.worst))
            .then(self.sum.total_cmp(&other.sum))
    }
}

/// Index of the line to take in each segment: the path of least cost.
fn best_path(candidates: &[Vec<Line>], function: Function) -> Vec<usize> {
    let start = Cost { backward_joints: 0, worst: 0.0, sum: 0.0 };
    let is_backward = |from: &Line, to: &Line| {
        if function.is_decreasing() { to.first > from.last } else { to.first < from.last }
    };
    // For each segment and line: the least cost of a path that ends there, and its previous line.
    let mut steps: Vec<Vec<(Cost, usize)>> = Vec::with_capacity(candidates.len());
    for (index, lines) in candidates.iter().enumerate() {
        let row = (lines.iter())
            .map(|line| match steps.last() {
                None => (start.then(false, line), 0),
                Some(previous) => (previous.iter().zip(&candidates[index - 1]).enumerate())
                    .map(|(from, ((cost, _), before))| {
                        (cost.then(is_backward(before, line), line), from)
                    })
                    .min_by(|a, b| a.0.order(&b.0))
                    .unwrap_or((start, 0)),
            })
            .collect();
        steps.push(row);
    }
    let mut pick = (steps.last().into_iter().flatten().enumerate())
        .min_by(|a, b| a.1.0.order(&b.1.0))
        .map_or(0, |(index, _)| index);
    let mut path = Vec::with_capacity(steps.len());
    for row in steps.iter().rev() {
        path.push(pick);
        pick = row[pick].1;
    }
    path.reverse();
    path
}

/// `2^bits`, exact for `bits` up to 62.
fn power_of_two(bits: u32) -> f64 {
    (1u64 << bits) as f64
}

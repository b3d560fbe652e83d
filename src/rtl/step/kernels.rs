//! Loops over rows x lanes, one operation at a time, in `i32` where everything fits and `i64` elsewhere.

/// The words of one node.
#[derive(Clone, Debug)]
pub enum Words {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

impl Words {
    pub fn new(is_narrow: bool, n: usize) -> Self {
        if is_narrow { Words::Narrow(vec![0; n]) } else { Words::Wide(vec![0; n]) }
    }

    pub fn get(&self, i: usize) -> i64 {
        match self {
            Words::Narrow(v) => i64::from(v[i]),
            Words::Wide(v) => v[i],
        }
    }

    pub fn fill(&mut self, value: i64) {
        match self {
            Words::Narrow(v) => v.fill(value as i32),
            Words::Wide(v) => v.fill(value),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Words::Narrow(v) => v.len(),
            Words::Wide(v) => v.len(),
        }
    }
}

/// An operand: one value, or a slice as long as the result.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    One(i64),
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

/// A result.
pub enum Target<'a> {
    Narrow(&'a mut [i32]),
    Wide(&'a mut [i64]),
}

/// What a kernel computes; amounts that are the same for all words are inside.
#[derive(Clone, Copy, Debug)]
pub enum Kernel {
    Copy,
    Add,
    Sub,
    Mul,
    MulAdd,
    ShiftLeft(u32),
    ShiftRight(u32),
    ShiftRightBy,
    ShiftLeftBy,
    Less,
    Equal,
    And,
    Or,
    Not,
    Mux,
    Bits(u32, u32, bool),
    Concat(u32),
}

trait Load: Copy {
    fn at(self, i: usize) -> i64;
}
impl Load for i64 {
    #[inline(always)]
    fn at(self, _: usize) -> i64 {
        self
    }
}
impl Load for &[i32] {
    #[inline(always)]
    fn at(self, i: usize) -> i64 {
        i64::from(self[i])
    }
}
impl Load for &[i64] {
    #[inline(always)]
    fn at(self, i: usize) -> i64 {
        self[i]
    }
}
trait Load32: Copy {
    fn at32(self, i: usize) -> i32;
}
impl Load32 for i32 {
    #[inline(always)]
    fn at32(self, _: usize) -> i32 {
        self
    }
}
impl Load32 for &[i32] {
    #[inline(always)]
    fn at32(self, i: usize) -> i32 {
        self[i]
    }
}
trait Store {
    fn put(&mut self, i: usize, v: i64);
    fn size(&self) -> usize;
}
impl Store for &mut [i32] {
    #[inline(always)]
    fn put(&mut self, i: usize, v: i64) {
        self[i] = v as i32;
    }
    #[inline(always)]
    fn size(&self) -> usize {
        self.len()
    }
}
impl Store for &mut [i64] {
    #[inline(always)]
    fn put(&mut self, i: usize, v: i64) {
        self[i] = v;
    }
    #[inline(always)]
    fn size(&self) -> usize {
        self.len()
    }
}

#[inline(always)]
fn bits(v: i64, low: u32, width: u32, is_signed: bool) -> i64 {
    let v = v >> low.min(63);
    let up = 64 - width;
    if is_signed { v << up >> up } else { ((v as u64) << up >> up) as i64 }
}

#[inline(always)]
fn one<T: Store>(mut out: T, a: impl Load, f: impl Fn(i64) -> i64) {
    for i in 0..out.size() {
        out.put(i, f(a.at(i)));
    }
}

#[inline(always)]
fn two<T: Store>(mut out: T, a: impl Load, b: impl Load, f: impl Fn(i64, i64) -> i64) {
    for i in 0..out.size() {
        out.put(i, f(a.at(i), b.at(i)));
    }
}

#[inline(always)]
fn three<T: Store>(
    mut out: T,
    a: impl Load,
    b: impl Load,
    c: impl Load,
    f: impl Fn(i64, i64, i64) -> i64,
) {
    for i in 0..out.size() {
        out.put(i, f(a.at(i), b.at(i), c.at(i)));
    }
}

macro_rules! with {
    ($s:expr, $name:ident, $body:expr) => {
        match $s {
            Source::One($name) => $body,
            Source::Narrow($name) => $body,
            Source::Wide($name) => $body,
        }
    };
}
macro_rules! with32 {
    ($s:expr, $name:ident, $n:expr, $body:expr) => {
        match $s {
            Source::One(v) => {
                let $name = v as i32;
                $body
            }
            Source::Narrow(v) => {
                let $name = &v[..$n];
                $body
            }
            Source::Wide(_) => unreachable!("a narrow kernel reads narrow words"),
        }
    };
}
macro_rules! into {
    ($t:expr, $name:ident, $body:expr) => {
        match $t {
            Target::Narrow($name) => $body,
            Target::Wide($name) => $body,
        }
    };
}

#[inline(always)]
fn wide(kernel: Kernel, out: Target, s: &[Source]) {
    use Kernel::*;
    match kernel {
        Copy => into!(out, o, with!(s[0], a, one(o, a, |a| a))),
        ShiftLeft(k) => into!(out, o, with!(s[0], a, one(o, a, |a| a << k))),
        ShiftRight(k) => {
            let k = k.min(63);
            into!(out, o, with!(s[0], a, one(o, a, |a| a >> k)));
        }
        Not => into!(out, o, with!(s[0], a, one(o, a, |a| 1 - a))),
        Bits(low, width, sign) => {
            into!(out, o, with!(s[0], a, one(o, a, |a| bits(a, low, width, sign))));
        }
        MulAdd => into!(
            out,
            o,
            with!(s[0], a, with!(s[1], b, with!(s[2], c, three(o, a, b, c, |a, b, c| a * b + c))))
        ),
        Mux => into!(
            out,
            o,
            with!(
                s[0],
                a,
                with!(
                    s[1],
                    b,
                    with!(s[2], c, three(o, a, b, c, |a, b, c| if a != 0 { b } else { c }))
                )
            )
        ),
        _ => {
            macro_rules! pair {
                ($f:expr) => {
                    into!(out, o, with!(s[0], a, with!(s[1], b, two(o, a, b, $f))))
                };
            }
            match kernel {
                Add => pair!(|a, b| a + b),
                Sub => pair!(|a, b| a - b),
                Mul => pair!(|a, b| a * b),
                ShiftRightBy => pair!(|a, b| a >> b.min(63)),
                ShiftLeftBy => pair!(|a, b| a << b.min(63)),
                Less => pair!(|a, b| i64::from(a < b)),
                Equal => pair!(|a, b| i64::from(a == b)),
                And => pair!(|a, b| a & b),
                Or => pair!(|a, b| a | b),
                Concat(k) => pair!(|a, b| (a << k) + b),
                _ => unreachable!("handled above"),
            }
        }
    }
}

#[inline(always)]
fn narrow(kernel: Kernel, out: &mut [i32], s: &[Source]) {
    use Kernel::*;
    let n = out.len();
    macro_rules! map {
        ($($v:ident = $i:expr),+ => $f:expr) => { map!(@ [$($v = $i),+] $f) };
        (@ [$v:ident = $i:expr $(, $rest:ident = $j:expr)*] $f:expr) => {
            with32!(s[$i], $v, n, map!(@ [$($rest = $j),*] $f))
        };
        (@ [] $f:expr) => { for i in 0..n { out[i] = $f(i); } };
    }
    match kernel {
        Copy => map!(a = 0 => |i| a.at32(i)),
        ShiftLeft(k) => map!(a = 0 => |i| a.at32(i) << k),
        ShiftRight(k) => {
            let k = k.min(31);
            map!(a = 0 => |i| a.at32(i) >> k)
        }
        Not => map!(a = 0 => |i| 1 - a.at32(i)),
        Bits(low, width, sign) => {
            let (low, up) = (low.min(31), 32 - width);
            if sign {
                map!(a = 0 => |i| (a.at32(i) >> low) << up >> up)
            } else {
                map!(a = 0 => |i| (((a.at32(i) >> low) as u32) << up >> up) as i32)
            }
        }
        Add => map!(a = 0, b = 1 => |i| a.at32(i).wrapping_add(b.at32(i))),
        Sub => map!(a = 0, b = 1 => |i| a.at32(i).wrapping_sub(b.at32(i))),
        Mul => map!(a = 0, b = 1 => |i| a.at32(i).wrapping_mul(b.at32(i))),
        MulAdd => map!(a = 0, b = 1, c = 2 =>
            |i| a.at32(i).wrapping_mul(b.at32(i)).wrapping_add(c.at32(i))),
        ShiftRightBy => map!(a = 0, b = 1 => |i| a.at32(i) >> b.at32(i).min(31)),
        ShiftLeftBy => map!(a = 0, b = 1 => |i| a.at32(i) << (b.at32(i) & 31)),
        Less => map!(a = 0, b = 1 => |i| i32::from(a.at32(i) < b.at32(i))),
        Equal => map!(a = 0, b = 1 => |i| i32::from(a.at32(i) == b.at32(i))),
        And => map!(a = 0, b = 1 => |i| a.at32(i) & b.at32(i)),
        Or => map!(a = 0, b = 1 => |i| a.at32(i) | b.at32(i)),
        Mux => map!(a = 0, b = 1, c = 2 =>
            |i| if a.at32(i) != 0 { b.at32(i) } else { c.at32(i) }),
        Concat(k) => map!(a = 0, b = 1 => |i| (a.at32(i) << k) + b.at32(i)),
    }
}

#[inline(always)]
fn body(kernel: Kernel, out: Target, s: &[Source]) {
    let is_narrow = |s: &Source| match s {
        Source::One(v) => i32::try_from(*v).is_ok(),
        Source::Narrow(_) => true,
        Source::Wide(_) => false,
    };
    // Unsigned 32-bit fields and shifts across the word's end need the wide loop.
    let fits = match kernel {
        Kernel::Bits(low, width, sign) => low + width <= 32 || sign && width <= 32,
        _ => true,
    };
    match out {
        Target::Narrow(o) if fits && s.iter().all(is_narrow) => narrow(kernel, o, s),
        out => wide(kernel, out, s),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512(kernel: Kernel, out: Target, s: &[Source]) {
    body(kernel, out, s);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2(kernel: Kernel, out: Target, s: &[Source]) {
    body(kernel, out, s);
}

/// Runs a kernel on the widest vectors that this machine has. The result does not depend on it.
pub fn run(kernel: Kernel, out: Target, s: &[Source]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: the features were found on this machine.
            return unsafe { run_avx512(kernel, out, s) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { run_avx2(kernel, out, s) };
        }
    }
    body(kernel, out, s);
}

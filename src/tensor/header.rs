//! The header of an `.npy` file: magic, version and a Python dictionary literal.
use std::fmt;
use std::path::Path;

use super::error::{TensorError, shape_text};

/// Element types that are read, either endianness.
pub(super) const ACCEPTED_DTYPES: &str = "f2, f4, f8, i1, u1, i2, u2, i4, i8, bool";

/// More axes than numpy's older limit are refused.
const MAX_AXES: usize = 32;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Type of one element, without its byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementKind {
    F2,
    F4,
    F8,
    I1,
    U1,
    I2,
    U2,
    I4,
    I8,
    Bool,
}

/// Type and byte order of the elements; prints as numpy does: `<f4`, `>i2`, `|i1`, `|b1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DType {
    pub kind: ElementKind,
    /// Most significant byte first; false for one-byte elements.
    pub is_big_endian: bool,
}

impl ElementKind {
    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::I1 | Self::U1 | Self::Bool => 1,
            Self::F2 | Self::I2 | Self::U2 => 2,
            Self::F4 | Self::I4 => 4,
            Self::F8 | Self::I8 => 8,
        }
    }

    /// True for integers and bool.
    pub fn is_integer(self) -> bool {
        !matches!(self, Self::F2 | Self::F4 | Self::F8)
    }

    fn code(self) -> &'static str {
        match self {
            Self::F2 => "f2",
            Self::F4 => "f4",
            Self::F8 => "f8",
            Self::I1 => "i1",
            Self::U1 => "u1",
            Self::I2 => "i2",
            Self::U2 => "u2",
            Self::I4 => "i4",
            Self::I8 => "i8",
            Self::Bool => "b1",
        }
    }
}

impl DType {
    fn parse(text: &str) -> Option<Self> {
        use ElementKind::*;
        let (order, code) = match text.chars().next()? {
            c @ ('<' | '>' | '|' | '=') => (c, &text[1..]),
            _ => ('=', text),
        };
        let kind = [F2, F4, F8, I1, U1, I2, U2, I4, I8, Bool]
            .into_iter()
            .find(|k| k.code() == code || (*k == Bool && code == "?"))?;
        if order == '|' && kind.size() > 1 {
            return None;
        }
        let is_big = order == '>' || (order == '=' && cfg!(target_endian = "big"));
        Some(Self { kind, is_big_endian: is_big && kind.size() > 1 })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match (self.kind.size(), self.is_big_endian) {
            (1, _) => '|',
            (_, true) => '>',
            (_, false) => '<',
        };
        write!(f, "{order}{}", self.kind.code())
    }
}

/// What the header says, checked against the file's length.
#[derive(Debug)]
pub(super) struct Header {
    pub dtype: DType,
    pub is_fortran: bool,
    pub shape: Vec<usize>,
    /// Byte of the first element.
    pub data_start: usize,
}

/// Reads the header of the whole file `bytes`. Allocates nothing that an untrusted length decides.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Header, TensorError> {
    let header_error = |found: String, expected: &str| TensorError::Header {
        path: path.into(),
        found,
        expected: expected.into(),
    };
    if !bytes.starts_with(MAGIC) {
        return Err(TensorError::NotNpy { path: path.into(), found: describe_start(bytes) });
    }
    let &[major, minor, ref rest @ ..] = &bytes[MAGIC.len()..] else {
        return Err(header_error("the end of the file".into(), "a format version"));
    };
    let length_size = match (major, minor) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        _ => return Err(TensorError::Version { path: path.into(), major, minor }),
    };
    if rest.len() < length_size {
        return Err(header_error("the end of the file".into(), "the header's length"));
    }
    let (length, rest) = rest.split_at(length_size);
    let length = length.iter().rev().fold(0u64, |sum, &b| sum << 8 | u64::from(b));
    if length > rest.len() as u64 {
        let found = format!("a length of {length} bytes");
        return Err(header_error(
            found,
            &format!("at most the {} that the file has left", rest.len()),
        ));
    }
    let length = length as usize;
    let data_start = bytes.len() - rest.len() + length;
    // Version 1 and 2 are Latin-1, but the three keys and their values are ASCII in every version.
    let text = String::from_utf8_lossy(&rest[..length]);
    let fields = Fields::parse(&text).map_err(|(found, expected)| header_error(found, expected))?;

    let dtype = DType::parse(&fields.descr)
        .ok_or_else(|| TensorError::DType { path: path.into(), found: quoted(&fields.descr) })?;
    let shape = check_shape(path, &fields.shape, dtype)?;
    let expected = (shape.iter().product::<usize>() * dtype.kind.size()) as u64;
    let found = (bytes.len() - data_start) as u64;
    if found != expected {
        let (shape, dtype) = (shape_text(&shape), dtype.to_string());
        return Err(TensorError::Length { path: path.into(), found, expected, shape, dtype });
    }
    Ok(Header { dtype, is_fortran: fields.is_fortran, shape, data_start })
}

/// Axes of at least 1 whose product can be addressed in bytes.
fn check_shape(path: &Path, axes: &[String], dtype: DType) -> Result<Vec<usize>, TensorError> {
    let shape_error = |expected: &str| TensorError::Shape {
        path: path.into(),
        found: abbreviated(&if axes.len() == 1 {
            format!("({},)", axes[0])
        } else {
            format!("({})", axes.join(", "))
        }),
        expected: expected.into(),
    };
    if axes.is_empty() {
        return Err(shape_error("at least one axis (the last axis is the row)"));
    }
    if axes.len() > MAX_AXES {
        return Err(shape_error("at most 32 axes"));
    }
    if axes.iter().any(|a| a.starts_with('-')) {
        return Err(shape_error("axes of 1 and more"));
    }
    if axes.iter().any(|a| a.bytes().all(|b| b == b'0')) {
        return Err(shape_error("at least one row of at least one element"));
    }
    let mut shape = Vec::with_capacity(axes.len());
    let mut bytes = dtype.kind.size();
    for axis in axes {
        let n: Option<usize> = axis.parse().ok();
        let product = n.and_then(|n| bytes.checked_mul(n)).filter(|&b| isize::try_from(b).is_ok());
        let (Some(n), Some(product)) = (n, product) else {
            return Err(shape_error("fewer bytes than can be addressed (2^63)"));
        };
        shape.push(n);
        bytes = product;
    }
    Ok(shape)
}

fn describe_start(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "an empty file".into();
    }
    if bytes.starts_with(b"PK") {
        return "a zip archive (an .npz holds several tensors)".into();
    }
    let start: Vec<String> = bytes.iter().take(6).map(|b| format!("{b:02x}")).collect();
    format!("a file that begins with the bytes {}", start.join(" "))
}

/// The beginning of untrusted text on one line.
fn abbreviated(text: &str) -> String {
    const MOST: usize = 60;
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let short: String = text.chars().take(MOST).map(printable).collect();
    if text.chars().nth(MOST).is_some() { short + "..." } else { short }
}

fn quoted(text: &str) -> String {
    format!("`{}`", abbreviated(text))
}

/// The three entries of the dictionary, axes still as text.
struct Fields {
    descr: String,
    is_fortran: bool,
    shape: Vec<String>,
}

/// What was found and what was expected.
type Mismatch = (String, &'static str);

impl Fields {
    fn parse(text: &str) -> Result<Self, Mismatch> {
        let mut cursor = Cursor { rest: text };
        let (mut descr, mut is_fortran, mut shape) = (None, None, None);
        cursor.expect('{', "a dictionary")?;
        while !cursor.take('}') {
            let key = cursor.string("a quoted key")?;
            cursor.expect(':', "`:` after a key")?;
            match key {
                "descr" if descr.is_none() => descr = Some(cursor.descr()?),
                "fortran_order" if is_fortran.is_none() => is_fortran = Some(cursor.boolean()?),
                "shape" if shape.is_none() => shape = Some(cursor.tuple()?),
                _ => {
                    return Err((
                        format!("the key {}", quoted(key)),
                        "`descr`, `fortran_order` and `shape` once each",
                    ));
                }
            }
            if !cursor.take(',') && !cursor.rest.trim_start().starts_with('}') {
                return Err((cursor.found(), "`,` or `}` after a value"));
            }
        }
        if !cursor.rest.trim_matches(|c: char| c.is_whitespace() || c == '\0').is_empty() {
            return Err((cursor.found(), "nothing after the dictionary"));
        }
        match (descr, is_fortran, shape) {
            (Some(descr), Some(is_fortran), Some(shape)) => Ok(Self { descr, is_fortran, shape }),
            (None, ..) => Err(("no `descr`".into(), "the key `descr`")),
            (_, None, _) => Err(("no `fortran_order`".into(), "the key `fortran_order`")),
            _ => Err(("no `shape`".into(), "the key `shape`")),
        }
    }
}

struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn found(&self) -> String {
        let rest = self.rest.trim();
        if rest.is_empty() { "its end".into() } else { quoted(rest) }
    }

    fn take(&mut self, token: char) -> bool {
        self.rest = self.rest.trim_start();
        let tail = self.rest.strip_prefix(token);
        self.rest = tail.unwrap_or(self.rest);
        tail.is_some()
    }

    fn expect(&mut self, token: char, expected: &'static str) -> Result<(), Mismatch> {
        if self.take(token) { Ok(()) } else { Err((self.found(), expected)) }
    }

    fn string(&mut self, expected: &'static str) -> Result<&'a str, Mismatch> {
        self.rest = self.rest.trim_start();
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let parts = quote.and_then(|q| self.rest[1..].split_once(q));
        let (text, tail) = parts.ok_or_else(|| (self.found(), expected))?;
        self.rest = tail;
        Ok(text)
    }

    /// A quoted type; the list of a structured type is kept as text, to be named in the refusal.
    fn descr(&mut self) -> Result<String, Mismatch> {
        self.rest = self.rest.trim_start();
        if !self.rest.starts_with('[') {
            return self.string("a quoted dtype").map(str::to_string);
        }
        let mut depth = 0usize;
        for (i, c) in self.rest.char_indices() {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let (list, tail) = self.rest.split_at(i + 1);
                self.rest = tail;
                return Ok(list.to_string());
            }
        }
        Err((self.found(), "the end of a structured dtype"))
    }

    fn boolean(&mut self) -> Result<bool, Mismatch> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(tail) = self.rest.strip_prefix(word) {
                self.rest = tail;
                return Ok(value);
            }
        }
        Err((self.found(), "True or False for `fortran_order`"))
    }

    /// A tuple of integers, each as text (`-3`, `4096`); Python 2's trailing `L` is dropped.
    fn tuple(&mut self) -> Result<Vec<String>, Mismatch> {
        const EXPECTED: &str = "a tuple of integers for `shape`";
        let mut axes = Vec::new();
        self.expect('(', EXPECTED)?;
        while !self.take(')') {
            self.rest = self.rest.trim_start();
            let sign = usize::from(self.rest.starts_with('-'));
            let digits = self.rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                return Err((self.found(), EXPECTED));
            }
            let (axis, tail) = self.rest.split_at(sign + digits);
            axes.push(axis.to_string());
            self.rest = tail.strip_prefix('L').unwrap_or(tail);
            if !self.take(',') && !self.rest.starts_with(')') {
                return Err((self.found(), EXPECTED));
            }
        }
        Ok(axes)
    }
}

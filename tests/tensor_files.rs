//! `.npy` reading and writing: files by numpy, one bad file per class of error, and nothing
//! half-written.
use std::fs;
use std::path::{Path, PathBuf};

use mive::num::IntFormat;
use mive::tensor::{
    TensorError, TensorFile, TensorWriter, write_npy_f32, write_npy_f64, write_npy_int,
};
use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tensors").join(format!("{name}.npy"))
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Version, dictionary and data as they stand, however wrong.
fn npy(version: [u8; 2], dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend(version);
    match version[0] {
        1 => bytes.extend((dictionary.len() as u16).to_le_bytes()),
        _ => bytes.extend((dictionary.len() as u32).to_le_bytes()),
    }
    bytes.extend(dictionary.bytes());
    bytes.extend(data);
    bytes
}

fn dictionary(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n")
}

/// Opens a file of these bytes, and checks that a refusal is one sentence that names the file.
fn open(bytes: &[u8]) -> Result<TensorFile, TensorError> {
    let folder = folder();
    let path = folder.path().join("my tensor.npy");
    fs::write(&path, bytes).expect("a file");
    let opened = TensorFile::open(&path);
    if let Err(error) = &opened {
        check_sentence(error, &path);
    }
    opened
}

fn check_sentence(error: &TensorError, path: &Path) {
    let text = error.to_string();
    let rest = text.strip_prefix(&format!("{}: found ", path.display())).expect(&text);
    assert!(rest.contains(", expected ") && rest.contains("; ") && !text.contains('\n'), "{text}");
    assert!(rest.len() < 300, "{text}");
}

fn refusal(bytes: &[u8]) -> String {
    open(bytes).expect_err("a refusal").to_string()
}

#[test]
fn files_by_numpy_read_alike_in_any_order_version_and_endianness() {
    let expected = |kind: &str, i: usize| match kind {
        "f" => (i as f64 - 7.0) / 4.0,
        "i" => i as f64 - 7.0,
        "u" => i as f64,
        _ => f64::from(i % 3 == 0),
    };
    let names = "f2_c f4_fortran_big f8_c_big i1_fortran u1_c i2_fortran_big u2_c_big i4_fortran \
                 i8_c_big bool_fortran f4_c_version2 f4_fortran_version3";
    for name in names.split_whitespace() {
        let file = TensorFile::open(fixture(name)).expect(name);
        assert_eq!((file.shape(), file.n_rows(), file.row_len()), (&[2, 3, 4][..], 6, 4), "{name}");
        let mut rows = Vec::new();
        for first in 0..6 {
            for count in 0..=6 - first {
                file.read_rows(first, count, &mut rows).expect(name);
                let wanted: Vec<f64> =
                    (first * 4..(first + count) * 4).map(|i| expected(&name[..1], i)).collect();
                assert_eq!(rows, wanted, "{name} rows {first} + {count}");
            }
        }
        let largest = (0..24).map(|i| expected(&name[..1], i).abs()).fold(0.0, f64::max);
        assert_eq!(file.absmax().expect(name), largest, "{name}");
        file.scan_non_finite(false).expect(name);
        let mut codes = Vec::new();
        let read = file.read_rows_int(1, 4, &mut codes);
        assert_eq!(read.is_ok(), file.is_integer(), "{name}");
        assert_eq!(file.is_integer(), !name.starts_with('f'));
        match read {
            Ok(()) => {
                file.read_rows(1, 4, &mut rows).expect(name);
                assert!(codes.iter().map(|&c| f64::from(c)).eq(rows), "{name}");
            }
            Err(error) => check_sentence(&error, &fixture(name)),
        }
    }
    let text = TensorFile::open(fixture("i2_fortran_big")).map(|f| f.dtype().to_string());
    assert_eq!(text.expect("a file"), ">i2");
}

#[test]
fn every_half_reads_exactly() {
    let data: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let folder = folder();
    let path = folder.path().join("halves.npy");
    fs::write(&path, npy([1, 0], &dictionary("<f2", "(64, 1024)"), &data)).expect("a file");
    let file = TensorFile::open(&path).expect("halves");
    let mut values = Vec::new();
    file.read_rows(0, 64, &mut values).expect("all rows");
    assert_eq!((values[0x3c00], values[0xc000], values[1]), (1.0, -2.0, 2f64.powi(-24)));
    assert_eq!((values[0x7bff], values[0xfc00]), (65504.0, f64::NEG_INFINITY));
    assert_eq!((values[0x03ff], values[0x0400]), (1023.0 / 2f64.powi(24), 2f64.powi(-14)));
    assert!(values[0x7c00] == f64::INFINITY && values[0x7c01].is_nan());
    assert!(values[..0x7c00].windows(2).all(|w| w[0] < w[1]));
}

#[test]
fn headers_by_other_programs_are_read() {
    for dictionary in [
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '|u1'}",
        "{\"descr\":\"u1\",\"fortran_order\":False,\"shape\":(2L,3L,)}   \n",
        " {'descr' : '<u1' , 'fortran_order' : False , 'shape' : ( 2 , 3 ) , } ",
        "{'descr': '|b1', 'fortran_order': False, 'shape': (2,3), }\0\0\0",
    ] {
        let file = open(&npy([1, 0], dictionary, &[0, 1, 1, 0, 0, 1])).expect(dictionary);
        assert_eq!(file.shape(), [2, 3]);
    }
    let file = open(&npy([1, 0], &dictionary("|i1", "(3,)"), &[1, 255, 128])).expect("one row");
    let mut codes = Vec::new();
    file.read_rows_int(0, 1, &mut codes).expect("one row");
    assert_eq!((file.n_rows(), file.row_len(), codes), (1, 3, vec![1, -1, -128]));
}

#[test]
fn what_is_no_npy_file_is_refused() {
    assert!(refusal(b"").contains("an empty file"));
    assert!(refusal(b"PK\x03\x04 zipped").contains("zip archive"));
    assert!(refusal(b"1.0, 2.0\n").contains("begins with the bytes 31 2e 30"));
    assert!(refusal(b"\x93NUMPY").contains("the end of the file in the .npy header"));
    assert!(refusal(b"\x93NUMPY\x01").contains("the end of the file"));
    assert!(refusal(&npy([4, 0], "{}", &[])).contains("version 4.0, expected 1.0, 2.0 or 3.0"));
    assert!(refusal(&npy([1, 7], "{}", &[])).contains("version 1.7"));
    assert!(refusal(b"\x93NUMPY\x02\x00\x76\x00").contains("expected the header's length"));
    assert!(refusal(b"\x93NUMPY\x01\x00\x76\x00{").contains("a length of 118 bytes"));
    assert!(refusal(b"\x93NUMPY\x03\x00\xff\xff\xff\xff{}").contains("length of 4294967295"));
}

#[test]
fn every_prefix_and_every_flipped_byte_is_refused_or_read_but_never_panics() {
    for name in ["f4_c_version2", "i2_fortran_big", "u1_c"] {
        let bytes = fs::read(fixture(name)).expect("a fixture");
        for length in 0..bytes.len() {
            refusal(&bytes[..length]);
        }
        let n_header = bytes.len() - 24 * if name.starts_with('f') { 4 } else { 1 };
        for at in 0..n_header {
            for value in [0, b'9', b'-', b'(', b'\'', 0xff, bytes[at] ^ 1] {
                let mut bad = bytes.clone();
                bad[at] = value;
                if let Ok(file) = open(&bad) {
                    file.read_rows(0, file.n_rows(), &mut Vec::new()).expect("all rows");
                }
            }
        }
    }
}

#[test]
fn headers_that_are_no_dictionary_of_three_keys_are_refused() {
    for (dictionary, found, expected) in [
        ("", "its end", "a dictionary"),
        ("[1]", "`[1]`", "a dictionary"),
        ("{", "its end", "a quoted key"),
        ("{'descr' '<f4'}", "`'<f4'}`", "`:`"),
        ("{'descr': '<f4', 'fortran_order': False}", "no `shape`", "`shape`"),
        ("{'descr': '<f4', 'shape': (1,)}", "no `fortran_order`", "`fortran_order`"),
        ("{'fortran_order': False, 'shape': (1,)}", "no `descr`", "`descr`"),
        ("{'descr': '<f4', 'descr': '<f4'}", "the key `descr`", "once each"),
        ("{'descr': '<f4', 'colour': 3}", "the key `colour`", "once each"),
        ("{'descr': '<f4", "`'<f4`", "a quoted dtype"),
        ("{'fortran_order': 1}", "`1}`", "True or False"),
        ("{'shape': 3}", "`3}`", "a tuple of integers"),
        ("{'shape': (3, x)}", "`x)}`", "a tuple of integers"),
        ("{'shape': (3", "its end", "a tuple of integers"),
        ("{'shape': (3 4)}", "`4)}`", "a tuple of integers"),
        ("{'shape': (3,) 'descr': '<f4'}", "`'descr'", "`,` or `}`"),
        ("{'descr': [('a', '<f4'", "`[('a'", "the end of a structured dtype"),
    ] {
        let text = refusal(&npy([1, 0], dictionary, &[0; 4]));
        assert!(text.contains(&format!("found {found}")), "{text}");
        assert!(text.contains(expected), "{text}");
    }
    let tail = dictionary("<f4", "(1,)") + "garbage";
    assert!(refusal(&npy([1, 0], &tail, &[0; 4])).contains("`garbage`"));
}

#[test]
fn other_dtypes_are_refused_with_the_list_of_those_accepted() {
    for descr in ["<c8", "<u4", "<u8", "|O", "<U3", "|S5", "<M8[ns]", "<f16", "|f4", "", "<", "é4"]
    {
        let text = refusal(&npy([3, 0], &dictionary(descr, "(1,)"), &[0; 8]));
        assert!(text.contains(&format!("dtype `{descr}`")), "{text}");
        assert!(text.contains("f2, f4, f8, i1, u1, i2, u2, i4, i8, bool"), "{text}");
    }
    let structured = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }";
    assert!(refusal(&npy([1, 0], structured, &[0; 4])).contains("[('a', '<f4')]"));
}

#[test]
fn shapes_without_rows_or_beyond_reach_are_refused() {
    let huge = "(4294967296, 4294967296)";
    let many = format!("({})", "1, ".repeat(33));
    for (shape, expected) in [
        ("()", "at least one axis"),
        ("(0,)", "at least one row"),
        ("(8, 0)", "at least one row"),
        ("(0, 99999999999999999999)", "at least one row"),
        ("(-3,)", "axes of 1 and more"),
        ("(-2, -2)", "axes of 1 and more"),
        (huge, "addressed"),
        ("(3, 99999999999999999999999)", "addressed"),
        ("(4611686018427387904, 4)", "addressed"),
        (&many, "at most 32 axes"),
    ] {
        let text = refusal(&npy([1, 0], &dictionary("<f4", shape), &[0; 16]));
        assert!(text.contains("found shape (") && text.contains(expected), "{text}");
    }
}

#[test]
fn data_of_another_length_than_the_shape_is_refused() {
    for (shape, n) in [("(1000, 1000)", 4), ("(2, 3)", 23), ("(2, 3)", 25), ("(2, 3)", 0)] {
        let text = refusal(&npy([1, 0], &dictionary("<f4", shape), &vec![0; n]));
        assert!(text.contains(&format!("found {n} bytes of data, expected ")), "{text}");
        assert!(text.contains(&format!("for shape {shape} of <f4")), "{text}");
    }
}

#[test]
fn paths_that_are_no_regular_file_are_refused() {
    let folder = folder();
    let missing = folder.path().join("missing.npy");
    for (path, found) in [(missing.as_path(), "no such file"), (folder.path(), "a directory")] {
        let error = TensorFile::open(path).expect_err("a refusal");
        check_sentence(&error, path);
        assert!(error.to_string().contains(found), "{error}");
    }
    if cfg!(unix) {
        let error = TensorFile::open("/dev/null").expect_err("a refusal").to_string();
        assert!(error.contains("a device or pipe"), "{error}");
    }
}

#[test]
fn the_first_element_that_is_not_finite_is_named() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let folder = folder();
    let path = folder.path().join("x.npy");
    write_npy_f32(&path, &[2, 3], &[1.0, -inf, 5.0, nan, inf, -9.0]).expect("written");
    let file = TensorFile::open(&path).expect("opened");
    let strict = file.scan_non_finite(false).expect_err("-inf");
    check_sentence(&strict, &path);
    assert!(strict.to_string().contains("found -inf at row 0, column 1, expected finite numbers;"));
    let masked = file.scan_non_finite(true).expect_err("NaN").to_string();
    assert!(masked.contains("found NaN at row 1, column 0"), "{masked}");
    assert!(file.absmax().expect_err("NaN").to_string().contains("NaN at row 1, column 0"));

    write_npy_f32(&path, &[2, 3], &[1.0, -inf, 5.0, 0.0, 2.0, -9.0]).expect("written");
    let file = TensorFile::open(&path).expect("opened");
    file.scan_non_finite(true).expect("-inf is allowed");
    assert_eq!(file.absmax().expect("an absmax"), 9.0);

    // Fortran order, shape (2, 2, 2): row-major element 3 (row 1, column 1) lies after element 4.
    let values: [f32; 8] = [0.0, nan, 0.0, 0.0, 0.0, 0.0, inf, 0.0];
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    let header = dictionary(">f4", "(2, 2, 2)").replace("False", "True");
    fs::write(&path, npy([1, 0], &header, &data)).expect("a file");
    let file = TensorFile::open(&path).expect("opened");
    let text = file.scan_non_finite(false).expect_err("inf").to_string();
    assert!(text.contains("found inf at row 1, column 1"), "{text}");
}

#[test]
fn a_walk_over_many_pieces_misses_no_element() {
    let folder = folder();
    let path = folder.path().join("long.npy");
    for at in [0, 16_383, 16_384, 49_998] {
        let mut values = vec![-1.0; 49_999];
        values[at] = -2.5;
        write_npy_f64(&path, &[49_999], &values).expect("written");
        let file = TensorFile::open(&path).expect("opened");
        assert_eq!(file.absmax().expect("an absmax"), 2.5);
        values[at] = f64::NAN;
        write_npy_f64(&path, &[49_999], &values).expect("written");
        let text = TensorFile::open(&path).and_then(|f| f.absmax()).expect_err("NaN").to_string();
        assert!(text.contains(&format!("row 0, column {at},")), "{text}");
    }
}

#[test]
fn rows_past_the_end_and_codes_of_no_width_are_refused() {
    let file = TensorFile::open(fixture("u1_c")).expect("a fixture");
    for (first, count) in [(6, 1), (0, 7), (usize::MAX, 2), (7, 0)] {
        for error in [
            file.read_rows(first, count, &mut Vec::new()).expect_err("too many"),
            file.read_rows_int(first, count, &mut Vec::new()).expect_err("too many"),
        ] {
            check_sentence(&error, file.path());
            assert!(error.to_string().contains("rows below 6"), "{error}");
        }
    }
    let folder = folder();
    let path = folder.path().join("wide.npy");
    let values = [0i64, 1, i64::from(i32::MAX), i64::from(i32::MIN) - 1];
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    fs::write(&path, npy([1, 0], &dictionary("<i8", "(2, 2)"), &data)).expect("a file");
    let file = TensorFile::open(&path).expect("opened");
    let error = file.read_rows_int(1, 1, &mut Vec::new()).expect_err("too wide");
    check_sentence(&error, &path);
    assert!(error.to_string().contains("found -2147483649 at row 1, column 1"), "{error}");
}

#[test]
fn what_is_written_reads_back() {
    let folder = folder();
    let path = folder.path().join("y.npy");
    for format in [IntFormat::S8, IntFormat::U8, IntFormat::S16, IntFormat::U16] {
        let codes: Vec<i32> = (format.min() as i32..=format.max() as i32).collect();
        let shape = [2, codes.len() / 16, 8];
        let mut writer = TensorWriter::create(&path, format, &shape).expect("created");
        for rows in codes.chunks(8 * 7) {
            writer.write_rows(rows).expect("written");
        }
        writer.finish().expect("finished");
        let file = TensorFile::open(&path).expect("opened");
        assert_eq!(file.shape(), shape);
        let mut again = Vec::new();
        file.read_rows_int(0, file.n_rows(), &mut again).expect("all rows");
        assert_eq!(again, codes, "{format}");
    }
    let values = [0.1, -1e300, 5e-324, 2.0];
    write_npy_f64(&path, &[4], &values).expect("written");
    let mut again = Vec::new();
    TensorFile::open(&path).and_then(|f| f.read_rows(0, 1, &mut again)).expect("read");
    assert_eq!(again, values);
    let header = fs::read(&path).expect("bytes");
    assert!(header[..128].ends_with(b"\n") && header.len() == 128 + 32);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn nothing_half_written_is_left() {
    let folder = folder();
    let path = folder.path().join("y.npy");
    fs::write(&path, "the earlier result").expect("a file");
    let format = IntFormat::S8;
    let create = || TensorWriter::create(&path, format, &[2, 3]).expect("created");

    let mut dropped = create();
    dropped.write_rows(&[1, 2, 3]).expect("written");
    drop(dropped);
    let mut short = create();
    short.write_rows(&[1, 2, 3]).expect("written");
    let missing = short.finish().expect_err("a row is missing");
    let part = create().write_rows(&[1, 2]).expect_err("no whole row");
    let many = create().write_rows(&[0; 9]).expect_err("too many");
    let wide = create().write_rows(&[0, 0, 0, 0, 128, 0]).expect_err("no s8");
    let other = write_npy_int(&path, format, &[2, 3], &[0; 3]).expect_err("too few");
    let empty = TensorWriter::create(&path, format, &[2, 0]).expect_err("no elements");
    let scalar = TensorWriter::create(&path, format, &[]).expect_err("no axes");
    let vast = TensorWriter::create(&path, format, &[usize::MAX, 2]).expect_err("too vast");
    for error in [&missing, &part, &many, &wide, &other, &empty, &scalar, &vast] {
        check_sentence(error, &path);
    }
    assert!(
        wide.to_string().contains("found 128 at row 1, column 1, expected -128 to 127"),
        "{wide}"
    );
    assert_eq!(fs::read_to_string(&path).expect("the file"), "the earlier result");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn outputs_that_cannot_be_written_are_refused_at_once() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");
    let read_only = folder.path().join("read_only.npy");
    fs::write(&read_only, "").expect("a file");
    let mut permissions = fs::metadata(&read_only).expect("metadata").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&read_only, permissions).expect("read-only");
    for (path, found) in [
        (folder.path().join("missing/y.npy"), "no such folder"),
        (folder.path().to_path_buf(), "a directory"),
        (folder.path().join(".."), "a directory"),
        (file.join("y.npy"), "a file in the place of the folder"),
        (read_only, "a read-only file"),
        (PathBuf::from("/dev/null"), "a device or pipe"),
        (PathBuf::from(""), "no file name"),
    ] {
        let error = TensorWriter::create(&path, IntFormat::U8, &[1]).expect_err("a refusal");
        check_sentence(&error, &path);
        assert!(error.to_string().contains(found), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_result_has_ordinary_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let (ours, plain) = (folder.path().join("ours.npy"), folder.path().join("plain"));
    write_npy_int(&ours, IntFormat::U8, &[1], &[3]).expect("written");
    fs::write(&plain, "").expect("a file");
    let mode = |path| fs::metadata(path).expect("metadata").permissions().mode();
    assert_eq!(mode(&ours), mode(&plain));
}

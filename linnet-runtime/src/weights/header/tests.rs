use super::*;

/// A file with this header and `n_data` bytes of data.
fn file(header: &str, n_data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + n_data, 7);
    bytes
}

fn problem(header: &str, n_data: usize) -> HeaderProblem {
    parse(&file(header, n_data)).expect_err(header)
}

#[track_caller]
fn check_message(problem: &HeaderProblem, expected: &str) {
    assert_eq!(problem.to_string(), expected);
}

#[test]
fn a_good_file_is_read() {
    let header = r#"{"__metadata__":{"format":"pt"},
        "b":{"dtype":"F16","shape":[2,3],"data_offsets":[4,16]},
        "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
        "none":{"dtype":"I64","shape":[0,9],"data_offsets":[16,16]}}   "#;
    let parsed = parse(&file(header, 16)).unwrap();
    let names: Vec<&str> = parsed
        .tensors
        .iter()
        .map(|tensor| tensor.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "none"]);
    let begin = 8 + header.len();
    assert_eq!(
        (parsed.tensors[1].begin, parsed.tensors[1].end),
        (begin + 4, begin + 16)
    );
    assert_eq!(parsed.tensors[1].shape, [2, 3]);
    assert_eq!(parsed.tensors[1].dtype, Dtype::F16);
    assert_eq!(parsed.metadata["format"], "pt");
}

#[test]
fn short_files_are_named_so() {
    let problem = parse(&[]).unwrap_err();
    check_message(
        &problem,
        "the file has 0 bytes, fewer than the 8 that give the header's length; \
         it is empty or was cut short, so fetch it again",
    );
    assert_eq!(
        parse(&[1; 7]).unwrap_err(),
        HeaderProblem::TooShort { n_bytes: 7 }
    );
}

#[test]
fn a_header_past_the_end_is_a_cut_file() {
    let mut bytes = file("{}", 0);
    bytes[0] = 200;
    check_message(
        &parse(&bytes).unwrap_err(),
        "the header claims 200 bytes, but only 2 follow; the file was cut short, so fetch it again",
    );
}

#[test]
fn a_huge_header_length_is_refused_before_anything_is_read() {
    for claimed in [MAX_HEADER_BYTES + 1, 1 << 60, u64::MAX] {
        let mut bytes = claimed.to_le_bytes().to_vec();
        bytes.extend(b"{}");
        let problem = parse(&bytes).unwrap_err();
        assert_eq!(problem, HeaderProblem::HeaderTooLong { claimed });
    }
    check_message(
        &HeaderProblem::HeaderTooLong { claimed: 1 << 60 },
        "the header claims 1152921504606846976 bytes, more than the 100000000 that the format allows; \
         this is no safetensors file, or it is damaged",
    );
}

#[test]
fn headers_that_are_not_the_format_s_json() {
    let mut bytes = file("{}", 0);
    bytes[9] = 0xff;
    check_message(
        &parse(&bytes).unwrap_err(),
        "the header is not UTF-8 (byte 1); this is no safetensors file, or it is damaged",
    );
    for (header, expected) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        (
            "[]",
            "invalid type: sequence, expected an object that maps names to tensors at line 1 column 0",
        ),
        (
            "{\"a\":1}",
            "`a`: invalid type: integer `1`, expected struct RawTensor at line 1 column 6",
        ),
        (
            "{\"a\":{}}",
            "`a`: missing field `dtype` at line 1 column 7",
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#,
            "`a`: invalid value: integer `-1`, expected u64 at line 1 column 31",
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}"#,
            "`a`: invalid length 1, expected a tuple of size 2 at line 1 column 50",
        ),
        (
            r#"{"__metadata__":{"a":1}}"#,
            "`__metadata__`: invalid type: integer `1`, expected a string at line 1 column 22",
        ),
        ("{} {}", "trailing characters at line 1 column 4"),
    ] {
        check_message(
            &problem(header, 4),
            &format!("the header cannot be read: {expected}"),
        );
    }
    let axes = vec!["1"; MAX_AXES + 1].join(",");
    let header = format!(r#"{{"a":{{"dtype":"U8","shape":[{axes}],"data_offsets":[0,1]}}}}"#);
    assert!(
        problem(&header, 1)
            .to_string()
            .contains("`a`: a shape of more than 64 axes")
    );
    let deep = "[".repeat(100_000);
    assert!(
        problem(&format!(r#"{{"a":{deep}"#), 0)
            .to_string()
            .contains("the header cannot be read")
    );
}

#[test]
fn names_stand_once() {
    let one = r#""a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}"#;
    let two = r#""a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}"#;
    check_message(
        &problem(&format!("{{{one},{two}}}"), 2),
        "the header lists the tensor `a` twice",
    );
}

#[test]
fn unknown_dtypes_are_named() {
    let header = r#"{"a":{"dtype":"Q4_K","shape":[1],"data_offsets":[0,1]}}"#;
    check_message(
        &problem(header, 1),
        "the tensor `a` has the unknown dtype `Q4_K`",
    );
}

#[test]
fn sizes_that_overflow() {
    for shape in [
        "4294967296,4294967296",
        "18446744073709551615",
        "4611686018427387904",
    ] {
        let header = format!(r#"{{"a":{{"dtype":"F32","shape":[{shape}],"data_offsets":[0,0]}}}}"#);
        assert!(
            matches!(problem(&header, 0), HeaderProblem::SizeOverflow { .. }),
            "{shape}"
        );
    }
    check_message(
        &HeaderProblem::SizeOverflow {
            name: "a".into(),
            shape: vec![1 << 32, 1 << 32],
        },
        "the tensor `a` has the shape [4294967296, 4294967296], whose size in bytes overflows",
    );
    let header = r#"{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}"#;
    check_message(
        &problem(header, 2),
        "the tensor `a` of F4 has the shape [3], which does not fill whole bytes",
    );
}

#[test]
fn offsets_that_lie() {
    let tensor = |begin: u64, end: u64| {
        format!(r#"{{"a":{{"dtype":"F32","shape":[2],"data_offsets":[{begin},{end}]}}}}"#)
    };
    check_message(
        &problem(&tensor(8, 0), 8),
        "the tensor `a` has the data offsets [8, 0], which end before they begin",
    );
    check_message(
        &problem(&tensor(8, 16), 8),
        "the tensor `a` has the data offsets [8, 16], but the file has only 8 bytes of data; \
         it was cut short, so fetch it again",
    );
    check_message(
        &problem(&tensor(u64::MAX - 8, u64::MAX), 8),
        "the tensor `a` has the data offsets [18446744073709551607, 18446744073709551615], \
         but the file has only 8 bytes of data; it was cut short, so fetch it again",
    );
    check_message(
        &problem(&tensor(0, 7), 8),
        "the tensor `a` of F32 [2] needs 8 bytes, but its data offsets give it 7",
    );
    check_message(
        &problem(&tensor(2, 10), 10),
        "bytes 0 to 2 of the data belong to no tensor",
    );
    check_message(
        &problem(&tensor(0, 8), 10),
        "bytes 8 to 10 of the data belong to no tensor",
    );
    check_message(
        &problem("{}", 3),
        "bytes 0 to 3 of the data belong to no tensor",
    );
}

#[test]
fn tensors_do_not_overlap() {
    let header = r#"{"b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]},
        "a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#;
    check_message(
        &problem(header, 7),
        "the data of the tensors `a` and `b` overlap at byte 3 of the data",
    );
}

#[test]
fn names_are_printed_safely() {
    let header = r#"{"\u001b[31m\n":{"dtype":"X","shape":[1],"data_offsets":[0,1]}}"#;
    check_message(
        &problem(header, 1),
        "the tensor `\\u{1b}[31m\\n` has the unknown dtype `X`",
    );
    let long = "x".repeat(5000);
    let header = format!(r#"{{"{long}":{{"dtype":"X","shape":[1],"data_offsets":[0,1]}}}}"#);
    let message = problem(&header, 1).to_string();
    assert!(
        message.len() < 300 && message.contains("(5000 characters)"),
        "{message}"
    );
}

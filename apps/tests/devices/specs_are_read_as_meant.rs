//! The spec of a kernel in TOML: a valid one runs as written, an invalid one is refused with the file, the
//! line and the field.

use std::path::Path;
use tegula::{Error, Result};
use tegula_apps::offload::{By, ByOrder, Keys, Number, OwnKernel, Records, Spec};

fn parse(text: &str) -> Result<Spec> {
    Spec::parse(Path::new("my.toml"), text)
}

#[test]
fn all_that_may_be_said() {
    let spec = parse(
        "entry = 'sums'\n[records]\nsplit = 'fixed'\nbytes = 12\nlongest = 99\n\
         [partial]\nvalues = 7\ntype = 'i64'\ncombine = 'min'\n\
         [output]\norder = 'value'\nskip_empty = true\nscale = 1000\n[defines]\nWIDTH = 12\nB = 0\n",
    );
    let spec = spec.unwrap();
    assert!(matches!(spec.records, Records::Fixed(12)));
    assert_eq!((spec.entry.as_deref(), spec.longest_bytes, spec.values), (Some("sums"), 99, 7));
    assert_eq!((spec.number, spec.combine, spec.order), (Number::I64, By::Min, ByOrder::Value));
    assert_eq!((spec.skip_empty, spec.scale), (true, Some(1000)));
    assert_eq!(spec.defines, [("B".to_owned(), 0), ("WIDTH".to_owned(), 12)]);
    let spec = parse(
        "[partial]\nkeys = 'bytes'\nlongest_key = 9\nbytes = 65536\n[output]\norder = 'key'\n",
    );
    let spec = spec.unwrap();
    assert_eq!((spec.keys, spec.longest_key), (Some(Keys::Bytes), 9));
    assert_eq!((spec.table_bytes, spec.order), (65536, ByOrder::Index));
    let spec = parse("partial.values = 3\npartial.type = 'f32'\npartial.combine = 'max'").unwrap();
    assert_eq!((spec.number, spec.keys), (Number::F32, None));
    let spec = parse("records.split = 'delimiter'\nrecords.delimiter = '--'\npartial.values = 1");
    assert!(matches!(spec.unwrap().records, Records::Delimiter(end) if end.bytes() == b"--"));
}

#[test]
fn what_cannot_be_meant_is_named() {
    for (text, parts) in [
        ("[partial]\nvalues = 1\nsize = 3\n", ["line 3", "`size`", "`values`"]),
        ("\n\n[part]\nvalues = 1\n", ["line 3", "`part`", "`partial`"]),
        ("[records]\nsplit = 'words'\n[partial]\nvalues = 1\n", ["line 2", "`words`", "`lines`"]),
        ("[partial]\ncombine = 'mean'\nvalues = 1\n", ["line 2", "`mean`", "`max`"]),
        ("[partial]\ntype = 'f16'\nvalues = 1\n", ["line 2", "`f16`", "`f64`"]),
        ("[partial]\ntype = 'f64'\nvalues = 1\n", ["line 2", "sums of f64", "output.scale"]),
        (
            "[partial]\ntype = 'f32'\nvalues = 1\ncombine = 'sum'\n",
            ["line 4", "sums of f32", "whole numbers"],
        ),
        (
            "[partial]\ntype = 'f32'\nvalues = 1\ncombine = 'min'\n[output]\nscale = 2\n",
            ["line 6", "scale", "take it out"],
        ),
        (
            "[partial]\nkeys = 'u64'\ntype = 'f32'\ncombine = 'min'\n",
            ["line 3", "f32 is for arrays", "a table has"],
        ),
        ("[partial]\nkeys = 'text'\n", ["line 2", "`text`", "`bytes`"]),
        ("[partial]\nkeys = 'u64'\nvalues = 3\n", ["line 3", "values", "keys"]),
        ("[partial]\nkeys = 'u64'\nlongest_key = 3\n", ["line 3", "longest_key", "bytes"]),
        (
            "[partial]\nkeys = 'bytes'\nlongest_key = 0\n",
            ["line 3", "longest_key: 0", "at least 1"],
        ),
        ("[partial]\nkeys = 'bytes'\nlongest_key = 5000\n", ["line 3", "longest_key", "4096"]),
        ("[partial]\nkeys = 'bytes'\nbytes = 5000\n", ["line 3", "bytes: 5000", "65536"]),
        ("[partial]\nvalues = 3\nbytes = 65536\n", ["line 3", "bytes", "tables"]),
        ("partial.values = 1\n[defines]\nHEAD = 1\n", ["line 3", "HEAD", "another name"]),
        ("[partial]\nvalues = '9'\n", ["line 2", "string", "u64"]),
        ("[partial]\n\nvalues = 0\n", ["line 3", "values: 0", "at least 1"]),
        ("[partial]\nvalues = 1000000000000\n", ["line 2", "values", "at most"]),
        (
            "records.longest = 1073741825\npartial.values = 1\n",
            ["line 1", "longest: 1073741825", "1073741824 at most"],
        ),
        (
            "records.longest = 18446744073709551615\npartial.values = 1\n",
            ["line 1", "longest", "1073741824"],
        ),
        ("records.longest = 0\npartial.values = 1\n", ["line 1", "longest: 0", "at least 1"]),
        ("[partial]\n", ["line 1", "missing", "values"]),
        ("records.split = 'fixed'\npartial.values = 1\n", ["line 1", "bytes", "fixed"]),
        ("records.bytes = 3\npartial.values = 1\n", ["line 1", "bytes", "fixed"]),
        (
            "records.split = 'fixed'\nrecords.bytes = 0\npartial.values = 1\n",
            ["line 2", "bytes: 0", "1"],
        ),
        (
            "records.split = 'delimiter'\npartial.values = 1\n",
            ["line 1", "delimiter", "ends a record"],
        ),
        (
            "partial.values = 1\nrecords.split = 'delimiter'\nrecords.delimiter = ''\n",
            ["line 3", "0 bytes", "32"],
        ),
        ("partial.values = 1\nrecords.delimiter = ';'\n", ["line 2", "delimiter", "take it out"]),
        ("partial.values = 1\noutput.scale = 0\n", ["line 2", "scale: 0", "at least 1"]),
        ("partial.values = 1\n[defines]\nA = -1\n", ["line 3", "-1", "u64"]),
        ("partial.values = 1\n[defines]\nVALUES = 1\n", ["line 3", "VALUES", "another name"]),
        ("partial.values = 1\n[defines]\n'a b' = 1\n", ["line 3", "a b", "letters"]),
        ("entry = '9'\npartial.values = 1\n", ["line 1", "entry", "letters"]),
        ("partial.values = \n", ["line 1", "my.toml", "value"]),
    ] {
        let error = parse(text).unwrap_err();
        let told = error.to_string();
        assert!(matches!(error, Error::Option { .. }) && told.contains("my.toml"), "{told}");
        assert!(parts.iter().all(|part| told.contains(part)), "{text:?}: {told}");
    }
    // A file whose name is no function's has to say which is meant.
    let told = OwnKernel::new(Spec::default(), "9-lives.c", "").unwrap_err().to_string();
    assert!(told.contains("entry") && told.contains("9-lives"), "{told}");
}

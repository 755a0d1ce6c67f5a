//! A program built without remote input says so of a URL, and how to build one with it. (Run by a
//! build without features: see `make test`.)

use super::*;

#[test]
fn and_are_never_taken_for_paths() {
    for url in ["s3://bucket/one", "hdfs://host:8020/x*", "gs://bucket", "az://container/x"] {
        let output = wordcount(&[url]);
        check_fault(&output, 1, &[&format!("{url}: "), "without remote input", "make build"]);
        assert!(output.stdout.is_empty(), "{url}");
    }
}

//! The input of a streaming job: objects of a bucket, by name, pattern and folder, plain and compressed, beside files.

use super::*;
use flate2::write::GzEncoder;
use std::io::Write;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn objects_are_mapped_as_files_are() {
    let packed = gzip(b"c\t3\na\t4\n");
    let (folder, server) =
        both(&[("one", b"b\t1\na\t1\n"), ("two", b"a\t2\n"), ("three.gz", &packed)]);
    let here = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let job = |number: usize, inputs: &[&str], mapper: &str| {
        let out = here(&format!("out-{number}"));
        let job = ["streaming", "-output", &out, "-mapper", mapper, "-reducer", "cat"];
        let inputs = inputs.iter().flat_map(|input| ["-input", input]);
        answer(&server, &job.into_iter().chain(inputs).collect::<Vec<_>>());
        fs::read_to_string(format!("{out}/part-00000")).unwrap()
    };
    let one = here("one");
    let cases: &[(&[&str], &str)] = &[
        (&["s3://bucket/one"], "a\t1\nb\t1\n"),
        (&["s3://bucket/two", &one], "a\t2\na\t1\nb\t1\n"),
        (&["s3://bucket/t*"], "a\t2\na\t4\nc\t3\n"),
        (&["s3://bucket/three.gz,s3://bucket/two"], "a\t4\na\t2\nc\t3\n"),
    ];
    for (number, (inputs, expected)) in cases.iter().enumerate() {
        let found = job(number, inputs, "cat");
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        // The order of the objects of a pattern is theirs, by name.
        assert_eq!(sorted(&found), sorted(expected), "{inputs:?}");
        assert!(found.lines().is_sorted_by_key(|line| &line[..1]), "{found}");
    }
    let asking = "sh -c 'cat >/dev/null; echo $mapreduce_map_input_file'";
    assert_eq!(job(9, &["s3://bucket/one"], asking), "s3://bucket/one\t\n");
}

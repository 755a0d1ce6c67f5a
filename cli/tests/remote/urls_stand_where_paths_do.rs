//! URLs and paths in any mixture, in jobs over words and over lines.

use super::*;

#[test]
fn urls_and_paths_are_counted_together() {
    let (folder, server) = both(&[("one", b"a b a\n"), ("two", b"b c\n")]);
    let one = folder.path().join("one");
    let one = one.to_str().unwrap();
    for workers in ["1", "3"] {
        let words =
            |paths: &[&str]| answer(&server, &[&["wordcount", "-j", workers], paths].concat());
        assert_eq!(words(&["s3://bucket/two", one]), "a\t2\nb\t2\nc\t1\n");
        assert_eq!(words(&[one, "s3://bucket/*", one]), "a\t6\nb\t4\nc\t1\n");
    }
}

#[test]
fn commands_over_lines_read_urls() {
    let (folder, server) = both(&[("lines", b"b;2.0\na;1.0\nb;4.0\n")]);
    for command in [&["sort"][..], &["stations"], &["grep", "b;"], &["top", "2"], &["index"]] {
        let [here, there] = named(&[command, &["@lines"]].concat(), &folder);
        let (here, url) = (answer(&server, &as_strs(&here)), answer(&server, &as_strs(&there)));
        let local = folder.path().join("lines");
        let url = url.replace("s3://bucket/lines", local.to_str().unwrap());
        assert!(here == url && !here.is_empty(), "{command:?}: {here:?} and {url:?}");
    }
}

//! A missing or changing remote file ends the program with code 1 and one line that names the URL.

use super::*;

#[test]
fn what_cannot_be_had() {
    let (_folder, server) = both(&[("one", b"a")]);
    for (url, said) in [
        ("s3://bucket/none", "no such file or folder"),
        ("s3://none/one", "NoSuchBucket"),
        ("what://bucket/one", "`what` is no scheme"),
    ] {
        let message = fault(tegula(&server, &["wordcount", url]));
        assert!(message.starts_with(&format!("tegula: {url}: ")), "{message}");
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn what_is_replaced_while_it_is_read() {
    let old = "old words\n".repeat(1 << 20).into_bytes();
    let (_folder, server) = both(&[("one", &old)]);
    let arguments = ["wordcount", "-j", "2", "s3://bucket/one"];
    server.after(u32::MAX, || ());
    answer(&server, &arguments);
    let requests = server.requests();
    assert!(requests > 8, "10 MiB are read by ranges: {requests} requests");
    // After the listing and some of the ranges.
    for before in [requests / 2, requests - 1] {
        server.put("bucket", "one", &old);
        let objects = server.objects();
        let new = [&old[1..], b"!"].concat();
        server.after(before, move || objects.put("bucket", "one", &new));
        let message = fault(tegula(&server, &arguments));
        assert!(server.requests() > before);
        assert!(
            message.starts_with("tegula: s3://bucket/one: it changed after the job began"),
            "{message}"
        );
    }
}

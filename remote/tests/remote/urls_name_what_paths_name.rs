//! A folder of a store is read as the same folder on disk would be: the same files in the same order.

use crate::common::{fault, listing, settings};
use std::fs;
use tegula::Input;
use tegula_remote_servers::S3;

const NAMES: [&str; 10] = [
    "logs/.hidden",
    "logs/_SUCCESS",
    "logs/2025-12/a.log",
    "logs/2026-01/a.log",
    "logs/2026-01/b.txt",
    "logs/2026-01/deep/c.log",
    "logs/2026-01.log",
    "logs/2026-01-x",
    "odd/[1] %20 ?#&+é.txt",
    "z",
];

#[test]
fn folders_and_patterns_give_the_files_of_the_same_tree_on_disk() {
    let (server, local) = (S3::start(), tempfile::tempdir().unwrap());
    let root = local.path();
    for name in NAMES {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
        server.put("bucket", name, name.as_bytes());
    }
    let settings = settings(server.endpoint());
    for given in [
        "",
        "logs",
        "logs/",
        "logs/2026-01",
        "z",
        "logs/2026-*",
        "logs/*/",
        "logs/**/*.log",
        "logs/*/?.log",
        "**/c.log",
        "l*/2026-01/[!b]*",
        "odd/[1] %20 ?#&+é.txt",
        "odd/*",
        "*",
    ] {
        let found = settings.input(&format!("s3://bucket/{given}"));
        let found = found.unwrap_or_else(|fault| panic!("{given}: {fault}"));
        let local = Input::patterns([root.join(given)]).unwrap();
        let mut expected = Vec::new();
        for (name, bytes) in listing(&local) {
            let name = name.strip_prefix(root.to_str().unwrap()).unwrap().trim_start_matches('/');
            expected.push((format!("s3://bucket/{name}"), bytes));
        }
        assert_eq!(listing(&found), expected, "{given}");
    }
}

#[test]
fn lists_of_several_pages_are_whole() {
    let server = S3::start();
    for number in 0..2500 {
        server.put("many", &format!("part-{number:05}"), b"x");
    }
    let input = settings(server.endpoint()).input("s3://many").unwrap();
    let names: Vec<_> = listing(&input).into_iter().map(|(name, _)| name).collect();
    assert!(names.is_sorted());
    assert_eq!((names.len(), &*names[2499]), (2500, "s3://many/part-02499"));
}

/// Programs such as consoles mark a folder by an empty object whose name ends with a slash.
#[test]
fn marks_of_folders_are_no_files() {
    let server = S3::start();
    for (name, bytes) in [("pics/a", "x"), ("pics/empty/", ""), ("pics/none", ""), ("z/", "")] {
        server.put("bucket", name, bytes.as_bytes());
    }
    let settings = settings(server.endpoint());
    let both = ["s3://bucket/pics/a", "s3://bucket/pics/none"];
    for (given, expected) in [
        ("", &both[..]),
        ("pics", &both),
        ("pics/*", &both),
        ("pics/n*", &both[1..]),
        ("pics/empty/", &[]),
        ("z", &[]),
    ] {
        let found = listing(&settings.input(&format!("s3://bucket/{given}")).unwrap());
        let names: Vec<_> = found.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, expected, "{given}");
    }
    assert!(fault(settings.input("s3://bucket/pics/e*")).contains("matches no file"));
}

/// Lists show names without the slashes at their ends, so that two objects look like one.
#[test]
fn names_that_differ_by_slashes_alone_are_refused() {
    let server = S3::start();
    for (bucket, names) in [("ends", ["d/y", "d/y/"]), ("starts", ["/x", "x"])] {
        names.iter().for_each(|name| server.put(bucket, name, b"same"));
        let message = fault(settings(server.endpoint()).input(&format!("s3://{bucket}")));
        assert!(message.contains("twice; rename the object"), "{message}");
    }
    for (bucket, name) in [("empty", "a//b"), ("dots", "a/./b"), ("tabs", "a\tb")] {
        server.put(bucket, name, b"x");
        let message = fault(settings(server.endpoint()).input(&format!("s3://{bucket}/")));
        assert!(message.contains("cannot be read; rename it"), "{message}");
    }
}

/// Some programs mark a folder by an empty object of its name, without a slash.
#[test]
fn an_empty_object_beside_a_folder_of_its_name_marks_it() {
    let server = S3::start();
    let objects = [
        ("marked", ""),
        ("marked/a", "x"),
        ("empty", ""),
        ("empty-b", "x"),
        ("full", "x"),
        ("full/a", "xy"),
    ];
    for (name, bytes) in objects {
        server.put("bucket", name, bytes.as_bytes());
    }
    let settings = settings(server.endpoint());
    for (given, name, bytes) in [
        ("marked", "marked/a", 1),
        ("marked/", "marked/a", 1),
        ("mark*", "marked/a", 1),
        ("empty", "empty", 0),
        ("full", "full", 1),
        ("full/", "full/a", 2),
    ] {
        let found = listing(&settings.input(&format!("s3://bucket/{given}")).unwrap());
        assert_eq!(found, [(format!("s3://bucket/{name}"), bytes)], "{given}");
    }
}

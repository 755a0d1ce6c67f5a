//! `tegula hadoop` answers as programs that run Hadoop's command expect: mrjob reads these very lines, by patterns.

use super::{Place, said};
use std::fs;
use std::process::{Command, Output, Stdio};

fn hadoop(place: &Place, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tegula"));
    command.arg("hadoop").args(words).current_dir(place.path("")).stdin(Stdio::null());
    command.env("TEGULA_HDFS", place.path("hdfs")).env("TMPDIR", place.path("scratch"));
    command.env("USER", "me").output().unwrap()
}

fn printed(place: &Place, words: &[&str]) -> String {
    let output = hadoop(place, words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The message of a line of log4j: after date, time, level and logger.
fn message<'l>(line: &'l str, level: &str) -> Option<&'l str> {
    let (head, message) = line.split_once(": ")?;
    let words: Vec<&str> = head.split(' ').collect();
    (words.len() == 4 && words[0].len() == 8 && words[1].len() == 8 && words[2] == level)
        .then_some(message)
}

#[test]
fn files_are_brought_listed_and_removed() {
    let place = Place::with(&[("local.txt", b"text\n")]);
    assert_eq!(printed(&place, &["version"]), "Hadoop 3.5.0\n");
    printed(&place, &["fs", "-mkdir", "-p", "hdfs:///user/me/tmp/"]);
    printed(&place, &["fs", "-put", "local.txt", "hdfs:///user/me/tmp/a.txt"]);
    printed(&place, &["fs", "-mkdir", "hdfs:///user/me/none"]);
    assert_eq!(printed(&place, &["fs", "-ls", "hdfs:///user/me/none"]), "");
    printed(&place, &["fs", "-rm", "-r", "hdfs:///user/me/none"]);
    printed(&place, &["fs", "-touchz", "hdfs:///user/me/tmp/empty"]);
    let listed = printed(&place, &["fs", "-ls", "-R", "hdfs:///user/me"]);
    let lines: Vec<Vec<&str>> =
        listed.lines().map(|line| line.split_ascii_whitespace().collect()).collect();
    let shown: Vec<_> = lines.iter().map(|line| (&line[0][..1], line[4], line[7])).collect();
    let expected = [
        ("d", "0", "hdfs:///user/me/tmp"),
        ("-", "5", "hdfs:///user/me/tmp/a.txt"),
        ("-", "0", "hdfs:///user/me/tmp/empty"),
    ];
    assert_eq!(shown, expected);
    // By its colon, mrjob finds the time, and the path after it.
    assert!(lines.iter().all(|line| line[6].len() == 5 && &line[6][2..3] == ":"), "{listed}");
    assert_eq!(printed(&place, &["fs", "-ls", "tmp"]).lines().next(), Some("Found 2 items"));
    assert_eq!(printed(&place, &["fs", "-cat", "hdfs:///user/me/tmp/a*"]), "text\n");
    assert!(printed(&place, &["fs", "-du", "hdfs:///user/me/tmp"]).starts_with("5  5  hdfs:///"));
    printed(&place, &["fs", "-test", "-e", "hdfs:///user/me/tmp/a.txt"]);
    printed(&place, &["fs", "-copyToLocal", "hdfs:///user/me/tmp/a.txt", "back.txt"]);
    assert_eq!(fs::read(place.path("back.txt")).unwrap(), b"text\n");
    printed(&place, &["fs", "-rm", "-R", "-f", "-skipTrash", "hdfs:///user/me/tmp"]);
    assert_eq!(hadoop(&place, &["fs", "-test", "-e", "/user/me/tmp"]).status.code(), Some(1));
    let missing = hadoop(&place, &["fs", "-ls", "-R", "hdfs:///user/me/tmp"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(said(&missing), "ls: `hdfs:///user/me/tmp': No such file or directory\n");
}

#[test]
fn text_is_printed_unpacked() {
    let place = Place::with(&[("hdfs/plain", b"a\n"), ("hdfs/empty", b"")]);
    let mut gzip = Command::new("gzip");
    let gzip = gzip.args(["-k", "plain"]).current_dir(place.path("hdfs")).status().unwrap();
    assert!(gzip.success());
    assert_eq!(printed(&place, &["fs", "-text", "/plain", "/plain.gz", "/empty"]), "a\na\n");
    assert_eq!(hadoop(&place, &["fs", "-cat", "/plain.gz"]).stdout[..2], [0x1f, 0x8b]);
}

#[test]
fn what_a_file_command_cannot_do_is_refused_as_hadoop_does() {
    let place = Place::with(&[
        ("hdfs/d/full", b"text\n"),
        ("hdfs/d/other", b"other\n"),
        ("hdfs/d.bz2", b"BZh9"),
        ("local.txt", b"text\n"),
        ("local/full", b"local\n"),
    ]);
    let cases: &[(&[&str], &str)] = &[
        (&["-frob", "hdfs:///d"], "-frob: Unknown command"),
        (&["-mkdir", "hdfs:///d"], "mkdir: `hdfs:///d': File exists"),
        (&["-put", "local.txt", "hdfs:///d/full"], "put: `hdfs:///d/full': File exists"),
        (&["-rm", "hdfs:///d"], "rm: `hdfs:///d': Is a directory"),
        (&["-touchz", "hdfs:///d/full"], "touchz: `hdfs:///d/full': Not a zero-length file"),
        (&["-mv", "hdfs:///d/full"], "mv: fs knows -ls"),
        (&["-mv", "hdfs:///no", "hdfs:///d"], "mv: `hdfs:///no': No such file or directory"),
        (&["-mv", "hdfs:///d/other", "hdfs:///d/full"], "mv: `hdfs:///d/full': File exists"),
        (&["-mv", "/d/full", "/d"], "mv: `/d/full': File exists"),
        (&["-mv", "/d/*", "/new"], "mv: `/new': No such file or directory"),
        (&["-get", "/d/*", "new"], "get: `new': No such file or directory"),
        (&["-get", "/d/*", "local.txt"], "get: `local.txt': Is not a directory"),
        (&["-get", "/d/full", "local.txt"], "get: `local.txt': File exists"),
        (&["-get", "/d/full", "local"], "get: `local/full': File exists"),
        (&["-text", "/d.bz2"], "text: `/d.bz2': it is compressed by bzip2"),
    ];
    for (words, refusal) in cases {
        let output = hadoop(&place, &[&["fs"], *words].concat());
        assert!(output.status.code().is_some_and(|code| code != 0), "{words:?}");
        assert!(said(&output).contains(refusal), "{words:?}: {}", said(&output));
    }
    assert_eq!(fs::read(place.path("hdfs/d/full")).unwrap(), b"text\n");
    assert_eq!(fs::read(place.path("hdfs/d/other")).unwrap(), b"other\n");
    assert_eq!(fs::read(place.path("local/full")).unwrap(), b"local\n");
    printed(&place, &["fs", "-get", "-f", "/d/full", "local"]);
    assert_eq!(fs::read(place.path("local/full")).unwrap(), b"text\n");
    printed(&place, &["fs", "-put", "-f", "local.txt", "hdfs:///d/full"]);
    printed(&place, &["fs", "-mv", "hdfs:///d/full", "hdfs:///d/moved"]);
    assert_eq!(fs::read(place.path("hdfs/d/moved")).unwrap(), b"text\n");
}

/// The copy of a file onto itself would empty it, and that of a folder into itself has no end.
#[test]
fn a_copy_onto_or_into_itself_is_refused() {
    let place = Place::with(&[("hdfs/user/me/y", b"text\n"), ("hdfs/user/me/d/in/z", b"other\n")]);
    let me = place.path("hdfs/user/me");
    fs::hard_link(me.join("y"), place.path("linked")).unwrap();
    std::os::unix::fs::symlink(&me, place.path("me")).unwrap();
    let (file, folder) = (me.join("y"), me.join("d"));
    let (file, folder) = (file.to_str().unwrap(), folder.to_str().unwrap());
    let cases: &[(&[&str], &str)] = &[
        (&["-get", "-f", "y", "me"], "get: `HDFS/user/me/y': `me/y' is the same file"),
        (&["-get", "-f", "y", "linked"], "`linked' is the same file"),
        (&["-put", "-f", file, "y"], "put: `HDFS/user/me/y': `HDFS/user/me/y' is the same file"),
        (&["-put", "-f", "linked", "y"], "`HDFS/user/me/y' is the same file"),
        (&["-get", "-f", "d", "me"], "`me/d' is the same file"),
        (&["-put", "-f", folder, "/user/me"], "`HDFS/user/me/d' is the same file"),
        (&["-get", "/user/me", "me/d"], "get: `HDFS/user/me': `me/d/me' is within it"),
        (&["-get", "/user", "me/d/in/new/deep"], "`me/d/in/new/deep' is within it"),
        (&["-put", "hdfs", "d"], "put: `hdfs': `HDFS/user/me/d/hdfs' is within it"),
    ];
    for (words, refusal) in cases {
        let output = hadoop(&place, &[&["fs"], *words].concat());
        let text = said(&output);
        let expected = refusal.replace("HDFS", place.path("hdfs").to_str().unwrap());
        assert_eq!(output.status.code(), Some(1), "{words:?}: {text}");
        assert!(text.contains(&expected), "{words:?}: {text}");
        assert_eq!(fs::read(file).unwrap(), b"text\n", "{words:?}");
        let entries = |folder: &str| fs::read_dir(me.join(folder)).unwrap().count();
        assert_eq!((entries("."), entries("d"), entries("d/in")), (2, 1, 1), "{words:?}");
    }
    // A neighbour's name may begin as the folder's does.
    printed(&place, &["fs", "-get", "d", "me/d2"]);
    assert_eq!(fs::read(me.join("d2/in/z")).unwrap(), b"other\n");
}

#[test]
fn a_job_is_told_of_in_hadoops_lines() {
    let place = Place::with(&[("hdfs/in.txt", b"b\na\n"), ("hdfs/m.sh", b"cat\n")]);
    let job = ["jar", "any.jar", "-files", "hdfs:///m.sh#map.sh", "-D", "mapreduce.job.reduces=1"];
    let paths = ["-input", "hdfs:///in.txt", "-output", "hdfs:///out"];
    let commands = ["-mapper", "sh map.sh", "-reducer", "cat"];
    let output = hadoop(&place, &[&job[..], &paths, &commands].concat());
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert_eq!(fs::read(place.path("hdfs/out/part-00000")).unwrap(), b"a\t\nb\t\n");
    let messages: Vec<&str> = text.lines().filter_map(|line| message(line, "INFO")).collect();
    let id = messages[0].strip_prefix("Running job: job_").unwrap();
    let (time, number) = id.split_once('_').unwrap();
    assert!(time.bytes().all(|byte| byte.is_ascii_digit()) && number == "0001", "{id}");
    assert!(messages.contains(&" map 100% reduce 100%"), "{text}");
    assert_eq!(messages.last(), Some(&"Output directory: hdfs:///out"));
    let begin = text.find("Counters: ").unwrap();
    let counters: Vec<&str> =
        text[begin..].lines().skip(1).take_while(|line| line.starts_with('\t')).collect();
    assert!(counters.contains(&"\tMap-Reduce Framework"), "{text}");
    assert!(counters.contains(&"\t\tMap input records=2"), "{text}");
}

/// A record that a delimiter ends may have newlines within it.
#[test]
fn records_are_counted_and_not_lines() {
    let place = Place::with(&[("hdfs/in.txt", b"a\nb;c\nd\n;e")]);
    let delimiter = "textinputformat.record.delimiter=;";
    let job = ["jar", "any.jar", "-D", delimiter, "-input", "hdfs:///in.txt"];
    let rest = ["-output", "hdfs:///out", "-mapper", "cat"];
    let text = said(&hadoop(&place, &[&job[..], &rest].concat()));
    assert!(text.contains("\t\tMap input records=3\n"), "{text}");
}

#[test]
fn a_job_that_fails_is_told_of_too() {
    let place = Place::with(&[("hdfs/in.txt", b"a\n")]);
    let job = ["jar", "any.jar", "-input", "hdfs:///in.txt", "-output", "hdfs:///out"];
    let output = hadoop(&place, &[&job[..], &["-mapper", "sh -c 'echo why >&2; exit 3'"]].concat());
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let failed =
        text.lines().find_map(|line| message(line, "INFO")?.strip_prefix("Task Id : attempt_"));
    assert!(failed.is_some_and(|it| it.ends_with("_0001_m_000000_0, Status : FAILED")), "{text}");
    assert!(text.contains("ended with exit code 3") && text.contains("\nwhy\n"), "{text}");
    assert!(text.contains("\nStreaming Command Failed!\n"), "{text}");
    let job = ["jar", "any.jar", "-input", "hdfs:///in.txt", "-output", "hdfs://host:1/out"];
    let elsewhere = hadoop(&place, &[&job[..], &["-mapper", "cat"]].concat());
    assert_eq!(elsewhere.status.code(), Some(2));
    assert!(said(&elsewhere).contains("hdfs:///path, without a host"), "{}", said(&elsewhere));
    let other = hadoop(&place, &["jar", "examples.jar", "wordcount", "in", "out"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(said(&other).contains("hadoop/bin/tegula-hadoop jar examples.jar wordcount in out"));
}

//! A state at a URL: a run that was killed is resumed, shown, checked and removed as one in a folder, with the same
//! flags.

use super::*;
use tegula_remote_servers::Hdfs;

/// A command before a server, by its arguments.
type Program<'a> = &'a dyn Fn(&[&str]) -> Command;

fn resumes_after_a_kill(url: &str, program: Program<'_>) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text: String = (0..1_000_000).map(|i| format!("word{} {i}\n", i % 1000)).collect();
    fs::write(at("text"), &text).unwrap();
    let job = ["wordcount", "--memory", "64m", "--tile", "1m", "--save-every", "1tiles"];
    let saved = ["--state", url, "--job", "words"];
    let files = [&at("text"), "-o", &at("out"), "--stats-json", &at("stats")].map(str::to_owned);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let plain = well(program(&["wordcount", &at("text")]).output().unwrap());
    let command = || program(&[&job[..], &saved, &files].concat());
    let listed = || {
        let output = program(&["state", "ls", url]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let mut child = command().spawn().unwrap();
    while !listed().contains(" snapshots") || listed().contains(" 0 snapshots") {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let shown = program(&["show", "--state", url, "--top", "3"]).output().unwrap();
    assert_eq!(well(shown).lines().count(), 3);
    for is_done in [false, true] {
        assert!(command().status().unwrap().success());
        assert!(fs::read_to_string(at("out")).unwrap() == plain);
        let stats = fs::read_to_string(at("stats")).unwrap();
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        let restored = stats["restored_bytes"].as_u64().unwrap();
        assert!(restored > 0 && (restored == text.len() as u64 || !is_done), "{restored}");
    }
    assert!(listed().starts_with("words\tdone of "), "{}", listed());
    let all = program(&["show", "--state", url, "--job", "words", "--top", "all"]);
    assert!(well({ all }.output().unwrap()) == plain);
    let verified = well(program(&["state", "verify", url]).output().unwrap());
    assert!(verified.starts_with("words\twhole, "), "{verified}");
    assert_eq!(well(program(&["state", "rm", url]).output().unwrap()), "");
    let message = fault(program(&["state", "show", url, "--job", "words"]).output().unwrap());
    assert!(message.contains(url) && message.contains("no state is there"), "{message}");
}

#[test]
fn in_an_object_store() {
    let server = S3::start();
    server.put("bucket", "other", b"x");
    resumes_after_a_kill("s3://bucket/a/states", &|arguments| before(&server, arguments));
}

/// Nodes save beside each other, each by itself, and one machine goes on from there.
#[cfg(feature = "nodes")]
#[test]
fn nodes_save_into_an_object_store() {
    let server = S3::start();
    server.put("bucket", "other", b"x");
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text").to_str().unwrap().to_owned();
    fs::write(&text, "to be or not to be\n".repeat(100_000)).unwrap();
    let plain = answer(&server, &["wordcount", &text]);
    let stats = folder.path().join("stats").to_str().unwrap().to_owned();
    let saved = ["--state", "s3://bucket/states", "--job", "words", "--tile", "256k"];
    let command = ["wordcount", &text, "--stats-json", &stats];
    let nodes = ["--nodes", "local:2"];
    assert!(answer(&server, &[&command[..], &saved, &nodes].concat()) == plain);
    assert!(answer(&server, &[&command[..], &saved].concat()) == plain);
    let stats: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&stats).unwrap()).unwrap();
    assert_eq!(stats["restored_bytes"], 1_900_000);
}

#[test]
fn in_hdfs() {
    let hdfs = Hdfs::start();
    resumes_after_a_kill(&format!("{}/a/states", hdfs.root()), &program);
}

#[test]
fn faults_are_one_line_with_the_url() {
    let server = S3::start();
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "a\n").unwrap();
    let run = |url: &str| {
        let text = text.to_str().unwrap();
        let arguments = ["wordcount", "--state", url, "--job", "words", text];
        fault(tegula(&server, &arguments))
    };
    let message = run("ftp://x/y");
    assert!(
        message.starts_with("tegula: ftp://x/y: ") && message.contains("no scheme"),
        "{message}"
    );
    let message = run("s3://none/states");
    assert!(message.starts_with("tegula: s3://none/states/words"), "{message}");
    assert!(message.contains("NoSuchBucket") && message.contains("--state names"), "{message}");
}

//! The pages of `docs/` tell the truth: each command that they show prints what they say that it prints, and each
//! message that they quote is raised.

use super::*;
use std::collections::BTreeSet;
use std::io::Read;
use std::net::TcpListener;
use std::thread;

/// A command that a page shows, with the lines that it prints.
#[derive(Debug)]
struct Example {
    page: String,
    line: usize,
    command: String,
    printed: Vec<String>,
}

/// What a page presupposes: its name, that of a file, and the file's content.
const FILES: &[(&str, &str, &str)] = &[
    ("groups.md", "machine.txt", "# Two chips of six cores.\ngroups two, cores 6\n"),
    ("stations.md", "bad.txt", "Abha;+18.0\n"),
    ("streaming.md", "logs/one", "to be or not to be\nthat is the question\n"),
    (
        "streaming.md",
        "m.py",
        "import sys\nfor line in sys.stdin:\n    for word in line.split():\n        print(word, 1, sep='\\t')\n",
    ),
    (
        "streaming.md",
        "r.py",
        "import itertools, sys\npairs = (line.split('\\t') for line in sys.stdin)\n\
        for word, ones in itertools.groupby(pairs, lambda pair: pair[0]):\n\
        \u{20}   print(word, sum(int(one) for _, one in ones), sep='\\t')\n",
    ),
];

/// Commands that are not run here, by their page and how they begin, and why.
const NOT_RUN: &[(&str, &str, &str)] = &[
    ("README.md", "make run", "builds the program"),
    ("README.md", "tegula serve", "asks a server for jobs, as the tests of the server do"),
    ("README.md", "tegula submit", "asks a server for jobs, as the tests of the server do"),
    ("command-line.md", "tegula topology", "shows a machine"),
    ("command-line.md", "tegula devices", "shows a machine"),
    ("grep.md", "tegula grep", "reads a log that is not kept in the repository"),
    ("groups.md", "tegula wordcount letters.txt", "shows the times of a run"),
    ("input.md", "gzip -k log1 && zstd", "needs the program zstd"),
    ("input.md", "tegula wordcount log1.gz", "needs the program zstd"),
    ("input.md", "gzip -c log1", "needs the program zstd"),
    ("logstats.md", "tegula logstats access.log", "reads a log that is not kept in the repository"),
    ("matrices.md", "python3", "needs NumPy"),
    ("remote.md", "tegula", "needs an object store, as the tests of the remote program have"),
    ("serve.md", "tegula", "asks a server for jobs, as the tests of the server do"),
    ("timeline.md", "TEGULA_LOG", "shows the times of a run"),
    ("top.md", "tegula top 3 access.log", "reads a log that is not kept in the repository"),
    ("top.md", "tegula top 3 events.jsonl", "prints nothing on its page"),
];

/// Of lines that begin like this, numbers depend on the machine.
const VARIES: &str = "tegula: a memory budget of ";

fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension() == Some(OsStr::new("md")));
    paths.push(root.join("README.md"));
    // The index of the folder has the name of the project's own page.
    paths.retain(|path| !path.ends_with("docs/README.md"));
    paths.sort();
    let page = |path: &PathBuf| {
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
    };
    paths.iter().map(page).collect()
}

/// Returns the commands of a page, in their order.
fn examples(page: &str, text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_within = false;
    let mut blank = 0;
    for (at, line) in text.lines().enumerate() {
        let Some(shown) = line.strip_prefix("    ") else {
            is_within &= line.is_empty();
            blank += 1;
            continue;
        };
        let between = std::mem::take(&mut blank);
        if let Some(command) = shown.strip_prefix("$ ") {
            is_within = true;
            let (page, command) = (page.to_owned(), command.to_owned());
            examples.push(Example { page, line: at + 1, command, printed: Vec::new() });
        } else if is_within && let Some(last) = examples.last_mut() {
            match last.command.strip_suffix('\\') {
                Some(begun) if last.printed.is_empty() => last.command = format!("{begun}{shown}"),
                _ => {
                    last.printed.extend(std::iter::repeat_n(String::new(), between));
                    last.printed.push(shown.to_owned());
                }
            }
        }
    }
    examples
}

fn why_not(example: &Example) -> Option<usize> {
    NOT_RUN
        .iter()
        .position(|(page, begin, _)| *page == example.page && example.command.starts_with(begin))
}

/// Whether a line is what a page shows, where `...` stands for anything.
fn is_as_shown(line: &str, shown: &str) -> bool {
    let mut parts = shown.split("...");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Replaces each number by a zero.
fn without_numbers(line: &str) -> String {
    let mut text = String::new();
    for c in line.chars() {
        match c {
            '0'..='9' if text.ends_with('0') => {}
            '0'..='9' => text.push('0'),
            c => text.push(c),
        }
    }
    text
}

/// Runs the commands of a page in a folder, with what the page presupposes.
fn check(page: &str, examples: &[Example]) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    for (_, name, content) in FILES.iter().filter(|file| file.0 == page) {
        write(&folder, name, content);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::os::unix::fs::symlink(root.join("python"), folder.join("python")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_tegula")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut code = 0;
    for Example { line, command, printed, .. } in examples {
        // A file that a page shows is made by it.
        if let Some(name) = command.strip_prefix("cat ").filter(|name| !name.contains('*')) {
            write(&folder, name, printed.join("\n") + "\n");
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1\n(exit {code})\n{command}")]).current_dir(&folder);
        shell.env("PATH", &path).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        let output = shell.stdin(Stdio::null()).output().unwrap();
        code = output.status.code().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let said = said.replace(folder.to_str().unwrap(), "/home/ann");
        let is_shown = |(line, shown): (&str, &String)| {
            line == shown
                || shown.starts_with(VARIES) && without_numbers(line) == without_numbers(shown)
        };
        let is_right = if command.starts_with("ls ") {
            said.split_whitespace().eq(printed.iter().flat_map(|line| line.split_whitespace()))
        } else {
            said.lines().count() == printed.len() && said.lines().zip(printed).all(is_shown)
        };
        assert!(
            is_right,
            "{page}:{line}: {command}\nprints:\n{said}shown:\n{}",
            printed.join("\n")
        );
    }
}

#[test]
fn what_pages_show_is_printed() {
    let mut used = BTreeSet::new();
    let mut run = 0;
    for (page, text) in pages() {
        let mut examples = examples(&page, &text);
        examples.retain(|example| {
            let why = why_not(example);
            used.extend(why);
            why.is_none()
        });
        run += examples.len();
        check(&page, &examples);
    }
    assert!(run >= 60, "{run} commands");
    let stale: Vec<_> = (0..NOT_RUN.len()).filter(|at| !used.contains(at)).collect();
    assert!(stale.is_empty(), "no page has these any more: {stale:?} of NOT_RUN");
}

/// Returns a run of `words` in a folder that has `file` with its content.
fn said(file: &str, content: &str, words: &[&str], variables: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), file, content);
    let mut command = tegula();
    command.current_dir(folder.path()).args(words).envs(variables.iter().copied());
    String::from_utf8(command.output().unwrap().stderr).unwrap()
}

/// Runs a count of an object at a store that is this listener, or that is not there.
fn said_of_store(url: &str, listener: Option<TcpListener>) -> String {
    let gone = || TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.as_ref().unwrap_or(&gone()).local_addr().unwrap();
    let refusing = listener.map(|listener| {
        let body = "<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>";
        let answer = format!(
            "HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let _ = connection.read(&mut [0; 4096]).unwrap();
            connection.write_all(answer.as_bytes()).unwrap();
        })
    });
    let endpoint = format!("http://{address}");
    let variables = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("TEGULA_REMOTE_TRIES", "2"),
    ];
    let said = said("unused", "", &["wordcount", url], &variables);
    if let Some(refusing) = refusing {
        refusing.join().unwrap();
    }
    said
}

/// Raises what a page quotes beside its examples, or in those that are not run.
fn raise(page: &str, message: &str) -> String {
    let lines = |line: &str, count: usize| format!("{line}\n").repeat(count);
    match (page, message) {
        ("command-line.md", _) => {
            let content = format!("{};1.0\n", "a".repeat(57))
                + &lines(&("b".repeat(45) + ";1.0"), 15)
                + "x\n";
            said("log.txt", &content, &["stations", "log.txt"], &[])
        }
        ("remote.md", _) if message.contains("403") => {
            said_of_store("s3://bucket/logs/", Some(TcpListener::bind("127.0.0.1:0").unwrap()))
        }
        ("remote.md", _) => said_of_store("s3://bench/2026/stations.txt", None),
        ("serve.md", _) => {
            said("books", "a b\n", &["wordcount", "books", "--watch", "-o", "counts.tsv"], &[])
        }
        ("top.md", _) => {
            let line = "a b c d e f /path 200 - 10";
            let content = lines(line, 76) + &line.replace("10", "-") + "\n" + &lines("a", 668);
            let by = ["--separator", " ", "--by", "7", "--sum", "10", "--skip-bad"];
            let words = [&["top", "3", "access.log"], &by[..]].concat();
            said("access.log", &content, &words, &[])
        }
        _ => String::new(),
    }
}

#[test]
fn messages_that_pages_quote_are_raised() {
    let mut quoted = 0;
    for (page, text) in pages() {
        let run: BTreeSet<String> = examples(&page, &text)
            .into_iter()
            .filter(|example| why_not(example).is_none())
            .flat_map(|example| example.printed)
            .collect();
        let messages = text.lines().filter_map(|line| line.strip_prefix("    "));
        for message in messages.filter(|line| line.starts_with("tegula: ")) {
            quoted += 1;
            if run.contains(message) {
                continue;
            }
            let said = raise(&page, message);
            let shown = without_numbers(message);
            assert!(
                said.lines().any(|line| is_as_shown(&without_numbers(line), &shown)),
                "{page}: {message}\nwas not said, but:\n{said}"
            );
        }
    }
    assert!(quoted >= 15, "{quoted} messages");
}

//! Answers of object stores: S3, Google Cloud Storage and Azure, of which the library parses XML and JSON, and Tegula the
//! rest. An input is a URL, and then the answers to the requests that it leads to, each after a line with `=== ` and
//! its status, as headers, an empty line and a body. Whatever they are, a run is refused by name, or has read what
//! the answers said; names in lists are below the folder that was asked for, and no name is there twice.

use crate::{folder, named, pairs};
use async_trait::async_trait;
use http::{HeaderName, HeaderValue, StatusCode};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use tegula::{Folders, Input, Storage};
use tegula_apps::{WordCount, Words};
use tegula_remote::Settings;
use tegula_remote::http::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpService, Result,
};

/// The most files that are read, and bytes of each of their ends.
const FILES_READ: usize = 8;
const BYTES_READ: u64 = 64;
const ANSWER: &[u8] = b"\n=== ";

/// Answers that are given in turn; after them, no connection is made.
#[derive(Clone, Debug)]
struct Answers(Arc<Mutex<Given>>);

#[derive(Debug)]
struct Given {
    left: VecDeque<Vec<u8>>,
    /// The body of the last one that was given.
    body: Vec<u8>,
}

impl HttpConnector for Answers {
    fn connect(&self, _: &ClientOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Answers {
    async fn call(&self, _: HttpRequest) -> Result<HttpResponse, HttpError> {
        let mut given = self.0.lock().unwrap();
        let Some(answer) = given.left.pop_front() else {
            let cause = io::Error::from(io::ErrorKind::ConnectionRefused);
            return Err(HttpError::new(HttpErrorKind::Connect, cause));
        };
        let (response, body) = response(&answer);
        given.body = body;
        Ok(response)
    }
}

/// Returns an answer, and its body once more. What is no status is 200, what is no header is left out.
fn response(answer: &[u8]) -> (HttpResponse, Vec<u8>) {
    let mut lines = answer.split(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let status = StatusCode::from_bytes(first).unwrap_or(StatusCode::OK);
    let mut read = first.len() + 1;
    let mut headers = Vec::new();
    for line in lines {
        read += line.len() + 1;
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { break };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        let name = HeaderName::from_bytes(name).ok();
        headers.extend(name.zip(HeaderValue::from_bytes(value).ok()));
    }
    let body = answer.get(read..).unwrap_or_default().to_vec();
    let mut response = HttpResponse::new(body.clone().into());
    *response.status_mut() = status;
    response.headers_mut().extend(headers);
    (response, body)
}

/// Returns the parts of an input: what is asked for, and the answers.
pub(crate) fn parts(bytes: &[u8]) -> VecDeque<Vec<u8>> {
    let mut parts = VecDeque::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(ANSWER.len()).position(|window| window == ANSWER) {
        parts.push_back(rest[..at].to_vec());
        rest = &rest[at + ANSWER.len()..];
    }
    parts.push_back(rest.to_vec());
    parts
}

pub(crate) fn run(bytes: &[u8]) {
    let mut left = parts(bytes);
    let asked = String::from_utf8_lossy(&left.pop_front().unwrap_or_default()).into_owned();
    let Some((how, url)) = asked.split_once(' ') else { return };
    // Another protocol, of the target `namenodes`.
    if ["hdfs", "viewfs"].iter().any(|scheme| url.to_ascii_lowercase().starts_with(scheme)) {
        return;
    }
    let answers = Answers(Arc::new(Mutex::new(Given { left, body: Vec::new() })));
    let settings = Settings::new()
        .with("AZURE_STORAGE_ACCOUNT_NAME", "account")
        .with("TEGULA_REMOTE_TRIES", "1")
        .with("TEGULA_REMOTE_SECONDS", "1")
        .over(Arc::new(answers.clone()));
    match how {
        "state" => {
            if let Ok(folders) = settings.folders(url, &folder("scratch")) {
                let _ = state(&*folders);
            }
        }
        _ => {
            let Ok(input) = named(settings.input(url)) else { return };
            check(&input);
            match how {
                "count" if is_countable(&input) => {
                    let job = WordCount { words: Words::Whitespace };
                    drop(pairs(&job, input, url.len() as u8));
                }
                _ => read(&input, &answers),
            }
        }
    }
}

/// Whether a run over an input takes no time: it has few bytes, or more than any run can plan for.
fn is_countable(input: &Input) -> bool {
    let mut lengths = input.listing().map(|file| file.bytes().unwrap_or_default());
    let all = lengths.try_fold(0, u64::checked_add);
    all.is_none_or(|all| !(1 << 16..1 << 40).contains(&all))
}

/// The order is that of a tree, and no name is there twice.
pub(crate) fn check(input: &Input) {
    let files: Vec<String> =
        input.listing().map(|file| file.name().to_string_lossy().into_owned()).collect();
    for (file, next) in files.iter().zip(files.iter().skip(1)) {
        assert!(file.split('/').lt(next.split('/')), "{file} before {next}");
    }
}

/// Reads the ends of files: what is not refused is the body of the answer.
fn read(input: &Input, answers: &Answers) {
    for file in input.listing().take(FILES_READ) {
        let bytes = file.bytes().unwrap_or_default();
        let mut into = vec![0; bytes.min(BYTES_READ) as usize];
        for offset in [0, bytes - into.len() as u64] {
            if file.read_at(offset, &mut into).is_ok_and(|count| count > 0) {
                assert_eq!(into, answers.0.lock().unwrap().body, "{}", file.name().display());
            }
        }
    }
}

/// Looks through the folders of a state, and changes their files. A lease is left out: it takes seconds to see one.
pub(crate) fn state(folders: &dyn Folders) -> tegula::Result<()> {
    for name in folders.names()? {
        assert!(!name.contains('/') && !name.is_empty(), "{name}");
        let storage = folders.folder(&name);
        for file in storage.list()? {
            assert!(!file.contains('/') && !file.is_empty(), "{file}");
            let _ = look(&*storage, &file);
        }
        let _ = storage.rename("a", "b");
        let _ = storage.create("c").and_then(|file| {
            file.write_all_at(b"content", 0)?;
            file.sync()
        });
        let _ = folders.remove(&name);
    }
    Ok(())
}

fn look(storage: &dyn Storage, name: &str) -> tegula::Result<()> {
    let file = storage.open(name)?;
    let mut into = vec![0; file.bytes()?.min(BYTES_READ) as usize];
    file.read_exact_at(&mut into, 0)?;
    Ok(storage.remove(name)?)
}

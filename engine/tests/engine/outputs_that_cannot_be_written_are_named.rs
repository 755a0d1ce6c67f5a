//! A sink that refuses ends the writing with an error that names it, after which it is left alone;
//! the answer is still there and the engine works on. A file appears whole or not at all.

use crate::jobs::Words;
use crate::support::{count_line, engine, error_saying, text_of};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;
use tegula::output::AtomicFile;
use tegula::{Cancel, Engine, Error, Input, Output, OutputError, Result, WordClass};

/// Returns an answer of many blocks of text.
fn answer(engine: &Engine) -> Output<Words> {
    let text: String = (0..100_000).map(|i| format!("word-number-{i} ")).collect();
    engine.job(&Words(WordClass::Whitespace)).run(Input::bytes(text)).unwrap()
}

fn write(output: &Output<Words>, sink: &mut (dyn Write + Send), name: &str) -> Result<()> {
    output.write(sink, Path::new(name), &Cancel::new(), count_line)
}

/// Refuses the call of a number, and counts the calls after it.
struct Refusing {
    calls: usize,
    refused_call: usize,
    kind: io::ErrorKind,
    taken: Vec<u8>,
}

impl Refusing {
    fn at(refused_call: usize, kind: io::ErrorKind) -> Refusing {
        Refusing { calls: 0, refused_call, kind, taken: Vec::new() }
    }
}

impl Write for Refusing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls == self.refused_call {
            // Meanwhile the other workers begin to wait for their turn.
            std::thread::sleep(Duration::from_millis(3));
            return Err(self.kind.into());
        }
        self.taken.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.calls + 1 == self.refused_call { Err(self.kind.into()) } else { Ok(()) }
    }
}

#[test]
fn a_sink_that_refuses_is_left_alone_and_named() {
    for workers in [1, 2, 7] {
        let engine = engine(workers);
        let output = answer(&engine);
        let whole = text_of(&output, count_line);
        let mut counting = Refusing::at(usize::MAX, io::ErrorKind::Other);
        write(&output, &mut counting, "sink").unwrap();
        assert!(counting.taken == whole && counting.calls > 3);
        // The call after the last is the flush.
        for refused_call in 1..=counting.calls + 1 {
            let mut sink = Refusing::at(refused_call, io::ErrorKind::StorageFull);
            let written = write(&output, &mut sink, "the sink's name");
            let says = ["the sink's name: cannot be written: ", "no partial file remains"];
            let error = error_saying(&engine, written, &says);
            let Error::Output(OutputError::Write { cause, .. }) = error else {
                panic!("{error:?}")
            };
            assert_eq!(cause.kind(), io::ErrorKind::StorageFull);
            assert!(sink.calls <= refused_call, "{refused_call}: written to after it refused");
            assert!(whole.starts_with(&sink.taken), "{refused_call}: a hole in the text");
        }
    }
}

#[test]
fn a_sink_that_takes_little_at_a_time_or_is_interrupted_gets_all() {
    struct Little(Vec<u8>);

    impl Write for Little {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(1000);
            self.0.extend_from_slice(&bytes[..count]);
            match self.0.len() % 7 {
                0 => Err(io::ErrorKind::Interrupted.into()),
                _ => Ok(count),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let engine = engine(2);
    let output = engine.job(&Words(WordClass::Whitespace)).run(Input::bytes("a b a")).unwrap();
    let mut sink = Little(Vec::new());
    write(&output, &mut sink, "sink").unwrap();
    assert_eq!(sink.0, b"a\t2\nb\t1\n");
}

#[test]
fn a_full_disk_and_a_closed_pipe_are_told_apart() {
    let engine = engine(2);
    let output = answer(&engine);
    let mut full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let error = error_saying(&engine, write(&output, &mut full, "/dev/full"), &["/dev/full: "]);
    let Error::Output(OutputError::Write { cause, .. }) = error else { panic!("{error:?}") };
    assert_eq!(cause.kind(), io::ErrorKind::StorageFull);
    let (reader, mut pipe) = io::pipe().unwrap();
    drop(reader);
    let written = write(&output, &mut pipe, "standard output");
    let says = ["standard output: the reader closed the pipe"];
    let error = error_saying(&engine, written, &says);
    assert!(matches!(error, Error::Output(OutputError::Closed { .. })));
}

#[test]
fn a_panic_of_the_sink_is_an_error() {
    struct Panicking;

    impl Write for Panicking {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            panic!("not today")
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    for workers in [1, 3] {
        let engine = engine(workers);
        let output = answer(&engine);
        let written = write(&output, &mut Panicking, "sink");
        error_saying(&engine, written, &["the output stage", "not today"]);
    }
}

#[test]
fn a_file_holds_all_of_the_answer_or_is_not_there() {
    let engine = engine(2);
    let output = answer(&engine);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counts.tsv");
    let names = || {
        let names = fs::read_dir(folder.path()).unwrap();
        names.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
    };

    let cancelled = Cancel::new();
    cancelled.cancel();
    let mut file = AtomicFile::create(&path).unwrap();
    assert!(output.write(&mut file, &path, &cancelled, count_line).is_err());
    assert!(!path.exists());
    drop(file);
    assert!(names().is_empty());

    let mut file = AtomicFile::create(&path).unwrap();
    assert_eq!(file.path(), path);
    output.write(&mut file, &path, &Cancel::new(), count_line).unwrap();
    assert!(!path.exists());
    file.commit().unwrap();
    assert_eq!(names(), ["counts.tsv"]);
    assert!(fs::read(&path).unwrap() == text_of(&output, count_line));
}

#[test]
fn files_that_cannot_be_made_are_named() {
    let engine = engine(1);
    let folder = tempfile::tempdir().unwrap();
    let says = [folder.path().to_str().unwrap(), "is a folder; name a file"];
    let created = AtomicFile::create(folder.path()).map_err(Error::from);
    let error = error_saying(&engine, created, &says);
    assert!(matches!(error, Error::Output(OutputError::IsFolder { .. })));

    let says = ["no/file", "cannot be created", "choose a folder that exists"];
    let created = AtomicFile::create(folder.path().join("no/file")).map_err(Error::from);
    let error = error_saying(&engine, created, &says);
    assert!(matches!(error, Error::Output(OutputError::Create { .. })));

    // The folder goes away while the file is written.
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let file = AtomicFile::create(inner.join("file")).unwrap();
    fs::remove_dir_all(&inner).unwrap();
    let says = ["inner/file", "cannot be written", "no partial file remains"];
    let error = error_saying(&engine, file.commit().map_err(Error::from), &says);
    assert!(matches!(error, Error::Output(OutputError::Write { .. })));
}

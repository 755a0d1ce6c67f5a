//! States: a manifest whose frame is right and whose body is any bytes, beside a snapshot of any bytes, which are the body
//! of the note on an answer, too. Looking at the state, checking it and a run that would go on with it end with an answer
//! or a named error; no file is taken for the answer, because none is as a note says.

use crate::{choice, folder, named, shape};
use std::sync::Arc;
use tegula::state::{AnswerFile, report, verify};
use tegula::storage::{Disk, Storage};
use tegula::{Input, Renewed, State};
use tegula_apps::{WordCount, Words};
use tegula_core::state::manifest::Manifest;
use tegula_machine::encoding::framed;

const MANIFEST: [u8; 4] = *b"TgM\x05";
const NOTE: [u8; 4] = *b"TgA\x01";

pub(crate) fn run(bytes: &[u8]) {
    let Some((of, rest)) = choice(bytes) else { return };
    let Some((cut, rest)) = choice(rest) else { return };
    let (body, snapshot) = rest.split_at(rest.len() * usize::from(cut) / 255);
    let folders = Disk::new(folder("states"));
    let path = folders.path().join("a");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("manifest"), framed(MANIFEST, body)).unwrap();
    std::fs::write(path.join("snapshot-00000000"), snapshot).unwrap();
    std::fs::write(path.join("answer"), framed(NOTE, snapshot)).unwrap();
    let disk = Arc::new(Disk::new(&path));
    if let Ok(Some(manifest)) = Manifest::read(&*disk) {
        // What is read can be written, and is read alike.
        manifest.write(&*disk).unwrap();
        assert_eq!(Manifest::read(&*disk).unwrap(), Some(manifest));
    }
    let _ = report(&folders, "a");
    let _ = verify(&folders, "a");
    let (engine, mut options) = shape(of);
    options.state = Some(State::on(disk));
    let job = WordCount { words: Words::Whitespace };
    let input = crate::file("input", b"to be or not to be");
    let (run, input) = (engine.job(&job).options(&options), Input::paths([input]).unwrap());
    let file = AnswerFile { path: &crate::file("answer", b"of another run"), form: b"fuzz" };
    let renewed = named(run.renew(input, file, |_| Ok(())));
    assert!(!matches!(renewed, Ok(Renewed::Stands(_))), "a note is believed");
}

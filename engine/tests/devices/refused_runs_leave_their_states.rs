//! A run that only devices may do and that cannot be done by them is refused before it touches its state, so the
//! corrected run finds all that was saved.

use crate::machine::Chance;
use crate::numbers::{Numbers, lines, numbers};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tegula::device::{Emulated, Model};
use tegula::{
    Accelerator, Engine, Error, Every, Incremental, Input, Options, Pipeline, Show, State,
};

/// Returns the files of a state with their bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let file = |entry: std::fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

#[test]
fn a_finished_state_stays_as_it_is() {
    let bytes = numbers(&mut Chance::of(4), 50_000);
    let (engine, folder) =
        (Engine::builder().workers(2).build().unwrap(), tempfile::tempdir().unwrap());
    let job = Numbers { alone: true, ..Numbers::DENSE };
    let state = State::new(folder.path(), "numbers");
    let options = || {
        let device = Arc::new(Accelerator::new(Emulated::new(Model::default())));
        Options { state: Some(state.clone()), devices: vec![device], ..Options::default() }
    };
    let input = || Input::bytes(bytes.clone());
    let expected = lines(&engine.job(&job).options(&options()).run(input()).unwrap());
    let saved = files(&folder.path().join("numbers"));
    assert!(saved.contains_key("manifest"), "{:?}", saved.keys());
    let incremental = state.clone().incremental(Incremental::default());
    for (refused, show) in [
        (Options { state: Some(incremental), ..options() }, false),
        (Options { pipeline: Pipeline::Off, ..options() }, false),
        (Options { devices: Vec::new(), ..options() }, false),
        (options(), true),
    ] {
        let run = engine.job(&job).options(&refused);
        let run = if show {
            run.show(Show::new(Every::Bytes(1000), |_| Ok(())).in_order(true))
        } else {
            run
        };
        let error = run.run(input()).unwrap_err();
        assert!(matches!(error, Error::Option { option: "devices", .. }), "{error:?}");
        assert!(files(&folder.path().join("numbers")) == saved, "{error}");
    }
    let again = engine.job(&job).options(&options()).run(input()).unwrap();
    assert_eq!(lines(&again), expected);
    assert_eq!(again.stats().restored_bytes, bytes.len() as u64);
}

//! A state whose checksums are right and whose parts are not those of one run, as a writer that is mistaken would leave
//! it: a run over it and its check name the file and what is wrong.

use crate::jobs::Words;
use crate::sorted_records_are_those_of_a_stable_sort::sorted;
use crate::support::{count_line, engine, folder_of, text_of};
use std::fs;
use std::path::PathBuf;
use tegula::state::{Incremental, Keep, SaveEvery, State, verify};
use tegula::storage::{Disk, Storage};
use tegula::{Error, Input, Options, Result, Sort, StorageError, WordClass};
use tegula_core::state::manifest::Manifest;
use tegula_machine::encoding::{Digest, checksum};
use tempfile::TempDir;

const JOB: Words = Words(WordClass::Whitespace);
const ID: &str = "job";
/// Of a snapshot, and of a block in it.
const HEAD_BYTES: usize = 32;
const BLOCK_HEAD_BYTES: usize = 40;

/// Files, and a state of a run over them.
struct Bench {
    files: TempDir,
    states: TempDir,
}

impl Bench {
    fn new() -> Bench {
        let text: String = (0..4000).map(|number| format!("{} {number}\n", number % 700)).collect();
        Bench { files: folder_of(&[text.as_bytes()]), states: tempfile::tempdir().unwrap() }
    }

    fn input(&self) -> Input {
        Input::paths([self.files.path()]).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.states.path().join(ID).join(name)
    }

    fn state(&self) -> State {
        State::new(self.states.path(), ID).keep(Keep::Partials).save_every(SaveEvery::Tiles(1))
    }

    fn count(&self, state: State) -> Result<Vec<u8>> {
        let options =
            Options { state: Some(state), tile_bytes: Some(16 << 10), ..Options::default() };
        let output = engine(1).job(&JOB).options(&options).run(self.input())?;
        Ok(text_of(&output, count_line))
    }

    fn sort(&self) -> Result<Vec<u8>> {
        let options = Options { state: Some(self.state()), ..Options::default() };
        Ok(sorted(&engine(1), &Sort::lines(), self.input(), &options)?.0)
    }

    fn verify(&self) -> Result<u64> {
        verify(&Disk::new(self.states.path()), ID)
    }

    /// Changes what the manifest says.
    fn forge(&self, change: impl FnOnce(&mut Manifest)) {
        let disk = Disk::new(self.path(""));
        let mut manifest = Manifest::read(&disk).unwrap().unwrap();
        change(&mut manifest);
        manifest.write(&disk).unwrap();
    }
}

/// The cause of a damage within the state.
fn damage<T: std::fmt::Debug>(result: Result<T>, bench: &Bench) -> &'static str {
    match result {
        Err(Error::Storage(StorageError::Damaged { path, cause, .. })) => {
            assert!(path.starts_with(bench.path("")), "{path:?}");
            cause
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn where_snapshots_cover_the_same() {
    let bench = Bench::new();
    let twice = |manifest: &mut Manifest| {
        let mut again = manifest.snapshots[0].clone();
        again.number = manifest.next;
        manifest.next += 1;
        manifest.snapshots.push(again);
    };
    bench.count(bench.state()).unwrap();
    bench.forge(twice);
    assert_eq!(damage(bench.verify(), &bench), "two snapshots cover the same splits");
    assert_eq!(damage(bench.count(bench.state()), &bench), "two snapshots cover the same splits");
    let bench = Bench::new();
    bench.sort().unwrap();
    bench.forge(twice);
    assert_eq!(damage(bench.sort(), &bench), "two snapshots cover the same splits");
}

#[test]
fn where_a_snapshot_holds_something_else() {
    let bench = Bench::new();
    let expected = bench.count(bench.state()).unwrap();
    let whole = fs::read(bench.path("manifest")).unwrap();
    let refusal = |change: &dyn Fn(&mut Manifest)| {
        bench.forge(change);
        let cause = damage(bench.count(bench.state()), &bench);
        fs::write(bench.path("manifest"), &whole).unwrap();
        cause
    };
    let pairs = refusal(&|manifest| manifest.snapshots[0].pieces[0].pairs += 1);
    assert_eq!(pairs, "it holds other pairs than the manifest says");
    let digest = refusal(&|manifest| manifest.snapshots[0].digest ^= 1);
    assert_eq!(digest, "its checksum is another");
    let length = refusal(&|manifest| manifest.snapshots[0].bytes += 1);
    assert_eq!(length, "it has another length than the manifest says");
    let short = refusal(&|manifest| manifest.snapshots[0].pieces[0].blocks.end -= 1);
    assert_eq!(short, "the block is cut short");
    assert!(bench.count(bench.state()).unwrap() == expected);
}

/// A key or a count that is another is an answer, too; whatever makes no sense is damage.
#[test]
fn where_the_pairs_of_a_block_make_no_sense() {
    let bench = Bench::new();
    bench.count(bench.state()).unwrap();
    let number = Manifest::read(&Disk::new(bench.path(""))).unwrap().unwrap().snapshots[0].number;
    let path = bench.path(&format!("snapshot-{number:08}"));
    let whole = fs::read(&path).unwrap();
    let (head, body) = (HEAD_BYTES, HEAD_BYTES + BLOCK_HEAD_BYTES);
    let stored = u64::from_le_bytes(std::array::from_fn(|at| whole[head + 16 + at])) as usize;
    let mut refused = 0;
    for at in (body..body + stored).step_by(stored / 100) {
        let mut forged = whole.clone();
        forged[at] ^= 0xff;
        let sum = checksum(&forged[head..body - 8], &forged[body..body + stored]);
        forged[body - 8..body].copy_from_slice(&sum.to_le_bytes());
        fs::write(&path, &forged).unwrap();
        bench.forge(|manifest| {
            let snapshot = manifest.snapshots.iter_mut().find(|it| it.number == number).unwrap();
            snapshot.digest = Digest::of(&forged);
        });
        let counted = bench.count(bench.state());
        if counted.is_err() {
            damage(counted, &bench);
            refused += 1;
        }
    }
    assert!(refused > 0);
}

#[test]
fn where_the_lists_of_files_and_of_tiles_are_cut_or_changed() {
    let bench = Bench::new();
    let state = || bench.state().incremental(Incremental::default());
    bench.count(state()).unwrap();
    let disk = Disk::new(bench.path(""));
    let tiles = disk.list().unwrap().into_iter().find(|name| name.starts_with("tiles-")).unwrap();
    let whole = fs::read(bench.path(&tiles)).unwrap();
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(bench.path(&tiles), changed).unwrap();
    fs::write(bench.files.path().join("more"), "more").unwrap();
    let cause = damage(bench.count(state()), &bench);
    assert_eq!(cause, "the checksum of the list of tiles is another");
    fs::write(bench.path(&tiles), whole).unwrap();
    bench.count(state()).unwrap();

    let bench = Bench::new();
    bench.count(bench.state()).unwrap();
    let list = fs::read(bench.path("input")).unwrap();
    let mut changed = list.clone();
    changed[0] ^= 1;
    for wrong in [&list[..list.len() - 1], &changed] {
        fs::write(bench.path("input"), wrong).unwrap();
        let saved = engine(1).job(&JOB).state(bench.state()).saved();
        assert_eq!(damage(saved.map(drop), &bench), "its checksum is another");
        assert_eq!(damage(bench.verify(), &bench), "its checksum is another");
    }
}

/// All files of a state are read and compared.
#[test]
fn where_any_file_is_another() {
    let bench = Bench::new();
    bench.count(bench.state().incremental(Incremental::default())).unwrap();
    let sorts = Bench::new();
    sorts.sort().unwrap();
    for bench in [bench, sorts] {
        let names = Disk::new(bench.path("")).list().unwrap();
        for name in names.iter().filter(|name| *name != "lock") {
            let whole = fs::read(bench.path(name)).unwrap();
            for at in [0, whole.len() / 2, whole.len() - 1] {
                let mut changed = whole.clone();
                changed[at] ^= 1;
                fs::write(bench.path(name), changed).unwrap();
                damage(bench.verify(), &bench);
            }
            fs::write(bench.path(name), whole).unwrap();
        }
        bench.verify().unwrap();
    }
}

//! Tests of the module `storage`.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tegula_machine::error::StorageError;
use tegula_machine::storage::{Disk, Region, Scratch, Storage, Stored, StoredFile};
use tegula_testing::{Call, Fault, Faulty};
use tempfile::TempDir;

fn folder() -> (TempDir, Arc<dyn Storage>) {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    (folder, disk)
}

fn read(file: &dyn StoredFile) -> Vec<u8> {
    let mut bytes = vec![0; file.bytes().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn scratch_files_hold_bytes_and_leave_no_name() {
    let (folder, disk) = folder();
    let file = disk.scratch().unwrap();
    file.write_all_at(b"behind", 4).unwrap();
    file.write_all_at(b"be", 2).unwrap();
    assert_eq!(read(&*file), b"\0\0bebehind");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    file.set_bytes(3).unwrap();
    assert_eq!(read(&*file), b"\0\0b");
    let beyond = file.read_exact_at(&mut [0; 8], 0).unwrap_err();
    assert!(matches!(beyond, StorageError::Short { wanted: 8, found: 3, .. }), "{beyond:?}");
}

#[test]
fn what_is_read_is_compared_with_what_was_stored() {
    let (folder, disk) = folder();
    let flipped = |faulty: Faulty, nth| faulty.fail_once(Call::ReadAt, nth, Fault::Flipped);
    let faulty = [3, 5].into_iter().fold(Faulty::new(disk, 3), flipped);
    let storage: Arc<dyn Storage> = Arc::new(faulty);
    let scratch = Scratch::new(&storage);
    let whole = scratch.store([b"one after another"]).unwrap();
    let parts = scratch.store([b"one after", b" another"]).unwrap();
    assert_eq!((whole.bytes, whole.sum), (parts.bytes, parts.sum));
    assert_eq!((whole.offset, parts.offset, scratch.bytes()), (0, 17, 34));
    let mut room = [0; 20];
    for stored in [whole, parts] {
        scratch.load(&stored, &mut room).unwrap();
        assert_eq!(&room, b"one after another\0\0\0");
    }
    for stored in [whole, parts] {
        let Err(StorageError::Damaged { path, offset, cause }) = scratch.load(&stored, &mut room)
        else {
            panic!("{room:?}")
        };
        assert_eq!((&*path, offset, cause), (folder.path(), stored.offset, Stored::DAMAGE));
        scratch.load(&stored, &mut room).unwrap();
    }
}

/// A file of which no byte can be written, as no system has one.
#[derive(Debug)]
struct Blocked;

impl StoredFile for Blocked {
    fn path(&self) -> &Path {
        Path::new("blocked")
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn bytes(&self) -> Result<u64, StorageError> {
        Ok(0)
    }

    fn set_bytes(&self, _: u64) -> Result<(), StorageError> {
        Ok(())
    }

    fn punch(&self, _: Range<u64>) -> Result<(), StorageError> {
        Ok(())
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }
}

#[test]
fn calls_that_do_nothing_and_lengths_that_no_file_has_are_errors() {
    let error = Blocked.write_all_at(b"bytes", 0).unwrap_err();
    assert!(error.to_string().starts_with("blocked: cannot be written: write zero"), "{error}");
    let error = Blocked.read_exact_at(&mut [0; 5], 0).unwrap_err();
    assert!(matches!(error, StorageError::Short { wanted: 5, found: 0, .. }), "{error:?}");
    let (folder, disk) = folder();
    let error = disk.create("file").unwrap().set_bytes(u64::MAX).unwrap_err();
    let path = folder.path().join("file");
    assert!(
        matches!(&error, StorageError::Access { path: named, .. } if *named == path),
        "{error:?}"
    );
}

#[test]
fn regions_of_two_writers_lie_in_few_places() {
    let (_folder, disk) = folder();
    let scratch = Scratch::new(&disk);
    let mut writers = [(Region::default(), Vec::new()), (Region::default(), Vec::new())];
    for block in 0..4000_u64 {
        for (region, places) in &mut writers {
            let place = region.take(&scratch, 1000 + block % 7);
            scratch.write(&block.to_le_bytes(), place.start).unwrap();
            places.push(place);
        }
    }
    assert_eq!(scratch.bytes(), 2 * 4000 * 8);
    for (_, places) in &writers {
        let pieces = places.windows(2).filter(|two| two[0].end != two[1].start).count() + 1;
        assert!(pieces <= 6, "{pieces}");
        for (block, place) in (0_u64..).zip(places) {
            let mut bytes = [0; 8];
            scratch.read(place.start, &mut bytes).unwrap();
            assert_eq!(u64::from_le_bytes(bytes), block);
        }
    }
    let mut places: Vec<_> = writers.iter().flat_map(|(_, places)| places).collect();
    places.sort_by_key(|place| place.start);
    assert!(places.windows(2).all(|two| two[0].end <= two[1].start), "two hold the same place");
}

#[test]
fn punched_space_is_given_back_and_reads_as_zeros() {
    use std::os::unix::fs::MetadataExt;
    let (folder, disk) = folder();
    let file = disk.create("file").unwrap();
    file.write_all_at(&vec![7; 1 << 20], 0).unwrap();
    file.sync().unwrap();
    let blocks = || fs::metadata(folder.path().join("file")).unwrap().blocks();
    let before = blocks();
    file.punch(0..1 << 19).unwrap();
    file.punch(5..5).unwrap();
    assert_eq!(file.bytes().unwrap(), 1 << 20);
    // A file system without holes keeps both.
    if blocks() < before {
        let bytes = read(&*file);
        assert!(bytes[..1 << 19].iter().all(|&byte| byte == 0));
        assert!(bytes[1 << 19..].iter().all(|&byte| byte == 7));
    }
}

#[test]
fn named_files_are_made_renamed_listed_and_removed() {
    let (_folder, disk) = folder();
    disk.create("b").unwrap().write_all_at(b"bytes", 0).unwrap();
    disk.create("a").unwrap();
    disk.sync().unwrap();
    assert_eq!(disk.list().unwrap(), ["a", "b"]);
    let again = disk.create("a").unwrap_err();
    assert!(matches!(again, StorageError::Exists { .. }), "{again:?}");
    disk.rename("b", "a").unwrap();
    let opened = disk.open("a").unwrap();
    assert_eq!(read(&*opened), b"bytes");
    assert!(matches!(opened.write_all_at(b"b", 0), Err(StorageError::Access { .. })));
    disk.remove("a").unwrap();
    assert!(disk.list().unwrap().is_empty());
    for missing in [disk.open("a").map(drop), disk.remove("a"), disk.rename("a", "b")] {
        let missing = missing.unwrap_err();
        assert!(matches!(missing, StorageError::Missing { .. }), "{missing:?}");
        assert!(missing.to_string().contains("/a: no such file"), "{missing}");
    }
}

#[test]
fn a_folder_that_cannot_be_used_is_named_when_it_is_needed() {
    let (folder, _) = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [folder.path().join("missing"), file] {
        let disk = Disk::new(&path);
        let faults = [
            disk.scratch().map(drop),
            disk.create("a").map(drop),
            disk.open("a").map(drop),
            disk.list().map(drop),
        ];
        for fault in faults {
            let error = fault.unwrap_err();
            let says = format!("{}: cannot be used as scratch folder", path.display());
            assert!(error.to_string().starts_with(&says), "{error}");
        }
    }
}

#[test]
fn interrupted_and_short_calls_are_made_good() {
    let (_folder, disk) = folder();
    let faulty = Faulty::new(disk, 1)
        .fail_once(Call::WriteAt, 1, Fault::Interrupted)
        .fail_once(Call::ReadAt, 1, Fault::Interrupted)
        .short(1);
    let file = faulty.scratch().unwrap();
    let bytes: Vec<u8> = (0..10_000u32).map(|i| i as u8).collect();
    file.write_all_at(&bytes, 3).unwrap();
    let mut back = vec![0; bytes.len()];
    file.read_exact_at(&mut back, 3).unwrap();
    assert!(back == bytes);
    assert!(faulty.calls(Call::WriteAt) > 2 && faulty.calls(Call::ReadAt) > 2);
    assert_eq!(faulty.calls(Call::Scratch), 1);
}

#[test]
fn planned_faults_come_once_or_for_good_and_are_named() {
    let (folder, disk) = folder();
    let faulty = Faulty::new(disk, 2)
        .fail_once(Call::WriteAt, 2, Fault::Full)
        .fail_from(Call::SyncFile, 2, Fault::Io)
        .fail_once(Call::Scratch, 2, Fault::Full);
    let file = faulty.create("file").unwrap();
    file.write_all_at(b"a", 0).unwrap();
    let full = file.write_all_at(b"b", 1).unwrap_err();
    assert!(matches!(full, StorageError::Full { .. }), "{full:?}");
    let path = folder.path().join("file");
    assert!(full.to_string().starts_with(&format!("{}: no room", path.display())), "{full}");
    file.write_all_at(b"b", 1).unwrap();
    file.sync().unwrap();
    for _ in 0..2 {
        let failing = file.sync().unwrap_err();
        assert!(matches!(failing, StorageError::Access { .. }), "{failing:?}");
        assert!(failing.to_string().contains("cannot be synced"), "{failing}");
    }
    faulty.scratch().unwrap();
    assert!(matches!(faulty.scratch().unwrap_err(), StorageError::Full { .. }));
    assert_eq!(read(&*file), b"ab");
}

#[test]
fn a_torn_write_fails_and_leaves_a_first_part() {
    let mut lengths = Vec::new();
    for seed in 0..20 {
        let (_folder, disk) = folder();
        let faulty = Faulty::new(disk, seed).fail_once(Call::WriteAt, 1, Fault::Torn);
        let file = faulty.scratch().unwrap();
        file.write_all_at(&[7; 100], 0).unwrap_err();
        let left = read(&*file);
        assert!(left.len() <= 100 && left.iter().all(|&byte| byte == 7));
        lengths.push(left.len());
    }
    lengths.dedup();
    assert!(lengths.len() > 10, "{lengths:?}");
}

/// Synced bytes survive with every seed; of unsynced bytes, each part is lost with some seed.
#[test]
fn without_power_what_was_not_synced_may_be_lost() {
    let (mut lost_write, mut lost_name, mut lost_rename, mut kept_all) = (0, 0, 0, 0);
    for seed in 0..40 {
        let (_folder, disk) = folder();
        let faulty =
            Faulty::new(Arc::clone(&disk), seed).fail_once(Call::List, 1, Fault::PowerLoss);
        let file = faulty.create("synced").unwrap();
        file.write_all_at(b"old", 0).unwrap();
        file.sync().unwrap();
        faulty.sync().unwrap();
        file.write_all_at(b"newer", 0).unwrap();
        faulty.create("new").unwrap();
        faulty.rename("synced", "renamed").unwrap();
        faulty.list().unwrap_err();
        file.write_all_at(b"x", 0).unwrap_err();
        faulty.open("new").unwrap_err();
        let names = disk.list().unwrap();
        let renamed = names.iter().any(|name| name == "renamed");
        let name = if renamed { "renamed" } else { "synced" };
        let bytes = read(&*disk.open(name).unwrap());
        assert!(bytes == b"old" || bytes == b"newer", "{bytes:?}");
        // The rename came after the new name, so it does not stay alone.
        assert!(!renamed || names.len() == 2);
        lost_write += usize::from(bytes == b"old");
        lost_name += usize::from(names.len() == 1);
        lost_rename += usize::from(!renamed);
        kept_all += usize::from(renamed && bytes == b"newer");
    }
    assert!([lost_write, lost_name, lost_rename, kept_all].iter().all(|&count| count > 0));
}

#[test]
fn replaced_and_removed_files_come_back_if_that_was_not_synced() {
    let (_folder, disk) = folder();
    let faulty = Faulty::new(Arc::clone(&disk), 0);
    for name in ["a", "b", "c"] {
        let file = faulty.create(name).unwrap();
        file.write_all_at(name.as_bytes(), 0).unwrap();
        file.sync().unwrap();
    }
    faulty.sync().unwrap();
    let mut came_back = false;
    for seed in 0..20 {
        let faulty = Faulty::new(Arc::clone(&disk), seed);
        faulty.rename("a", "b").unwrap();
        faulty.remove("c").unwrap();
        faulty.lose_power();
        if disk.list().unwrap() == ["a", "b", "c"] {
            assert_eq!(read(&*disk.open("b").unwrap()), b"b");
            assert_eq!(read(&*disk.open("c").unwrap()), b"c");
            came_back = true;
            continue;
        }
        let _ = disk.rename("b", "a");
        disk.create("b").unwrap().write_all_at(b"b", 0).unwrap();
        if disk.open("c").is_err() {
            disk.create("c").unwrap().write_all_at(b"c", 0).unwrap();
        }
    }
    assert!(came_back);
}

//! A compressed file that is cut short or changed is an error that names it and the place, or gives
//! the answer it always gave; it never gives another one in silence.

use crate::jobs::Words;
use crate::packing::{PACKINGS, Packing};
use crate::support::{count_line, engine, error_saying, limited, text_of};
use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use std::fs;
use std::io::Write;
use std::path::Path;
use tegula::{Engine, Error, Input, InputError, Options, Result, WordClass};

const JOB: Words = Words(WordClass::Whitespace);
const TEXT: &[u8] = b"to be or not to be, that is the question: whether 'tis nobler in the mind\n";

fn count(engine: &Engine, path: &Path) -> Result<Vec<u8>> {
    let options = Options { split_bytes: Some(4096), ..Options::default() };
    let output = engine.job(&JOB).options(&options).run(Input::paths([path]).unwrap())?;
    Ok(text_of(&output, count_line))
}

/// The error of a compressed file, which must name it.
fn check_named(error: &Error, path: &Path, format: &str) {
    let message = error.to_string();
    assert!(
        message.starts_with(&path.display().to_string()) && message.contains(format),
        "`{message}` does not name {} and {format}",
        path.display()
    );
    assert!(matches!(
        error,
        Error::Input(
            InputError::Truncated { .. } | InputError::Damaged { .. } | InputError::Misnamed { .. }
        )
    ));
}

fn small_file(packing: Packing, folder: &Path) -> (std::path::PathBuf, Vec<u8>) {
    let path = folder.join(format!("small.{}", packing.ending()));
    (path, packing.pack(TEXT))
}

#[test]
fn a_file_cut_short_anywhere_is_an_error_that_names_the_place() {
    let (engine, folder) = (engine(2), tempfile::tempdir().unwrap());
    for packing in PACKINGS {
        let (path, whole) = small_file(packing, folder.path());
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let error = count(&engine, &path).unwrap_err();
            check_named(&error, &path, packing.format());
            match error {
                Error::Input(InputError::Truncated { offset, .. }) => {
                    assert_eq!(offset, length as u64, "{packing:?}");
                }
                Error::Input(InputError::Misnamed { .. }) => assert!(length < 8, "{packing:?}"),
                other => panic!("{packing:?} of {length} bytes: {other}"),
            }
        }
    }
}

#[test]
fn a_changed_bit_is_an_error_or_changes_nothing() {
    let (engine, folder) = (engine(2), tempfile::tempdir().unwrap());
    for packing in PACKINGS {
        let (path, whole) = small_file(packing, folder.path());
        fs::write(&path, &whole).unwrap();
        let expected = count(&engine, &path).unwrap();
        let mut refused = 0;
        for bit in 0..whole.len() * 8 {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &changed).unwrap();
            match count(&engine, &path) {
                Ok(counted) => assert!(counted == expected, "{packing:?}, bit {bit}"),
                Err(error) => {
                    check_named(&error, &path, packing.format());
                    refused += 1;
                }
            }
        }
        assert!(refused > whole.len() * 4, "{packing:?}: {refused} of {} bits", whole.len() * 8);
    }
}

/// Files long enough to be cut into units, which are decompressed side by side.
#[test]
fn of_a_file_of_many_units_nothing_is_lost_in_silence() {
    let (engine, folder) = (engine(3), tempfile::tempdir().unwrap());
    let text: String =
        (0..6000).map(|i: u32| format!("{:x} ", i.wrapping_mul(0x9e37_79b9))).collect();
    for packing in PACKINGS {
        let path = folder.path().join(format!("units.{}", packing.ending()));
        let pieces: Vec<Vec<u8>> =
            text.as_bytes().chunks(9000).map(|piece| packing.pack(piece)).collect();
        let whole = pieces.concat();
        let ends = pieces.iter().scan(0, |end, piece| {
            *end += piece.len();
            Some(*end)
        });
        let ends: Vec<usize> = ends.collect();
        fs::write(&path, &whole).unwrap();
        let expected = count(&engine, &path).unwrap();
        for at in (10..whole.len()).step_by(whole.len() / 150).filter(|at| !ends.contains(at)) {
            fs::write(&path, &whole[..at]).unwrap();
            check_named(&count(&engine, &path).unwrap_err(), &path, packing.format());
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&path, &changed).unwrap();
            match count(&engine, &path) {
                Ok(counted) => assert!(counted == expected, "{packing:?}, byte {at}"),
                Err(error) => check_named(&error, &path, packing.format()),
            }
        }
    }
}

/// Of a frame of LZ4 whose blocks are decompressed side by side, the length and the checksum of the whole
/// still count; blocks without checksums of their own have no others.
#[test]
fn of_a_frame_that_is_cut_the_whole_is_checked() {
    let (engine, folder) = (engine(3), tempfile::tempdir().unwrap());
    let text: String =
        (0..40_000).map(|i: u32| format!("{:x} ", i.wrapping_mul(0x9e37_79b9))).collect();
    let info = FrameInfo::new().block_size(BlockSize::Max64KB);
    let info = info.content_checksum(true).content_size(Some(text.len() as u64));
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(text.as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    let path = folder.path().join("frame.lz4");
    fs::write(&path, &whole).unwrap();
    let expected = count(&engine, &path).unwrap();
    let spread = (30..whole.len() - 20).step_by(whole.len() / 120);
    let places = (0..30).chain(spread).chain(whole.len() - 20..whole.len());
    for at in places {
        fs::write(&path, &whole[..at]).unwrap();
        check_named(&count(&engine, &path).unwrap_err(), &path, "lz4");
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        fs::write(&path, &changed).unwrap();
        match count(&engine, &path) {
            Ok(counted) => assert!(counted == expected, "byte {at}"),
            Err(error) => check_named(&error, &path, "lz4"),
        }
    }
    // Another frame of as many bytes, whose checksum is that of the first.
    let mut other = text.into_bytes();
    other[100_000] ^= 1;
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(&other).unwrap();
    let mut changed = encoder.finish().unwrap();
    let sum = changed.len() - 4;
    changed[sum..].copy_from_slice(&whole[whole.len() - 4..]);
    fs::write(&path, &changed).unwrap();
    let error = count(&engine, &path).unwrap_err();
    check_named(&error, &path, "lz4");
    assert!(error.to_string().contains("checksum of a frame"), "{error}");
}

#[test]
fn bytes_behind_the_data_are_damage() {
    let (engine, folder) = (engine(2), tempfile::tempdir().unwrap());
    for packing in PACKINGS {
        let (path, whole) = small_file(packing, folder.path());
        for garbage in [&b"garbage"[..], b"\x01", &[0xff; 300]] {
            fs::write(&path, [&whole, garbage].concat()).unwrap();
            let error = count(&engine, &path).unwrap_err();
            check_named(&error, &path, packing.format());
        }
    }
}

#[test]
fn of_a_long_file_the_place_of_the_damage_is_near() {
    let (engine, folder) = (engine(2), tempfile::tempdir().unwrap());
    let text: String =
        (0..300_000).map(|i: u32| format!("{:x} ", i.wrapping_mul(0x9e37_79b9))).collect();
    for packing in PACKINGS {
        let path = folder.path().join(format!("long.{}", packing.ending()));
        let mut bytes = packing.pack(text.as_bytes());
        let at = bytes.len() / 2;
        bytes[at..at + 64].fill(0x55);
        fs::write(&path, &bytes).unwrap();
        let error = count(&engine, &path).unwrap_err();
        check_named(&error, &path, packing.format());
        if packing == Packing::Gzip {
            // Its only checksum is at the end.
            continue;
        }
        let Error::Input(InputError::Damaged { offset, .. }) = error else { panic!("{error}") };
        assert!(offset.abs_diff(at as u64) < 1 << 20, "{packing:?}: {offset} for {at}");
    }
}

#[test]
fn a_name_that_the_content_belies_is_an_error() {
    let (engine, folder) = (engine(2), tempfile::tempdir().unwrap());
    for packing in PACKINGS {
        let path = folder.path().join(format!("text.{}", packing.ending().to_uppercase()));
        let others = PACKINGS.iter().filter(|other| other.format() != packing.format());
        let contents = others.map(|other| other.pack(TEXT)).chain([TEXT.to_vec(), Vec::new()]);
        for content in contents {
            fs::write(&path, content).unwrap();
            let result = engine.job(&JOB).run(Input::paths([&path]).unwrap());
            let error = error_saying(&engine, result, &[packing.format(), "as it is"]);
            assert!(matches!(error, Error::Input(InputError::Misnamed { .. })));
        }
    }
}

#[test]
fn of_several_files_the_damaged_one_is_named() {
    let (engine, folder) = (engine(2), tempfile::tempdir().unwrap());
    for number in 0..50 {
        let mut bytes = Packing::Gzip.pack(&TEXT.repeat(100));
        if number == 31 {
            bytes.truncate(bytes.len() - 1);
        }
        fs::write(folder.path().join(format!("{number}.gz")), bytes).unwrap();
    }
    let result = engine.job(&JOB).run(Input::paths([folder.path()]).unwrap());
    error_saying(&engine, result, &["31.gz", "cut short", "gzip"]);
}

/// Nobody makes room for what a frame of zstd claims.
#[test]
fn a_claim_of_more_memory_than_there_is_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.zst");
    for claimed in [1 << 40, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
        // One segment, whose length has 8 bytes; then a last block of one byte.
        let frame = [&b"\x28\xb5\x2f\xfd\xe0"[..], &claimed.to_le_bytes(), b"\x09\0\0a"].concat();
        fs::write(&path, frame).unwrap();
        let error = count(&engine(2), &path).unwrap_err();
        check_named(&error, &path, "zstd");
        let refused = count(&limited(64 << 20), &path).unwrap_err().to_string();
        assert!(refused.contains("window of a zstd file"), "{refused}");
    }
}

/// What stands between the blocks of bzip2, which are searched for, and after the members and frames of the others.
#[test]
fn what_is_wrong_at_a_border_is_named() {
    let (engine, folder) = (engine(3), tempfile::tempdir().unwrap());
    let words = |seed: u32| -> String {
        (0..60_000).map(|i: u32| format!("{:x} ", (i ^ seed).wrapping_mul(0x9e37_79b9))).collect()
    };
    let stream = Packing::Bzip2.pack(words(0).as_bytes());
    let (first, whole) = (stream.len(), [&stream[..], &stream].concat());
    let flipped = |at: usize| {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        changed
    };
    let mut random = 1_u64;
    let noise = std::iter::repeat_with(|| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 56) as u8
    });
    let endless: Vec<u8> = stream[..10].iter().copied().chain(noise.take(5 << 20)).collect();
    let member = Packing::Gzip.pack(TEXT);
    let frame = Packing::Lz4.pack(TEXT);
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 100, 0, 0, 0, b'x'];
    let cases: [(&str, Packing, Vec<u8>); 10] = [
        ("its end", Packing::Bzip2, flipped(whole.len() - 3)),
        ("the first block", Packing::Bzip2, flipped(6)),
        ("the first block of the second stream", Packing::Bzip2, flipped(first + 6)),
        ("a header that is cut", Packing::Bzip2, whole[..first + 3].to_vec()),
        ("a stream that is only begun", Packing::Bzip2, whole[..first + 8].to_vec()),
        ("no stream", Packing::Bzip2, [&whole[..], b"no stream"].concat()),
        ("no end", Packing::Bzip2, endless),
        ("half a magic number", Packing::Gzip, [&member[..], &[0x1f, 0]].concat()),
        ("half a frame", Packing::Lz4, [&frame[..], &skipped].concat()),
        ("half a header", Packing::Lz4, [&frame[..], &skipped[..6]].concat()),
    ];
    for (name, packing, bytes) in cases {
        let path = folder.path().join(format!("{name}.{}", packing.ending()));
        fs::write(&path, bytes).unwrap();
        check_named(&count(&engine, &path).expect_err(name), &path, packing.format());
    }
}

//! The count is the one a plain loop would make, whatever the input looks like and however it is
//! cut: real text, odd bytes, no newline for miles, files of no bytes.

use super::*;
use std::io::Read;

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn plain_words(bytes: &[u8]) -> Vec<u8> {
    plain_count(bytes.split(|&byte| is_space(byte)).filter(|word| !word.is_empty()))
}

fn plain_alpha(bytes: &[u8]) -> Vec<u8> {
    let folded = bytes.to_ascii_lowercase();
    plain_count(folded.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty()))
}

/// Returns the project's own texts: real words, in many small files.
fn own_texts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src")
}

fn read_all(folder: &Path, into: &mut Vec<u8>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, into);
        } else {
            into.extend(fs::read(&path).unwrap());
            into.push(b'\n');
        }
    }
}

#[test]
fn of_real_text_in_a_folder() {
    let mut bytes = Vec::new();
    read_all(&own_texts(), &mut bytes);
    assert!(bytes.len() > 10_000);
    let folder = own_texts().into_os_string();
    assert_eq!(answer(wordcount(&[&folder])), plain_words(&bytes));
    assert_eq!(answer(wordcount(&[&folder, OsStr::new("--words=alpha")])), plain_alpha(&bytes));
}

/// Pseudo-random bytes of a few kinds, so that words, spaces, NUL and broken UTF-8 meet at every
/// border. (A xorshift generator: no need for a better one.)
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let kinds = b"aAbz  \n\t\0\xff\xc3\xa9'\r1_";
    (0..bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            kinds[(state % kinds.len() as u64) as usize]
        })
        .collect()
}

#[test]
fn whatever_the_tile_and_the_workers() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = noise(300_000);
    let file = write(folder.path(), "noise", &bytes);
    for tile in ["--tile=1", "--tile=7", "--tile=64k", "--tile=auto"] {
        // Tiles of one byte: some hundred thousand of them are enough.
        let (file, bytes) = match tile {
            "--tile=1" => (write(folder.path(), "short", &bytes[..5_000]), &bytes[..5_000]),
            _ => (file.clone(), &bytes[..]),
        };
        for workers in ["-j1", "-j3"] {
            let arguments = [file.as_os_str(), OsStr::new(tile), OsStr::new(workers)];
            assert!(answer(wordcount(&arguments)) == plain_words(bytes), "{tile} {workers}");
            let alpha = [&arguments[..], &[OsStr::new("--words=alpha")]].concat();
            assert!(answer(wordcount(&alpha)) == plain_alpha(bytes), "{tile} {workers} alpha");
        }
    }
}

#[test]
fn of_streams_and_files_in_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "file", "b a");
    // Where one source ends a word ends, newline or not.
    let output = count_text(b"a b", &[file.to_str().unwrap(), file.to_str().unwrap()]);
    assert_eq!(text(output), "a\t3\nb\t3\n");
    assert_eq!(answer(count_text(&noise(3_000_000), &[])), plain_words(&noise(3_000_000)));
}

#[test]
fn of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(text(wordcount(&[folder.path()])), "");
    let empty = write(folder.path(), "empty", "");
    assert_eq!(text(wordcount(&[&empty])), "");
    assert_eq!(text(wordcount(&[&write(folder.path(), "spaces", " \n\t ")])), "");
    assert_eq!(text(count_text(b"", &[])), "");
    assert_eq!(text(wordcount(&["/dev/null"])), "");
}

#[test]
fn of_a_word_of_many_megabytes() {
    let long = vec![b'x'; 5_000_000];
    let bytes = [b"a ".as_slice(), &long, b" a ", &long].concat();
    assert_eq!(answer(count_text(&bytes, &["--tile=64k"])), plain_words(&bytes));
}

#[test]
fn of_files_whose_length_is_not_known() {
    let said = answer(wordcount(&["/proc/self/status", "--words=alpha"]));
    assert!(String::from_utf8(said).unwrap().contains("tegula\t1\n"));
}

#[test]
fn of_unicode_words() {
    let said =
        text(count_text("Maße MASSE don't DON'T 日本 \u{ff}".as_bytes(), &["--words=unicode"]));
    assert_eq!(said, "don't\t2\nmasse\t2\nÿ\t1\n日\t1\n本\t1\n");
}

/// The table of the bytes that a block has is written as bits, one for each of 256. These bytes have the bits that end a
/// stream.
#[test]
fn of_a_bzip2_block_that_has_the_bits_of_a_streams_end() {
    let end = [0x1772_u16, 0x4538, 0x5090];
    let bits = end.iter().zip(0_u8..).flat_map(|(&bits, group)| {
        (0_u8..16).filter(move |at| bits << at & 0x8000 != 0).map(move |at| 16 * group + at)
    });
    let bytes: Vec<u8> = bits.collect();
    // Two streams. A file that is longer than a unit of a worker is cut into its blocks.
    let mut state = 1_u64;
    let text = (0..1_500_000).map(|_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        bytes[(state >> 40) as usize % bytes.len()]
    });
    let text: Vec<u8> = text.collect();
    let (mut packed, streams) = (Vec::new(), text.split_at(1_400_000));
    for text in [streams.0, streams.1] {
        bzip2::read::BzEncoder::new(text, bzip2::Compression::best())
            .read_to_end(&mut packed)
            .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "text.bz2", packed);
    assert!(answer(wordcount(&[path])) == plain_words(&text));
}

/// The parts of a picture behind its header are found again, but are other pixels.
#[test]
fn of_pictures_whose_headers_were_mended() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let bmp = |width: u32| {
        let mut bytes = b"BM".to_vec();
        bytes.extend([0_u32, 0, 54, 40, width, 200].map(u32::to_le_bytes).concat());
        bytes.extend([1_u16, 24].map(u16::to_le_bytes).concat());
        bytes.resize(54, 0);
        bytes.extend((0..200 * 3000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8));
        bytes
    };
    let histogram = |more: &[&str]| {
        let mut command = tegula();
        command.args(["histogram", "pictures", "--tile", "64k"]).args(more).current_dir(folder);
        answer(command.output().unwrap())
    };
    write(folder, "pictures/small", "P6 2 1 255\nabcdef");
    // The padding of 999 pixels is the last of 1000.
    for width in [999, 1000, 998] {
        write(folder, "pictures/large", bmp(width));
        let found = histogram(&["--incremental", "--state", "state", "--job", "levels"]);
        assert!(found == histogram(&[]), "{width}");
    }
}

//! Files that are not in the page cache can be read past it: with the same answer for any alignment of
//! records and splits to the disk's blocks, beside files that are too small for it; and no page stays in the
//! cache.

use crate::jobs::Words;
use crate::reference;
use crate::support::{count_line, count_lines, engines, text_of};
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tegula::{Input, Options, Order, Reads, Sort, SortTo, WordClass};

const JOB: Words = Words(WordClass::Whitespace);

/// Takes a file out of the page cache; returns whether its file system has direct reads.
fn make_cold(path: &Path) -> bool {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    // Memory that passes for a file system has them, and keeps all it holds in the page cache.
    let is_disk = rustix::fs::statfs(path).is_ok_and(|system| system.f_type != 0x0102_1994);
    is_disk && OpenOptions::new().read(true).custom_flags(direct).open(path).is_ok()
}

fn text(bytes: usize) -> Vec<u8> {
    let words = (0_u32..).map(|i| format!("{:x}\n", i.wrapping_mul(0x9e37_79b9) >> (i % 28)));
    let mut text: Vec<u8> = words.take(bytes / 2).flat_map(String::into_bytes).collect();
    text.truncate(bytes);
    text
}

#[test]
fn the_answer_is_the_same_and_most_is_read_directly() {
    let folder = tempfile::tempdir().unwrap();
    let texts = [text(3000), text(3_000_001), text(10), text(5_000_000)];
    for (number, text) in texts.iter().enumerate() {
        fs::write(folder.path().join(number.to_string()), text).unwrap();
    }
    let counts = reference::count(texts.iter().map(Vec::as_slice), WordClass::Whitespace);
    let expected = count_lines(&reference::answer(&counts, Order::Key, None));
    for engine in engines() {
        for split_bytes in [None, Some(70_001), Some(3 << 20)] {
            // Other reads are cut by the same splits as in all other tests.
            let all = [Reads::Direct, Reads::Cached, Reads::Auto];
            let reads = if split_bytes.is_none() { &all[..] } else { &all[..1] };
            for &reads in reads {
                let big = ["1", "3"].map(|name| make_cold(&folder.path().join(name)));
                let options = Options { split_bytes, reads, ..Options::default() };
                let input = Input::paths([folder.path()]).unwrap();
                let output = engine.job(&JOB).options(&options).run(input).unwrap();
                assert!(text_of(&output, count_line) == expected, "{split_bytes:?} {reads:?}");
                let direct = output.stats().direct_bytes;
                match reads {
                    Reads::Direct if big == [true; 2] => assert!(direct > 6_000_000, "{direct}"),
                    Reads::Direct => {}
                    Reads::Cached | Reads::Auto => assert_eq!(direct, 0),
                }
            }
        }
    }
}

#[test]
fn records_are_sorted_whatever_the_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    fs::write(&path, text(4_000_000)).unwrap();
    let engine = crate::support::engine(2);
    let sorted = |reads| {
        make_cold(&path);
        let (mut sorted, name) = (Vec::new(), Path::new("a vector"));
        let options = Options { reads, ..Options::default() };
        let input = Input::paths([&path]).unwrap();
        let to = SortTo::Writer(&mut sorted, name);
        engine.sort(&Sort::lines(), input, to, &options).unwrap();
        sorted
    };
    assert!(sorted(Reads::Direct) == sorted(Reads::Cached));
}

/// Cached pages are read from the cache, and a file that ends too early is named as usual.
#[test]
fn a_file_that_shrank_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("short");
    fs::write(&path, text(4_000_000)).unwrap();
    let input = Input::paths([&path]).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(1_234_567).unwrap();
    make_cold(&path);
    let options = Options { reads: Reads::Direct, ..Options::default() };
    let engine = crate::support::engine(2);
    let result = engine.job(&JOB).options(&options).run(input);
    crate::support::error_saying(&engine, result, &["short", "4000000", "1234567"]);
}

//! A small file that expands to a very large one streams: the process keeps to its limit, and a record that
//! does not fit is a clear error. Statistics count the decompressed bytes.

use super::*;
use serde_json::Value;
use std::io::Read;

const LIMIT: u64 = 34 << 20;
const PIECE_BYTES: usize = 16 << 20;

/// Members, frames or streams of [`PIECE_BYTES`] of one byte, by the ending of the file's name.
fn bomb(ending: &str, byte: u8, pieces: usize) -> Vec<u8> {
    let text = vec![byte; PIECE_BYTES];
    let mut piece = Vec::new();
    match ending {
        "gz" => {
            let mut packed = flate2::read::GzEncoder::new(&text[..], flate2::Compression::fast());
            packed.read_to_end(&mut piece).unwrap();
        }
        "bz2" => {
            let mut packed = bzip2::read::BzEncoder::new(&text[..], bzip2::Compression::best());
            packed.read_to_end(&mut piece).unwrap();
        }
        _ => piece = zstd::encode_all(&text[..], 3).unwrap(),
    }
    piece.repeat(pieces)
}

#[test]
fn a_file_that_expands_a_thousandfold_keeps_to_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    for (ending, pieces) in [("gz", 16), ("bz2", 16), ("zst", 64)] {
        let path = write(folder.path(), &format!("bomb.{ending}"), bomb(ending, b' ', pieces));
        let stats = folder.path().join("stats");
        let (limit, path, stats_json) = (LIMIT.to_string(), path.to_str(), stats.to_str());
        let flags = [path.unwrap(), "-j2", "--memory", &limit, "--stats-json", stats_json.unwrap()];
        assert_eq!(text(wordcount(&flags)), "", "{ending}");
        let stats: Value = serde_json::from_slice(&fs::read(&stats).unwrap()).unwrap();
        let expanded = (pieces * PIECE_BYTES) as u64;
        assert_eq!(stats["bytes"].as_u64(), Some(expanded), "{stats:#}");
        assert_eq!(stats["compressed"][0]["bytes"].as_u64(), Some(expanded), "{stats:#}");
        assert!(stats["memory_resident_peak"].as_u64().unwrap() <= LIMIT, "{stats:#}");
    }
}

/// All of it is one word.
#[test]
fn a_record_that_expands_beyond_the_limit_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "bomb.zst", bomb("zst", 0, 8));
    let limit = LIMIT.to_string();
    let output = wordcount(&[path.to_str().unwrap(), "-j2", "--memory", &limit]);
    check_fault(&output, 1, &["memory budget", "a record must fit in memory"]);
}

#[test]
fn a_damaged_file_is_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = bomb("gz", b' ', 1);
    bytes.truncate(1000);
    let path = write(folder.path(), "cut.gz", bytes);
    let output = wordcount(&[&path]);
    check_fault(&output, 1, &["cut.gz", "gzip data is cut short", "byte 1000", "--plain"]);
    let plain = wordcount(&[path.to_str().unwrap(), "--plain"]);
    assert!(plain.status.success());
}

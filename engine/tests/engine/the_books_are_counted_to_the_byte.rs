//! Real text: a thousand books that lie beside the repository, where it is worked on, are counted
//! as they would be one word after the other.

use crate::jobs::Words;
use crate::reference;
use crate::support::{count_line, count_lines, engine, text_of};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tegula::{Input, Order, WordClass};

fn archive() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/gutenberg.tar.xz")
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_below(&path, files) } else { files.push(path) }
    }
}

#[test]
fn words_of_the_books_equal_the_naive_count() {
    let archive = archive();
    if !archive.exists() {
        eprintln!("skipped: {} is not there", archive.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut tar = Command::new("tar");
    tar.arg("-xJf").arg(&archive).arg("-C").arg(folder.path());
    if !tar.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: tar and xz are needed to unpack {}", archive.display());
        return;
    }
    let mut files = Vec::new();
    files_below(folder.path(), &mut files);
    let texts: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    for class in [WordClass::Whitespace, WordClass::Alpha] {
        let counts = reference::count(texts.iter().map(Vec::as_slice), class);
        let expected = count_lines(&reference::answer(&counts, Order::Key, None));
        for workers in [1, 2, 7] {
            let input = Input::paths([folder.path()]).unwrap();
            let output = engine(workers).job(&Words(class)).run(input).unwrap();
            assert!(text_of(&output, count_line) == expected, "{class:?}, {workers} workers");
        }
    }
}

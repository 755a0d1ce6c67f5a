//! The places of words are those of a plain loop: file by file, in order, for any number of workers, for all
//! words or those of a list.

use super::*;

fn index(arguments: &[impl AsRef<OsStr>]) -> Output {
    tegula().arg("index").args(arguments).output().unwrap()
}

/// Lines of word, file and offsets, made word by word.
fn plain_index(files: &[(&Path, &[u8])], alpha: bool, only: &[&[u8]]) -> Vec<u8> {
    let separates = |byte: &u8| match alpha {
        true => !byte.is_ascii_alphabetic(),
        false => matches!(byte, b' ' | b'\t'..=b'\r'),
    };
    let mut places: BTreeMap<(Vec<u8>, usize), Vec<String>> = BTreeMap::new();
    for (number, (_, bytes)) in files.iter().enumerate() {
        let mut offset = 0;
        for word in bytes.split(separates) {
            let folded = if alpha { word.to_ascii_lowercase() } else { word.to_vec() };
            let is_listed = only.is_empty() || only.contains(&folded.as_slice());
            if !word.is_empty() && is_listed {
                places.entry((folded, number)).or_default().push(offset.to_string());
            }
            offset += word.len() + 1;
        }
    }
    let mut lines = Vec::new();
    for ((word, number), offsets) in places {
        lines.extend_from_slice(&word);
        writeln!(lines, "\t{}\t{}", files[number].0.display(), offsets.join(",")).unwrap();
    }
    lines
}

/// Words of few letters, some of them in upper case, NUL and bytes beyond ASCII among them.
fn words(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let kinds = b"aAbz  \n\0\xff_";
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            kinds[(state % kinds.len() as u64) as usize]
        })
        .collect()
}

#[test]
fn of_all_words_and_of_listed_ones_over_files_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let texts = [words(400_000, 1), words(10, 2), Vec::new(), words(300_000, 3)];
    let paths: Vec<PathBuf> = (0..texts.len())
        .map(|number| write(folder.path(), &format!("{number}.txt"), &texts[number]))
        .collect();
    let files: Vec<(&Path, &[u8])> =
        paths.iter().map(PathBuf::as_path).zip(texts.iter().map(Vec::as_slice)).collect();
    let list = write(folder.path(), "lists/words", "Ab zz\nno-such-word");
    let inputs = paths.iter().map(|path| path.to_str().unwrap());
    for (alpha, definition) in [(false, "whitespace"), (true, "alpha")] {
        for workers in ["1", "3"] {
            let mut arguments = vec!["--words", definition, "-j", workers];
            arguments.extend(inputs.clone());
            assert!(answer(index(&arguments)) == plain_index(&files, alpha, &[]));
            arguments.extend(["--word", "A", "--words-from", list.to_str().unwrap()]);
            let only: [&[u8]; 3] = if alpha { [b"ab", b"zz", b"a"] } else { [b"Ab", b"zz", b"A"] };
            assert!(answer(index(&arguments)) == plain_index(&files, alpha, &only));
        }
    }
}

#[test]
fn of_unicode_words_that_are_folded() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "text", "Maße: MASSE, 日本");
    let path = path.to_str().unwrap();
    let expected = format!("masse\t{path}\t0,7\n日\t{path}\t14\n本\t{path}\t17\n");
    assert_eq!(text(index(&["--words", "unicode", path])), expected);
    let listed = text(index(&["--words", "unicode", path, "--word", "MASSE"]));
    assert_eq!(listed, format!("masse\t{path}\t0,7\n"));
}

#[test]
fn in_json_and_by_the_number_of_places() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "text", "be or be to be or");
    let path = path.to_str().unwrap();
    let lines = format!(
        "{{\"word\":\"be\",\"file\":\"{path}\",\"offsets\":[0,6,12]}}\n\
         {{\"word\":\"or\",\"file\":\"{path}\",\"offsets\":[3,15]}}\n"
    );
    assert_eq!(text(index(&[path, "--top", "2", "--format", "jsonl"])), lines);
}

#[test]
fn a_list_that_is_missing_is_named() {
    check_fault(&index(&["--words-from", "no-such-list", "Cargo.toml"]), 1, &["no-such-list"]);
}

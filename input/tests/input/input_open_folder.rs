//! Folders that are held open give their own files.

use std::fs;
use std::io::{self, Read};
use tegula_input::input::{Input, OpenFolder, Source};

#[test]
fn files_are_those_of_their_folder_however_many_folders_are_held() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..40 {
        let path = root.path().join(format!("{number:02}"));
        fs::create_dir(&path).unwrap();
        for file in ["a", "b", "c", "d"] {
            fs::write(path.join(file), format!("{number} {file}")).unwrap();
        }
    }
    let input = Input::paths([root.path()]).unwrap();
    let Source::Files(list) = &input.sources[0] else { panic!("files") };
    let mut all: Vec<OpenFolder> = (0..300).map(|_| OpenFolder::default()).collect();
    for (reader, held) in all.iter_mut().enumerate() {
        for file in [reader % 160, (reader + 1) % 160, reader % 4] {
            let mut text = String::new();
            list.open(file, held).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, format!("{} {}", file / 4, ["a", "b", "c", "d"][file % 4]));
        }
    }
    fs::remove_file(root.path().join("00/b")).unwrap();
    let missing = list.open(1, &mut all[0]).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
}

//! Lists of files take little memory.

use std::ffi::OsStr;
use std::path::Path;
use tegula_input::input::FileList;

/// A million small files must fit beside the data: at most 25 bytes each on top of their names.
#[test]
fn lists_are_compact() {
    let mut files = FileList::default();
    let folder = files.add_folder(None, OsStr::new("/data"));
    let mut names_bytes = 0;
    for number in 0..100_000u32 {
        let name = format!("part-{number:08}");
        names_bytes += name.len();
        files.add_file(Some(folder), OsStr::new(&name), u64::from(number));
    }
    // Growth by doubling may leave as much again for names.
    assert!(files.memory_bytes() < 100_000 * 25 + 2 * names_bytes, "{}", files.memory_bytes());
    assert_eq!(files.path(77), Path::new("/data/part-00000077"));
}

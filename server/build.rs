//! Lists the files of the page, so that the program holds all of them.
#![allow(clippy::unwrap_used, reason = "a build fails by panicking")]

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("page");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let kinds = ["html", "css", "js", "svg"];
    let is_served = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|kind| kinds.iter().any(|known| kind == *known))
    };
    let mut files: Vec<_> = entries.filter(is_served).collect();
    files.sort();
    let mut table = "&[".to_owned();
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        writeln!(table, "({name:?}, include_bytes!({:?})),", file.display().to_string()).unwrap();
    }
    table.push(']');
    fs::write(Path::new(&env::var("OUT_DIR").unwrap()).join("page.rs"), table).unwrap();
}

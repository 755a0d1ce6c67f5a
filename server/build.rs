//! Compresses and lists the files of the page, so that the program holds all of them.
#![allow(clippy::unwrap_used, reason = "a build fails by panicking")]

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write;
use std::io::Write as _;
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
    let out = env::var("OUT_DIR").unwrap();
    let out = Path::new(&out);
    let mut table = "&[".to_owned();
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let packed = out.join(name);
        let mut gzip = GzEncoder::new(fs::File::create(&packed).unwrap(), Compression::best());
        gzip.write_all(&fs::read(&file).unwrap()).unwrap();
        gzip.finish().unwrap();
        writeln!(table, "({name:?}, include_bytes!({:?})),", packed.display().to_string()).unwrap();
    }
    table.push(']');
    fs::write(out.join("page.rs"), table).unwrap();
}

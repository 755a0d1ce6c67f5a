//! Sorts lines by their bytes; lines that do not fit in memory go to disk.
//! `cargo run --release --example sort_lines -- PATH...`

use std::io;
use std::path::Path;
use tegula::{Engine, Input, Options, Result, Sort, SortTo};

fn main() -> Result<()> {
    let input = Input::paths(std::env::args_os().skip(1))?;
    let mut stdout = io::stdout();
    let to = SortTo::Writer(&mut stdout, Path::new("standard output"));
    Engine::new()?.sort(&Sort::lines(), input, to, &Options::default())?;
    Ok(())
}

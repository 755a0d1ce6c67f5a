//! The program `tegula`. All of it is in the library, `lib.rs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tegula_cli::main()
}

//! The native part of the Python package `tegula`. It takes plans down as dicts of plain values (`plan.rs`), runs
//! them without the interpreter's lock, and hands answers up as pairs or Arrow streams (`answer.rs`). The facade
//! in Python, `python/tegula/`, has the types, the words and the errors that people see. The command `tegula` of the
//! package is the library of the command line, in this module.

mod answer;
mod arrow;
mod batch;
mod companion;
mod csv;
mod drawn;
mod dynamic;
mod estimates;
mod file;
mod memory;
mod native;
mod nodes;
mod objects;
mod parted;
mod plan;
mod ready;
mod reducing;
mod running;
mod shown;
mod sorting;

use pyo3::prelude::*;

/// The native part of Tegula; use the package `tegula`.
#[pymodule]
mod _tegula {
    #[pymodule_export]
    use crate::answer::Answer;
    #[pymodule_export]
    use crate::companion::Waiting;
    #[pymodule_export]
    use crate::estimates::{Estimated, Estimates};
    #[pymodule_export]
    use crate::file::AtomicFile;
    #[pymodule_export]
    use crate::nodes::{Desk, Wires};
    #[pymodule_export]
    use crate::running::{Cancel, Engine, Failure};
    #[pymodule_export]
    use crate::shown::{Seen, Stream};
    use pyo3::prelude::*;
    use std::ffi::OsString;

    /// What a node that works tells now and then.
    #[pymodule_export]
    const ALIVE: &[u8] = tegula_nodes::ALIVE;

    /// Carries out a command line, whose first word names the program, and returns its exit code. Help, and a
    /// command line that makes no sense, end the process.
    #[pyfunction]
    fn command(py: Python<'_>, command_line: Vec<OsString>) -> u8 {
        py.detach(|| tegula_cli::execute(command_line))
    }
}

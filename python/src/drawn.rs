//! `timeline=`: the file that a run is drawn into. The ending of its name chooses the form, as on the command line.

use std::io::Write;
use std::path::PathBuf;
use tegula::output::AtomicFile;
use tegula::{OutputError, Timeline};
use tegula_timeline_draw::write_svg;

/// A timeline and the file that it goes to.
pub(crate) struct Drawn {
    timeline: Timeline,
    path: PathBuf,
}

impl Drawn {
    /// Begins a timeline, whose time begins now. The facade has looked at the ending.
    pub(crate) fn new(path: PathBuf) -> Drawn {
        Drawn { timeline: Timeline::new("tegula, from Python"), path }
    }

    pub(crate) fn timeline(&self) -> Timeline {
        self.timeline.clone()
    }

    /// Writes the file, which appears only when all of it is written.
    pub(crate) fn write(&self) -> tegula::Result<()> {
        let recording = self.timeline.read();
        let mut bytes = Vec::new();
        let is_json = self.path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
        let drawn = match is_json {
            true => recording.write_json(&mut bytes),
            false => write_svg(&recording, &mut bytes),
        };
        let mut file = AtomicFile::create(&self.path)?;
        let written = drawn.and_then(|()| file.write_all(&bytes));
        written.map_err(|cause| OutputError::from_write(&self.path, cause))?;
        Ok(file.commit()?)
    }
}

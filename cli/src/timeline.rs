//! `--timeline`: the file that it names. The ending of the name chooses the form.

use crate::COMMAND_LINE;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tegula::timeline::Recording;
use tegula_timeline_draw::write_svg;

/// The file of a timeline, and its form.
#[derive(Clone)]
pub(crate) struct TimelineFile {
    pub(crate) path: PathBuf,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Json,
    Svg,
}

impl TimelineFile {
    pub(crate) fn write(&self, recording: &Recording, out: &mut dyn Write) -> io::Result<()> {
        match self.form {
            Form::Json => recording.write_json(out),
            Form::Svg => write_svg(recording, out),
        }
    }
}

/// Parses the name of a file; the error is a message for the user.
pub(crate) fn file(path: OsString) -> Result<TimelineFile, String> {
    let path = PathBuf::from(path);
    let ending = path.extension().map(OsStr::to_ascii_lowercase);
    let form = match ending.as_ref().and_then(|ending| ending.to_str()) {
        Some("json") => Form::Json,
        Some("svg") => Form::Svg,
        _ => return Err("give a file that ends in .svg or .json".to_owned()),
    };
    Ok(TimelineFile { path, form })
}

/// Returns the title of the timeline: the command line, without the folder of the program.
pub(crate) fn title() -> String {
    let words = COMMAND_LINE.get().map_or(&[][..], Vec::as_slice);
    let Some((program, words)) = words.split_first() else { return String::new() };
    let program = Path::new(program).file_name().unwrap_or(program);
    let words = std::iter::once(program).chain(words.iter().map(OsString::as_os_str));
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

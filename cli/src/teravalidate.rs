//! `tegula teravalidate`: checks that records are sorted. Prints their number, checksum and duplicates, or
//! fails with the first record that is out of order.

use crate::flags::RunFlags;
use crate::request::Request;
use crate::run;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use tegula::{Error, Input, Place, Result};
use tegula_apps::{TeraReport, TeraValidate};

#[derive(Args)]
pub(crate) struct Flags {
    /// Files or folders of records of 100 bytes, whose first 10 are the key. All records must be sorted,
    /// over all files in the order of their names.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    #[command(flatten)]
    run: RunFlags,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    run::command_over(&flags.run, Request::of("teravalidate"), &flags.paths, |run| {
        run.refuse_skip_bad("any 100 bytes are a record")?;
        let input = run.input(&flags.paths)?;
        refuse_twice(&input)?;
        let output = run.job(&TeraValidate, input, &run.options())?;
        let TeraReport { records, checksum, duplicates, misplaced } = TeraReport::new(&output)?;
        if let Some(misplaced) = misplaced {
            let (source, offset) = (misplaced.path, Some(misplaced.offset));
            let number = misplaced.record;
            let cause = format!("record {number} has a lesser key than the one before: not sorted");
            let place = Place { source, line: None, offset };
            return Err(Error::Record { place, cause: cause.into() });
        }
        let text = format!(
            "records     {records}\nchecksum    {checksum:x}\nduplicates  {duplicates}\norder       right\n"
        );
        run.write(|sink| sink.write(text.as_bytes()))
    })
}

/// Refuses a file that is named twice: its records cannot be in order after themselves.
fn refuse_twice(input: &Input) -> Result<()> {
    let mut names: Vec<PathBuf> = input.listing().map(|file| file.name().to_path_buf()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|two| two[0] == two[1]);
    twice.map_or(Ok(()), |two| {
        let cause = format!("{} is named twice; name each file once", two[0].display());
        Err(Error::Option { option: "PATH", cause })
    })
}

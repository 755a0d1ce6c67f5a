//! Plain files between compressed ones are read as plain where they are long. A file that cannot be examined is of no
//! format.

use proptest::prelude::*;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tegula_input::cancel::Cancel;
use tegula_input::codec::{recognise, stretches};
use tegula_input::error::{Error, InputError};
use tegula_input::failure::Failure;
use tegula_input::input::{Format, Input, RangeSource, Source};
use tegula_input::schedule::Pool;

#[test]
fn long_plain_stretches_stand_alone() {
    let (p, z) = (Format::Plain, Format::Gzip);
    let stretched = |formats: &[Format], mib: &[u64]| stretches(formats, |file| mib[file] << 20);
    assert_eq!(stretched(&[p, z, p], &[1, 1, 1]), [(0..3, false)]);
    assert_eq!(
        stretched(&[p, p, z, p, z, p], &[16, 16, 1, 32, 99, 31]),
        [(0..2, true), (2..3, false), (3..4, true), (4..6, false)]
    );
}

proptest! {
    #[test]
    fn stretches_are_few_and_hold_every_file(
        files in prop::collection::vec((any::<bool>(), 0u64..40), 1..200),
    ) {
        let format = |plain| if plain { Format::Plain } else { Format::Zstd };
        let formats: Vec<Format> = files.iter().map(|(plain, _)| format(*plain)).collect();
        let stretches = stretches(&formats, |file| files[file].1 << 20);
        let mut next = 0;
        for (range, is_plain) in &stretches {
            prop_assert_eq!(range.start, next);
            next = range.end;
            prop_assert!(!is_plain || formats[range.clone()].iter().all(|f| *f == Format::Plain));
        }
        prop_assert_eq!(next, files.len());
        let total: u64 = files.iter().map(|(_, mib)| mib).sum();
        prop_assert!(stretches.len() as u64 <= 3 + total / 16);
    }
}

/// A source whose requests all fail.
#[derive(Debug)]
struct Failing(io::ErrorKind);

impl RangeSource for Failing {
    fn read_at(&self, _: &Path, _: u64, _: &mut [u8]) -> io::Result<()> {
        Err(self.0.into())
    }
}

/// When the file is read, the fault may have passed, and its bytes would be taken for plain ones.
#[test]
fn a_fault_of_the_first_bytes_is_an_error() {
    let pool = Pool::new(1, |_| ()).unwrap();
    let found = |kind, names: &[&str]| {
        let files: Vec<(&str, u64)> = names.iter().map(|&name| (name, 2 << 20)).collect();
        let input = Input::ranges(Arc::new(Failing(kind)), files);
        recognise(input, false, &pool, &Failure::new(&Cancel::new()))
    };
    let many: Vec<&str> = (0..40).map(|_| "a").collect();
    for names in [&["a"][..], &["a.gz"], &many] {
        let lost = found(io::ErrorKind::ConnectionReset, names).unwrap_err();
        assert!(matches!(lost, Error::Input(InputError::Read { .. })), "{names:?} {lost:?}");
    }
    let gone = found(io::ErrorKind::NotFound, &["a"]).unwrap_err();
    assert!(matches!(gone, Error::Input(InputError::Vanished { .. })), "{gone:?}");
    let short = found(io::ErrorKind::UnexpectedEof, &["a"]).unwrap();
    assert!(matches!(short.sources[..], [Source::Ranges(..)]), "the reader says what is short");
}

//! Plain files between compressed ones are read as plain where they are long.

use proptest::prelude::*;
use tegula_input::codec::stretches;
use tegula_input::input::Format;

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

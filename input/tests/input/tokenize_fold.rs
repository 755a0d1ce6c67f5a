//! Every level folds a text as the standard library does.

use proptest::prelude::*;
use tegula_input::tokenize::{Simd, fold_ascii, fold_with};

proptest! {
    #[test]
    fn every_level_folds_ascii_alone(text in prop::collection::vec(any::<u8>(), 0..10_000)) {
        let expected = text.to_ascii_lowercase();
        for simd in Simd::available() {
            let mut folded = text.clone();
            fold_with(simd, &mut folded);
            prop_assert!(folded == expected, "{}", simd.name());
        }
        let mut folded = text;
        fold_ascii(&mut folded);
        prop_assert!(folded == expected);
    }
}

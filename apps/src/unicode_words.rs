//! Words of Unicode text: the segments of UAX #29 that contain a letter or digit, case-folded. Takes any
//! bytes with folded ASCII letters; bytes that are not UTF-8 separate words. ASCII words are slices of the
//! text; only other words are folded into memory of their own.

use unicase::UniCase;
use unicode_segmentation::UnicodeSegmentation;

/// A folded word.
pub(crate) enum Word<'s, 'w> {
    /// All ASCII: a slice of the text.
    Ascii(&'s [u8]),
    /// Memory that is valid for the call.
    Folded(&'w [u8]),
}

/// Returns whether text may be cut between two bytes without changing a word.
///
/// After a line feed a segment always begins (rule WB3a). One also always begins between ASCII white space
/// and an ASCII letter or digit: no rule joins them, because no white space is in the middle of a word
/// (WB6, WB7, WB11, WB12), only white space joins white space (WB3, WB3d), and the characters that WB4
/// attaches to the one before are never ASCII. Then neither side's segments depend on the other side,
/// because no rule looks past white space.
pub(crate) fn may_cut(before: u8, after: u8) -> bool {
    before == b'\n' || (matches!(before, b' ' | b'\t'..=b'\r') && after.is_ascii_alphanumeric())
}

/// Calls `found` for each word of `text`, in order, with the word and its bytes in the text. The text's
/// ASCII letters are in lower case already. They may be folded first, over the whole text, because case
/// folding works character by character, and a letter and its lower case are segmented alike. So most words
/// need no memory of their own.
pub(crate) fn each<'s>(text: &'s [u8], mut found: impl FnMut(Word<'s, '_>, &'s [u8])) {
    for chunk in text.utf8_chunks() {
        // A segment never spans a line feed. Most lines are ASCII even in other texts, and segmentation has
        // a fast way for them.
        for line in chunk.valid().split_inclusive('\n') {
            for word in line.unicode_words() {
                if word.is_ascii() {
                    found(Word::Ascii(word.as_bytes()), word.as_bytes());
                } else {
                    let folded = UniCase::unicode(word).to_folded_case();
                    found(Word::Folded(folded.as_bytes()), word.as_bytes());
                }
            }
        }
    }
}

/// Returns a word in folded case; bytes that are not UTF-8 stay unchanged.
pub(crate) fn folded(word: &[u8]) -> Vec<u8> {
    match str::from_utf8(word) {
        Ok(word) => UniCase::unicode(word).to_folded_case().into_bytes(),
        Err(_) => word.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: impl Into<Vec<u8>>) -> Vec<String> {
        let mut text = text.into();
        text.make_ascii_lowercase();
        let mut words = Vec::new();
        each(&text, |word, _| {
            let (Word::Ascii(word) | Word::Folded(word)) = word;
            words.push(String::from_utf8(word.to_vec()).unwrap());
        });
        words
    }

    /// The examples of docs/words.md.
    #[test]
    fn words_are_those_of_the_standard_in_folded_case() {
        for (text, expected) in [
            ("Don't STOP", vec!["don't", "stop"]),
            ("3.14 and 1,000", vec!["3.14", "and", "1,000"]),
            ("state-of-the-art", vec!["state", "of", "the", "art"]),
            ("snake_case x_1", vec!["snake_case", "x_1"]),
            ("Maße MASSE \u{1e9e}", vec!["masse", "masse", "ss"]),
            ("ΣΊΣΥΦΟΣ σίσυφος", vec!["σίσυφοσ", "σίσυφοσ"]),
            ("ﬁn İ", vec!["fin", "i\u{307}"]),
            ("日本 カタカナ", vec!["日", "本", "カタカナ"]),
            ("a\0b", vec!["a", "b"]),
            ("🙂 - ...", vec![]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
        assert_eq!(words(b"a\xffb \xe2\x82 c".as_slice()), ["a", "b", "c"]);
    }

    /// Returns the words of the text as a whole, by the standard alone.
    fn plain(text: &str) -> Vec<String> {
        text.unicode_words().map(|word| UniCase::unicode(word).to_folded_case()).collect()
    }

    /// Draws characters of all the classes in the rules.
    fn text() -> impl Strategy<Value = String> {
        let class = prop_oneof![
            4 => proptest::char::ranges(vec!['\0'..='\u{7f}'].into()),
            2 => proptest::sample::select(" \t\n\r\u{b}\u{c}\u{85}\u{a0}\u{2028}".chars().collect::<Vec<_>>()),
            2 => proptest::sample::select("aZ1'.:,_\"éßΣςאカ日ไ\u{301}\u{200d}\u{ad}🙂🇦🇧ﬁİ".chars().collect::<Vec<_>>()),
            1 => any::<char>(),
        ];
        proptest::collection::vec(class, 0..40).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn folding_first_and_going_by_lines_change_nothing(text in text()) {
            prop_assert_eq!(words(text.as_str()), plain(&text));
        }

        #[test]
        fn cutting_changes_nothing(text in text()) {
            let whole = words(text.as_str());
            let bytes = text.as_bytes();
            for at in (1..bytes.len()).filter(|&at| may_cut(bytes[at - 1], bytes[at])) {
                let mut parts = words(&bytes[..at]);
                parts.extend(words(&bytes[at..]));
                prop_assert_eq!(&parts, &whole, "cut at {}", at);
            }
        }

        #[test]
        fn any_bytes_do(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            words(bytes);
        }
    }
}

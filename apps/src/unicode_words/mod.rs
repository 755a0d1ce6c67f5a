//! Words of Unicode text: the segments of UAX #29 that contain a letter or digit, case-folded. Takes any
//! bytes with folded ASCII letters; bytes that are not UTF-8 separate words. Words that fold to themselves are slices of
//! the text; only others are folded into memory of their own.
//!
//! Most words are a run of ASCII letters, digits and underscores between two other ASCII characters. Such a run is a
//! segment: no rule joins it with them, unless one of them is a mark with a letter or digit on its other side. So runs are
//! found by SIMD ([`WordClass::Name`]), and only runs with other characters go by the steps of [`segments`].

mod characters;
mod ranges;
mod segments;

use characters::{Characters, Class};
use tegula::WordClass;
use tegula::tokenize::Tokens;
use unicase::UniCase;

/// A folded word.
pub(crate) enum Word<'s, 'w> {
    /// A slice of the text.
    Slice(&'s [u8]),
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

/// Gives `to` each word of `text`, in order: words that are one run of ASCII by `plain`, others by `rare`, which gets
/// their bytes in the text, too. Two functions, because the loop over runs holds one of them.
///
/// The text's ASCII letters are in lower case already. They may be folded first, over the whole text, because case
/// folding works character by character, and a letter and its lower case are segmented alike. So most words need no
/// memory of their own.
#[inline(always)]
pub(crate) fn each<'s, T>(
    text: &'s [u8],
    to: &mut T,
    plain: impl Fn(&mut T, &'s [u8]),
    rare: impl Fn(&mut T, Word<'s, '_>, &'s [u8]),
) {
    let mut folded = String::new();
    // Runs that begin before it were seen with an earlier one.
    let mut seen = 0;
    for run in Tokens::new(WordClass::Name, text) {
        let start = run.as_ptr().addr() - text.as_ptr().addr();
        if start < seen {
            continue;
        }
        let end = start + run.len();
        if is_ascii(text, start, end) && !is_inside(text, end) {
            if run[0] != b'_' || run.iter().any(u8::is_ascii_alphanumeric) {
                plain(to, run);
            }
        } else {
            seen =
                joined(text, start, end, &mut folded, &mut |word, stands| rare(to, word, stands));
        }
    }
}

/// Returns whether a part of the text is ASCII. Most are short, so one load does for them.
#[inline(always)]
fn is_ascii(text: &[u8], start: usize, end: usize) -> bool {
    match text[start..].first_chunk() {
        Some(bytes) if end - start <= 8 => {
            (u64::from_le_bytes(*bytes) & 0x8080_8080_8080_8080) << (8 * (8 - (end - start))) == 0
        }
        _ => text[start..end].is_ascii(),
    }
}

/// Returns whether a byte may be inside a word: it is a mark, and another run begins after it.
#[inline(always)]
fn is_inside(text: &[u8], at: usize) -> bool {
    match text.get(at..at + 2) {
        Some(&[mark, after]) => is_mark(mark) && WordClass::Name.contains(after),
        _ => false,
    }
}

/// Returns whether the byte is in one of the classes that the rules ask for between letters or digits.
#[inline(always)]
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"' | b'.' | b':' | b',' | b';')
}

/// Finds the words of a run and of those that follow it after single marks. Returns their end.
#[inline(never)]
fn joined<'s>(
    text: &'s [u8],
    start: usize,
    mut end: usize,
    folded: &mut String,
    found: &mut impl FnMut(Word<'s, '_>, &'s [u8]),
) -> usize {
    let mut is_plain = text[start..end].is_ascii();
    // While all is ASCII, the words that end before `end` are found already.
    let mut first = start;
    while is_inside(text, end) {
        let (before, mark, after) = (text[end - 1], text[end], text[end + 1]);
        let from = end + 1;
        let run = text[from..].iter().position(|byte| !WordClass::Name.contains(*byte));
        let to = run.map_or(text.len(), |run| from + run);
        is_plain &= text[from..to].is_ascii();
        if is_plain && !is_joined(before, mark, after) {
            slice(&text[first..end], found);
            first = from;
        }
        end = to;
    }
    if is_plain {
        slice(&text[first..end], found);
    } else {
        // A quote belongs to a Hebrew letter before it.
        let quoted = usize::from(text.get(end) == Some(&b'\''));
        rare(&text[began(text, first)..end + quoted], folded, found);
    }
    end
}

/// Returns whether a mark between two ASCII characters is inside a word (WB6, WB7, WB11, WB12).
fn is_joined(before: u8, mark: u8, after: u8) -> bool {
    match mark {
        b'.' | b'\'' => {
            before.is_ascii_alphabetic() && after.is_ascii_alphabetic()
                || before.is_ascii_digit() && after.is_ascii_digit()
        }
        b':' => before.is_ascii_alphabetic() && after.is_ascii_alphabetic(),
        b',' | b';' => before.is_ascii_digit() && after.is_ascii_digit(),
        _ => false,
    }
}

/// Calls `found` for ASCII text that is a word if it holds a letter or digit.
fn slice<'s>(word: &'s [u8], found: &mut impl FnMut(Word<'s, '_>, &'s [u8])) {
    if word.iter().any(u8::is_ascii_alphanumeric) {
        found(Word::Slice(word), word);
    }
}

/// Returns where the segment of a run's first character begins: before the run, if the character attaches to what is
/// there (WB4) or is one of several spaces (WB3d).
fn began(text: &[u8], start: usize) -> usize {
    let class = |character| Characters::class(Characters::get().of(character));
    let head = &text[start..text.len().min(start + 4)];
    let first = head.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    match (first.map(class), &text[..start]) {
        (Some(Class::Extend | Class::Space), [.., b' ']) => {
            let mut at = start - 1;
            while let Some(space) = last(&text[..at]).filter(|last| class(*last) == Class::Space) {
                at -= space.len_utf8();
            }
            at
        }
        (Some(Class::Extend), [.., before]) if !matches!(before, b'\n'..=b'\r') => start - 1,
        _ => start,
    }
}

/// Returns the last character of a text, unless it ends with bytes that are not UTF-8.
fn last(text: &[u8]) -> Option<char> {
    let length = text.iter().rev().take(4).position(|byte| byte & 0xc0 != 0x80)? + 1;
    str::from_utf8(&text[text.len() - length..]).ok()?.chars().next()
}

/// Finds the words of text that is not all ASCII, by the standard's steps. Its start and end are boundaries.
fn rare<'s>(text: &'s [u8], folded: &mut String, found: &mut impl FnMut(Word<'s, '_>, &'s [u8])) {
    let characters = Characters::get();
    for chunk in text.utf8_chunks() {
        segments::each(characters, chunk.valid(), |word, flags| {
            if Characters::folds(flags) {
                characters.fold(word, folded);
                found(Word::Folded(folded.as_bytes()), word.as_bytes());
            } else {
                found(Word::Slice(word.as_bytes()), word.as_bytes());
            }
        });
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
    use unicode_segmentation::UnicodeSegmentation;

    fn words(text: impl Into<Vec<u8>>) -> Vec<String> {
        let mut text = text.into();
        text.make_ascii_lowercase();
        let mut words = Vec::new();
        let add = |words: &mut Vec<String>, word: &[u8]| {
            words.push(String::from_utf8(word.to_vec()).unwrap());
        };
        each(&text, &mut words, add, |words, word, _| {
            let (Word::Slice(word) | Word::Folded(word)) = word;
            add(words, word);
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
            2 => proptest::sample::select("aZ1'.:,_\"éßΣςאカ日ไ\u{301}\u{93e}\u{200d}\u{ad}\u{3000}’·Ⓜ🙂🇦🇧ﬁİ".chars().collect::<Vec<_>>()),
            1 => any::<char>(),
        ];
        proptest::collection::vec(class, 0..40).prop_map(|chars| chars.into_iter().collect())
    }

    const LONGEST: u32 = 5;

    /// All texts of characters of each class, among them line ends, which nothing attaches to.
    #[test]
    fn short_texts_have_the_words_of_the_reference() {
        let all: Vec<char> =
            "a1_ \n-'\".:,éאカ日\u{301}\u{93e}\u{200d}\u{3000}Ⓜ🙂🇦".chars().collect();
        let mut text = String::new();
        for number in 0..all.len().pow(LONGEST) {
            let digits = (0..LONGEST).map(|digit| number / all.len().pow(digit) % all.len());
            text.clear();
            text.extend(digits.map(|digit| all[digit]));
            assert_eq!(words(text.as_str()), plain(&text), "{text:?}");
        }
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

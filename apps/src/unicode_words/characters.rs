//! What the rules of words ask of each character: its class, and its folded case. A flat table of the basic plane, made
//! when the first character beyond ASCII is met (two milliseconds); of other planes, ranges are searched.

use super::ranges::RANGES;
use std::sync::LazyLock;
use unicase::UniCase;

/// Classes of characters (UAX #29, table 3). Extend, Format and ZWJ are one: they attach to what is before them (WB4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    Other,
    Letter,
    Hebrew,
    Numeric,
    Katakana,
    /// ExtendNumLet, such as the underscore.
    Connector,
    Extend,
    Regional,
    /// WSegSpace.
    Space,
    /// CR, LF and Newline.
    Newline,
    MidLetter,
    MidNumeric,
    /// MidNumLet.
    MidBoth,
    SingleQuote,
    DoubleQuote,
}

impl Class {
    pub(super) const COUNT: usize = Class::ALL.len();
    pub(super) const ALL: [Class; 15] = [
        Class::Other,
        Class::Letter,
        Class::Hebrew,
        Class::Numeric,
        Class::Katakana,
        Class::Connector,
        Class::Extend,
        Class::Regional,
        Class::Space,
        Class::Newline,
        Class::MidLetter,
        Class::MidNumeric,
        Class::MidBoth,
        Class::SingleQuote,
        Class::DoubleQuote,
    ];
}

// An entry: the class, two flags, and from `FOLD` the number of a distance to the folded character.
const CLASS: u16 = 0xf;
const PICTOGRAPH: u16 = 0x10;
const ALPHANUMERIC: u16 = 0x20;
const FOLD: u32 = 8;
/// The number of a distance that stands for a fold to several characters, or for one that is not in the table.
const ASK: u16 = 0xff;

const PLANE: usize = 0x1_0000;

/// The entries of all characters.
pub(super) struct Characters {
    plane: Box<[u16]>,
    /// Distances from characters to their folded case.
    distances: Vec<i32>,
}

impl Characters {
    /// Returns the table, which is made by the first call.
    pub(super) fn get() -> &'static Characters {
        static TABLE: LazyLock<Characters> = LazyLock::new(Characters::new);
        &TABLE
    }

    fn new() -> Characters {
        let mut plane = vec![0; PLANE].into_boxed_slice();
        for &(first, last, entry) in RANGES.iter().take_while(|range| (range.0 as usize) < PLANE) {
            plane[first as usize..=last as usize].fill(u16::from(entry));
        }
        // One text of all, because the fold of each by itself would need memory of its own.
        let all = '\u{1}'..='\u{ffff}';
        let separated: String = all.clone().flat_map(|character| [character, '\0']).collect();
        let folded = UniCase::unicode(separated).to_folded_case();
        let mut distances = vec![0];
        for (character, folded) in all.zip(folded.split('\0')) {
            let mut folded = folded.chars();
            let number = match (folded.next(), folded.next()) {
                (Some(one), None) if one == character => continue,
                (Some(one), None) => {
                    let distance = one as i32 - character as i32;
                    let known = distances.iter().position(|&known| known == distance);
                    known.unwrap_or_else(|| {
                        distances.push(distance);
                        distances.len() - 1
                    })
                }
                _ => usize::from(ASK),
            };
            plane[character as usize] |= (number.min(usize::from(ASK)) as u16) << FOLD;
        }
        Characters { plane, distances }
    }

    /// Returns the entry of a character. Entries are joined by `|` to those of several characters, of which
    /// [`is_alphanumeric`](Self::is_alphanumeric) and [`folds`](Self::folds) can be asked.
    #[inline]
    pub(super) fn of(&self, character: char) -> u16 {
        match self.plane.get(character as usize) {
            Some(entry) => *entry,
            None => Self::beyond(character),
        }
    }

    /// Returns the entry of a character beyond the basic plane.
    #[cold]
    fn beyond(character: char) -> u16 {
        let code = u32::from(character);
        let range = RANGES.partition_point(|range| range.1 < code);
        let entry = RANGES.get(range).filter(|range| range.0 <= code).map_or(0, |range| range.2);
        u16::from(entry) | ASK << FOLD
    }

    #[inline]
    pub(super) fn class(entry: u16) -> Class {
        Class::ALL[usize::from(entry & CLASS)]
    }

    #[inline]
    pub(super) fn is_pictograph(entry: u16) -> bool {
        entry & PICTOGRAPH != 0
    }

    #[inline]
    pub(super) fn is_alphanumeric(entries: u16) -> bool {
        entries & ALPHANUMERIC != 0
    }

    /// Returns whether a fold may change one of the characters.
    #[inline]
    pub(super) fn folds(entries: u16) -> bool {
        entries >> FOLD != 0
    }

    /// Writes the folded characters of `word` into `folded`.
    pub(super) fn fold(&self, word: &str, folded: &mut String) {
        folded.clear();
        for character in word.chars() {
            let number = self.of(character) >> FOLD;
            let distance = self.distances.get(usize::from(number)).filter(|_| number != ASK);
            match distance.and_then(|by| u32::from(character).checked_add_signed(*by)) {
                Some(code) => folded.extend(char::from_u32(code)),
                None => {
                    let mut bytes = [0; 4];
                    let alone = UniCase::unicode(&*character.encode_utf8(&mut bytes));
                    folded.push_str(&alone.to_folded_case());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;
    use unicode_segmentation::UnicodeSegmentation;

    /// Returns the entry of a character without its fold, from what the reference does with it among others.
    fn asked(character: char) -> u8 {
        let mut text = String::new();
        let mut joins =
            |before: &str, after: &str| {
                text.clear();
                text.extend([before, after].into_iter().flat_map(|part| {
                    part.chars().map(|one| if one == '*' { character } else { one })
                }));
                text.split_word_bounds().count() == 1
            };
        let class = if joins("?*", "") {
            Class::Extend
        } else if !joins("*\u{308}", "") {
            Class::Newline
        } else if joins("*'", "") {
            Class::Hebrew
        } else if joins("*", "1,1") {
            // Letters, digits and connectors: of them digits alone take a comma before a digit.
            if joins("*,1", "") {
                Class::Numeric
            } else if joins("*", "ア") {
                Class::Connector
            } else {
                Class::Letter
            }
        } else if joins("*", "ア") {
            Class::Katakana
        } else if joins("*", " ") {
            Class::Space
        } else if joins("*", "🇦") {
            Class::Regional
        } else {
            match (joins("a*a", ""), joins("1*1", "")) {
                (true, true) if joins("א*", "") => Class::SingleQuote,
                (true, true) => Class::MidBoth,
                (true, false) => Class::MidLetter,
                (false, true) => Class::MidNumeric,
                (false, false) if joins("א*א", "") => Class::DoubleQuote,
                (false, false) => Class::Other,
            }
        };
        let is_pictograph = class != Class::Extend && joins("\u{200d}*", "");
        let is_alphanumeric = character.to_string().unicode_words().next().is_some();
        class as u8
            | if is_pictograph { PICTOGRAPH as u8 } else { 0 }
            | if is_alphanumeric { ALPHANUMERIC as u8 } else { 0 }
    }

    /// `RANGES=write cargo test -p tegula-apps ranges_are` writes them, after another version of Unicode.
    #[test]
    fn ranges_are_those_of_the_reference() {
        let mut ranges: Vec<(u32, u32, u8)> = Vec::new();
        for character in '\0'..=char::MAX {
            let (code, entry) = (u32::from(character), asked(character));
            match ranges.last_mut() {
                Some(last) if last.1 + 1 == code && last.2 == entry => last.1 = code,
                _ if entry != 0 => ranges.push((code, code, entry)),
                _ => {}
            }
        }
        if std::env::var("RANGES").is_ok_and(|asked| asked == "write") {
            let mut text = "//! Written by the test `ranges_are_those_of_the_reference`: Unicode 17.\n\n\
                /// The first and the last code point of each range, and its entry: the class, 0x10 for pictographs, and\n\
                /// 0x20 for letters and digits. Of others, the entry is 0.\n\
                #[rustfmt::skip]\npub(super) const RANGES: &[(u32, u32, u8)] = &[\n"
                .to_owned();
            for line in ranges.chunks(5) {
                let line: Vec<_> = line
                    .iter()
                    .map(|(first, last, entry)| format!("({first:#x}, {last:#x}, {entry:#x})"))
                    .collect();
                writeln!(text, "    {},", line.join(", ")).unwrap();
            }
            text.push_str("];\n");
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/unicode_words/ranges.rs");
            return std::fs::write(path, text).unwrap();
        }
        assert_eq!(ranges, RANGES, "RANGES=write cargo test -p tegula-apps ranges_are writes them");
    }

    #[test]
    fn each_character_is_folded_as_the_reference_does() {
        let characters = Characters::get();
        let mut folded = String::new();
        for character in '\0'..=char::MAX {
            let alone = character.to_string();
            let expected = UniCase::unicode(&alone).to_folded_case();
            characters.fold(&alone, &mut folded);
            assert_eq!(folded, expected, "{:#x}", u32::from(character));
            if expected != alone {
                assert!(Characters::folds(characters.of(character)), "{character}");
            }
        }
    }
}

//! Segments of UAX #29 (word boundaries), by a table of steps: one look-up for each character. Takes text whose start and
//! end are boundaries, and returns the segments that hold a letter or digit.
//!
//! Two rules need more than the state and the next character. A mark between two letters or digits belongs to their word
//! (WB6, WB7, WB11, WB12), so what follows a mark decides about the boundary before it: the walk waits, and ends the word
//! at the mark if the next character is not as required. A zero-width joiner keeps a pictograph that follows it (WB3c).

use super::characters::{Characters, Class};

/// What was walked through since the last boundary.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    /// The start of the text, or a line end: nothing attaches to it (WB3a).
    Newline,
    Other,
    Letter,
    Hebrew,
    /// A Hebrew letter and a single quote, which belongs to it (WB7a).
    HebrewQuote,
    Numeric,
    Katakana,
    Connector,
    Space,
    /// An odd and an even number of regional indicators (WB15, WB16).
    Regional,
    RegionalPair,
    /// A mark that is inside the word if a letter follows, a Hebrew letter, or a digit.
    BeforeLetter,
    BeforeHebrew,
    BeforeNumeric,
}

const STATES: usize = State::BeforeNumeric as usize + 1;

/// What the next character does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A segment ends before it.
    Break,
    /// It belongs to the segment.
    Join,
    /// It belongs to the segment if the next one does.
    Wait,
    /// It and the mark that waited belong to the segment.
    Complete,
    /// The segment ended before the mark that waited. The character is seen again after the mark.
    Rewind,
}

/// The step and the next state, for each state and class.
const STEPS: [[(Step, State); Class::COUNT]; STATES] = {
    let mut steps = [[(Step::Break, State::Other); Class::COUNT]; STATES];
    let mut state = 0;
    while state < STATES {
        let mut class = 0;
        while class < Class::COUNT {
            steps[state][class] = step(STATE_OF[state], Class::ALL[class]);
            class += 1;
        }
        state += 1;
    }
    steps
};

const STATE_OF: [State; STATES] = [
    State::Newline,
    State::Other,
    State::Letter,
    State::Hebrew,
    State::HebrewQuote,
    State::Numeric,
    State::Katakana,
    State::Connector,
    State::Space,
    State::Regional,
    State::RegionalPair,
    State::BeforeLetter,
    State::BeforeHebrew,
    State::BeforeNumeric,
];

/// Returns the state after a character that begins a segment.
const fn begun(class: Class) -> State {
    match class {
        Class::Newline => State::Newline,
        Class::Letter => State::Letter,
        Class::Hebrew => State::Hebrew,
        Class::Numeric => State::Numeric,
        Class::Katakana => State::Katakana,
        Class::Connector => State::Connector,
        Class::Space => State::Space,
        Class::Regional => State::Regional,
        _ => State::Other,
    }
}

const fn step(state: State, class: Class) -> (Step, State) {
    use Class as C;
    use State as S;
    let next = begun(class);
    match (state, class) {
        (S::Newline, _) => (Step::Break, next),
        // WB4; only spaces side by side belong together (WB3d).
        (S::Space, C::Extend) => (Step::Join, S::Other),
        (_, C::Extend) => (Step::Join, state),
        (S::BeforeLetter, C::Letter | C::Hebrew)
        | (S::BeforeHebrew, C::Hebrew)
        | (S::BeforeNumeric, C::Numeric) => (Step::Complete, next),
        (S::BeforeLetter | S::BeforeHebrew | S::BeforeNumeric, _) => (Step::Rewind, S::Other),
        (S::Hebrew, C::SingleQuote) => (Step::Join, S::HebrewQuote),
        (S::Hebrew, C::DoubleQuote) => (Step::Wait, S::BeforeHebrew),
        (S::Letter | S::Hebrew, C::MidLetter | C::MidBoth | C::SingleQuote) => {
            (Step::Wait, S::BeforeLetter)
        }
        (S::Numeric, C::MidNumeric | C::MidBoth | C::SingleQuote) => (Step::Wait, S::BeforeNumeric),
        // WB5, WB8, WB9, WB10, WB13a, WB13b.
        (S::Letter | S::Hebrew | S::Numeric | S::Connector, C::Letter | C::Hebrew | C::Numeric)
        | (S::HebrewQuote, C::Letter | C::Hebrew)
        | (S::Letter | S::Hebrew | S::Numeric | S::Katakana | S::Connector, C::Connector)
        // WB13, WB13b, WB3d.
        | (S::Katakana | S::Connector, C::Katakana)
        | (S::Space, C::Space) => (Step::Join, next),
        (S::Regional, C::Regional) => (Step::Join, S::RegionalPair),
        _ => (Step::Break, next),
    }
}

/// Calls `found` for each segment that holds a letter or digit, with what its characters have in common
/// ([`Characters::of`]).
pub(super) fn each<'s>(
    characters: &Characters,
    text: &'s str,
    mut found: impl FnMut(&'s str, u16),
) {
    let mut end = |from: usize, to: usize, flags: u16| {
        if Characters::is_alphanumeric(flags) {
            found(&text[from..to], flags);
        }
    };
    // Flags of the segment, and while a mark waits, those since the mark.
    let (mut start, mut flags, mut state) = (0, 0, State::Newline);
    let (mut mark, mut before_mark) = (0, 0);
    for (at, character) in text.char_indices() {
        let entry = characters.of(character);
        if Characters::is_pictograph(entry) && text[..at].ends_with('\u{200d}') {
            if matches!(state, State::BeforeLetter | State::BeforeHebrew | State::BeforeNumeric) {
                flags |= before_mark;
            }
            flags |= entry;
            state = State::Other;
            continue;
        }
        let class = Characters::class(entry);
        let (mut step, mut next) = STEPS[state as usize][class as usize];
        if step == Step::Rewind {
            end(start, mark, before_mark);
            start = mark;
            (step, next) = STEPS[State::Other as usize][class as usize];
        }
        match step {
            Step::Join => flags |= entry,
            Step::Wait => (mark, before_mark, flags) = (at, flags, entry),
            Step::Complete => flags |= before_mark | entry,
            Step::Break | Step::Rewind => {
                end(start, at, flags);
                (start, flags) = (at, entry);
            }
        }
        state = next;
    }
    if matches!(state, State::BeforeLetter | State::BeforeHebrew | State::BeforeNumeric) {
        end(start, mark, before_mark);
        start = mark;
    }
    end(start, text.len(), flags);
}

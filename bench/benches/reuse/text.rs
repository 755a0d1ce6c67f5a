//! A text of lines drawn by a seed, and the ways in which it is changed.

const SEED: u64 = 0x7465_6775_6c61;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 >> 33
    }
}

/// Lines of about 60 bytes: a number that counts, a few words out of many, a measure.
pub(crate) fn draw(bytes: usize) -> Vec<u8> {
    let mut random = Random(SEED);
    let mut text = Vec::with_capacity(bytes + 100);
    for line in 0_u64.. {
        if text.len() >= bytes {
            break;
        }
        text.extend_from_slice(format!("{line:09}").as_bytes());
        for _ in 0..6 {
            text.push(b' ');
            let word = random.next();
            text.extend((0..3 + word % 7).map(|at| b'a' + ((word >> (3 * at)) % 26) as u8));
        }
        text.extend_from_slice(format!(" {}\n", random.next() % 1000).as_bytes());
    }
    text.truncate(bytes);
    text
}

/// The kind of changes to a text.
#[derive(Clone, Copy)]
pub(crate) enum Edits {
    InPlace,
    Insert,
    Delete,
    /// The three by turns.
    Mixed,
}

impl Edits {
    pub(crate) const ALL: [Edits; 4] = [Edits::InPlace, Edits::Insert, Edits::Delete, Edits::Mixed];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Edits::InPlace => "in place",
            Edits::Insert => "inserted",
            Edits::Delete => "deleted",
            Edits::Mixed => "mixed",
        }
    }

    /// Returns the text with `places` places changed, 1 to 100 bytes each.
    pub(crate) fn apply(self, text: &[u8], places: usize) -> Vec<u8> {
        let mut random = Random(SEED ^ places as u64);
        let mut at: Vec<usize> = (0..places)
            .map(|_| (random.next() << 31 | random.next()) as usize % text.len())
            .collect();
        at.sort_unstable();
        let mut new = Vec::with_capacity(text.len() + 100 * places);
        let mut done = 0;
        for (number, at) in at.into_iter().enumerate() {
            let at = at.max(done);
            new.extend_from_slice(&text[done..at]);
            let bytes = 1 + random.next() as usize % 100;
            let end = text.len().min(at + bytes);
            let kind = match self {
                Edits::Mixed => [Edits::InPlace, Edits::Insert, Edits::Delete][number % 3],
                one => one,
            };
            done = match kind {
                Edits::InPlace => {
                    new.extend(text[at..end].iter().map(|byte| byte.wrapping_add(1)));
                    end
                }
                Edits::Insert => {
                    new.extend((0..bytes).map(|_| b'a' + (random.next() % 26) as u8));
                    at
                }
                Edits::Delete | Edits::Mixed => end,
            };
        }
        new.extend_from_slice(&text[done..]);
        new
    }
}

//! Counts words of Unicode text with the crate that follows UAX #29 and the standard library's map, on one thread: the
//! reference of `tegula wordcount --words unicode`, with the same lines as answer. `unicode FILE`

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use unicase::UniCase;
use unicode_segmentation::UnicodeSegmentation;

/// The bytes read at a time. A line that reaches beyond is read on.
const PIECE_BYTES: usize = 1 << 20;

fn main() -> io::Result<()> {
    let path = std::env::args().nth(1).ok_or_else(|| io::Error::other("give a file"))?;
    let mut file = File::open(path)?;
    let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut held = Vec::new();
    loop {
        let read = Read::by_ref(&mut file).take(PIECE_BYTES as u64).read_to_end(&mut held)?;
        let lines = held.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let whole = if read == 0 { held.len() } else { lines };
        count(&held[..whole], &mut counts);
        held.drain(..whole);
        if read == 0 {
            break;
        }
    }
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort_unstable();
    let mut out = BufWriter::new(io::stdout().lock());
    for (word, count) in all {
        out.write_all(&word)?;
        writeln!(out, "\t{count}")?;
    }
    out.flush()
}

/// Counts the words of whole lines.
fn count(text: &[u8], counts: &mut HashMap<Vec<u8>, u64>) {
    for chunk in text.utf8_chunks() {
        for line in chunk.valid().split_inclusive('\n') {
            for word in line.unicode_words() {
                let folded = if word.is_ascii() {
                    word.to_ascii_lowercase()
                } else {
                    UniCase::unicode(word).to_folded_case()
                };
                match counts.get_mut(folded.as_bytes()) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(folded.into_bytes(), 1)),
                }
            }
        }
    }
}

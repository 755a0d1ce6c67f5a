//! Millions of distinct words: tables outgrow their share of the cache many times, are handed over,
//! and partials are compressed while the job runs. Nothing is lost, nothing counted twice.

use crate::jobs::Words;
use crate::reference;
use crate::support::{count_line, count_lines, engine, text_of};
use tegula::{Input, Options, Order, WordClass};

const WORDS: u64 = 3_000_000;
const DISTINCT: u64 = 1_300_000;

/// Words of all three size classes of keys in no order, each two or three times, far apart.
fn text() -> Vec<u8> {
    let mut text = Vec::with_capacity(40 << 20);
    for i in 0..WORDS {
        let number = (i % DISTINCT).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let word = match number % 16 {
            0 => format!("a-word-of-the-medium-{number:x}"),
            1 => format!("a-word-that-is-longer-than-a-slot-{number:x}"),
            _ => format!("{number:x}"),
        };
        text.extend_from_slice(word.as_bytes());
        text.push(b' ');
    }
    text
}

#[test]
fn millions_of_words_are_counted_to_the_byte() {
    let text = text();
    let counts = reference::count([&*text], WordClass::Whitespace);
    let expected = count_lines(&reference::answer(&counts, Order::Key, None));
    for workers in [1, 3] {
        let input = Input::bytes(text.clone());
        let output = engine(workers).job(&Words(WordClass::Whitespace)).run(input).unwrap();
        let stats = output.stats();
        assert_eq!((stats.pairs, stats.keys), (WORDS, counts.len() as u64));
        assert!(stats.pairs_handed_over > stats.keys, "no table was handed over before the end");
        assert!(text_of(&output, count_line) == expected, "{workers} workers");
    }
}

#[test]
fn the_largest_of_millions_are_selected() {
    let text = text();
    let counts = reference::count([&*text], WordClass::Whitespace);
    let top = Some(1000);
    for order in [Order::Key, Order::Value] {
        let options = Options { order, top, ..Options::default() };
        let input = Input::bytes(text.clone());
        let job = Words(WordClass::Whitespace);
        let output = engine(2).job(&job).options(&options).run(input).unwrap();
        let expected = count_lines(&reference::answer(&counts, order, top));
        assert!(text_of(&output, count_line) == expected, "{order:?}");
    }
}

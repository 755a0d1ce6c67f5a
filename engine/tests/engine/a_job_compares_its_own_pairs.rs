//! One job, not two, gives an answer in an order of the user's: sorted, cut off, and from disk.

use crate::support::{LITTLE, count_line, engines, limited, text_of};
use std::cmp::Ordering;
use tegula::{Emit, Engine, Input, Job, Options, Order, Pair, Result, Split, Sum};

/// Words by their last letter, then the rarest first.
struct ByLastLetter;

impl Job for ByLastLetter {
    type Key = [u8];
    type Combine = Sum<u64>;

    fn compare(&self, a: Pair<'_, Self>, b: Pair<'_, Self>) -> Ordering {
        let place = |pair: Pair<'_, Self>| (pair.key().last().copied(), pair.value());
        place(a).cmp(&place(b))
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        emit.emit_each(split.fields(), 1);
        Ok(())
    }
}

fn text(words: u32) -> String {
    // Hexadecimal numbers in reverse: all last letters, and few that come more than once.
    let word = |i: u32| format!("{:x}", i.wrapping_mul(0x9e37_79b9) >> 3);
    (0..words).map(|i| word(i - i % 7) + if i % 5 == 0 { "\n" } else { " " }).collect()
}

/// Returns the answer made with the standard library.
fn expected(text: &str, top: Option<usize>) -> Vec<u8> {
    let mut counts = std::collections::BTreeMap::<&[u8], u64>::new();
    text.split_ascii_whitespace().for_each(|word| *counts.entry(word.as_bytes()).or_default() += 1);
    let mut pairs: Vec<_> = counts.into_iter().collect();
    pairs.sort_by_key(|(word, count)| (word.last().copied(), *count));
    pairs.truncate(top.unwrap_or(usize::MAX));
    let mut lines = Vec::new();
    pairs.iter().for_each(|(word, count)| count_line(word, *count, &mut lines));
    lines
}

fn check(engine: &Engine, text: &str, spills: bool) {
    for top in [None, Some(50)] {
        let options = Options { order: Order::Value, top, ..Options::default() };
        let output = engine.job(&ByLastLetter).options(&options).run(Input::bytes(text)).unwrap();
        assert!(text_of(&output, count_line) == expected(text, top), "{top:?}");
        assert_eq!(output.stats().spilled_bytes > 0, spills);
    }
}

#[test]
fn in_memory() {
    let text = text(30_000);
    engines().iter().for_each(|engine| check(engine, &text, false));
}

#[test]
fn from_disk() {
    check(&limited(LITTLE), &text(4_000_000), true);
}

//! Overlapping delimiters are one, wherever a text is cut.

use memchr::memmem;
use proptest::prelude::*;
use tegula_input::input::{Cut, Delimiter};

/// Borders of a text, its end left out, by looking at each place alone.
fn borders(text: &[u8], delimiter: &[u8]) -> Vec<usize> {
    let ends = |at: usize| at >= delimiter.len() && text[..at].ends_with(delimiter);
    let overlapped =
        |at: usize| (at + 1..at + delimiter.len()).any(|end| end <= text.len() && ends(end));
    (1..text.len()).filter(|&at| ends(at) && !overlapped(at)).collect()
}

proptest! {
    #[test]
    fn borders_are_the_ends_of_chains(
        text in prop::collection::vec(prop::sample::select(vec![b'a', b'b']), 0..60),
        delimiter in prop::collection::vec(prop::sample::select(vec![b'a', b'b']), 1..6),
        from in 0usize..60,
        to in 0usize..60,
    ) {
        let all = borders(&text, &delimiter);
        let cut = Cut::Delimiter(Delimiter::new(&delimiter).unwrap());
        let from = from.clamp(1, text.len().max(1));
        let to = to.clamp(from, text.len().max(from));
        let first = all.iter().copied().find(|border| (from..to).contains(border));
        let find = |text: &[u8], from, to| cut.find_border(text, from, to);
        prop_assert_eq!(find(&text, from, to), first);
        let last = |border: &usize| *border > from && *border + cut.bytes_behind() <= text.len();
        prop_assert_eq!(cut.find_last_border(&text, from + 1 + cut.bytes_behind()), all.iter().copied().rfind(last));
        // A part of the text shows the same borders.
        let start = from.saturating_sub(cut.bytes_before());
        let seen = find(&text[start..], from - start, to - start);
        prop_assert_eq!(seen.map(|border| border + start), first);
    }

    #[test]
    fn records_lie_between_borders(
        text in prop::collection::vec(prop::sample::select(vec![b'a', b'\n']), 0..60),
    ) {
        let delimiter = Delimiter::new("\n\n").unwrap();
        let mut borders = borders(&text, b"\n\n");
        borders.push(text.len());
        let mut from = 0;
        let mut expected = Vec::new();
        for border in borders.into_iter().filter(|_| !text.is_empty()) {
            let record = &text[from..border];
            let end = memmem::find(record, b"\n\n").unwrap_or(record.len());
            expected.push(&record[..end]);
            from = border;
        }
        prop_assert_eq!(delimiter.records(&text).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn lengths_are_checked() {
    assert!(Delimiter::new("").is_err() && Delimiter::new([b'x'; 33]).is_err());
    let behind = |bytes: &[u8]| Cut::Delimiter(Delimiter::new(bytes).unwrap()).bytes_behind();
    assert_eq!((behind(&[b'x'; 32]), behind(b"\r\n")), (31, 0));
}

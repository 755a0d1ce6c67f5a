//! The kernel's list notation, `0-3,8`: read from its files and written for people.

/// Parses a list into ascending numbers, or returns `None`. An empty list has no numbers.
pub(super) fn parse(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        // A range beyond any machine means a broken file; it must not fill the memory.
        if last < first || last - first > 1 << 20 {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// Formats ascending numbers as a list.
pub(super) fn show(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).filter_map(|run| match run {
        [] => None,
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn lists_are_read_and_written() {
        assert_eq!(parse("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse(""), Some(vec![]));
        assert_eq!(parse("3-1"), None);
        assert_eq!(parse("0-4294967295"), None);
        assert_eq!(parse("x"), None);
        assert_eq!(show(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    }
}

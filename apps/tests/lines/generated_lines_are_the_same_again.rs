//! A generator gives the same bytes for the same seed on every machine, and reports their number correctly.

use super::*;
use tegula_apps::logstats::LoginLines;
use tegula_apps::stations::{ListError, Measurements};

fn lines(count: usize, mut line: impl FnMut(&mut Vec<u8>)) -> String {
    let mut text = Vec::new();
    (0..count).for_each(|_| line(&mut text));
    String::from_utf8(text).unwrap()
}

fn measurements(count: usize, mut from: Measurements) -> String {
    lines(count, |out| from.line(out))
}

/// The first lines are literal here, so that a change of a generator fails the test.
#[test]
fn by_seed() {
    let first = "Seattle;6.7\nChangsha;20.0\nBata;39.7\n";
    assert_eq!(measurements(3, Measurements::new(1)), first);
    assert_ne!(measurements(3, Measurements::new(2)), first);
    let mut log = LoginLines::new(6, 3, 1);
    let seconds = 1_700_000_000;
    assert_eq!(
        lines(6, |out| log.line(out))
            .lines()
            .map(|line| line.replace(&seconds.to_string(), "t"))
            .collect::<Vec<_>>(),
        ["3 login t", "3 logout t", "1 login t", "3 login t", "1 logout t", "3 logout t"]
    );
}

#[test]
fn measurements_lie_around_the_means_of_all_stations() {
    let text = measurements(413 * 200, Measurements::new(7));
    let found = pairs(&tegula_apps::Stations, text.as_bytes(), 5000, &Options::default());
    assert_eq!(found.len(), 413);
    let of = |name: &str| {
        found.iter().find(|(key, _)| key == name.as_bytes()).map(|(_, seen)| *seen).unwrap()
    };
    // 180 and -28 tenths are their means, 100 the deviation, of some 200 draws each.
    for (name, mean) in [("Abha", 180), ("Yellowknife", -43)] {
        let seen = of(name);
        assert!((seen.mean - mean).abs() < 40, "{name}: {seen}");
        assert!(seen.least < mean - 120 && seen.greatest > mean + 120, "{name}: {seen}");
    }
}

#[test]
fn lists_are_read_or_refused_by_line() {
    let list = "# a comment\nHot;99.9\nCold;-99.9\n";
    let text = measurements(500, Measurements::from_list(list, 1).unwrap());
    assert!(text.contains("Hot;99.9\n") && text.contains("Cold;-99.9\n"));
    for (list, error) in [
        ("", ListError::Empty),
        ("# only\n", ListError::Empty),
        ("a;1.0\nb\n", ListError::Line { line: 2 }),
        ("# c\na;warm\n", ListError::Line { line: 2 }),
        (";1.0\n", ListError::Line { line: 1 }),
        ("a;100\n", ListError::Line { line: 1 }),
    ] {
        assert_eq!(Measurements::from_list(list, 1).unwrap_err(), error, "{list}");
    }
}

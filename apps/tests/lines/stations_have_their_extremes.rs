//! Least, mean and greatest of each station are those of a plain sum, in the challenge's own form and
//! rounding.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tegula::Combine;
use tegula_apps::Stations;
use tegula_apps::stations::{Extremes, answer};

/// Temperatures by station, read by the standard library.
fn plain(text: &str) -> String {
    let mut stations: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for line in text.lines() {
        let (name, temperature) = line.split_once(';').unwrap();
        let tenths = (temperature.parse::<f64>().unwrap() * 10.0).round() as i64;
        stations.entry(name).or_default().push(tenths);
    }
    let show = |tenths: f64| format!("{:.1}", tenths / 10.0 + 0.0);
    let stations = stations.iter().map(|(name, all)| {
        let sum: i64 = all.iter().sum();
        // Half up: exact, for these are small numbers.
        let mean = (sum as f64 / all.len() as f64 + 0.5).floor();
        let (least, greatest) = (*all.iter().min().unwrap(), *all.iter().max().unwrap());
        format!("{name}={}/{}/{}", show(least as f64), show(mean), show(greatest as f64))
    });
    format!("{{{}}}\n", stations.collect::<Vec<_>>().join(", "))
}

fn challenge(text: &str, split_bytes: u64) -> String {
    let answers = engines().iter().flat_map(|engine| {
        [Some(split_bytes), None].map(|split_bytes| {
            let options = Options { split_bytes, ..Options::default() };
            let output = engine.job(&Stations).options(&options).run(Input::bytes(text)).unwrap();
            String::from_utf8(answer(&output).unwrap()).unwrap()
        })
    });
    let answers: Vec<_> = answers.collect();
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
    answers[0].clone()
}

fn measurements() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        4 => "[a-e]",
        2 => "[A-Z][a-z é.-]{0,40}",
        1 => "[a-zñ日]{20,33}",
    ];
    let line = (name, -999..=999_i64).prop_map(|(name, tenths)| {
        let sign = if tenths < 0 { "-" } else { "" };
        format!("{name};{sign}{}.{}\n", tenths.abs() / 10, tenths.abs() % 10)
    });
    (prop::collection::vec(line, 0..300), any::<bool>()).prop_map(|(lines, ends)| {
        let text = lines.concat();
        if ends { text } else { text.trim_end_matches('\n').to_owned() }
    })
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn whatever_the_measurements(text in measurements(), split in 1_u64..3000) {
        prop_assert_eq!(challenge(&text, split), plain(&text));
    }

    #[test]
    fn however_they_came_together(
        values in prop::collection::vec(-999..=999_i16, 0..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let seen = |values: &[i16]| {
            let mut seen = Extremes::identity();
            values.iter().for_each(|value| Extremes::absorb(&mut seen, *value));
            seen
        };
        let (a, b) = values.split_at(cut.index(values.len() + 1));
        let (mut merged, whole) = (seen(b), seen(&values));
        Extremes::merge(&mut merged, &seen(a));
        let mut bytes = Vec::new();
        Extremes::encode(&merged, &mut bytes);
        prop_assert_eq!(merged, whole);
        prop_assert_eq!(Extremes::decode(&mut &bytes[..]), Some(whole));
        prop_assert_eq!(Extremes::decode(&mut &bytes[1..]), None);
    }
}

/// Samples of the challenge's own tests.
#[test]
fn as_the_challenge_answers() {
    for (text, expected) in [
        ("", "{}\n"),
        ("a;1.0\nb;9.9\nc;-9.9", "{a=1.0/1.0/1.0, b=9.9/9.9/9.9, c=-9.9/-9.9/-9.9}\n"),
        (
            "Bosaso;-99.9\nPetropavlovsk-Kamchatsky;99.9\n",
            "{Bosaso=-99.9/-99.9/-99.9, Petropavlovsk-Kamchatsky=99.9/99.9/99.9}\n",
        ),
        ("Bosaso;5.0\nBosaso;20.0\nBosaso;-5.0\n", "{Bosaso=-5.0/6.7/20.0}\n"),
        // Half way is up, towards the greater.
        (
            "a;0.1\na;0.2\nb;-0.1\nb;-0.2\nc;-0.1\nc;0.0\n",
            "{a=0.1/0.2/0.2, b=-0.2/-0.1/-0.1, c=-0.1/0.0/0.0}\n",
        ),
    ] {
        assert_eq!(challenge(text, 7), expected);
    }
}

#[test]
fn means_rank_exactly() {
    let seen = |values: &[i16]| {
        let mut seen = Extremes::identity();
        values.iter().for_each(|value| Extremes::absorb(&mut seen, *value));
        seen
    };
    let rank = |a: &[i16], b: &[i16]| Extremes::rank(&seen(a), &seen(b));
    assert_eq!(rank(&[1, 2], &[3, 6, 0]), std::cmp::Ordering::Less);
    assert_eq!(rank(&[-1], &[-1, -1]), std::cmp::Ordering::Equal);
    assert_eq!(rank(&[10, 10, 11], &[10]), std::cmp::Ordering::Greater);
}

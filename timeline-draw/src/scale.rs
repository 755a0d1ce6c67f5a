//! Round numbers: the marks of an axis, and the form in which people read numbers.

/// An axis from 0 on.
pub(super) struct Scale {
    /// The value at its upper end.
    pub(super) top: f64,
    /// Marks and their labels.
    pub(super) marks: Vec<(f64, String)>,
}

/// Returns the marks of an axis of counts, at least up to `most`.
pub(super) fn count_scale(most: f64) -> Scale {
    let step = round_step(most.max(1.0) / 4.0).max(1.0);
    scale(most.max(1.0), step, |value| format!("{value}"))
}

/// Returns the marks of an axis of bytes, in binary units.
pub(super) fn bytes_scale(most: f64, suffix: &str) -> Scale {
    let most = most.max(1024.0);
    let (unit, name) = unit_of(most);
    let step = round_step(most / unit / 4.0) * unit;
    let digits = if step < unit { 1 } else { 0 };
    scale(most, step, |value| format!("{:.digits$} {name}{suffix}", value / unit))
}

fn scale(most: f64, step: f64, show: impl Fn(f64) -> String) -> Scale {
    let count = (most / step).ceil().max(1.0) as usize;
    let marks = (0..=count).map(|number| number as f64 * step);
    Scale { top: count as f64 * step, marks: marks.map(|value| (value, show(value))).collect() }
}

/// Returns the least number not below `least` among 1, 2 and 5, each times a power of ten.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let found = [1.0, 2.0, 5.0].into_iter().find(|step| step * power >= least * (1.0 - 1e-9));
    found.map_or(10.0 * power, |step| step * power)
}

const SECOND: f64 = 1e9;
/// Above a minute, time is not counted in tens.
const STEPS_S: [f64; 14] = [
    15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10800.0, 21600.0,
    43200.0, 86400.0,
];

/// Returns the marks of an axis of time, in nanoseconds: about ten.
pub(super) fn time_marks(wall_ns: u64) -> Vec<(f64, String)> {
    let wall = wall_ns.max(1) as f64;
    let least = wall / 12.0;
    let step = if wall <= 100.0 * SECOND {
        round_step(least)
    } else {
        let found = STEPS_S.into_iter().find(|step| step * SECOND >= least);
        found.unwrap_or_else(|| round_step(least / SECOND / 86400.0) * 86400.0) * SECOND
    };
    let count = (wall / step).floor() as usize;
    (0..=count).map(|number| number as f64 * step).map(|at| (at, mark(at, wall, step))).collect()
}

fn mark(at: f64, wall: f64, step: f64) -> String {
    if at == 0.0 {
        return "0".to_owned();
    }
    let in_unit = |unit: f64, name: &str| {
        let digits = (-(step / unit).log10().floor()).max(0.0) as usize;
        format!("{:.digits$} {name}", at / unit)
    };
    match wall {
        _ if wall < 1e6 => in_unit(1e3, "µs"),
        _ if wall < SECOND => in_unit(1e6, "ms"),
        _ if wall <= 100.0 * SECOND => in_unit(SECOND, "s"),
        _ => clock((at / SECOND).round() as u64, step < 60.0 * SECOND),
    }
}

/// `2:30:00`, `4:15`, `90 min`: hours and minutes, and seconds where they matter.
fn clock(seconds: u64, with_seconds: bool) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, with_seconds) {
        (0, true) => format!("{minutes}:{rest:02} min"),
        (0, false) => format!("{minutes} min"),
        (_, true) => format!("{hours}:{minutes:02}:{rest:02} h"),
        (_, false) => format!("{hours}:{minutes:02} h"),
    }
}

/// Returns a length of time, for people.
pub(super) fn show_time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        _ if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        _ if ns < SECOND => format!("{:.1} ms", ns / 1e6),
        _ if ns <= 100.0 * SECOND => format!("{:.2} s", ns / SECOND),
        _ => clock((ns / SECOND).round() as u64, true),
    }
}

/// Bytes for people, in the largest binary unit they fill.
pub(super) fn show_bytes(bytes: f64) -> String {
    let (unit, name) = unit_of(bytes);
    let digits = if unit > 1.0 && bytes / unit < 100.0 { 1 } else { 0 };
    format!("{:.digits$} {name}", bytes / unit)
}

fn unit_of(bytes: f64) -> (f64, &'static str) {
    let units = ["TiB", "GiB", "MiB", "KiB"];
    let sizes = units.into_iter().zip((1..=4).rev().map(|power| 1024_f64.powi(power)));
    let found = sizes.map(|(name, size)| (size, name)).find(|(size, _)| bytes >= *size);
    found.unwrap_or((1.0, "B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few_for_any_length_of_time() {
        for (wall_ns, second, last) in [
            (10_000_000, "1 ms", "10 ms"),
            (950_000, "100 µs", "900 µs"),
            (3_210_000_000, "0.5 s", "3.0 s"),
            (61_000_000_000, "10 s", "60 s"),
            (150_000_000_000, "0:15 min", "2:30 min"),
            (3_600_000_000_000, "5 min", "1:00 h"),
            (200_000_000_000_000, "6:00 h", "54:00 h"),
        ] {
            let marks = time_marks(wall_ns);
            assert!((4..=14).contains(&marks.len()), "{wall_ns}: {}", marks.len());
            assert_eq!((marks[1].1.as_str(), marks[marks.len() - 1].1.as_str()), (second, last));
        }
        assert!(time_marks(0).len() <= 14);
    }

    #[test]
    fn scales_reach_over_what_they_show() {
        for most in [0.0, 0.3, 1.0, 2.0, 7.9, 256.0, 1e6, 3.7e9, 5e13] {
            for scale in [count_scale(most), bytes_scale(most, "/s")] {
                assert!(scale.top >= most && (2..=7).contains(&scale.marks.len()), "{most}");
            }
        }
        assert_eq!(bytes_scale(3.1 * 1_073_741_824.0, "/s").marks[1].1, "1 GiB/s");
        assert_eq!(bytes_scale(1.5 * 1_048_576.0, "").marks[1].1, "0.5 MiB");
        assert_eq!(count_scale(2.0).marks.len(), 3);
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(show_time(1_234_567), "1.2 ms");
        assert_eq!(show_time(7_325_000_000_000), "2:02:05 h");
        assert_eq!((show_bytes(512.0), show_bytes(1536.0)), ("512 B".into(), "1.5 KiB".into()));
    }
}

//! The line through random points, beside the textbook's two passes; exact where points are bytes.

use super::*;
use proptest::prelude::*;
use tegula::{Input, Result};
use tegula_apps::Runs;
use tegula_apps::linreg::{Line, Points};

fn fit(input: Input, points: Points, engine: &Engine, options: Options) -> Result<Line> {
    Line::fit(&mut Runs::new(engine, options), input, points)
}

/// Bits of all figures, so that NaN equals NaN.
fn bits(line: Line) -> [u64; 6] {
    let Line { points, slope, intercept, correlation, mean_x, mean_y } = line;
    let [a, b, c, d, e] = [slope, intercept, correlation, mean_x, mean_y].map(f64::to_bits);
    [points, a, b, c, d, e]
}

/// Slope, intercept and correlation about the means, which is stable; and the lesser of the sums of
/// squares about them.
fn two_passes(points: &[(f64, f64)]) -> [f64; 4] {
    let n = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(p.0 - x, p.1 - y)).sum();
    let (sxx, sxy, syy): (f64, f64, f64) =
        (sum(&|a, _| a * a), sum(&|a, b| a * b), sum(&|_, b| b * b));
    let slope = sxy / sxx;
    [slope, y - slope * x, sxy / (sxx * syy).sqrt(), sxx.min(syy)]
}

fn near(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-9 * scale.max(a.abs()) || (a.is_nan() && b.is_nan())
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn through_bytes(points in prop::collection::vec(any::<[i8; 2]>(), 3..3000), split in 1u64..500) {
        let bytes: Vec<u8> = points.iter().flatten().map(|value| value.cast_unsigned()).collect();
        let wide: Vec<_> = points.iter().map(|[x, y]| (f64::from(*x), f64::from(*y))).collect();
        prop_assume!(points.iter().any(|point| point[0] != points[0][0]));
        let figures = same(split, |engine, options| {
            bits(fit(Input::bytes(bytes.clone()), Points::Bytes, engine, options).unwrap())
        });
        let [n, found @ ..] = figures;
        prop_assert_eq!(n, points.len() as u64);
        let [expected @ .., _] = two_passes(&wide);
        for (found, expected) in found.into_iter().map(f64::from_bits).zip(expected) {
            prop_assert!(near(found, expected, 1.0), "{found} {expected}");
        }
        let total = |of: fn(&[i8; 2]) -> i8| points.iter().map(|p| i64::from(of(p))).sum::<i64>();
        prop_assert_eq!(f64::from_bits(found[3]), total(|p| p[0]) as f64 / n as f64);
        prop_assert_eq!(f64::from_bits(found[4]), total(|p| p[1]) as f64 / n as f64);
    }

    /// Far from the origin, where sums of squares alone would keep no digit.
    #[test]
    fn through_text(
        points in prop::collection::vec((-100.0..100.0, -100.0..100.0), 3..200),
        far in prop::sample::select(vec![0.0_f64, 1e3, -1e8]),
        split in 1u64..500,
    ) {
        let points: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x + far, y - far)).collect();
        let lines = points.iter().enumerate().map(|(n, (x, y))| match n % 3 {
            0 => format!("{x} {y}\n"),
            1 => format!("{x:?},{y:?}\r\n"),
            _ => format!("\t{x:e} , {y}\n\n"),
        });
        let text: String = lines.collect();
        let figures = same(split, |engine, options| {
            bits(fit(Input::bytes(text.clone()), Points::Text, engine, options).unwrap())
        });
        prop_assert_eq!(figures[0], points.len() as u64);
        let [slope, intercept, correlation, spread] = two_passes(&points);
        let found = figures.map(f64::from_bits);
        // Sums are exact to 2^-64 of the largest square; the sums about the means are smaller, so their error
        // is larger.
        let lost = points.len() as f64 * far * far * 2_f64.powi(-64) / spread;
        let scale = (1.0 + slope.abs()) * (1.0 + lost * 1e9);
        prop_assert!(near(found[1], slope, scale), "{} {slope}", found[1]);
        let shift = far.abs() + 100.0;
        prop_assert!(near(found[2], intercept, scale * shift), "{} {intercept}", found[2]);
        prop_assert!(near(found[3], correlation, scale), "{} {correlation}", found[3]);
    }
}

#[test]
fn exactly_where_the_points_are_on_it() {
    let line =
        fit(Input::bytes("1 5\n2 7\n3 9\n"), Points::Text, &engines()[0], Options::default());
    let Line { points, slope, intercept, correlation, .. } = line.unwrap();
    assert_eq!((points, slope, intercept, correlation), (3, 2.0, 3.0, 1.0));
    let line = fit(Input::bytes("1 4\n2 4\n"), Points::Text, &engines()[0], Options::default());
    let line = line.unwrap();
    assert_eq!((line.slope, line.intercept), (0.0, 4.0));
    assert!(line.correlation.is_nan());
}

/// The squares of tenths are not exact, so their sums about the mean are not 0.
#[test]
fn flat_where_all_y_are_equal() {
    let text = "1 0.1\n2 0.1\n4 0.1\n";
    let figures = same(1, |engine, options| {
        bits(fit(Input::bytes(text), Points::Text, engine, options).unwrap())
    });
    let [_, slope, intercept, correlation, _, mean_y] = figures.map(f64::from_bits);
    assert_eq!((slope, intercept), (0.0, mean_y));
    assert!(correlation.is_nan(), "{correlation}");
}

#[test]
fn or_say_why_there_is_none() {
    for (text, points, part) in [
        ("", Points::Text, "fewer than two"),
        ("1 2\n", Points::Text, "fewer than two"),
        ("1 2\n1 3\n", Points::Text, "the same x"),
        ("0.3 1.7\n0.3 5.3\n0.3 2.9\n", Points::Text, "the same x"),
        ("-0 1\n0 2\n", Points::Text, "the same x"),
        ("1 2\n1 x\n", Points::Text, "memory, line 2, byte 6: \"x\" is no finite number"),
        ("1 2\n1\n", Points::Text, "memory, line 2, byte 4: not a point"),
        ("1 2\n1 2 3\n", Points::Text, "memory, line 2, byte 4: not a point"),
        (
            "1 2\n3,,4\n",
            Points::Text,
            "memory, line 2, byte 6: no number before, between or after commas",
        ),
        ("1 inf\n", Points::Text, "no finite number"),
        ("1e200 1\n2 2\n", Points::Text, "beyond the largest number"),
        ("abc", Points::Bytes, "memory: 3 bytes is no multiple of the record size 2"),
    ] {
        let result = fit(Input::bytes(text), points, &engines()[1], Options::default());
        let said = result.unwrap_err().to_string();
        assert!(said.contains(part), "{text:?}: {said}");
    }
}

//! Shares: how the time of each column of a picture divides into kinds; drawn as stacked areas.

use super::page::{Frame, Page, tenth};
use super::{KINDS, colour};
use std::fmt::Write;
use tegula::timeline::{Kind, Span};

/// Per column and kind, how many threads did that: up to 1 for one thread.
pub(super) struct Shares {
    columns: Vec<[f32; KINDS]>,
    column_ns: f64,
    wall_ns: f64,
}

impl Shares {
    /// Returns empty columns of `column_ns` nanoseconds; the last one ends with the time.
    pub(super) fn none(column_ns: f64, wall_ns: u64) -> Shares {
        let wall_ns = wall_ns.max(1) as f64;
        let count = (wall_ns / column_ns).ceil().max(1.0) as usize;
        Shares { columns: vec![[0.0; KINDS]; count], column_ns, wall_ns }
    }

    /// Those of spans in order of time.
    pub(super) fn of(spans: &[Span], column_ns: f64, wall_ns: u64) -> Shares {
        let mut shares = Shares::none(column_ns, wall_ns);
        let most = shares.columns.len() - 1;
        for span in spans {
            let (begin, end) = (span.begin_ns as f64, span.end_ns as f64);
            let first = ((begin / column_ns) as usize).min(most);
            for column in first..=((end / column_ns) as usize).min(most) {
                let (from, to) = shares.column(column);
                let part = (end.min(to) - begin.max(from)) / (to - from).max(1.0);
                shares.columns[column][span.kind as usize] += part.clamp(0.0, 1.0) as f32;
            }
        }
        shares
    }

    /// Adds those of another thread.
    pub(super) fn add(&mut self, other: &Shares) {
        for (sum, share) in self.columns.iter_mut().zip(&other.columns) {
            sum.iter_mut().zip(share).for_each(|(sum, share)| *sum += share);
        }
    }

    /// From when until when a column is.
    fn column(&self, number: usize) -> (f64, f64) {
        let from = number as f64 * self.column_ns;
        (from, (from + self.column_ns).min(self.wall_ns))
    }

    /// Returns the most in any column.
    pub(super) fn most(&self) -> f64 {
        let columns = self.columns.iter().map(|column| f64::from(column.iter().sum::<f32>()));
        columns.fold(0.0, f64::max)
    }
}

/// Draws shares up to `top` into a frame, in tenths of a unit; `told` is shown to who points there.
pub(super) fn draw_shares(
    page: &mut Page,
    frame: &Frame,
    shares: &Shares,
    top: f64,
    opacity: f64,
    told: Option<&str>,
) {
    page.open_group(opacity, told);
    // In low rows a tenth would not be seen.
    let unit = if frame.height < 10.0 { 5.0 } else { 1.0 };
    // From the highest area down: each covers the lower part of the one before.
    for last in (0..KINDS).rev() {
        if shares.columns.iter().all(|column| column[last] == 0.0) {
            continue;
        }
        let heights = shares.columns.iter().map(|column| {
            let share: f32 = column[..=last].iter().sum();
            let height = 10.0 * frame.height * (f64::from(share) / top).min(1.0);
            ((height / unit).round() * unit) as i64
        });
        // Where this kind is absent, the area below it is visible.
        let kind = Kind::RECORDED[last];
        let ends = (0..shares.columns.len()).map(|column| shares.column(column).1 as u64);
        let ends = ends.map(|end_ns| page.x(end_ns));
        let path = outline(frame, heights.zip(ends));
        page.area(&path, colour(kind));
    }
    page.close_group();
}

/// Steps of a height, in tenths, and the place where it ends, as a path closed at the frame's foot.
fn outline(frame: &Frame, steps: impl Iterator<Item = (i64, f64)>) -> String {
    let mut path = format!("M{} {}", Page::LEFT, frame.bottom());
    let (mut at, mut right) = (0, Page::LEFT);
    for (height, end) in steps {
        if height != at {
            let _ = write!(path, "H{right}v{}", (at - height) as f64 / 10.0);
            at = height;
        }
        right = tenth(end);
    }
    let _ = write!(path, "H{right}V{}z", frame.bottom());
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_shared_out_over_columns_without_loss() {
        let span = |kind, begin_ns, end_ns| Span { kind, begin_ns, end_ns };
        let spans = [span(Kind::Read, 5, 10), span(Kind::Map, 10, 35), span(Kind::Map, 38, 40)];
        let mut shares = Shares::of(&spans, 12.0, 40);
        let of = |shares: &Shares, kind: Kind| {
            let columns = shares.columns.iter().map(|column| column[kind as usize] * 12.0);
            columns.map(f32::round).collect::<Vec<_>>()
        };
        assert_eq!(of(&shares, Kind::Read), [5.0, 0.0, 0.0, 0.0]);
        // The last column is shorter, so half of it counts as much as six of others.
        assert_eq!(of(&shares, Kind::Map), [2.0, 12.0, 11.0, 6.0]);
        shares.add(&Shares::of(&spans, 12.0, 40));
        assert_eq!(shares.most(), 2.0);
    }
}

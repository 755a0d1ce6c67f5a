//! Lines: the samples, one value for each column of the picture.

use super::page::{Frame, Page};
use std::fmt::Write;
use tegula::timeline::{Recording, Sample};

/// A figure per column.
pub(super) struct Line(Vec<f64>);

impl Line {
    /// Returns the growth of a counter, per second.
    pub(super) fn rate(recording: &Recording, columns: usize, of: impl Fn(&Sample) -> f64) -> Line {
        let samples = &recording.samples;
        let width = recording.wall_ns.max(1) as f64 / columns as f64;
        let mut later = 0;
        // Returns the counter at a time, interpolated between two samples.
        let mut at = |ns: f64| {
            while later < samples.len() && (samples[later].at_ns as f64) < ns {
                later += 1;
            }
            match (later.checked_sub(1).map(|earlier| &samples[earlier]), samples.get(later)) {
                (Some(a), Some(b)) => {
                    let part = (ns - a.at_ns as f64) / (b.at_ns - a.at_ns).max(1) as f64;
                    of(a) + (of(b) - of(a)) * part
                }
                (Some(only), None) | (None, Some(only)) => of(only),
                (None, None) => 0.0,
            }
        };
        let counted: Vec<f64> = (0..=columns).map(|column| at(column as f64 * width)).collect();
        let rates = counted.windows(2).map(|pair| (pair[1] - pair[0]).max(0.0) / (width / 1e9));
        Line(rates.collect())
    }

    /// Returns the most of something that is held, in each column.
    pub(super) fn most_of(
        recording: &Recording,
        columns: usize,
        of: impl Fn(&Sample) -> f64,
    ) -> Line {
        let mut line = vec![None; columns];
        for sample in &recording.samples {
            let part = sample.at_ns as f64 / recording.wall_ns.max(1) as f64;
            let column = &mut line[((part * columns as f64) as usize).min(columns - 1)];
            let value = of(sample);
            *column = Some(column.map_or(value, |known: f64| known.max(value)));
        }
        let mut last = recording.samples.first().map_or(0.0, &of);
        let held = line.into_iter().map(|value| {
            last = value.unwrap_or(last);
            last
        });
        Line(held.collect())
    }

    pub(super) fn most(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    /// Draws the line, with `top` at the frame's upper end.
    pub(super) fn draw(&self, page: &mut Page, frame: &Frame, top: f64, colour: &str, name: &str) {
        let path = self.path(page, frame, top);
        page.line(&path, colour, name);
    }

    /// Fills the area below the line.
    pub(super) fn fill(&self, page: &mut Page, frame: &Frame, top: f64, colour: &str) {
        let path = self.path(page, frame, top);
        let (right, foot) = (Page::LEFT + page.width(), frame.bottom());
        page.open_group(0.18, None);
        page.area(&format!("{path}H{right}V{foot}H{}z", Page::LEFT), colour);
        page.close_group();
    }

    /// Steps: a figure is that of its whole column.
    fn path(&self, page: &Page, frame: &Frame, top: f64) -> String {
        let step = page.width() / self.0.len().max(1) as f64;
        let mut path = String::new();
        let mut last = None;
        for (column, value) in self.0.iter().enumerate() {
            let y = frame.bottom() - frame.height * (value / top).clamp(0.0, 1.0);
            let y = (y * 10.0).round() as i64;
            if last != Some(y) {
                let (x, y) = (Page::LEFT + column as f64 * step, y as f64 / 10.0);
                let _ = match last {
                    None => write!(path, "M{x} {y}"),
                    Some(_) => write!(path, "H{x}V{y}"),
                };
            }
            last = Some(y);
        }
        let _ = write!(path, "H{}", Page::LEFT + page.width());
        path
    }
}

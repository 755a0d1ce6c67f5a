//! The page: frames one below the other, with their names at the left, over one axis of time; and the
//! few SVG elements that are drawn. Whatever text comes in leaves as well-formed XML.

use super::scale::{Scale, time_marks};
use std::fmt::Write;

const WIDTH: f64 = 1240.0;
const RIGHT: f64 = 76.0;
const TITLE_MOST: usize = 120;
const GREY: &str = "#777";
const DARK: &str = "#222";

/// A page that is drawn from top to bottom.
pub(super) struct Page {
    wall_ns: u64,
    body: String,
    /// Where the next frame begins.
    at: f64,
    /// Where the first one began.
    first: Option<f64>,
}

/// A part of the page as wide as its time.
pub(super) struct Frame {
    pub(super) top: f64,
    pub(super) height: f64,
}

impl Frame {
    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

impl Page {
    /// Where time begins.
    pub(super) const LEFT: f64 = 124.0;

    pub(super) fn new(wall_ns: u64) -> Page {
        Page { wall_ns, body: String::new(), at: 0.0, first: None }
    }

    /// Returns the width of the whole time.
    pub(super) fn width(&self) -> f64 {
        WIDTH - Page::LEFT - RIGHT
    }

    /// Columns of lines.
    pub(super) fn columns(&self) -> usize {
        self.width() as usize / 2
    }

    /// Where a moment is.
    pub(super) fn x(&self, ns: u64) -> f64 {
        Page::LEFT + self.width() * ns as f64 / self.wall_ns.max(1) as f64
    }

    pub(super) fn title(&mut self, title: &str, summary: &str) {
        let mut shown: String = title.chars().take(TITLE_MOST).collect();
        if shown.len() < title.len() {
            shown.push('…');
        }
        let (shown, title, summary) = (text(&shown), text(title), text(summary));
        let _ = write!(
            self.body,
            "<text x=\"16\" y=\"28\" font-size=\"16\" font-weight=\"600\" fill=\"{DARK}\">{shown}<title>{title}</title></text>\n\
             <text x=\"16\" y=\"48\" fill=\"{GREY}\">{summary}</text>\n"
        );
        self.at = 60.0;
    }

    /// Draws squares of colours with their meanings, in as many lines as they need.
    pub(super) fn legend(&mut self, entries: &[(&str, String)], of: &str) {
        let mut x = 16.0;
        for (colour, name) in entries {
            let wide = 34.0 + 7.0 * name.len() as f64;
            if x + wide > WIDTH {
                (x, self.at) = (16.0, self.at + 18.0);
            }
            let (y, below) = (self.at, self.at + 10.0);
            let _ = writeln!(
                self.body,
                "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{colour}\"/>\
                 <text x=\"{}\" y=\"{below}\" fill=\"{DARK}\">{}</text>",
                x + 17.0,
                text(name)
            );
            x += wide;
        }
        self.text(x, self.at + 10.0, "start", GREY, of);
        self.at += 26.0;
    }

    /// Marks of time above a page that is long.
    pub(super) fn axis(&mut self) {
        self.at += 8.0;
        self.marks(self.at - 4.0);
    }

    fn marks(&mut self, y: f64) {
        for (at, name) in time_marks(self.wall_ns) {
            self.text(self.x(at as u64), y, "middle", GREY, &name);
        }
    }

    /// Returns the next frame, with a gap below.
    pub(super) fn frame(&mut self, name: &str, height: f64, gap: f64) -> Frame {
        let frame = Frame { top: self.at, height };
        self.first.get_or_insert(frame.top);
        self.at += height + gap;
        if !name.is_empty() {
            // Of a low row in the middle, of a chart at its head, beside the marks of its axis.
            let y = frame.top + if height < 30.0 { height / 2.0 + 4.0 } else { 10.0 };
            self.text(16.0, y, "start", DARK, name);
        }
        frame
    }

    pub(super) fn space(&mut self, height: f64) {
        self.at += height;
    }

    /// Marks of a frame's own axis at the right, with lines across.
    pub(super) fn grid(&mut self, frame: &Frame, scale: &Scale) {
        let (left, right) = (Page::LEFT, Page::LEFT + self.width());
        for (value, name) in &scale.marks {
            let y = tenth(frame.bottom() - frame.height * value / scale.top);
            let _ = writeln!(self.body, "<path d=\"M{left} {y}H{right}\" stroke=\"#e4e4e4\"/>");
            self.text(right + 6.0, y + 4.0, "start", GREY, name);
        }
    }

    pub(super) fn background(&mut self, frame: &Frame, colour: &str) {
        let (x, width) = (Page::LEFT, self.width());
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{}\" fill=\"{colour}\"/>",
            frame.top, frame.height
        );
    }

    /// Draws the meanings of the lines of a frame, below its name.
    pub(super) fn key(&mut self, frame: &Frame, entries: &[(&str, &str)]) {
        for (number, (colour, name)) in entries.iter().enumerate() {
            let y = frame.top + 28.0 + 15.0 * number as f64;
            let _ = writeln!(
                self.body,
                "<path d=\"M16 {}h10\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                y - 3.5
            );
            let _ = writeln!(
                self.body,
                "<text x=\"30\" y=\"{y}\" fill=\"{GREY}\" font-size=\"10\">{}</text>",
                text(name)
            );
        }
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: &str, colour: &str, shown: &str) {
        let (x, y) = (tenth(x), tenth(y));
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{}</text>",
            text(shown)
        );
    }

    pub(super) fn open_group(&mut self, opacity: f64, told: Option<&str>) {
        let _ = match told {
            Some(told) => write!(self.body, "<g><title>{}</title>", text(told)),
            None if opacity < 1.0 => write!(self.body, "<g opacity=\"{opacity}\">"),
            None => write!(self.body, "<g>"),
        };
    }

    pub(super) fn close_group(&mut self) {
        self.body.push_str("</g>\n");
    }

    pub(super) fn area(&mut self, path: &str, colour: &str) {
        let _ = write!(self.body, "<path fill=\"{colour}\" d=\"{path}\"/>");
    }

    pub(super) fn line(&mut self, path: &str, colour: &str, name: &str) {
        let _ = writeln!(
            self.body,
            "<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.3\" d=\"{path}\"><title>{}</title></path>",
            text(name)
        );
    }

    /// A broken line at a part of a frame's height.
    pub(super) fn limit(&mut self, frame: &Frame, part: f64, colour: &str, name: &str) {
        let y = tenth(frame.bottom() - frame.height * part);
        let (left, right) = (Page::LEFT, Page::LEFT + self.width());
        let _ = writeln!(
            self.body,
            "<path d=\"M{left} {y}H{right}\" stroke=\"{colour}\" stroke-width=\"1.3\" stroke-dasharray=\"6 4\"/>"
        );
        self.text(left + 6.0, y + 13.0, "start", colour, name);
    }

    /// Closes the page with its axis of time.
    pub(super) fn finish(mut self) -> String {
        let (top, bottom) = (self.first.unwrap_or(self.at), self.at - 8.0);
        let mut lines = String::new();
        for (at, _) in time_marks(self.wall_ns) {
            let x = tenth(self.x(at as u64));
            let _ = writeln!(lines, "<path d=\"M{x} {top}V{bottom}\" stroke=\"#ececec\"/>");
        }
        self.marks(bottom + 14.0);
        let (body, height) = (self.body, bottom + 26.0);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{lines}{body}</svg>\n"
        )
    }
}

pub(super) fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Returns text for XML: with markup escaped, and without characters that XML 1.0 cannot hold.
fn text(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => xml.push('\u{fffd}'),
            letter if letter.is_control() => xml.push('\u{fffd}'),
            letter => xml.push(letter),
        }
    }
    xml
}

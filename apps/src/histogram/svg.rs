//! Draws the histogram: a filled curve per channel, overlaid on one scale.

use super::Levels;
use std::fmt::Write;

const WIDTH: usize = 768;
const HEIGHT: usize = 400;
/// Room for the scale below the curves.
const FOOT: usize = 24;
const COLOURS: [&str; 3] = ["#d62728", "#2ca02c", "#1f77b4"];

pub(super) fn draw(levels: &Levels) -> String {
    let most = levels.iter().flatten().copied().max().unwrap_or(0).max(1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        HEIGHT + FOOT
    );
    for (counts, colour) in levels.iter().zip(COLOURS) {
        let _ = write!(
            svg,
            "<path fill=\"{colour}\" fill-opacity=\"0.4\" stroke=\"{colour}\" d=\"M0 {HEIGHT}"
        );
        for (level, &count) in counts.iter().enumerate() {
            // In tenths of a unit, rounded.
            let most = u128::from(most);
            let height = ((u128::from(count) * 10 * HEIGHT as u128 + most / 2) / most) as usize;
            let top = 10 * HEIGHT - height;
            let _ = write!(svg, "V{}.{}H{}", top / 10, top % 10, 3 * (level + 1));
        }
        let _ = writeln!(svg, "V{HEIGHT}Z\"/>");
    }
    let base = HEIGHT + 16;
    let _ = write!(
        svg,
        "<text x=\"2\" y=\"{base}\">0</text>\n\
         <text x=\"{WIDTH}\" y=\"{base}\" text-anchor=\"end\">255</text>\n\
         <text x=\"50%\" y=\"{base}\" text-anchor=\"middle\">full height: {most} of a level</text>\n\
         </svg>\n"
    );
    svg
}

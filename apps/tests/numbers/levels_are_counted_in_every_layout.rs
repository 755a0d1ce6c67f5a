//! Levels of random pictures in every layout, counted pixel by pixel when the picture is made.

use super::*;
use proptest::prelude::*;
use tegula::Input;
use tegula_apps::histogram::{Histogram, Levels};

/// A picture's file, and its levels.
struct Picture {
    bytes: Vec<u8>,
    levels: Levels,
}

/// The file layout of a picture.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Bmp { top_down: bool, core: bool, gap: u8, last_padding: bool },
    Ppm { comment: bool },
}

/// Returns a picture of pixels that `next` draws, in the order of the file.
fn picture(layout: Layout, width: u32, height: u32, mut next: impl FnMut() -> u8) -> Picture {
    let mut levels = [[0; 256]; 3];
    let mut bytes = match layout {
        Layout::Bmp { top_down, core, gap, .. } => bmp_header(width, height, top_down, core, gap),
        Layout::Ppm { comment: true } => {
            format!("P6 # a comment 7 7\n{width}\n# more\n {height}\t255\n").into_bytes()
        }
        Layout::Ppm { comment: false } => format!("P6\n{width} {height}\n255\n").into_bytes(),
    };
    for row in 0..height {
        let begin = bytes.len();
        for _ in 0..width {
            for place in 0..3 {
                let level = next();
                let channel = if matches!(layout, Layout::Bmp { .. }) { 2 - place } else { place };
                levels[channel][usize::from(level)] += 1;
                bytes.push(level);
            }
        }
        let is_last = row + 1 == height;
        if let Layout::Bmp { last_padding, .. } = layout
            && (last_padding || !is_last)
        {
            // Padding of a value that would be seen in the counts.
            bytes.resize(begin + (bytes.len() - begin).next_multiple_of(4), 77);
        }
    }
    Picture { bytes, levels }
}

fn bmp_header(width: u32, height: u32, top_down: bool, core: bool, gap: u8) -> Vec<u8> {
    let size: u32 = if core { 12 } else { 40 };
    let mut bytes = b"BM\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend((14 + size + u32::from(gap)).to_le_bytes());
    bytes.extend(size.to_le_bytes());
    if core {
        bytes.extend([width as u16, height as u16, 1, 24].map(u16::to_le_bytes).concat());
    } else {
        let height = height.cast_signed();
        bytes.extend(width.to_le_bytes());
        bytes.extend(if top_down { -height } else { height }.to_le_bytes());
        bytes.extend([1, 24].map(u16::to_le_bytes).concat());
        bytes.resize(bytes.len() + 24, 0);
    }
    bytes.resize(bytes.len() + usize::from(gap), 99);
    bytes
}

fn layout() -> impl Strategy<Value = Layout> {
    let bmp = (any::<bool>(), any::<bool>(), any::<u8>(), any::<bool>()).prop_map(
        |(top_down, core, gap, last_padding)| Layout::Bmp { top_down, core, gap, last_padding },
    );
    prop_oneof![bmp, any::<bool>().prop_map(|comment| Layout::Ppm { comment })]
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn of_any_pictures(
        shapes in prop::collection::vec((layout(), 1u32..60, 1u32..40), 1..4),
        split in 1u64..3000,
        few: bool,
        seed: u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut state = seed | 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let level = (state >> 56) as u8;
            if few { level & 1 } else { level }
        };
        let mut expected = [[0; 256]; 3];
        for (number, &(layout, width, height)) in shapes.iter().enumerate() {
            let picture = picture(layout, width, height, &mut next);
            write(folder.path(), &number.to_string(), &picture.bytes);
            for (sums, counts) in expected.iter_mut().zip(&picture.levels) {
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
        }
        let levels = same(split, |engine, options| {
            let input = Input::paths([folder.path()]).unwrap();
            let job = Histogram::of(&input).unwrap();
            Histogram::levels(&engine.job(&job).options(&options).run(input).unwrap()).unwrap()
        });
        prop_assert!(levels == expected);
    }
}

#[test]
fn the_drawing_has_a_curve_a_channel_and_fits_its_frame() {
    let mut levels = [[0; 256]; 3];
    assert_eq!(Histogram::svg(&levels).matches("<path").count(), 3);
    levels[1][255] = u64::MAX;
    levels[2][0] = u64::MAX / 2;
    let svg = Histogram::svg(&levels);
    assert!(svg.contains("V0.0H768V400Z"), "the most frequent reaches the top");
    assert!(svg.contains("M0 400V200.0H3V400.0H6"), "half as many reach half as high");
    assert!(svg.ends_with("</svg>\n") && svg.contains(&format!("{} of a level", u64::MAX)));
}

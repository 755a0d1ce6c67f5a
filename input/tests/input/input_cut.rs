//! Borders between records are found from both ends.

use tegula_input::input::{ByteSet, Cut};

#[test]
fn borders_are_found_from_both_ends() {
    let text = b"one two\nthree four";
    let spaces = Cut::After(ByteSet::of(b" \n"));
    let between = Cut::Between(|a, b| a == b' ' && b != b' ');
    assert_eq!(Cut::Lines.find_border(text, 1, text.len()), Some(8));
    assert_eq!(Cut::Lines.find_border(text, 8, 9), Some(8));
    assert_eq!(Cut::Lines.find_border(text, 9, text.len()), None);
    assert_eq!(spaces.find_border(text, 1, 5), Some(4));
    assert_eq!(spaces.find_border(text, 1, 4), None);
    assert_eq!(spaces.find_last_border(text, 0), Some(14));
    assert_eq!(between.find_border(text, 5, text.len()), Some(14));
    assert_eq!(between.find_last_border(text, 0), Some(14));
    assert_eq!(Cut::Lines.find_last_border(b"no border\n", 0), None);
    assert_eq!(Cut::Fixed(5).find_last_border(text, 0), Some(15));
    assert_eq!(Cut::Fixed(50).find_last_border(text, 0), None);
    for cut in [Cut::Lines, spaces, between, Cut::Whole] {
        assert_eq!(cut.find_last_border(b"", 0), None);
    }
}

#[test]
fn frames_are_counted_from_the_first() {
    let framed = Cut::Framed(|bytes| Some(1 + usize::from(bytes[0])));
    let text = [2, 9, 9, 0, 1, 9, 3, 9];
    assert_eq!(framed.find_border(&text, 1, text.len()), Some(3));
    assert_eq!(framed.find_border(&text, 4, 6), Some(4));
    assert_eq!(framed.find_border(&text, 5, 6), None);
    assert_eq!(framed.find_last_border(&text, 0), Some(6));
    assert_eq!(framed.find_last_border(&text[..6], 0), Some(4));
    assert_eq!(framed.find_last_border(&text[..2], 0), None);
}

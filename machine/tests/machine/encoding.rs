//! Tests of the module `encoding`.

use tegula_machine::encoding::{Reading, body_of, framed, put_bytes, put_number};

#[test]
fn every_flipped_bit_and_every_cut_of_a_frame_is_found() {
    let mut body = Vec::new();
    [0, 127, 128, u64::MAX].into_iter().for_each(|number| put_number(number, &mut body));
    put_bytes(b"bytes", &mut body);
    let whole = framed(*b"abc\x01", &body);
    let mut reading = Reading::new(body_of(*b"abc\x01", &whole).unwrap());
    let numbers: Vec<_> = (0..4).map(|_| reading.number().unwrap()).collect();
    assert_eq!(numbers, [0, 127, 128, u64::MAX]);
    assert_eq!(reading.bytes(), Some(&b"bytes"[..]));
    assert!(reading.is_at_end() && reading.number().is_none());
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(body_of(*b"abc\x01", &damaged).is_err(), "bit {bit}");
    }
    for len in 0..whole.len() {
        assert!(body_of(*b"abc\x01", &whole[..len]).is_err(), "cut at {len}");
    }
    assert!(body_of(*b"abc\x01", &[&whole[..], b"x"].concat()).is_err());
}

//! Keys in slots: two ways to make one agree, and hashes spread.

use tegula_pairs::slots::{MediumKey, ShortKey, SlotKey, hash_bytes};

#[test]
fn padded_and_exact_loads_agree_and_nul_bytes_count() {
    for len in 0..=15 {
        let text: Vec<u8> = (0..len).map(|i| (i * 37) as u8).collect();
        let mut padded = [0xee; 16];
        padded[..text.len()].copy_from_slice(&text);
        let (a, b) = (ShortKey::from_padded(padded, text.len()), ShortKey::new(&text));
        assert!(a.same(&b) && !a.is_vacant());
        assert_eq!(a.bytes(), &text[..]);
        assert_eq!(MediumKey::new(&text).bytes(), &text[..]);
        let text: Vec<u8> = (0..len + 16).map(|i| (i * 41) as u8).collect();
        let mut padded = [0xee; 32];
        padded[..text.len()].copy_from_slice(&text);
        let (a, b) = (MediumKey::from_padded(padded, text.len()), MediumKey::new(&text));
        assert!(a.same(&b) && a.bytes() == &text[..]);
    }
    assert!(!ShortKey::new(b"a").same(&ShortKey::new(b"a\0")));
    assert!(!ShortKey::new(b"").is_vacant());
}

#[test]
#[cfg_attr(miri, ignore = "long, and all about figures")]
fn hashes_spread_over_the_top_bits_of_every_class() {
    let mut seen = [[0u32; 256]; 3];
    for i in 0..25_600u32 {
        let text = format!("{i}");
        let long = format!("{text:0>40}");
        let hashes = [
            ShortKey::new(text.as_bytes()).hash(),
            MediumKey::new(format!("{text:0>20}").as_bytes()).hash(),
            hash_bytes(long.as_bytes()),
        ];
        for (class, hash) in hashes.into_iter().enumerate() {
            seen[class][(hash >> 56) as usize] += 1;
        }
    }
    assert!(seen.iter().flatten().all(|&count| (50..=160).contains(&count)));
}

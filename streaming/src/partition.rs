//! The part of a key, by the very hashes of Hadoop, so that part files have the same keys.

use crate::fields::KeyFields;

/// How keys are divided among the parts.
#[derive(Clone, Debug)]
pub(crate) enum Partition {
    /// By the hash of a `Text`: `HashPartitioner`.
    Hash,
    /// By the hash of the key as a Java string: `KeyFieldBasedPartitioner` without options.
    Text,
    /// By the hash of fields: `KeyFieldBasedPartitioner`.
    Fields(KeyFields),
}

impl Partition {
    /// Returns the class that divides keys so on Hadoop.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Partition::Hash => "HashPartitioner",
            Partition::Text | Partition::Fields(_) => "KeyFieldBasedPartitioner",
        }
    }

    /// Returns the part of a key, of so many.
    pub(crate) fn part(&self, key: &[u8], parts: usize) -> usize {
        if parts <= 1 {
            return 0;
        }
        let hash = match self {
            Partition::Hash => hash_bytes(1, key),
            Partition::Text => {
                let text = String::from_utf8_lossy(key);
                text.encode_utf16().fold(0, |hash: i32, unit| step(hash, i32::from(unit)))
            }
            Partition::Fields(fields) => {
                // As Hadoop does: what is no UTF-8 is replaced.
                let (mut hash, text) = (0, String::from_utf8_lossy(key));
                fields.each(text.as_bytes(), |_, part| {
                    hash = hash_bytes(hash, part.unwrap_or_default());
                });
                hash
            }
        };
        (hash & i32::MAX) as usize % parts
    }
}

/// Several bytes are hashed at once, so that one does not wait for the other: `step` is linear.
fn hash_bytes(hash: i32, bytes: &[u8]) -> i32 {
    let (pieces, rest) = bytes.as_chunks::<16>();
    let one = |hash: i32, &byte: &u8| step(hash, i32::from(byte.cast_signed()));
    let hash = pieces.iter().fold(hash, |hash, piece| {
        let fours = piece.as_chunks::<4>().0.iter().zip(POWERS_4);
        let of_four = |(four, power): (&[u8; 4], i32)| four.iter().fold(0, one).wrapping_mul(power);
        fours.map(of_four).fold(hash.wrapping_mul(POWER_16), i32::wrapping_add)
    });
    rest.iter().fold(hash, one)
}

const POWER_16: i32 = 31_i32.wrapping_pow(16);
/// By what the hash of 4 bytes counts in that of 16.
const POWERS_4: [i32; 4] =
    [31_i32.wrapping_pow(12), 31_i32.wrapping_pow(8), 31_i32.wrapping_pow(4), 1];

fn step(hash: i32, unit: i32) -> i32 {
    hash.wrapping_mul(31).wrapping_add(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_java() {
        // new Text("hello").hashCode(), "hello".hashCode(), and of bytes that are negative in Java.
        assert_eq!(hash_bytes(1, b"hello"), 127_791_473);
        assert_eq!(hash_bytes(0, b"hello"), 99_162_322);
        assert_eq!(hash_bytes(1, "ü".as_bytes()), (31 - 61) * 31 - 68);
        assert_eq!(Partition::Text.part("ü".as_bytes(), 1000), 252);
        let bytes: Vec<u8> = (0..40).map(|at: u8| at.wrapping_mul(77)).collect();
        for end in 0..bytes.len() {
            let one = |hash, &byte: &u8| step(hash, i32::from(byte.cast_signed()));
            assert_eq!(hash_bytes(1, &bytes[..end]), bytes[..end].iter().fold(1, one), "{end}");
        }
    }

    #[test]
    fn keys_with_the_same_fields_are_in_one_part() {
        let fields = KeyFields::parse("p", b".", "-k1,2").unwrap();
        let partition = Partition::Fields(fields);
        let parts = ["11.12.1", "11.12.2", "11.12.3"].map(|key| partition.part(key.as_bytes(), 97));
        assert!(parts.iter().all(|part| *part == parts[0]));
        let parts = [&b"a\xff.1"[..], "a\u{fffd}.1".as_bytes()].map(|key| partition.part(key, 97));
        assert_eq!(parts[0], parts[1]);
    }
}

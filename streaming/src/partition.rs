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
                let mut hash = 0;
                fields.each(key, |_, part| hash = hash_bytes(hash, part.unwrap_or_default()));
                hash
            }
        };
        (hash & i32::MAX) as usize % parts
    }
}

fn hash_bytes(hash: i32, bytes: &[u8]) -> i32 {
    bytes.iter().fold(hash, |hash, &byte| step(hash, i32::from(byte.cast_signed())))
}

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
    }

    #[test]
    fn keys_with_the_same_fields_are_in_one_part() {
        let fields = KeyFields::parse("p", b".", "-k1,2").unwrap();
        let partition = Partition::Fields(fields);
        let parts = ["11.12.1", "11.12.2", "11.12.3"].map(|key| partition.part(key.as_bytes(), 97));
        assert!(parts.iter().all(|part| *part == parts[0]));
    }
}

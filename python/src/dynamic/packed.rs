//! Pairs in packed columns: what a companion hands back for a split. `_packing.py` writes them with loops in C,
//! and nothing of them is pickled number by number.
//!
//! # Form
//! All little-endian, without padding.
//!
//! - head: number of keys as 4 bytes; form of the keys; tag of all keys, or 0; number of sections; 0;
//! - keys of form 0: 4 bytes of length each, then their bytes; of form 1: integers of 8 bytes;
//! - each section: its column; form of its values; whether keys have counts of values; 0; number of values as 4
//!   bytes; then, if keys have counts, 4 bytes for each key; then the values: form 0 none, 1 integers of 8 bytes,
//!   2 floats of 8 bytes, 3 integers of 16 bytes, 4 lengths of 4 bytes each and then the bytes;
//! - number of bad records as 4 bytes; each: its offset in the split as 8 bytes, the length of its cause as 4
//!   bytes, the cause.
//!
//! A reader trusts nothing: user code runs in the process that wrote it.

/// The byte with which an integer key begins; then 8 bytes, big-endian, sign flipped, which are in its order. More bytes
/// follow in a key that is a float: the integer is the one below it.
pub(crate) const INT_TAG: u8 = b'i';

/// A value of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given<'a> {
    /// There are no values: the key alone was emitted.
    Nothing,
    Int(i128),
    Float(f64),
    Bytes(&'a [u8]),
}

/// A record that a map refused.
pub(crate) struct Refused<'a> {
    pub(crate) offset: usize,
    pub(crate) cause: &'a [u8],
}

/// An error in columns: they end early, or their parts do not fit together.
#[derive(Debug)]
pub(crate) struct Malformed;

type Read<T> = Result<T, Malformed>;

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn items<const N: usize>(&mut self, count: usize) -> Read<&'a [[u8; N]]> {
        let bytes = self.take(count.checked_mul(N).ok_or(Malformed)?)?;
        Ok(bytes.as_chunks().0)
    }

    fn chunk<const N: usize>(&mut self) -> Read<[u8; N]> {
        let [chunk] = self.items(1)? else { return Err(Malformed) };
        Ok(*chunk)
    }

    fn number(&mut self) -> Read<usize> {
        self.chunk().map(|bytes| u32::from_le_bytes(bytes) as usize)
    }
}

enum Keys<'a> {
    Bytes { lengths: &'a [[u8; 4]], bytes: &'a [u8] },
    Ints(&'a [[u8; 8]]),
}

/// Passes each pair to `put`, by its key, its column and its value; then each bad record to `refuse`.
pub(crate) fn read<E: From<Malformed>>(
    packed: &[u8],
    mut put: impl FnMut(&[u8], u8, Given<'_>) -> Result<(), E>,
    mut refuse: impl FnMut(Refused<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut from = Bytes(packed);
    let count = from.number()?;
    let [form, tag, sections, _] = from.chunk()?;
    let keys = match form {
        0 => {
            let lengths = from.items::<4>(count)?;
            let sum =
                lengths.iter().map(|length| u64::from(u32::from_le_bytes(*length))).sum::<u64>();
            let bytes = from.take(usize::try_from(sum).map_err(|_| Malformed)?)?;
            Keys::Bytes { lengths, bytes }
        }
        1 => Keys::Ints(from.items(count)?),
        _ => return Err(Malformed.into()),
    };
    for _ in 0..sections {
        section(&mut from, &keys, tag, count, &mut put)?;
    }
    for _ in 0..from.number()? {
        let offset = u64::from_le_bytes(from.chunk()?);
        let length = from.number()?;
        let offset = usize::try_from(offset).map_err(|_| Malformed)?;
        refuse(Refused { offset, cause: from.take(length)? })?;
    }
    if from.0.is_empty() { Ok(()) } else { Err(Malformed.into()) }
}

fn section<E: From<Malformed>>(
    from: &mut Bytes<'_>,
    keys: &Keys<'_>,
    tag: u8,
    count: usize,
    put: &mut impl FnMut(&[u8], u8, Given<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let [column, form, has_counts, _] = from.chunk()?;
    let values = from.number()?;
    let counts = if has_counts != 0 { Some(from.items::<4>(count)?) } else { None };
    if counts.is_none() && values != count {
        return Err(Malformed.into());
    }
    match form {
        0 => each(keys, tag, counts, |key| put(key, column, Given::Nothing)),
        1 => {
            let mut values = from.items::<8>(values)?.iter();
            each(keys, tag, counts, |key| {
                let value = i64::from_le_bytes(*values.next().ok_or(Malformed)?);
                put(key, column, Given::Int(value.into()))
            })
        }
        2 => {
            let mut values = from.items::<8>(values)?.iter();
            each(keys, tag, counts, |key| {
                let value = f64::from_le_bytes(*values.next().ok_or(Malformed)?);
                put(key, column, Given::Float(value))
            })
        }
        3 => {
            let mut values = from.items::<16>(values)?.iter();
            each(keys, tag, counts, |key| {
                let value = i128::from_le_bytes(*values.next().ok_or(Malformed)?);
                put(key, column, Given::Int(value))
            })
        }
        4 => {
            let mut lengths = from.items::<4>(values)?.iter();
            each(keys, tag, counts, |key| {
                let length = u32::from_le_bytes(*lengths.next().ok_or(Malformed)?);
                put(key, column, Given::Bytes(from.take(length as usize)?))
            })
        }
        _ => Err(Malformed.into()),
    }
}

/// Calls `see` with each key as often as it has values.
fn each<E: From<Malformed>>(
    keys: &Keys<'_>,
    tag: u8,
    counts: Option<&[[u8; 4]]>,
    mut see: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let times = |place: usize| counts.map_or(1, |counts| u32::from_le_bytes(counts[place]));
    match keys {
        Keys::Bytes { lengths, bytes } => {
            let mut rest = Bytes(bytes);
            let mut tagged = vec![tag];
            for (place, length) in lengths.iter().enumerate() {
                let mut key = rest.take(u32::from_le_bytes(*length) as usize)?;
                if tag != 0 {
                    tagged.truncate(1);
                    tagged.extend_from_slice(key);
                    key = &tagged;
                }
                (0..times(place)).try_for_each(|_| see(key))?;
            }
        }
        Keys::Ints(ints) => {
            for (place, int) in ints.iter().enumerate() {
                let key = int_key(i64::from_le_bytes(*int));
                (0..times(place)).try_for_each(|_| see(&key))?;
            }
        }
    }
    Ok(())
}

/// Returns an integer as a key.
pub(crate) fn int_key(int: i64) -> [u8; 9] {
    let mut key = [INT_TAG; 9];
    key[1..].copy_from_slice(&(int.cast_unsigned() ^ 1 << 63).to_be_bytes());
    key
}

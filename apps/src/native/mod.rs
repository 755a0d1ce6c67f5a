//! Maps in C: by their address, or in a shared library ([`Library`]). `tegula.h` (`python/tegula/include`) is what
//! they are compiled with. They run on the engine's workers and are trusted code: one that crashes ends the process.

mod average;
mod job;
mod library;

pub use crate::extreme::{End, Extreme};
pub use average::Average;
pub use job::{Native, NativeCombine, identity};
pub use library::{ABI, Library};

use std::ffi::c_void;
use std::ptr;
use tegula::{Error, Place, Result, Split};
use tegula_machine::sync::Mutex;

/// Pairs that the columns hold.
const PAIRS_MOST: usize = 64 << 10;
/// Bytes of keys that the columns hold. A map whose keys are longer than this cannot go on.
const KEY_BYTES_MOST: usize = 1 << 20;

/// `tegula_split`.
#[repr(C)]
struct CSplit {
    data: *const u8,
    len: usize,
    offset: u64,
    file: u32,
    done: usize,
}

/// `tegula_pairs`.
#[repr(C)]
struct CPairs {
    key_len: *mut u32,
    value: *mut u64,
    key: *mut u8,
    pairs: usize,
    pairs_most: usize,
    key_bytes: usize,
    key_bytes_most: usize,
}

type CMap = unsafe extern "C" fn(*mut CSplit, *mut CPairs, *mut c_void) -> i32;
type COpen = unsafe extern "C" fn() -> *mut c_void;
type CClose = unsafe extern "C" fn(*mut c_void);

/// The type of a map's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Pairs are counted, and values are not looked at.
    Ignored,
    /// `int64_t`.
    Int,
    /// `double`.
    Float,
}

/// The value of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// It was not looked at.
    Ignored,
    /// Of [`ValueType::Int`].
    Int(i64),
    /// Of [`ValueType::Float`].
    Float(f64),
}

/// A map in C.
pub struct NativeMap {
    map: CMap,
    open: Option<COpen>,
    close: Option<CClose>,
    value: ValueType,
    /// Bytes of a record, if all have as many; else records are lines.
    record_bytes: Option<usize>,
    /// The buffers and states of workers, while no worker uses them.
    seats: Mutex<Vec<Seat>>,
}

/// Columns, and the state that the map opened.
struct Seat {
    key_len: Vec<u32>,
    value: Vec<u64>,
    key: Vec<u8>,
    state: *mut c_void,
}

// SAFETY: the header says that a state may be used by any thread, one at a time.
unsafe impl Send for Seat {}

impl std::fmt::Debug for NativeMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("NativeMap");
        out.field("value", &self.value)
            .field("record_bytes", &self.record_bytes)
            .finish_non_exhaustive()
    }
}

impl NativeMap {
    /// Takes a map by the address of its function, and of those that open and close a worker's state. `record_bytes` is
    /// the size of records, `None` of lines. `None` if an address is null.
    ///
    /// # Safety
    /// The addresses are of functions with the types of `tegula.h`, which keep to what it says, and stay loaded.
    pub unsafe fn new(
        map: usize,
        open: Option<usize>,
        close: Option<usize>,
        value: ValueType,
        record_bytes: Option<usize>,
    ) -> Option<NativeMap> {
        let pointer = |address: usize| ptr::with_exposed_provenance::<()>(address);
        if map == 0 || open == Some(0) || close == Some(0) {
            return None;
        }
        // SAFETY: not null, and of these types as the caller promises.
        unsafe {
            Some(NativeMap {
                map: std::mem::transmute::<*const (), CMap>(pointer(map)),
                open: open.map(|at| std::mem::transmute::<*const (), COpen>(pointer(at))),
                close: close.map(|at| std::mem::transmute::<*const (), CClose>(pointer(at))),
                value,
                record_bytes,
                seats: Mutex::default(),
            })
        }
    }

    /// Passes each pair to `put`.
    ///
    /// # Errors
    /// [`Error::Record`] where the map refuses a record or does not keep to the header, and the errors of `put`.
    pub fn map(
        &self,
        split: &Split<'_>,
        mut put: impl FnMut(&[u8], Value) -> Result<()>,
    ) -> Result<()> {
        let mut seat = self.seat();
        let bytes = split.bytes();
        let mut given = CSplit {
            data: bytes.as_ptr(),
            len: bytes.len(),
            offset: split.offset(),
            file: split.file(),
            done: 0,
        };
        loop {
            let mut pairs = CPairs {
                key_len: seat.key_len.as_mut_ptr(),
                value: seat.value.as_mut_ptr(),
                key: seat.key.as_mut_ptr(),
                pairs: 0,
                pairs_most: seat.key_len.len(),
                key_bytes: 0,
                key_bytes_most: seat.key.len(),
            };
            let before = given.done;
            // SAFETY: `new`'s caller promised the type. Both structures live, and their pointers are to bytes of
            // the lengths beside them, until the call returns.
            let code = unsafe { (self.map)(&raw mut given, &raw mut pairs, seat.state) };
            let done = given.done;
            if done > bytes.len() || done < before {
                return Err(fault(
                    split,
                    &format!("says that byte {done} of {} is done", bytes.len()),
                ));
            }
            seat.put(pairs.pairs, pairs.key_bytes, self.value, split, &mut put)?;
            match code {
                0 => break,
                1 if pairs.pairs == 0 && done == before => {
                    return Err(fault(
                        split,
                        "asks for more room without a pair: a key may be too long",
                    ));
                }
                1 => {}
                ..0 => {
                    let record = &bytes[done..];
                    split.bad(record, format!("the map refused it with code {code}"))?;
                    given.done = done + self.record_length(record);
                    if given.done == bytes.len() {
                        break;
                    }
                }
                _ => {
                    return Err(fault(
                        split,
                        &format!("returned {code}: 0, 1 or less than 0 is known"),
                    ));
                }
            }
        }
        self.seats.lock().push(seat);
        Ok(())
    }

    fn record_length(&self, record: &[u8]) -> usize {
        let newline = || memchr::memchr(b'\n', record).map(|at| at + 1);
        self.record_bytes.or_else(newline).unwrap_or(record.len()).min(record.len())
    }

    fn seat(&self) -> Seat {
        let free = self.seats.lock().pop();
        free.unwrap_or_else(|| Seat {
            key_len: vec![0; PAIRS_MOST],
            value: vec![0; PAIRS_MOST],
            key: vec![0; KEY_BYTES_MOST],
            // SAFETY: of this type, as `new`'s caller promised.
            state: self.open.map_or(ptr::null_mut(), |open| unsafe { open() }),
        })
    }
}

impl Drop for NativeMap {
    fn drop(&mut self) {
        let seats = self.seats.get_mut();
        for seat in seats {
            if let Some(close) = self.close {
                // SAFETY: of this type, as `new`'s caller promised; the state is what `open` gave, or null.
                unsafe { close(seat.state) };
            }
        }
    }
}

impl Seat {
    /// Passes on what the map wrote, which is checked first.
    fn put(
        &self,
        pairs: usize,
        key_bytes: usize,
        value: ValueType,
        split: &Split<'_>,
        put: &mut impl FnMut(&[u8], Value) -> Result<()>,
    ) -> Result<()> {
        let (Some(lengths), Some(mut keys)) =
            (self.key_len.get(..pairs), self.key.get(..key_bytes))
        else {
            return Err(fault(
                split,
                &format!("wrote {pairs} pairs and {key_bytes} bytes of keys, more than fit"),
            ));
        };
        for (length, bits) in lengths.iter().zip(&self.value) {
            let Some((key, rest)) = keys.split_at_checked(*length as usize) else {
                return Err(fault(split, "wrote keys that are longer than their bytes"));
            };
            keys = rest;
            let value = match value {
                ValueType::Ignored => Value::Ignored,
                ValueType::Int => Value::Int(bits.cast_signed()),
                ValueType::Float => Value::Float(f64::from_bits(*bits)),
            };
            put(key, value)?;
        }
        if keys.is_empty() {
            Ok(())
        } else {
            Err(fault(split, "wrote bytes that belong to no key"))
        }
    }
}

fn fault(split: &Split<'_>, what: &str) -> Error {
    let place = Place { source: split.path(), line: None, offset: Some(split.offset()) };
    Error::Record { place, cause: format!("the native map {what}").into() }
}

//! The maps of `native_maps.py` in Rust: words with 1, and the bytes of each request by its host.

use std::ffi::c_void;

#[repr(C)]
pub struct Split {
    data: *const u8,
    len: usize,
    offset: u64,
    file: u32,
    done: usize,
}

#[repr(C)]
pub struct Pairs {
    key_len: *mut u32,
    value: *mut i64,
    key: *mut u8,
    pairs: usize,
    pairs_most: usize,
    key_bytes: usize,
    key_bytes_most: usize,
}

impl Pairs {
    unsafe fn emit(&mut self, key: &[u8], value: i64) -> bool {
        if self.pairs == self.pairs_most || key.len() > self.key_bytes_most - self.key_bytes {
            return false;
        }
        unsafe {
            self.key.add(self.key_bytes).copy_from_nonoverlapping(key.as_ptr(), key.len());
            self.key_len.add(self.pairs).write(key.len() as u32);
            self.value.add(self.pairs).write(value);
        }
        self.pairs += 1;
        self.key_bytes += key.len();
        true
    }
}

#[unsafe(no_mangle)]
pub static tegula_abi: u32 = 1;

/// Returns the offset from `at` on of the first byte that ends what is there.
fn end_of(data: &[u8], at: usize, is_end: impl Fn(u8) -> bool) -> usize {
    let rest = data.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| is_end(*byte)).unwrap_or(rest.len())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn words(split: &mut Split, pairs: &mut Pairs, _: *mut c_void) -> i32 {
    let data = unsafe { std::slice::from_raw_parts(split.data, split.len) };
    let mut at = split.done;
    while at < data.len() {
        let end = end_of(data, at, |byte| byte <= 32);
        if end > at && !unsafe { pairs.emit(&data[at..end], 1) } {
            split.done = at;
            return 1;
        }
        at = end + 1;
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_and_bytes(
    split: &mut Split,
    pairs: &mut Pairs,
    _: *mut c_void,
) -> i32 {
    let data = unsafe { std::slice::from_raw_parts(split.data, split.len) };
    let is_end = |byte| byte == b' ' || byte == b'\n';
    let mut at = split.done;
    while at < data.len() {
        let host_end = end_of(data, at, is_end);
        let begin = (0..2).fold(host_end, |end, _| end_of(data, end + 1, is_end)) + 1;
        let end = end_of(data, begin, |byte| byte == b'\n');
        let digits = data.get(begin..end).unwrap_or_default();
        let bytes = digits.iter().fold(0, |all, digit| all * 10 + i64::from(*digit) - 48);
        if !unsafe { pairs.emit(&data[at..host_end], bytes) } {
            split.done = at;
            return 1;
        }
        at = end + 1;
    }
    0
}

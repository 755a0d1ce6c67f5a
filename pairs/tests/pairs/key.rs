//! Tests of the module `key`.

use tegula_pairs::key::{Key, KeyForm};

fn bytes_of<K: Key + ?Sized>(key: K::Borrowed<'_>) -> Vec<u8> {
    match K::form(key) {
        KeyForm::Bytes(bytes) => bytes.to_vec(),
        KeyForm::Inline(bytes, len) => bytes[..len].to_vec(),
    }
}

#[test]
fn integers_come_back_and_their_bytes_order_as_they_do() {
    let values = [i64::MIN, -256, -1, 0, 1, 255, 256, i64::MAX];
    for pair in values.windows(2) {
        assert!(bytes_of::<i64>(pair[0]) < bytes_of::<i64>(pair[1]));
    }
    for value in values {
        assert_eq!(<i64 as Key>::view(&bytes_of::<i64>(value)), value);
        assert_eq!(<u8 as Key>::view(&bytes_of::<u8>(value as u8)), value as u8);
        assert_eq!(<i16 as Key>::view(&bytes_of::<i16>(value as i16)), value as i16);
        assert_eq!(<u32 as Key>::view(&bytes_of::<u32>(value as u32)), value as u32);
    }
}

//! The order of keys. The engine orders bytes, so a key gets a form whose bytes are in the order that the job's
//! comparator gives its keys.
//!
//! With Hadoop's own order of `Text` the form is the key. With `KeyFieldBasedComparator` it is the named fields, one
//! after another: a byte says whether the key has the field; text is escaped so that its end comes before any byte; a
//! number is its sign, the count of its digits, its digits and decimals. What is in reverse is inverted. After the
//! fields is the key itself, and the length of the fields, by which the key is found again.

use crate::fields::KeyFields;

/// The order of a job's keys.
#[derive(Clone, Debug)]
pub(crate) enum KeyOrder {
    /// By bytes.
    Bytes,
    /// By fields; keys with equal fields by bytes.
    Fields(KeyFields),
}

/// Bytes of the length of a form's fields.
const LENGTH_BYTES: usize = 4;
const MISSING: u8 = 0;
const PRESENT: u8 = 1;
const NEGATIVE: u8 = 0x40;
const NOT_NEGATIVE: u8 = 0x80;

impl KeyOrder {
    /// Appends the form of a key.
    pub(crate) fn encode(&self, key: &[u8], form: &mut Vec<u8>) {
        let KeyOrder::Fields(fields) = self else {
            form.extend_from_slice(key);
            return;
        };
        let begin = form.len();
        fields.each(key, |field, part| {
            let from = form.len();
            match part {
                None => form.push(MISSING),
                Some(number) if field.is_numeric => {
                    form.push(PRESENT);
                    encode_number(number, form);
                }
                Some(text) => {
                    form.push(PRESENT);
                    encode_text(text, form);
                }
            }
            if field.is_reverse {
                form[from..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        });
        let bytes = u32::try_from(form.len() - begin).unwrap_or(u32::MAX);
        form.extend_from_slice(key);
        form.extend_from_slice(&bytes.to_be_bytes());
    }

    /// Returns the key of a form.
    pub(crate) fn key<'f>(&self, form: &'f [u8]) -> &'f [u8] {
        match self {
            KeyOrder::Bytes => form,
            KeyOrder::Fields(_) => {
                let Some((rest, length)) = form.split_last_chunk::<LENGTH_BYTES>() else {
                    return form;
                };
                rest.get(u32::from_be_bytes(*length) as usize..).unwrap_or_default()
            }
        }
    }
}

fn encode_text(text: &[u8], form: &mut Vec<u8>) {
    for &byte in text {
        form.push(byte);
        if byte == 0 {
            form.push(0xFF);
        }
    }
    form.extend_from_slice(&[0, 0]);
}

/// Encodes the decimal number with which a text begins; 0 if it begins with none.
fn encode_number(text: &[u8], form: &mut Vec<u8>) {
    let (is_negative, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits_of = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (whole, rest) = text.split_at(digits_of(text));
    let whole = &whole[whole.iter().take_while(|&&byte| byte == b'0').count()..];
    let decimals = rest.strip_prefix(b".").map_or(&[][..], |rest| &rest[..digits_of(rest)]);
    let zeros = decimals.iter().rev().take_while(|&&byte| byte == b'0').count();
    let decimals = &decimals[..decimals.len() - zeros];
    let is_negative = is_negative && !(whole.is_empty() && decimals.is_empty());
    form.push(if is_negative { NEGATIVE } else { NOT_NEGATIVE });
    let from = form.len();
    form.extend_from_slice(&u32::try_from(whole.len()).unwrap_or(u32::MAX).to_be_bytes());
    form.extend_from_slice(whole);
    form.extend_from_slice(decimals);
    form.push(0);
    if is_negative {
        form[from..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(options: &str, keys: &[&str]) -> Vec<String> {
        let order = KeyOrder::Fields(KeyFields::parse("p", b"\t", options).unwrap());
        let mut forms: Vec<Vec<u8>> = Vec::new();
        for key in keys {
            let mut form = Vec::new();
            order.encode(key.as_bytes(), &mut form);
            assert_eq!(order.key(&form), key.as_bytes());
            forms.push(form);
        }
        forms.sort();
        let key = |form: &Vec<u8>| String::from_utf8(order.key(form).to_vec()).unwrap();
        forms.iter().map(key).collect()
    }

    #[test]
    fn keys_are_in_the_order_of_the_comparator() {
        let cases: &[(&str, &[&str])] = &[
            ("-n", &["-12", "-2.5", "-2", "-0.5", "0", "0.25", "0.5", "2", "10", "10.01", "100"]),
            ("-nr", &["100", "9.5", "9", "0", "-1", "-10"]),
            ("-r", &["b", "ab", "a", ""]),
            ("-k2,2n -k1,1", &["a\t1", "b\t1", "a\t2", "a\t10"]),
            ("-k1,1r -k2,2", &["b\ta", "b\tb", "a\ta", "a\tb"]),
            ("-k2,2", &["z", "a\ta", "a\tab", "a\tb"]),
            ("-k2,2r", &["a\tb", "a\ta", "z"]),
            ("-k1,1", &["a", "a\u{0}", "a\u{0}\u{0}", "a\u{1}", "ab"]),
        ];
        for (options, keys) in cases {
            let mut shuffled = keys.to_vec();
            shuffled.reverse();
            assert_eq!(sorted(options, &shuffled), *keys, "{options}");
        }
    }
}

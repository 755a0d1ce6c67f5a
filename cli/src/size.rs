//! Sizes on the command line: `1000`, `64k`, `4M`, `1GiB`. Units are binary, as for caches and
//! memory: `k` is 1024 bytes.

/// Parses a size into bytes; the error is a message for the user.
pub fn parse(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(HINT.to_owned()),
    };
    let number = match number.parse::<u64>() {
        Ok(0) => return Err("give at least 1 byte".to_owned()),
        Ok(number) => number,
        Err(_) if digits > 0 => return Err(TOO_LARGE.to_owned()),
        Err(_) => return Err(HINT.to_owned()),
    };
    number.checked_mul(1 << shift).ok_or_else(|| TOO_LARGE.to_owned())
}

/// Parses a size, or `auto` (`None`).
pub fn parse_or_auto(text: &str) -> Result<AutoSize, String> {
    if text == "auto" { Ok(AutoSize(None)) } else { parse(text).map(|bytes| AutoSize(Some(bytes))) }
}

/// A size in bytes, or `None` for the engine's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AutoSize(pub Option<u64>);

/// Formats bytes in the largest binary unit that is at most as large.
pub fn show(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((name, shift)) => format!("{:.2} {name}", bytes as f64 / (1u64 << shift) as f64),
        None => format!("{bytes} B"),
    }
}

const HINT: &str = "write a whole number of bytes or binary units: 1000, 64k, 4M, 1GiB";
const TOO_LARGE: &str = "more than 2^64 bytes";

//! Messages on a pipe: the length of each, in 4 bytes, then its bytes.

use std::io::{self, Read, Write};

/// The longest message: blocks are sent together up to a mebibyte, and one block may be as long as one key's values.
const BYTES_MOST: u32 = 1 << 30;

pub(super) fn write(to: &mut dyn Write, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).ok().filter(|&length| length <= BYTES_MOST);
    let length = length.ok_or_else(|| io::Error::other("a message has more than a gibibyte"))?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(message)?;
    to.flush()
}

/// Returns the next message; `None` where the pipe ends between two.
pub(super) fn read(from: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let first = loop {
        match from.read(&mut length) {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    if first == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[first..])?;
    let length = u32::from_le_bytes(length);
    if length > BYTES_MOST {
        return Err(io::Error::other("what came is no message"));
    }
    let mut message = vec![0; length as usize];
    from.read_exact(&mut message)?;
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_and_what_is_none_is_refused() {
        let mut sent = Vec::new();
        write(&mut sent, b"a message").unwrap();
        write(&mut sent, b"").unwrap();
        let mut from = &sent[..];
        assert_eq!(read(&mut from).unwrap().as_deref(), Some(&b"a message"[..]));
        assert_eq!(read(&mut from).unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(read(&mut from).unwrap(), None);
        for cut in [2, 4, 9] {
            let fault = read(&mut &sent[..cut]).unwrap_err();
            assert_eq!(fault.kind(), io::ErrorKind::UnexpectedEof);
        }
        let fault = read(&mut &b"what no node writes"[..]).unwrap_err();
        assert_eq!(fault.to_string(), "what came is no message");
    }
}

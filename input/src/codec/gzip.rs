//! Gzip: a sequence of members, each with its checksum. Zeros after the last member are padding, as in
//! `gzip` itself; any other bytes there are damage.

use super::{Decoder, Source, damaged};
use crate::error::MemoryError;
use crate::memory::{BlockPool, Reserved};
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

/// The window of 32 KiB, twice, and the tables.
const DECODER_BYTES: usize = 128 << 10;

/// Decompresses members.
pub(super) struct Gzip<'p> {
    state: State<'p>,
    members: u64,
    _memory: Reserved,
}

#[expect(clippy::large_enum_variant, reason = "there is one for each file under way")]
enum State<'p> {
    Between(Source<'p>),
    Member(GzDecoder<Source<'p>>),
    /// Placeholder while one state replaces the other.
    Changing,
}

impl<'p> Gzip<'p> {
    pub(super) fn new(
        source: Source<'p>,
        blocks: &Arc<BlockPool>,
    ) -> Result<Gzip<'p>, MemoryError> {
        let memory = Reserved::new(blocks, DECODER_BYTES, "the decoder of a gzip file")?;
        // A part that is not the file's first may be padding only.
        let members = u64::from(source.position() > 0);
        Ok(Gzip { state: State::Between(source), members, _memory: memory })
    }

    /// Returns whether another member begins. Called between members.
    fn begins(&self, source: &mut Source<'p>) -> io::Result<bool> {
        if self.members == 0 {
            return Ok(true);
        }
        loop {
            let rest = source.fill_buf()?;
            let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
            match rest.get(zeros) {
                None if rest.is_empty() => return Ok(false),
                None => source.consume(zeros),
                // If only the first byte of the magic number exists, the member is cut short.
                Some(0x1f) if zeros == 0 => match source.peek(2)? {
                    [0x1f] | [0x1f, 0x8b] => return Ok(true),
                    _ => return Err(damaged("bytes that are no gzip member follow the last one")),
                },
                Some(_) => {
                    source.consume(zeros);
                    return Err(damaged("bytes that are no gzip member follow the last one"));
                }
            }
        }
    }
}

impl<'p> Decoder<'p> for Gzip<'p> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::Changing) {
                State::Between(mut source) => {
                    let begins = self.begins(&mut source);
                    if !matches!(begins, Ok(true)) {
                        self.state = State::Between(source);
                        return begins.map(|_| 0);
                    }
                    self.members += 1;
                    self.state = State::Member(GzDecoder::new(source));
                }
                State::Member(mut member) => match member.read(into) {
                    Ok(0) => self.state = State::Between(member.into_inner()),
                    result => {
                        self.state = State::Member(member);
                        return result;
                    }
                },
                State::Changing => unreachable!("a state is put back before anything else is done"),
            }
        }
    }

    fn source(&mut self) -> &mut Source<'p> {
        match &mut self.state {
            State::Between(source) => source,
            State::Member(member) => member.get_mut(),
            State::Changing => unreachable!("a state is put back before anything else is done"),
        }
    }
}

//! No compression: a plain file among compressed ones.

use super::{Decoder, Source};
use std::io::{self, Read};

/// Returns the bytes unchanged.
pub(super) struct Plain<'p>(Source<'p>);

impl<'p> Plain<'p> {
    pub(super) fn new(source: Source<'p>) -> Plain<'p> {
        Plain(source)
    }
}

impl<'p> Decoder<'p> for Plain<'p> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }

    fn source(&mut self) -> &mut Source<'p> {
        &mut self.0
    }
}

//! Generates the rows of the TeraSort benchmark: for each row number the bytes of Hadoop's TeraGen, and of
//! Chris Nyberg's gensort, from which TeraGen was made. A row's random number does not need those before
//! it, so rows are generated in parallel.

use std::thread;

/// Bytes of a row: a key of 10, and a value of 90 that contains the row's number.
pub const ROW_BYTES: usize = 100;

/// The linear congruential generator of gensort, x -> a x + c modulo 2^128. The coefficient is from
/// Pierre L'Ecuyer, Tables of linear congruential generators of different sizes and good lattice
/// structure, Mathematics of Computation 68 (1999).
const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
const INCREMENT: u128 = 0x4a69_6d47_7261_7952_4950_2020_2020_2001;

/// Rows that a thread generates at a time.
const BLOCK_ROWS: u64 = 20_000;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// The form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeraRows {
    /// The form of TeraGen.
    Binary,
    /// The form of `gensort -a`: printable characters, and a line end of two bytes.
    Ascii,
}

impl TeraRows {
    /// Generates rows `0..count` with some threads and passes them in order to `write`, some megabytes at a
    /// time. Takes two megabytes of memory per thread.
    ///
    /// # Errors
    /// Returns the error of `write`, after which it is not called again.
    pub fn generate<E>(
        self,
        count: u64,
        threads: usize,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut blocks = vec![Vec::new(); threads.max(1)];
        let mut first = 0;
        while first < count {
            thread::scope(|scope| {
                for (number, block) in (0..).zip(&mut blocks) {
                    let from = first.saturating_add(number * BLOCK_ROWS).min(count);
                    let rows = from..from.saturating_add(BLOCK_ROWS).min(count);
                    block.resize((rows.end - rows.start) as usize * ROW_BYTES, 0);
                    scope.spawn(move || self.fill(rows.start, block));
                }
            });
            blocks.iter().try_for_each(|block| write(block))?;
            first = first.saturating_add(blocks.len() as u64 * BLOCK_ROWS);
        }
        Ok(())
    }

    /// Fills `rows` with whole rows, the first of which has number `first`.
    pub fn fill(self, first: u64, rows: &mut [u8]) {
        let mut random = skip_ahead(first);
        for (number, row) in (first..).zip(rows.chunks_exact_mut(ROW_BYTES)) {
            random = random.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
            match self {
                TeraRows::Binary => binary(random, number, row),
                TeraRows::Ascii => ascii(random, number, row),
            }
        }
    }
}

/// Returns the generator's state after `steps` steps from 0, with one squaring of the map per bit of
/// `steps`.
fn skip_ahead(mut steps: u64) -> u128 {
    let (mut multiplier, mut increment, mut state) = (MULTIPLIER, INCREMENT, 0_u128);
    while steps > 0 {
        if steps & 1 == 1 {
            state = state.wrapping_mul(multiplier).wrapping_add(increment);
        }
        increment = increment.wrapping_mul(multiplier.wrapping_add(1));
        multiplier = multiplier.wrapping_mul(multiplier);
        steps >>= 1;
    }
    state
}

fn binary(random: u128, number: u64, row: &mut [u8]) {
    row[..10].copy_from_slice(&random.to_be_bytes()[..10]);
    row[10..12].copy_from_slice(&[0x00, 0x11]);
    hex(number, &mut row[12..44]);
    row[44..48].copy_from_slice(&[0x88, 0x99, 0xaa, 0xbb]);
    filler(random, &mut row[48..96]);
    row[96..].copy_from_slice(&[0xcc, 0xdd, 0xee, 0xff]);
}

fn ascii(random: u128, number: u64, row: &mut [u8]) {
    let (mut high, mut low) = ((random >> 64) as u64, random as u64);
    for place in &mut row[..8] {
        *place = b' ' + (high % 95) as u8;
        high /= 95;
    }
    for place in &mut row[8..10] {
        *place = b' ' + (low % 95) as u8;
        low /= 95;
    }
    row[10..12].copy_from_slice(b"  ");
    hex(number, &mut row[12..44]);
    row[44..46].copy_from_slice(b"  ");
    filler(random, &mut row[46..98]);
    row[98..].copy_from_slice(b"\r\n");
}

/// Writes the number in hexadecimal, padded with zeros.
fn hex(mut number: u64, place: &mut [u8]) {
    for digit in place.iter_mut().rev() {
        *digit = HEX[(number & 15) as usize];
        number >>= 4;
    }
}

/// Writes the last hexadecimal digits of the random number, four times each.
fn filler(mut random: u128, place: &mut [u8]) {
    for four in place.chunks_exact_mut(4).rev() {
        four.fill(HEX[(random & 15) as usize]);
        random >>= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Powers of the generator's map, from the table in gensort's `rand16.c`.
    #[test]
    fn powers_of_the_generator_are_those_of_gensort() {
        for (steps, increment) in [
            (1, 0x4a69_6d47_7261_7952_4950_2020_2020_2001),
            (2, 0x95e0_e482_62b3_edfe_0447_9485_c755_b646),
            (1 << 20, 0x1b25_cb9c_fe5a_0c96_3174_f91a_97f0_0000),
            (1 << 63, 0x7858_ca25_feb8_d4bf_8000_0000_0000_0000),
        ] {
            assert_eq!(skip_ahead(steps), increment, "{steps}");
        }
    }

    #[test]
    fn rows_are_the_same_for_any_number_of_threads_and_any_first_row() {
        for form in [TeraRows::Binary, TeraRows::Ascii] {
            let generated = |threads| {
                let mut rows = Vec::new();
                let write = |block: &[u8]| -> Result<(), ()> {
                    rows.extend_from_slice(block);
                    Ok(())
                };
                form.generate(50_001, threads, write).unwrap();
                rows
            };
            let rows = generated(1);
            assert_eq!(rows.len(), 50_001 * ROW_BYTES);
            assert!(generated(3) == rows);
            let mut few = vec![0; 3 * ROW_BYTES];
            form.fill(40_000, &mut few);
            assert!(few == rows[40_000 * ROW_BYTES..40_003 * ROW_BYTES]);
        }
    }

    #[test]
    fn a_write_that_fails_ends_the_generating() {
        let mut calls = 0;
        let write = |_: &[u8]| {
            calls += 1;
            if calls == 2 { Err("full") } else { Ok(()) }
        };
        assert_eq!(TeraRows::Binary.generate(1 << 40, 2, write), Err("full"));
        assert_eq!(calls, 2);
    }
}

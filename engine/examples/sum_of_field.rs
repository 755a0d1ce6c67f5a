//! Sums a field by key: of lines `CUSTOMER;CENTS` the total of each customer.
//! `cargo run --release --example sum_of_field -- PATH...`

use tegula::{Emit, Engine, Input, Job, Result, Split, Sum};

struct Totals;

impl Job for Totals {
    type Key = [u8];
    type Combine = Sum<u64>;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for record in split.records::<2>(b';') {
            match record.map(|[customer, cents]| (customer, number(cents))) {
                Ok((customer, Some(cents))) => emit.emit(customer, cents),
                Ok((customer, None)) => split.bad(customer, "the cents are no number")?,
                Err(line) => split.bad(line, "not CUSTOMER;CENTS")?,
            }
        }
        Ok(())
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn main() -> Result<()> {
    let input = Input::paths(std::env::args_os().skip(1))?;
    for (customer, cents) in Engine::new()?.job(&Totals).run(input)?.iter()? {
        println!("{}\t{cents}", customer.escape_ascii());
    }
    Ok(())
}

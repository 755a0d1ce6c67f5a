//! A job over numbers of eight bytes whose kernel counts each of them, in places or in a table.

use crate::machine::{Chance, dense, table};
use std::time::Duration;
use tegula::device::{Alone, Kernel, Offload, Shape};
use tegula::{Cut, Emit, Identity, Job, Offloadable, Output, Result, Resumable, Split, Sum};

/// Numbers are below this.
pub(crate) const NUMBERS: usize = 97;

/// Counts numbers.
#[derive(Clone, Copy)]
pub(crate) struct Numbers {
    pub(crate) partial: Shape,
    /// That only devices may do it.
    pub(crate) alone: bool,
}

impl Numbers {
    pub(crate) const DENSE: Numbers = Numbers { partial: Shape::Dense(NUMBERS), alone: false };
    /// A table with room for a third of them: most units overflow it but for the smallest.
    pub(crate) const CROWDED: Numbers =
        Numbers { partial: Shape::Table(1 + 2 * NUMBERS / 3), alone: false };
    /// A table with room for all.
    pub(crate) const TABLE: Numbers =
        Numbers { partial: Shape::Table(1 + 2 * NUMBERS), alone: false };
}

impl Job for Numbers {
    const LARGEST_FIRST: bool = true;
    type Key = u64;
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::Fixed(8)
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn device(&self) -> Option<&dyn Offloadable<Self>> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        // Or the cores would be done before a device has begun.
        std::thread::sleep(Duration::from_micros(50));
        for number in split.bytes().as_chunks().0 {
            emit.emit(u64::from_le_bytes(*number), 1);
        }
        Ok(())
    }
}

impl Resumable for Numbers {
    fn identity(&self) -> Identity {
        Identity::new("numbers", 1)
    }
}

impl Offloadable for Numbers {
    fn offload(&self) -> Offload {
        let kernel = Kernel {
            entry: "count".into(),
            file: "count.c".into(),
            source: "".into(),
            defines: Vec::new(),
            emulated: Some(if matches!(self.partial, Shape::Dense(_)) { dense } else { table }),
        };
        Offload { kernel, partial: self.partial, broadcast: Vec::new(), residence: None }
    }

    fn alone(&self) -> Option<Alone> {
        self.alone.then(Alone::default)
    }

    fn unload(&self, partial: &[u64], emit: &mut dyn Emit<'_, Self>) -> Result<()> {
        match self.partial {
            Shape::Dense(_) => {
                let counts = (0..).zip(partial).filter(|&(_, &count)| count > 0);
                counts.for_each(|(number, &count)| emit.emit(number, count));
            }
            Shape::Table(_) => {
                let slots = partial[1..].as_chunks().0.iter().filter(|[key, _]| *key > 0);
                slots.for_each(|&[key, count]| emit.emit_total(key - 1, count));
            }
        }
        Ok(())
    }
}

/// Returns `count` numbers; those of one stretch are few, so that tables have room for some stretches.
pub(crate) fn numbers(chance: &mut Chance, count: u64) -> Vec<u8> {
    let draw = |at: u64, drawn: u64| (at / 5000 * 11 + drawn % 23) % NUMBERS as u64;
    (0..count).flat_map(|at| draw(at, chance.next()).to_le_bytes()).collect()
}

/// Returns a line for each number.
pub(crate) fn lines(output: &Output<Numbers>) -> String {
    output.iter().unwrap().map(|(number, count)| format!("{number} {count}\n")).collect()
}

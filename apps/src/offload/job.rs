//! The job of a kernel of somebody's own: keys are indices, values what it combined there. Behind the
//! values, its partial has words that no kernel may write to; what is in them fails the job.

use super::OwnKernel;
use crate::matrix::fault;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use tegula::device::{ARGUMENTS, Alone, Offload, Shape};
use tegula::{Combine, Cut, Emit, Error, Job, Max, Result, Split, Sum};

/// Words behind the values: how often an index was none of theirs, and words that must stay zeros.
const GUARDS: usize = 64;

/// A combine whose values are words of a partial.
pub(super) trait Words: for<'v> Combine<Value = Self::Of, Output = Self::Of> {
    type Of: Copy;

    fn value(word: u64) -> Self::Of;

    fn word(value: Self::Of) -> u64;
}

impl Words for Sum<u64> {
    type Of = u64;

    fn value(word: u64) -> u64 {
        word
    }

    fn word(value: u64) -> u64 {
        value
    }
}

impl Words for Sum<i64> {
    type Of = i64;

    fn value(word: u64) -> i64 {
        word.cast_signed()
    }

    fn word(value: i64) -> u64 {
        value.cast_unsigned()
    }
}

impl Words for Max<u64> {
    type Of = u64;

    fn value(word: u64) -> u64 {
        word
    }

    fn word(value: u64) -> u64 {
        value
    }
}

pub(super) struct KernelJob<'k, C> {
    own: &'k OwnKernel,
    combine: PhantomData<fn() -> C>,
}

impl<C> KernelJob<'_, C> {
    pub(super) fn new(own: &OwnKernel) -> KernelJob<'_, C> {
        KernelJob { own, combine: PhantomData }
    }

    fn fault(&self, cause: String) -> Error {
        fault(&self.own.kernel.file, cause)
    }
}

impl<C: Words> Job for KernelJob<'_, C> {
    type Key = u64;
    type Combine = C;

    fn cut(&self) -> Cut {
        self.own.spec.cut()
    }

    fn key_range(&self) -> Option<RangeInclusive<u64>> {
        Some(0..=self.own.spec.values - 1)
    }

    fn offload(&self) -> Option<Offload> {
        let partial = Shape::Dense(self.own.spec.values as usize + GUARDS);
        Some(Offload {
            kernel: self.own.kernel.clone(),
            partial,
            broadcast: Vec::new(),
            residence: None,
        })
    }

    fn alone(&self) -> Option<Alone> {
        Some(Alone { longest_bytes: self.own.spec.longest_bytes })
    }

    fn launch(&self, split: &Split<'_>) -> Option<[u64; ARGUMENTS]> {
        Some([split.offset(), split.file().into(), 0, 0, 0, 0])
    }

    fn unload<'s>(&self, partial: &[u64], emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let values = self.own.spec.values as usize;
        let (words, guards) = partial.split_at(values);
        if guards[0] > 0 {
            let cause = format!(
                "combined {} times at an index beyond the last, {}; give more values in the spec, or \
                 mend the kernel",
                guards[0],
                values - 1
            );
            return Err(self.fault(cause));
        }
        if guards.iter().any(|&guard| guard > 0) {
            let cause = format!("wrote behind the {values} words of its partial; mend the kernel");
            return Err(self.fault(cause));
        }
        let combined = words.iter().zip(0_u64..).filter(|&(&word, _)| word > 0);
        combined.for_each(|(&word, index)| emit.emit(index, C::value(word)));
        Ok(())
    }

    fn map<'s>(&self, _: Split<'s>, _: &mut impl Emit<'s, Self>) -> Result<()> {
        Err(self.fault("a kernel has no map that the cores could do".to_owned()))
    }
}

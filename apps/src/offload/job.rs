//! The jobs of a user's kernel. For an array, keys are indices and values the combined values. After the
//! values, its partial has words that no kernel may write; if they change, the job fails. For a table, keys
//! are bytes; numbers are in the order of their bytes.

use super::{By, ByOrder, Keys, Number, OwnKernel, Spec, table};
use crate::extreme::{End, Extreme, Form};
use crate::fault;
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use tegula::device::{ARGUMENTS, Alone, Offload, Shape};
use tegula::{
    Combine, Cut, Emit, Error, Identity, Job, Offloadable, Pair, Result, Resumable, Split,
};

/// Words after the values: the number of indices out of range, the number of values that were not finite,
/// and words that must stay zero.
const GUARDS: usize = 64;

/// A value that is a word of a partial.
pub(super) trait Word: Copy {
    fn of(word: u64) -> Self;

    fn word(self) -> u64;
}

impl Word for u64 {
    fn of(word: u64) -> u64 {
        word
    }

    fn word(self) -> u64 {
        self
    }
}

impl Word for i64 {
    fn of(word: u64) -> i64 {
        word.cast_signed()
    }

    fn word(self) -> u64 {
        self.cast_unsigned()
    }
}

/// The words of a least or greatest are such that the greatest is kept.
impl Word for Extreme {
    fn of(word: u64) -> Extreme {
        Extreme::new(End::Greatest, Form::Word, word)
    }

    fn word(self) -> u64 {
        Extreme::word(self)
    }
}

/// A combine whose values are words of a partial.
pub(super) trait Words: Combine<Value: Word, Output: Word> {}

impl<C: Combine<Value: Word, Output: Word>> Words for C {}

pub(super) struct ArrayJob<C>(OwnKernel, PhantomData<fn() -> C>);

pub(super) struct TableJob<C>(OwnKernel, PhantomData<fn() -> C>);

impl OwnKernel {
    pub(super) fn array_job<C>(&self) -> ArrayJob<C> {
        ArrayJob(self.clone(), PhantomData)
    }

    pub(super) fn table_job<C>(&self) -> TableJob<C> {
        TableJob(self.clone(), PhantomData)
    }

    fn fault(&self, cause: String) -> Error {
        fault(&self.kernel.file, cause)
    }

    fn offload(&self, partial: Shape) -> Offload {
        let (kernel, broadcast) = (self.kernel.clone(), Vec::new());
        Offload { kernel, partial, broadcast, residence: None }
    }

    /// Returns the kernel's text, and all of the spec except the output.
    fn identity(&self) -> Identity {
        let spec = self.spec.clone();
        let spec = Spec { order: ByOrder::Index, skip_empty: false, scale: None, ..spec };
        let kernel = self.kernel.text();
        // Versions before these kept keys that are numbers, or words that are no sums, in another byte form.
        let version = match (spec.keys, spec.combine) {
            (Some(Keys::U64 | Keys::I64), _) => 3,
            (_, By::Sum) => 1,
            (_, By::Min | By::Max) => 2,
        };
        let identity = Identity::new("offload", version).with_bytes("kernel", kernel.as_bytes());
        identity.with_bytes("spec", format!("{spec:?}").as_bytes())
    }

    fn alone(&self) -> Alone {
        Alone { longest_bytes: self.spec.longest_bytes }
    }

    fn no_map(&self) -> Error {
        self.fault("a kernel has no map that the cores could do".to_owned())
    }
}

/// Returns the arguments of launches.
fn arguments(split: &Split<'_>) -> [u64; ARGUMENTS] {
    [split.offset(), split.file().into(), 0, 0, 0, 0]
}

impl<C: Words> Job for ArrayJob<C> {
    type Key = u64;
    type Combine = C;

    fn cut(&self) -> Cut {
        self.0.spec.cut()
    }

    fn key_range(&self) -> Option<RangeInclusive<u64>> {
        Some(0..=self.0.spec.values - 1)
    }

    fn compare(&self, a: Pair<'_, Self>, b: Pair<'_, Self>) -> Ordering {
        self.0.spec.by_value(a.value().word(), b.value().word())
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn device(&self) -> Option<&dyn Offloadable<Self>> {
        Some(self)
    }

    fn map<'s>(&self, _: Split<'s>, _: &mut impl Emit<'s, Self>) -> Result<()> {
        Err(self.0.no_map())
    }
}

impl<C: Words> Resumable for ArrayJob<C> {
    fn identity(&self) -> Identity {
        self.0.identity()
    }
}

impl<C: Words> Offloadable for ArrayJob<C> {
    fn offload(&self) -> Offload {
        self.0.offload(Shape::Dense(self.0.spec.values as usize + GUARDS))
    }

    fn alone(&self) -> Option<Alone> {
        Some(self.0.alone())
    }

    fn launch(&self, split: &Split<'_>) -> Option<[u64; ARGUMENTS]> {
        Some(arguments(split))
    }

    fn unload(&self, partial: &[u64], emit: &mut dyn Emit<'_, Self>) -> Result<()> {
        let ArrayJob(own, _) = self;
        let values = own.spec.values as usize;
        let (words, guards) = partial.split_at(values);
        if guards[0] > 0 {
            let cause = format!(
                "combined {} times at an index beyond the last, {}; give more values in the spec, or \
                 fix the kernel",
                guards[0],
                values - 1
            );
            return Err(own.fault(cause));
        }
        if guards[1] > 0 && matches!(own.spec.number, Number::F32 | Number::F64) {
            let cause = format!(
                "combined {} values that are infinite or no number; leave them out in the kernel",
                guards[1]
            );
            return Err(own.fault(cause));
        }
        if guards.iter().any(|&guard| guard > 0) {
            let cause = format!("wrote past the {values} words of its partial; fix the kernel");
            return Err(own.fault(cause));
        }
        let combined = words.iter().zip(0_u64..).filter(|&(&word, _)| word > 0);
        combined.for_each(|(&word, index)| emit.emit(index, C::Value::of(word)));
        Ok(())
    }
}

impl<C: Words> Job for TableJob<C> {
    type Key = [u8];
    type Combine = C;

    fn cut(&self) -> Cut {
        self.0.spec.cut()
    }

    fn compare(&self, a: Pair<'_, Self>, b: Pair<'_, Self>) -> Ordering {
        self.0.spec.by_value(a.value().word(), b.value().word())
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn device(&self) -> Option<&dyn Offloadable<Self>> {
        Some(self)
    }

    fn map<'s>(&self, _: Split<'s>, _: &mut impl Emit<'s, Self>) -> Result<()> {
        Err(self.0.no_map())
    }
}

impl<C: Words> Resumable for TableJob<C> {
    fn identity(&self) -> Identity {
        self.0.identity()
    }
}

impl<C: Words> Offloadable for TableJob<C> {
    fn offload(&self) -> Offload {
        self.0.offload(Shape::Table((self.0.spec.table_bytes / 8) as usize))
    }

    fn alone(&self) -> Option<Alone> {
        Some(self.0.alone())
    }

    fn launch(&self, split: &Split<'_>) -> Option<[u64; ARGUMENTS]> {
        Some(arguments(split))
    }

    fn unload(&self, partial: &[u64], emit: &mut dyn Emit<'_, Self>) -> Result<()> {
        let TableJob(own, _) = self;
        let head = &partial[..table::HEAD];
        if head[1] > 0 {
            let cause = format!(
                "combined {} times with a key of more than {} bytes; give a longest_key in the spec that is \
                 as long, or leave such keys out in the kernel",
                head[1],
                own.spec.key_bytes()
            );
            return Err(own.fault(cause));
        }
        let mut is_sound = head.iter().all(|&word| word == 0);
        table::each(&own.spec, partial, |key, word| match key {
            Some(key) => emit.emit_copied(key, C::Value::of(word)),
            None => is_sound = false,
        });
        if !is_sound {
            return Err(own.fault("wrote into its table past COMBINE; fix the kernel".to_owned()));
        }
        Ok(())
    }
}

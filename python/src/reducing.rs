//! The last step of `reduce` and `merge`: a function of Python's over the collected values of each key. Workers take
//! portions of the answer side by side, and hand them to companions in requests of bounded size; what it returned
//! takes the place of the values, which are let go of.
//!
//! # Form
//! All little-endian, without padding. A request: number of keys and number of values as 8 bytes each; the length of
//! each key, the number of its values, and the length of each value as 8 bytes each; the keys; the values. A reply:
//! for each key one byte, 0 an object, 1 an integer, 2 a float; for each the length of its answer as 8 bytes; the
//! answers: objects pickled, integers as 16 bytes, floats as 8.

use crate::answer::Answered;
use crate::batch::Batch;
use crate::companion::Caller;
use crate::dynamic::{Column, Number};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tegula::{Cancel, Error, Options, Order, Place, Result, Stats};
use tegula_machine::sync::Mutex;

/// Bytes of keys and values from which on a request is sent. One key's values are in one request, however many.
const REQUEST_BYTES: usize = 1 << 20;

/// An answer whose values a function of Python's made.
struct Reduced {
    portions: Vec<Batch>,
    stats: Stats,
    files: Vec<PathBuf>,
}

/// Lets the caller's function reduce the values of each key, and puts the answers in the order of the options.
pub(crate) fn reduce(
    collected: &dyn Answered,
    caller: &Caller,
    workers: usize,
    options: &Options,
) -> Result<Box<dyn Answered>> {
    let cancel = &options.cancel;
    let (count, next) = (collected.portions(), AtomicUsize::new(0));
    let done = Mutex::new(Vec::with_capacity(count));
    let work = || {
        loop {
            let portion = next.fetch_add(1, Ordering::Relaxed);
            if portion >= count {
                return;
            }
            let reduced = match cancel.is_cancelled() {
                true => Err(Error::Cancelled),
                false => reduce_portion(collected, caller, portion, cancel),
            };
            if reduced.is_err() {
                next.store(count, Ordering::Relaxed);
            }
            done.lock().push((portion, reduced));
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers.min(count) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner();
    done.sort_by_key(|(portion, _)| *portion);
    let portions = done.into_iter().map(|(_, batch)| batch).collect::<Result<Vec<_>>>()?;
    let portions = match (options.top, options.order) {
        (None, Order::Key | Order::None) => portions,
        (top, order) => ranked(&portions, top.unwrap_or(usize::MAX), order)?,
    };
    let stats = collected.stats().cloned().unwrap_or_default();
    let files = (0..).map_while(|number| collected.file(number)).collect();
    Ok(Box::new(Reduced { portions, stats, files }))
}

/// Keeps the pairs with the greatest answers, greatest first, or by key; of equal ones the lesser key is before.
fn ranked(portions: &[Batch], top: usize, order: Order) -> Result<Vec<Batch>> {
    if portions.iter().any(|batch| batch.columns.iter().any(Column::has_objects)) {
        let option = if matches!(order, Order::Value) { "order" } else { "top" };
        let cause =
            "the function returned other things than numbers: leave it out, and use Result.top";
        return Err(Error::Option { option, cause: cause.to_owned() });
    }
    let mut places = Vec::new();
    for (portion, batch) in portions.iter().enumerate() {
        let numbers =
            (0..batch.len()).map(|place| (batch.columns[0].number(place), portion, place));
        places
            .extend(numbers.filter_map(|(number, portion, place)| Some((number?, portion, place))));
    }
    let key = |&(_, portion, place): &(Number, usize, usize)| (portion, place);
    // Portions and places are in the order of the keys.
    places.sort_unstable_by(|a, b| b.0.compare(a.0).then_with(|| key(a).cmp(&key(b))));
    places.truncate(top);
    if !matches!(order, Order::Value) {
        places.sort_unstable_by_key(key);
    }
    let mut batch = Batch::new(objects());
    for (number, portion, place) in places {
        batch.keys.extend_from_slice(portions[portion].key(place));
        batch.key_ends.push(batch.keys.len());
        if let [Column::Objects { numbers, ends, .. }] = &mut batch.columns[..] {
            numbers.push(Some(number));
            ends.push(0);
        }
    }
    Ok(vec![batch])
}

fn objects() -> Vec<Column> {
    vec![Column::Objects { numbers: Vec::new(), ends: Vec::new(), bytes: Vec::new() }]
}

fn reduce_portion(
    collected: &dyn Answered,
    caller: &Caller,
    portion: usize,
    cancel: &Cancel,
) -> Result<Batch> {
    let (mut reduced, mut packed) = (Batch::new(objects()), Vec::new());
    let mut values = Batch::new(collected.columns(1));
    collected.read_in_parts(portion, &mut values, REQUEST_BYTES, &mut |part| {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        caller.reduce(&request(part), &mut packed)?;
        take(part, &packed, &mut reduced)
            .ok_or_else(|| fault("its process was disturbed by its own code"))
    })?;
    Ok(reduced)
}

fn fault(cause: &str) -> Error {
    Error::Record { place: Place::stage("reduce"), cause: cause.into() }
}

/// Packs keys and their values.
fn request(batch: &Batch) -> Vec<u8> {
    let [Column::Lists { list_ends, ends, bytes }] = &batch.columns[..] else { return Vec::new() };
    let mut out = Vec::with_capacity(
        16 * (1 + batch.len()) + 8 * ends.len() + batch.keys.len() + bytes.len(),
    );
    let mut put = |number: usize| out.extend_from_slice(&(number as u64).to_le_bytes());
    put(batch.len());
    put(ends.len());
    for all in [&batch.key_ends, list_ends, ends] {
        let begins = std::iter::once(&0).chain(all);
        begins.zip(all).for_each(|(begin, end)| put(end - begin));
    }
    out.extend_from_slice(&batch.keys);
    out.extend_from_slice(bytes);
    out
}

/// Adds what came back for the keys of a request. `None` if it does not fit them.
fn take(keys: &Batch, packed: &[u8], to: &mut Batch) -> Option<()> {
    let count = keys.len();
    let (kinds, rest) = packed.split_at_checked(count)?;
    let (lengths, mut rest) = rest.split_at_checked(count.checked_mul(8)?)?;
    for (place, (kind, length)) in kinds.iter().zip(lengths.as_chunks().0).enumerate() {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (answer, after) = rest.split_at_checked(length)?;
        rest = after;
        let number = match kind {
            0 => None,
            1 => Some(Number::Int(i128::from_le_bytes(answer.try_into().ok()?))),
            2 => Some(Number::Float(f64::from_le_bytes(answer.try_into().ok()?))),
            _ => return None,
        };
        to.keys.extend_from_slice(keys.key(place));
        to.key_ends.push(to.keys.len());
        if let [Column::Objects { numbers, ends, bytes }] = &mut to.columns[..] {
            numbers.push(number);
            if number.is_none() {
                bytes.extend_from_slice(answer);
            }
            ends.push(bytes.len());
        }
    }
    rest.is_empty().then_some(())
}

impl Answered for Reduced {
    fn len(&self) -> usize {
        self.portions.iter().map(Batch::len).sum()
    }

    fn portions(&self) -> usize {
        self.portions.len()
    }

    fn columns(&self, _: usize) -> Vec<Column> {
        objects()
    }

    fn read_in_parts(
        &self,
        portion: usize,
        batch: &mut Batch,
        _: usize,
        full: &mut dyn FnMut(&mut Batch) -> Result<()>,
    ) -> Result<()> {
        batch.append(&self.portions[portion]);
        full(batch)
    }

    fn stats(&self) -> Option<&Stats> {
        Some(&self.stats)
    }

    fn file(&self, number: u32) -> Option<PathBuf> {
        self.files.get(number as usize).cloned()
    }
}

//! Splitters: the beginnings of ranges, chosen by sampling the input (sample sort: regular sampling, PSRS,
//! without its last merge), and the search for a record's range.
//!
//! A splitter is a key and a split's number, and records are ordered the same way. So no two records
//! of different splits are equal, and a key that fills half of the input is divided among as many
//! ranges as any other half is, so skew needs no special case.
//!
//! The search follows Sanders and Winkel, Super Scalar Sample Sort (2004): a perfect tree in an array,
//! descended without a branch by several records at once, so that their latencies overlap. It looks at
//! 8 bytes of the distinct keys; only a record with the same 8 bytes as a splitter is compared in full.

use crate::encoding::{Reading, put_bytes, put_number};
use crate::heads::{Borders, RANGES_MOST, every_nth, head};

/// Records that descend together.
pub(super) const LANES: usize = 8;

/// A key of the sample, and the number of the split it was found in.
pub(super) type Sampled = (Box<[u8]>, u32);

pub(super) struct Splitters {
    /// The distinct keys.
    keys: Borders,
    /// The heads as a tree from index 1 on, filled up with the greatest number to whole levels. It always has
    /// room for all ranges, so an index into it needs no check.
    tree: Box<[u64; RANGES_MOST]>,
    levels: u32,
    /// The number of splitters with a lesser key, for each key and for the end: the range of records before
    /// that key.
    before: Vec<u32>,
    /// The splits of all splitters, by key, ascending within one.
    splits: Vec<u32>,
}

/// The splitters as records of one split see them.
pub(super) struct SplitView<'s> {
    splitters: &'s Splitters,
    /// For each key, the range of records with that key.
    equal: Vec<u32>,
    /// Whether later splits come first.
    reverse: bool,
}

impl Splitters {
    /// Divides the order of a sample into `ranges` ranges that hold about as many of it each.
    pub(super) fn choose(mut sample: Vec<Sampled>, ranges: usize, reverse: bool) -> Splitters {
        let direction = |split: u32| if reverse { !split } else { split };
        sample.iter_mut().for_each(|(_, split)| *split = direction(*split));
        sample.sort_unstable();
        let ranges = ranges.min(RANGES_MOST).min(sample.len() + 1);
        let mut chosen = every_nth(sample, ranges);
        chosen.dedup();
        Splitters::new(chosen)
    }

    /// As `choose`, ascending, with a range that begins at each of `borders`, which ascend. Returns also the numbers
    /// of the ranges that begin the order and those that begin at the borders.
    pub(super) fn with_borders(
        mut sample: Vec<Sampled>,
        ranges: usize,
        borders: &[Box<[u8]>],
    ) -> (Splitters, Vec<usize>) {
        sample.sort_unstable();
        let free = ranges.min(RANGES_MOST).saturating_sub(borders.len());
        let free = free.clamp(1, sample.len() + 1);
        let mut chosen = every_nth(sample, free);
        chosen.extend(borders.iter().map(|key| (key.clone(), 0)));
        chosen.sort_unstable();
        chosen.dedup();
        let of_borders = borders
            .iter()
            .map(|border| chosen.partition_point(|(key, split)| (key, *split) <= (border, 0)));
        let begins = std::iter::once(0).chain(of_borders).collect();
        (Splitters::new(chosen), begins)
    }

    fn new(chosen: Vec<Sampled>) -> Splitters {
        let (mut keys, mut before, mut splits) = (Vec::<Box<[u8]>>::new(), Vec::new(), Vec::new());
        for (number, (key, split)) in chosen.into_iter().enumerate() {
            if keys.last() != Some(&key) {
                keys.push(key);
                before.push(number as u32);
            }
            splits.push(split);
        }
        before.push(splits.len() as u32);
        let keys = Borders::new(keys);
        let heads = keys.heads();
        let levels = (heads.len() + 1).next_power_of_two().trailing_zeros();
        let mut tree = Box::new([u64::MAX; RANGES_MOST]);
        fill(&mut tree[..1 << levels], 1, &mut heads.iter().copied());
        Splitters { keys, tree, levels, before, splits }
    }

    /// Appends all that `decode` needs to make the same.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let keys = self.keys.keys();
        put_number(keys.len() as u64, out);
        for (number, key) in keys.iter().enumerate() {
            put_bytes(key, out);
            let own = &self.splits[self.before[number] as usize..self.before[number + 1] as usize];
            put_number(own.len() as u64, out);
            own.iter().for_each(|&split| put_number(u64::from(split), out));
        }
    }

    /// Returns what was encoded; `None` if that is damaged.
    pub(super) fn decode(from: &mut Reading<'_>) -> Option<Splitters> {
        let mut chosen = Vec::new();
        for _ in 0..from.number()? {
            let key = from.bytes()?;
            for _ in 0..from.number()? {
                chosen.push((key.into(), u32::try_from(from.number()?).ok()?));
            }
        }
        let is_in_order = chosen.is_sorted() && chosen.len() < RANGES_MOST;
        is_in_order.then(|| Splitters::new(chosen))
    }

    pub(super) fn ranges(&self) -> usize {
        self.splits.len() + 1
    }

    /// Returns the order of a split's records among the splitters.
    pub(super) fn view(&self, split: u32, reverse: bool) -> SplitView<'_> {
        let mut view =
            SplitView { splitters: self, equal: vec![0; self.keys.keys().len()], reverse };
        view.turn_to(split);
        view
    }
}

/// Fills the tree in order: left, node, right.
fn fill(tree: &mut [u64], node: usize, heads: &mut impl Iterator<Item = u64>) {
    if node < tree.len() {
        fill(tree, 2 * node, heads);
        tree[node] = heads.next().unwrap_or(u64::MAX);
        fill(tree, 2 * node + 1, heads);
    }
}

impl SplitView<'_> {
    /// Turns to another split.
    pub(super) fn turn_to(&mut self, split: u32) {
        let split = if self.reverse { !split } else { split };
        let Splitters { before, splits, .. } = self.splitters;
        for (key, equal) in self.equal.iter_mut().enumerate() {
            let own = &splits[before[key] as usize..before[key + 1] as usize];
            *equal = before[key] + own.partition_point(|&begin| begin <= split) as u32;
        }
    }

    /// Returns the ranges of `LANES` records, by their keys.
    #[inline(always)]
    pub(super) fn ranges_of<'k>(&self, key: impl Fn(usize) -> &'k [u8]) -> [u32; LANES] {
        let Splitters { keys: borders, tree, levels, before, .. } = self.splitters;
        let mut ranges = [0; LANES];
        let shared = borders.shared();
        let mut keys = [0; LANES];
        (0..LANES).for_each(|lane| keys[lane] = head(key(lane), shared.len()));
        let mut nodes = [1_usize; LANES];
        for _ in 0..*levels {
            for lane in 0..LANES {
                let less = tree[nodes[lane] % RANGES_MOST] < keys[lane];
                nodes[lane] = 2 * nodes[lane] + usize::from(less);
            }
        }
        for lane in 0..LANES {
            let at = nodes[lane] - (1 << levels);
            ranges[lane] = match borders.heads().get(at) {
                // No call to compare nothing: the empty slice is at no address, and a C library that loads by masks
                // (glibc with AVX-512) waits 60 ns for the fault that the processor suppresses.
                _ if !shared.is_empty() && !key(lane).starts_with(shared) => {
                    self.range_of(key(lane))
                }
                Some(head) if *head == keys[lane] => {
                    self.range(borders.find_among_alike(at, key(lane)))
                }
                _ => before[at],
            };
        }
        ranges
    }

    /// Returns the range of one record, by its key.
    pub(super) fn range_of(&self, key: &[u8]) -> u32 {
        self.range(self.splitters.keys.find(key, |skip| head(key, skip)))
    }

    #[inline]
    fn range(&self, found: Result<usize, usize>) -> u32 {
        match found {
            Ok(at) => self.equal[at],
            Err(at) => self.splitters.before[at],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_lies_behind_all_splitters_that_are_not_greater(
            sample in prop::collection::vec(("[ab\0]{0,12}", 0u32..4), 0..60),
            alike in "[ab]{0,3}",
            ranges in 1usize..40,
            records in prop::collection::vec(("[ab\0]{0,12}", 0u32..4), 0..40),
            reverse: bool,
        ) {
            let key = |text: &String| (alike.clone() + text).into_bytes();
            let sample = sample.iter().map(|(text, split)| (key(text).into(), *split)).collect();
            let splitters = Splitters::choose(sample, ranges, reverse);
            prop_assert!(splitters.ranges() <= ranges);
            let place = |key: usize, at: usize| (splitters.keys.keys()[key].to_vec(), splitters.splits[at]);
            let places: Vec<_> = (0..splitters.keys.keys().len())
                .flat_map(|key| (splitters.before[key]..splitters.before[key + 1]).map(move |at| (key, at)))
                .map(|(key, at)| place(key, at as usize))
                .collect();
            for (text, split) in &records {
                for key in [key(text), text.clone().into_bytes()] {
                    let view = splitters.view(*split, reverse);
                    let found = view.ranges_of(|_| &key);
                    prop_assert_eq!(found[0], view.range_of(&key));
                    let own = (key.clone(), if reverse { !split } else { *split });
                    let expected = places.iter().filter(|&place| *place <= own).count();
                    prop_assert_eq!(found[0] as usize, expected);
                }
            }
        }
    }
}

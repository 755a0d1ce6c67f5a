//! A worker's whole way with its pairs, small enough for Miri: from the map's emitting through each
//! container, which overflows and is handed over, into a partial that is compressed and reduced, against
//! a `BTreeMap`.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock};
use tegula_core::container::Container::{self, Adaptive, Append, Array, Hash};
use tegula_core::container::{Inlet, KeyRange, Making, OVERREAD_BYTES, tables, upkeep};
use tegula_core::{Emit, Job};
use tegula_input::bad::BadRecords;
use tegula_input::origin::{Origin, OriginKind};
use tegula_input::split::Split;
use tegula_machine::error::Result;
use tegula_machine::memory::{BlockPool, Budget, ChunkPool};
use tegula_machine::sizing::TableLimits;
use tegula_machine::sync::Mutex;
use tegula_pairs::combine::Sum;
use tegula_pairs::key::Key;
use tegula_pairs::partial::{Folder, Outlet, PARTITIONS, Pairs, Partial, Witness};
use tegula_pairs::slots::{ShortKey, SlotKey, hash_bytes};

/// Tables stay as they begin.
const NO_GROWTH: TableLimits =
    TableLimits { cached: 1, most: 1, all: 1, standing: 0, beside: 1 << 30 };
/// Tables grow as long as they like.
const GROWTH: TableLimits =
    TableLimits { cached: 1 << 30, most: 1 << 30, all: 1 << 30, standing: 0, beside: 1 << 30 };

/// A job in name only: these tests emit themselves.
struct Keyed<K: ?Sized>(PhantomData<K>);

impl<K: Key + ?Sized + Sync> Job for Keyed<K> {
    type Key = K;
    type Combine = Sum<u64>;

    fn map<'s>(&self, _: Split<'s>, _: &mut impl Emit<'s, Self>) -> Result<()> {
        Ok(())
    }
}

type Words = Keyed<[u8]>;
type Numbers = Keyed<u64>;
type Counts = BTreeMap<Vec<u8>, u64>;

/// A partial, with the memory to fill it.
struct Bench {
    chunks: Arc<ChunkPool>,
    partial: Partial<u64>,
}

impl Bench {
    fn new() -> Bench {
        let chunks = ChunkPool::new(BlockPool::new(Budget::new(None)));
        Bench { partial: Partial::new(&chunks, None), chunks }
    }

    /// Returns a worker's inlet with the given container.
    fn inlet<J: Job<Combine = Sum<u64>>>(
        &self,
        container: Container,
        limits: TableLimits,
        range: Option<KeyRange>,
    ) -> Inlet<'_, J> {
        self.inlet_with::<J>(container, limits, range, Outlet::new(&self.partial))
    }

    fn inlet_with<'b, J: Job<Combine = Sum<u64>>>(
        &'b self,
        container: Container,
        limits: TableLimits,
        range: Option<KeyRange>,
        outlet: Outlet<'b, u64>,
    ) -> Inlet<'b, J> {
        let chunks = &self.chunks;
        let share_bytes = 0;
        let making =
            Making { chunks, outlet, limits, range, share_bytes, container, tables, upkeep };
        Inlet::new(&making).unwrap()
    }

    /// Folds partitions in which keys can repeat, as workers do between splits when they are larger.
    fn compress(&self, folder: &mut Folder<Sum<u64>>) {
        for number in 0..PARTITIONS {
            let mut partition = self.partial.partition(number);
            if partition.may_repeat() {
                folder.compress(&mut partition).unwrap();
            }
        }
    }

    fn folder(&self) -> Folder<Sum<u64>> {
        Folder::new(&self.chunks).unwrap()
    }

    /// Returns the pairs of the partial; no key occurs twice.
    fn reduce(&self) -> Counts {
        let (mut folder, mut pairs) = (self.folder(), Pairs::new(&self.chunks));
        for number in 0..PARTITIONS {
            folder.reduce(&mut self.partial.partition(number), &mut pairs).unwrap();
        }
        let counts: Counts = pairs.iter().map(|pair| (pair.key.to_vec(), *pair.value)).collect();
        assert_eq!(counts.len(), pairs.len());
        counts
    }
}

/// A split's bytes, followed by the readable bytes that it needs, and the ranges of its words.
struct Text {
    bytes: Vec<u8>,
    words: Vec<std::ops::Range<usize>>,
}

impl Text {
    fn new(words: &[Vec<u8>]) -> Text {
        let mut text = Text { bytes: Vec::new(), words: Vec::new() };
        for word in words {
            text.words.push(text.bytes.len()..text.bytes.len() + word.len());
            text.bytes.extend_from_slice(word);
        }
        text.bytes.extend([0xee; OVERREAD_BYTES]);
        text
    }

    /// Emits each word three times: alone, as a copy that is gone at once, and with all others.
    fn emit_into<'p>(&self, emitter: &mut Inlet<'p, Words>) {
        let start = NonNull::from(&self.bytes[..]).cast();
        // SAFETY: OVERREAD_BYTES follow the text, which stays unchanged and alive to the end of the
        // test.
        let mut emit = unsafe { emitter.begin_split(start, self.bytes.len() - OVERREAD_BYTES, 0) };
        let words = || self.words.iter().map(|word| &self.bytes[word.clone()]);
        for word in words() {
            emit.emit(word, 1);
            let made = word.to_vec();
            emit.emit_copied(&made, 10);
        }
        emit.emit_each(words(), 100);
        emit.emit(b"a static key that lies in no split", 1000);
    }

    /// Emits the words, and takes them in.
    fn map_into<'p>(&self, emitter: &mut Inlet<'p, Words>) {
        self.emit_into(emitter);
        emitter.finish_split(&empty_split()).unwrap();
    }
}

/// Returns a split for messages to name.
fn empty_split() -> Split<'static> {
    static BAD: LazyLock<BadRecords> = LazyLock::new(|| BadRecords::new(false, true));
    Split::new(b"", Origin { part: 0, kind: OriginKind::Memory(b"") }, 0, 0, &BAD)
}

/// Different words, every other of them long enough for the next class of keys.
fn words(numbers: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    let word = |number: usize| {
        let digits = format!("{number}");
        let width = [0, 15, 16, 31, 32, 40][number % 6];
        // Zero bytes in front: they are no padding.
        let mut word = vec![0; usize::saturating_sub(width, digits.len())];
        word.extend(digits.bytes());
        word
    };
    numbers.map(word).collect()
}

/// More words of each class than a table takes that does not grow.
const MANY: usize = if cfg!(miri) { 180 } else { 9000 };
/// Words in a split.
const SPLIT: usize = MANY / 6;

fn keys_of_all_classes_survive(container: Container) {
    let (bench, mut expected) = (Bench::new(), Counts::new());
    let mut folder = bench.folder();
    let mut emitter = bench.inlet::<Words>(container, NO_GROWTH, None);
    let chunk = vec![b'c'; 20_000];
    for round in 0..2 {
        let mut all = words(round * SPLIT / 2..MANY);
        all.extend([Vec::new(), chunk.clone(), b"a".to_vec(), b"a\0".to_vec()]);
        let texts: Vec<Text> = all.chunks(SPLIT).map(Text::new).collect();
        for text in &texts {
            let before = emitter.handed_over().pairs;
            text.map_into(&mut emitter);
            if emitter.handed_over().pairs > before {
                bench.compress(&mut folder);
            }
        }
        all.into_iter().for_each(|word| *expected.entry(word).or_default() += 111);
        let statics = expected.entry(b"a static key that lies in no split".to_vec());
        *statics.or_default() += 1000 * texts.len() as u64;
    }
    assert!(emitter.handed_over().pairs > 0, "nothing overflowed");
    emitter.hand_over().unwrap();
    assert!(emitter.emitted() > 6 * (MANY - SPLIT) as u64);
    drop(emitter);
    // Reduced twice, there is nothing the second time.
    assert!(bench.reduce() == expected);
    assert!(bench.reduce().is_empty());
}

#[test]
fn keys_of_all_classes_survive_overflow_and_compression_in_every_container() {
    keys_of_all_classes_survive(Hash);
    keys_of_all_classes_survive(Append);
    keys_of_all_classes_survive(Adaptive);
}

/// Counts the pairs that it sees.
#[derive(Default)]
struct Seen(Counts);

impl Witness<u64> for Seen {
    fn see(&mut self, key: &[u8], value: &u64) {
        *self.0.entry(key.to_vec()).or_default() += value;
    }
}

/// Pieces of few keys and of many in turn, with a little room for a table that holds saved pieces.
fn pieces_are_seen_one_by_one(container: Container, stay: bool) {
    let (bench, mut expected) = (Bench::new(), Counts::new());
    let seen = Mutex::new(Seen::default());
    let limits = TableLimits { standing: 36 << 10, ..NO_GROWTH };
    let outlet = Outlet::new(&bench.partial).seen_by(&seen);
    let mut emitter = bench.inlet_with::<Words>(container, limits, None, outlet);
    let few = MANY / 40;
    for piece in 0..24 {
        let first = piece * few / 3;
        let count = if piece % 5 == 4 { SPLIT } else { few };
        let all = words(first..first + count);
        let text = Text::new(&all);
        let mut of_piece: Counts = all.into_iter().map(|word| (word, 111)).collect();
        of_piece.insert(b"a static key that lies in no split".to_vec(), 1000);
        text.map_into(&mut emitter);
        let before = emitter.handed_over().pairs;
        emitter.end_piece().unwrap();
        if piece == 0 {
            let stayed = of_piece.keys().filter(|key| key.len() < 32).count() as u64;
            let all = of_piece.len() as u64;
            let left = emitter.handed_over().pairs - before;
            assert_eq!(left, if stay { all - stayed } else { left });
        }
        assert_eq!(std::mem::take(&mut seen.lock().0), of_piece, "piece {piece}");
        of_piece.into_iter().for_each(|(key, count)| *expected.entry(key).or_default() += count);
    }
    emitter.hand_over().unwrap();
    assert_eq!(seen.lock().0, Counts::new(), "pairs that stayed were seen before");
    drop(emitter);
    assert!(bench.reduce() == expected);
}

#[test]
fn pieces_are_seen_one_by_one_though_few_keys_stay() {
    pieces_are_seen_one_by_one(Hash, true);
    pieces_are_seen_one_by_one(Adaptive, true);
    pieces_are_seen_one_by_one(Append, false);
}

fn an_abandoned_split_is_gone(container: Container) {
    let bench = Bench::new();
    let mut emitter = bench.inlet::<Words>(container, NO_GROWTH, None);
    Text::new(&words(50..60)).map_into(&mut emitter);
    // Few enough that all of them are still in the batch, and gone with their text.
    Text::new(&words(0..5)).emit_into(&mut emitter);
    emitter.abandon_split();
    emitter.hand_over().unwrap();
    let mut expected: Counts = words(50..60).into_iter().map(|word| (word, 111)).collect();
    expected.insert(b"a static key that lies in no split".to_vec(), 1000);
    assert!(bench.reduce() == expected);
}

#[test]
fn an_abandoned_split_leaves_no_borrowed_key_behind() {
    an_abandoned_split_is_gone(Hash);
    an_abandoned_split_is_gone(Append);
    an_abandoned_split_is_gone(Adaptive);
}

fn two_workers_share_a_partial(container: Container, range: Option<KeyRange>) {
    let (bench, mut expected) = (Bench::new(), Counts::new());
    let mut emitters =
        [NO_GROWTH, GROWTH].map(|limits| bench.inlet::<Numbers>(container, limits, range));
    let many = if cfg!(miri) { 400 } else { 6000_u64 };
    for number in 0..many {
        let key = number % (many / 2 + 100) * 0x13;
        *expected.entry(key.to_be_bytes().to_vec()).or_default() += number;
        let emitter = &mut emitters[(number / 100 % 2) as usize];
        // SAFETY: an empty split; its keys are numbers.
        let mut emit = unsafe { emitter.begin_split(NonNull::dangling(), 0, 0) };
        if number % 2 == 0 {
            emit.emit(key, number);
        } else {
            emit.emit_copied(key, number);
        }
        drop(emit);
        if number % 50 == 49 {
            emitter.finish_split(&empty_split()).unwrap();
        }
    }
    std::thread::scope(|scope| {
        for mut emitter in emitters {
            scope.spawn(move || emitter.hand_over().unwrap());
        }
    });
    assert!(bench.reduce() == expected);
}

#[test]
fn integers_are_inline_keys_and_two_workers_share_a_partial() {
    let range = KeyRange::new(0, 60_000);
    two_workers_share_a_partial(Hash, None);
    two_workers_share_a_partial(Append, range);
    two_workers_share_a_partial(Adaptive, None);
    two_workers_share_a_partial(Adaptive, range);
    two_workers_share_a_partial(Array, range);
}

/// Returns keys whose hashes begin alike, in the order of their hashes, short and long ones in turn.
fn crowd(count: usize) -> Vec<Vec<u8>> {
    // Fewer bits are alike where only few keys can be tried.
    let alike = if cfg!(miri) { 4 } else { 10 };
    let of = |form: fn(usize) -> String, hash: fn(&[u8]) -> u64| {
        let all =
            (0..).map(move |number| form(number).into_bytes()).map(move |key| (hash(&key), key));
        let mut keys: Vec<_> =
            all.filter(|(hash, _)| hash >> (64 - alike) == 1).take(count / 2).collect();
        keys.sort_unstable();
        keys
    };
    let short = of(|number| format!("{number}"), |key| ShortKey::new(key).hash());
    let long = of(|number| format!("{number:040}"), hash_bytes);
    short.into_iter().zip(long).flat_map(|(short, long)| [short.1, long.1]).collect()
}

/// To probe for each would take as long as there are keys.
fn a_crowd_is_handed_over(container: Container) {
    let count = if cfg!(miri) { 700 } else { 8000 };
    let (bench, keys) = (Bench::new(), crowd(count));
    let mut inlet = bench.inlet::<Words>(container, GROWTH, None);
    for some in keys.chunks(100) {
        Text::new(some).map_into(&mut inlet);
    }
    // A table keeps keys that are no crowd yet, and a batch or two.
    let handed_over = inlet.handed_over().pairs as usize;
    assert!(handed_over + 2000 > count, "{handed_over} handed over");
    inlet.hand_over().unwrap();
    drop(inlet);
    let counts = bench.reduce();
    assert!(counts.len() == count + 1 && keys.iter().all(|key| counts[key] == 111));
}

/// Returns the pairs handed over of keys that each occur `repeats` times in a row.
fn handed_over_by_the_adaptive(bench: &Bench, stretches: &[(u64, u64)]) -> Vec<u64> {
    // The first table is judged when it is full.
    let limits =
        TableLimits { cached: 1 << 12, most: 1 << 30, all: 1 << 30, standing: 0, beside: 1 << 30 };
    let mut inlet = bench.inlet::<Numbers>(Adaptive, limits, None);
    let mut after = Vec::new();
    for &(pairs, keys) in stretches {
        // SAFETY: an empty split; its keys are numbers.
        let mut emit = unsafe { inlet.begin_split(NonNull::dangling(), 0, 0) };
        (0..pairs).for_each(|number| emit.emit(number % keys, 1));
        drop(emit);
        inlet.finish_split(&empty_split()).unwrap();
        after.push(inlet.handed_over().pairs);
    }
    after
}

#[test]
fn the_adaptive_container_appends_where_keys_do_not_repeat_and_changes_its_mind() {
    // A table's first size is full at five eighths.
    let full = if cfg!(miri) { 40 } else { 2560 };
    let new = 10 * full;
    let repeated = 40 * full;
    let bench = Bench::new();
    let after = handed_over_by_the_adaptive(&bench, &[(new, new), (repeated, 7), (repeated, 7)]);
    assert!(after[0] > 9 * full, "new keys are handed over as they come: {after:?}");
    assert!(after[1] < 36 * full, "a stretch of appending ends: {after:?}");
    assert_eq!(after[1], after[2], "repeated keys stay in the table: {after:?}");
    let other = Bench::new();
    let after = handed_over_by_the_adaptive(&other, &[(repeated, 7)]);
    assert_eq!(after[0], 0, "repeated keys stay in the table from the start: {after:?}");
}

#[test]
fn keys_in_the_order_of_their_hashes_crowd_no_table() {
    a_crowd_is_handed_over(Hash);
    a_crowd_is_handed_over(Adaptive);
}

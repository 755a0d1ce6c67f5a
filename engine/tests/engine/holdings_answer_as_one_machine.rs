//! Several holdings answer as one machine does, to the byte: whoever maps which tiles, in whichever order, and
//! whether pairs are put together on one of them or exchanged by partition. What is not committed does not count.

use crate::jobs::{Mapping, Words, good_lines, mapping, offsets};
use crate::support::{
    LITTLE, cases, count_line, engine, error_saying, folder_of, limited, limited_builder,
    sample_text, text_of, within,
};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::io::Write;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tegula::holding::{Holding, PARTITIONS, Pull, ReduceTotals};
use tegula::storage::Disk;
use tegula::{
    Aggregate, Cancel, Combine, Cut, Emit, Engine, Input, Job, Key, Mean, Min, Options, Order,
    Output, Result, Split, State, WordClass,
};
use tegula_testing::{Room, Small};

/// Combines the lengths of words by their first byte, as floats too small to add up in any order.
struct Lengths<C>(PhantomData<fn(C)>);

fn lengths<C>() -> Lengths<C> {
    Lengths(PhantomData)
}

impl<C> Job for Lengths<C>
where
    C: Combine<Value = f64>,
{
    type Key = [u8];
    type Combine = C;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.fields().for_each(|word| emit.emit(&word[..1], 1.0 / word.len() as f64));
        Ok(())
    }
}

/// Who maps each tile, and how the pairs come together.
#[derive(Clone, Debug)]
struct Plan {
    /// The engine of each holding, by its place among `engines`.
    holdings: Vec<usize>,
    /// Leases: how many tiles, by which holding, and whether they are mapped once more without being committed.
    leases: Vec<(u32, usize, bool)>,
    /// Whether leases are given in the order of the input.
    is_reversed: bool,
    /// Whether pairs are exchanged by partition instead of gathered.
    exchanges: bool,
}

fn plan() -> impl Strategy<Value = Plan> {
    let lease = (1_u32..5, 0_usize..5, prop::bool::weighted(0.2));
    let holdings = prop::collection::vec(0_usize..2, 1..=5);
    (holdings, prop::collection::vec(lease, 1..20), any::<bool>(), any::<bool>()).prop_map(
        |(holdings, leases, is_reversed, exchanges)| Plan {
            holdings,
            leases,
            is_reversed,
            exchanges,
        },
    )
}

fn engines() -> &'static [Engine; 2] {
    static ENGINES: OnceLock<[Engine; 2]> = OnceLock::new();
    ENGINES.get_or_init(|| [engine(1), engine(3)])
}

impl Plan {
    /// Cuts the tiles into leases: those of the plan in turn.
    fn leases_of(&self, tiles: u32) -> Vec<(Range<u32>, usize, bool)> {
        let (mut leases, mut next) = (Vec::new(), 0);
        for &(count, holding, twice) in self.leases.iter().cycle() {
            if next == tiles {
                break;
            }
            let end = tiles.min(next + count);
            leases.push((next..end, holding % self.holdings.len(), twice));
            next = end;
        }
        if self.is_reversed {
            leases.reverse();
        }
        leases
    }

    /// Maps all tiles.
    fn hold<'e, J: Job>(
        &self,
        engines: &'e [Engine],
        job: &'e J,
        input: &dyn Fn() -> Input,
        options: &Options,
    ) -> Result<Vec<Holding<'e, J>>> {
        let hold = |&at: &usize| engines[at].hold(job, input(), options);
        let mut holdings = self.holdings.iter().map(hold).collect::<Result<Vec<_>>>()?;
        let tiles = holdings[0].tile_sizes().len() as u32;
        assert!(holdings.iter().all(|one| one.digest() == holdings[0].digest()));
        for (tiles, at, twice) in self.leases_of(tiles) {
            let mapped = holdings[at].map(tiles.clone(), &Cancel::new())?;
            if twice {
                drop(holdings[at].map(tiles, &Cancel::new())?);
            }
            holdings[at].commit(mapped)?;
        }
        Ok(holdings)
    }

    /// Returns the text of the answer.
    fn answer<J: Job>(
        &self,
        engines: &[Engine],
        job: &J,
        input: &dyn Fn() -> Input,
        options: &Options,
        text: &dyn Fn(&Output<J>) -> Vec<u8>,
    ) -> Result<Vec<u8>> {
        let mut holdings = self.hold(engines, job, input, options)?;
        if self.exchanges {
            let mut driver = engines[1].hold(job, input(), options)?;
            exchange(&mut holdings, &mut driver)?;
            return Ok(text(&driver.answer()?));
        }
        let mut takes = holdings.remove(0);
        for from in &holdings {
            let mut received = takes.beside();
            takes.take_in(&mut received, &blocks_of(from)?)?;
            received.note(&from.counts())?;
            takes.commit(received)?;
        }
        Ok(text(&takes.answer()?))
    }

    /// Checks that holdings answer as one engine does.
    fn check<J: Job>(
        &self,
        job: &J,
        input: &dyn Fn() -> Input,
        options: &Options,
        line: impl Fn(
            <J::Key as Key>::Borrowed<'_>,
            <J::Combine as Aggregate>::Output<'_>,
            &mut Vec<u8>,
        ) + Sync,
    ) {
        let alone = engines()[1].job(job).options(options).run(input()).unwrap();
        let text = |output: &Output<J>| text_of(output, &line);
        let together = self.answer(engines(), job, input, options, &text).unwrap();
        assert!(together == text(&alone), "{self:?}");
    }
}

/// Lets each holding make the answer of some partitions, and another one collect them.
fn exchange<J: Job>(holdings: &mut [Holding<'_, J>], driver: &mut Holding<'_, J>) -> Result<()> {
    let fold = |holding: &mut Holding<'_, J>| holding.fold_out();
    let spools = holdings.iter_mut().map(fold).collect::<Result<Vec<_>>>()?;
    let (mut answers, mut totals) = (Vec::new(), ReduceTotals::default());
    for (part, takes) in holdings.iter().enumerate() {
        let range = |part: usize| PARTITIONS * part / holdings.len();
        let mut received = takes.beside();
        for spool in &spools {
            spool.read(range(part)..range(part + 1), &mut |blocks| {
                takes.take_in(&mut received, blocks)
            })?;
        }
        let answer = takes.answer_part(received)?;
        let ReduceTotals { keys, key_bytes } = answer.totals();
        totals = ReduceTotals { keys: totals.keys + keys, key_bytes: totals.key_bytes + key_bytes };
        let mut blocks = VecDeque::new();
        answer.blocks(&mut |block| {
            blocks.push_back(block.to_vec());
            Ok(())
        })?;
        answers.push(blocks);
    }
    let pull = |mut blocks: VecDeque<Vec<u8>>| -> Box<Pull<'_>> {
        Box::new(move || Ok(blocks.pop_front()))
    };
    driver.collect(&mut answers.into_iter().map(pull).collect::<Vec<_>>(), totals)?;
    let mut counted = driver.beside();
    spools.iter().try_for_each(|spool| counted.note(spool.counts()))?;
    driver.commit(counted)
}

fn blocks_of<J: Job>(holding: &Holding<'_, J>) -> Result<Vec<u8>> {
    let mut blocks = Vec::new();
    holding.blocks(0..PARTITIONS, &mut |block| {
        blocks.extend_from_slice(block);
        Ok(())
    })?;
    Ok(blocks)
}

fn float_line(key: &[u8], value: f64, text: &mut Vec<u8>) {
    writeln!(text, "{}\t{:016x}", key.escape_ascii(), value.to_bits()).unwrap();
}

fn files() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let letters = prop::sample::select(&b"abAB \n\t\0\xff"[..]);
    prop::collection::vec(prop::collection::vec(letters, 0..1500), 0..5)
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn any_division_gives_the_bytes_of_one_machine(
        files in files(),
        tile in prop_oneof![1..64_u64, 64..6000_u64],
        plan in plan(),
        order in prop::sample::select(vec![Order::Key, Order::Value, Order::None]),
        top in prop::sample::select(vec![None, None, Some(0), Some(3)]),
    ) {
        let folder = folder_of(&files);
        let options = Options { order, top, tile_bytes: Some(tile), ..Options::default() };
        let input = || Input::paths([folder.path()]).unwrap();
        plan.check(&Words(WordClass::Whitespace), &input, &options, count_line);
        plan.check(&offsets(), &input, &options, |word, offsets, text| {
            text.extend_from_slice(word);
            offsets.for_each(|offset| write!(text, " {offset}").unwrap());
            text.push(b'\n');
        });
        plan.check(&lengths::<Mean<f64>>(), &input, &options, float_line);
        plan.check(&lengths::<Min<f64>>(), &input, &options, float_line);
    }
}

#[test]
fn holdings_of_little_memory_spill_and_answer_alike() {
    let text: Vec<u8> = (0..900_000_u32)
        .flat_map(|number| format!("w{} ", number * 7 % 600_011).into_bytes())
        .collect();
    let job = Words(WordClass::Whitespace);
    let options = Options { tile_bytes: Some(1 << 20), ..Options::default() };
    let engines = [limited(LITTLE), engine(1)];
    let shown = |output: &Output<Words>| text_of(output, count_line);
    let input = || Input::bytes(text.clone());
    let alone = engine(2).job(&job).options(&options).run(input()).unwrap();
    for exchanges in [false, true] {
        let plan = Plan {
            holdings: vec![0, 1],
            leases: vec![(2, 0, false), (1, 1, false)],
            is_reversed: true,
            exchanges,
        };
        let together = plan.answer(&engines, &job, &input, &options, &shown).unwrap();
        assert!(together == text_of(&alone, count_line), "{exchanges}");
    }
}

/// Pairs that are dropped, of a map that does not count or of an answer that was sent, leave nothing on disk.
#[test]
fn pairs_that_are_dropped_give_their_disk_space_back() {
    let folder = tempfile::tempdir().unwrap();
    let room = Room::without_end();
    let disk = Small::new(Arc::new(Disk::new(folder.path())), room.clone());
    let engine = limited_builder(LITTLE).storage(Arc::new(disk)).build().unwrap();
    let text: String = (0..900_000).map(|number| format!("word-{number} ")).collect();
    let job = Words(WordClass::Whitespace);
    let options = Options { tile_bytes: Some(1 << 20), ..Options::default() };
    let holding = engine.hold(&job, Input::bytes(text), &options).unwrap();
    let tiles = holding.tile_sizes().len() as u32;
    let in_use = || room.taken() - room.freed();

    let mapped = holding.map(0..tiles, &Cancel::new()).unwrap();
    assert!(in_use() > 1 << 20, "{} in use", in_use());
    drop(mapped);
    assert_eq!(in_use(), 0);

    let part = holding.answer_part(holding.map(0..tiles, &Cancel::new()).unwrap()).unwrap();
    assert!(in_use() > 1 << 20, "{} in use", in_use());
    drop(part);
    assert_eq!(in_use(), 0);
}

#[test]
fn compressed_files_are_mapped_one_by_one() {
    let texts = [sample_text(3000), sample_text(900), Vec::new(), sample_text(5000)];
    let folder = folder_of(&texts);
    for (number, text) in texts.iter().enumerate() {
        let path = folder.path().join(format!("{number:03}.txt.gz"));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text).unwrap();
        std::fs::write(path, packed.finish().unwrap()).unwrap();
    }
    let input = || Input::paths([folder.path()]).unwrap();
    let options = Options { tile_bytes: Some(2000), ..Options::default() };
    for seed in 0..4 {
        let plan = Plan {
            holdings: vec![0, 1, 0],
            leases: vec![(1, seed, seed == 3), (3, 1, false), (2, 2, true)],
            is_reversed: seed == 2,
            exchanges: seed == 1,
        };
        plan.check(&Words(WordClass::Whitespace), &input, &options, count_line);
        plan.check(&offsets(), &input, &options, |word, offsets, text| {
            text.extend_from_slice(word);
            offsets.for_each(|offset| write!(text, " {offset}").unwrap());
            text.push(b'\n');
        });
    }
}

/// Returns a job for which lines that say so are bad, and lines of which six are.
fn good_and_bad() -> (Mapping<'static>, String) {
    let job = good_lines(|line| (line == b"bad").then(|| "it is bad".to_owned()));
    let lines = (0..2000).map(|at| if at % 300 == 299 { "bad\n" } else { "good\n" });
    (job, lines.collect())
}

#[test]
fn bad_records_are_counted_once_with_their_places() {
    let (job, lines) = good_and_bad();
    let folder = folder_of(&[lines]);
    let path: PathBuf = folder.path().join("000.txt");
    let input = || Input::paths([&path]).unwrap();
    let options = Options { tile_bytes: Some(1000), skip_bad: true, ..Options::default() };
    let alone = engine(2).job(&job).options(&options).run(input()).unwrap();
    let plan = Plan {
        holdings: vec![0, 1, 0],
        leases: vec![(1, 2, true), (2, 1, false), (1, 0, false)],
        is_reversed: true,
        exchanges: false,
    };
    let same = |output: &Output<_>| {
        let stats = output.stats();
        assert_eq!(stats.bad_records, 6);
        assert_eq!(stats.bad_first, alone.stats().bad_first);
        assert_eq!((stats.bytes, stats.pairs), (alone.stats().bytes, alone.stats().pairs));
        text_of(output, count_line)
    };
    let together = plan.answer(engines(), &job, &input, &options, &same).unwrap();
    assert!(together == text_of(&alone, count_line));

    let refused = plan.hold(engines(), &job, &input, &Options { skip_bad: false, ..options });
    error_saying(&engines()[0], refused.map(drop), &["000.txt", "it is bad", "line"]);
}

/// One machine saves its tiles and is lost, and another one does not save those that it gives.
#[test]
fn a_state_has_the_pairs_and_counts_of_all_machines() {
    let (job, lines) = good_and_bad();
    let job = job.named("good and bad");
    let (folder, states) = (folder_of(&[lines]), tempfile::tempdir().unwrap());
    let input = || Input::paths([folder.path()]).unwrap();
    let plain = Options { tile_bytes: Some(1000), skip_bad: true, ..Options::default() };
    let alone = engine(2).job(&job).options(&plain).run(input()).unwrap();
    let state = Some(State::new(states.path(), "good-and-bad"));
    let options = Options { state, ..plain };
    let check = |output: &Output<_>| {
        let (stats, alone_stats) = (output.stats(), alone.stats());
        assert_eq!((stats.bad_records, &stats.bad_first), (6, &alone_stats.bad_first));
        assert_eq!((stats.bytes, stats.pairs), (alone_stats.bytes, alone_stats.pairs));
        assert!(text_of(output, count_line) == text_of(&alone, count_line));
    };
    let mut driver = engines()[0].hold(&job, input(), &options).unwrap();
    driver.open_state().unwrap();
    let (tiles, (_, first)) = (driver.tile_sizes().len() as u32, driver.covered().unwrap());

    let lost = engines()[1].hold(&job, input(), &options).unwrap();
    let mapped = lost.map(0..tiles / 2, &Cancel::new()).unwrap();
    let saved = lost.save(&mapped, first).unwrap();
    driver.name(&saved).unwrap();
    drop((mapped, lost));
    let taken = driver.take_saved(&saved).unwrap();
    driver.commit(taken).unwrap();

    let mut giving = engines()[1].hold(&job, input(), &options).unwrap();
    let mapped = giving.map(tiles / 2..tiles, &Cancel::new()).unwrap();
    giving.commit(mapped).unwrap();
    let mut given = driver.beside();
    driver.take_in(&mut given, &blocks_of(&giving).unwrap()).unwrap();
    given.note(&giving.counts()).unwrap();
    driver.commit(given).unwrap();

    check(&driver.answer().unwrap());
    let again = engine(2).job(&job).options(&options).run(input()).unwrap();
    assert_eq!(again.stats().restored_bytes, again.stats().bytes);
    check(&again);
}

#[test]
fn another_input_has_another_digest_and_the_difference_is_named() {
    let (one, other) = (folder_of(&["a b", "c"]), folder_of(&["a b", "c"]));
    let job = Words(WordClass::Whitespace);
    let hold = |folder: &tempfile::TempDir| {
        engines()[0]
            .hold(&job, Input::paths([folder.path()]).unwrap(), &Options::default())
            .unwrap()
    };
    let here = hold(&one);
    assert_eq!(here.difference(&hold(&one).listing().unwrap()).unwrap(), None);
    let there = hold(&other);
    assert_ne!(here.digest(), there.digest());
    let difference = there.difference(&here.listing().unwrap()).unwrap().unwrap();
    assert!(difference.contains("is in the place of"), "{difference}");

    std::fs::write(one.path().join("001.txt"), "longer").unwrap();
    let difference = hold(&one).difference(&here.listing().unwrap()).unwrap().unwrap();
    assert!(difference.contains("001.txt had 1 bytes and has 6"), "{difference}");

    let alpha = Words(WordClass::Alpha);
    let input = || Input::paths([other.path()]).unwrap();
    let of_alpha = engines()[0].hold(&alpha, input(), &Options::default()).unwrap();
    assert_ne!(of_alpha.digest(), there.digest(), "the job's identity differs");
    assert_eq!(of_alpha.difference(&there.listing().unwrap()).unwrap(), None);
}

#[test]
fn damaged_blocks_are_refused() {
    let job = Words(WordClass::Whitespace);
    let hold = || engines()[0].hold(&job, Input::bytes("a b c"), &Options::default()).unwrap();
    let (mut from, to) = (hold(), hold());
    let mapped = from.map(0..1, &Cancel::new()).unwrap();
    from.commit(mapped).unwrap();
    let mut blocks = blocks_of(&from).unwrap();
    assert!(to.take_in(&mut to.beside(), &blocks).is_ok());
    assert!(to.take_in(&mut to.beside(), &blocks[..blocks.len() - 1]).is_err());
    let at = blocks.len() / 2;
    blocks[at] ^= 1;
    assert!(to.take_in(&mut to.beside(), &blocks).is_err());
}

#[test]
fn a_cancelled_map_leaves_the_holding_as_it_was() {
    within(60, || {
        let cancel = Cancel::new();
        let raised = cancel.clone();
        let job = mapping(move |_, _| {
            raised.cancel();
            Ok(())
        });
        let engine = engine(2);
        let holding =
            engine.hold(&job, Input::bytes("a ".repeat(1 << 20)), &Options::default()).unwrap();
        assert!(matches!(holding.map(0..1, &cancel), Err(tegula::Error::Cancelled)));
        assert!(holding.answer().unwrap().is_empty());
    });
}

//! Sorted runs into one: by sampled splitters, as `Engine::sort` does it, beside the standard
//! library's sort of everything and a merge of the runs by a heap. All begin and end with records in
//! memory, on one core.

use crate::engine;
use criterion::{Criterion, SamplingMode, Throughput};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use tegula::{Input, Options, Sort, SortTo};

const RECORD_BYTES: usize = 100;
const KEY_BYTES: usize = 10;
const RUN_RECORDS: usize = 62_500;
const RUNS: usize = 16;

type Record = [u8; RECORD_BYTES];

pub(crate) fn bench(criterion: &mut Criterion) {
    let runs = sorted_runs();
    let all: Vec<Record> = runs.concat();
    let expected = by_std(&all);
    assert!(by_heap(&runs) == expected && by_splitters(&all) == expected);
    let mut group = criterion.benchmark_group("sorted runs into one");
    group.sampling_mode(SamplingMode::Flat);
    group.throughput(Throughput::Bytes((all.len() * RECORD_BYTES) as u64));
    group.bench_function("sampled splitters", |bencher| bencher.iter(|| by_splitters(&all)));
    group.bench_function("std's stable sort of everything", |bencher| {
        bencher.iter(|| by_std(&all));
    });
    group.bench_function("a heap over 16 runs", |bencher| bencher.iter(|| by_heap(&runs)));
    group.finish();
}

fn sorted_runs() -> Vec<Vec<Record>> {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 32) as u8
    };
    let record = |_| std::array::from_fn(|at| if at < KEY_BYTES { random() } else { at as u8 });
    let mut records: Vec<Record> = (0..RUNS * RUN_RECORDS).map(record).collect();
    records.chunks_mut(RUN_RECORDS).for_each(<[Record]>::sort_unstable);
    records.chunks(RUN_RECORDS).map(<[Record]>::to_vec).collect()
}

fn by_splitters(all: &[Record]) -> Vec<u8> {
    let mut sorted = Vec::with_capacity(all.len() * RECORD_BYTES);
    let to = SortTo::Writer(&mut sorted, Path::new("a vector"));
    let input = Input::bytes(all.as_flattened());
    engine().sort(&Sort::terasort(), input, to, &Options::default()).unwrap();
    sorted
}

fn by_std(all: &[Record]) -> Vec<u8> {
    let mut sorted = all.to_vec();
    sorted.sort_by(|a, b| a[..KEY_BYTES].cmp(&b[..KEY_BYTES]));
    sorted.into_flattened()
}

fn by_heap(runs: &[Vec<Record>]) -> Vec<u8> {
    let mut sorted = Vec::with_capacity(runs.iter().map(Vec::len).sum::<usize>() * RECORD_BYTES);
    let key = |run: usize, at: usize| -> [u8; KEY_BYTES] {
        std::array::from_fn(|byte| runs[run][at][byte])
    };
    let mut heap: BinaryHeap<_> =
        (0..runs.len()).map(|run| Reverse((key(run, 0), run, 0))).collect();
    while let Some(Reverse((_, run, at))) = heap.pop() {
        sorted.extend_from_slice(&runs[run][at]);
        if at + 1 < runs[run].len() {
            heap.push(Reverse((key(run, at + 1), run, at + 1)));
        }
    }
    sorted
}

//! From partials to the written answer: reduce, merge by key and by value, the top ten, and output.

use crate::jobs::WordCount;
use crate::text::Text;
use crate::{engine, group, run, stage_time};
use criterion::{Criterion, Throughput};
use std::io::{self, Write};
use std::path::Path;
use tegula::{Cancel, Options, Order, Output, Stage};

pub(crate) fn bench(criterion: &mut Criterion) {
    for text in [Text::Many, Text::New] {
        text.path();
        for (stage, name, order, top) in [
            (Stage::Reduce, "by key", Order::Key, None),
            (Stage::Reduce, "top 10", Order::Value, Some(10)),
            (Stage::Merge, "by key", Order::Key, None),
            (Stage::Merge, "by value", Order::Value, None),
        ] {
            let (engine, options) = (engine(), Options { order, top, ..Options::default() });
            let mut group = group(criterion, stage.name());
            group.bench_function(format!("{name}, {}", text.name()), |bencher| {
                bencher.iter_custom(|runs| {
                    stage_time(&engine, &WordCount, text, &options, stage, runs)
                });
            });
            group.finish();
        }
    }
    output(criterion);
}

/// Formats the answer as the command line does, for a sink that never blocks.
fn output(criterion: &mut Criterion) {
    let engine = engine();
    let counts = run(&engine, &WordCount, Text::Many, &Options::default());
    let mut written = Vec::new();
    write(&counts, &mut written);
    let mut group = group(criterion, "output");
    group.throughput(Throughput::Bytes(written.len() as u64));
    group.bench_function("tsv, many keys", |bencher| {
        bencher.iter(|| write(&counts, &mut io::sink()));
    });
    group.finish();
}

fn write(counts: &Output<WordCount>, sink: &mut (dyn Write + Send)) {
    let format = |word: &[u8], count: u64, out: &mut Vec<u8>| {
        out.extend_from_slice(word);
        writeln!(out, "\t{count}").unwrap();
    };
    counts.write(sink, Path::new("sink"), &Cancel::new(), format).unwrap();
}

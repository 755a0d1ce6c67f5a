//! The map stage: reading alone, reading and tokenizing, and both with combining the words in tables
//! that stay in cache, that do not, and that never stop growing (and are handed over and compressed).

use crate::jobs::{Find, Read, WordCount};
use crate::text::Text;
use crate::{engine, group, stage_time};
use criterion::Criterion;
use tegula::{Job, Options, Order, Stage, WordClass};

pub(crate) fn bench(criterion: &mut Criterion) {
    rung(criterion, "read", &Read, Text::Many);
    rung(criterion, "read, tokenize", &Find(WordClass::Whitespace), Text::Many);
    for text in Text::ALL {
        let name = format!("read, tokenize, combine {}", text.name());
        rung(criterion, &name, &WordCount, text);
    }
}

fn rung<J: Job>(criterion: &mut Criterion, name: &str, job: &J, text: Text) {
    let engine = engine();
    text.path();
    // The stages after the map are not measured here, so the answer is the cheapest one.
    let options = Options { order: Order::Value, top: Some(1), ..Options::default() };
    let mut group = group(criterion, "map");
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|runs| stage_time(&engine, job, text, &options, Stage::Map, runs));
    });
    group.finish();
}

//! The tokenizer by itself: each word class at each level of instructions that the machine has.

use crate::text::Text;
use criterion::Criterion;
use std::hint::black_box;
use tegula::WordClass;
use tegula::tokenize::{Simd, Tokens};

pub(crate) fn bench(criterion: &mut Criterion) {
    let text = Text::Many.bytes();
    let mut group = crate::group(criterion, "tokenize");
    for (class, name) in [
        (WordClass::Whitespace, "whitespace"),
        (WordClass::Alpha, "alpha"),
        (WordClass::Name, "name"),
    ] {
        for simd in Simd::available() {
            group.bench_function(format!("{name}, {}", simd.name()), |bencher| {
                bencher.iter(|| {
                    Tokens::with(simd, class, black_box(&text)).for_each(|word| {
                        black_box(word);
                    });
                });
            });
        }
    }
    group.finish();
}

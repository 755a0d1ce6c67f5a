//! The spans of a timeline also go through `tracing`, with or without a timeline. This is a program of its
//! own, because the workers' subscriber is that of the whole process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tegula::{Cancel, Emit, Engine, Input, Job, Options, Result, Split, Sum};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

struct Words;

impl Job for Words {
    type Key = [u8];
    type Combine = Sum<u64>;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.fields().for_each(|word| emit.emit(word, 1));
        Ok(())
    }
}

/// Counts entered and left spans, by target and name.
struct Counting;

static NEXT: AtomicU64 = AtomicU64::new(1);
static NAMES: Mutex<BTreeMap<u64, String>> = Mutex::new(BTreeMap::new());
static ENTERED: Mutex<BTreeMap<String, i64>> = Mutex::new(BTreeMap::new());
static OPEN: Mutex<BTreeMap<String, i64>> = Mutex::new(BTreeMap::new());

fn count(counts: &Mutex<BTreeMap<String, i64>>, name: &str, by: i64) {
    *counts.lock().unwrap().entry(name.to_owned()).or_default() += by;
}

fn name_of(span: &Id) -> String {
    NAMES.lock().unwrap()[&span.into_u64()].clone()
}

fn full_name(metadata: &Metadata<'_>) -> String {
    format!("{} {}", metadata.target(), metadata.name())
}

impl Subscriber for Counting {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tegula")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        NAMES.lock().unwrap().insert(id, full_name(span.metadata()));
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        count(&ENTERED, &format!("{} event", event.metadata().target()), 1);
    }

    fn enter(&self, span: &Id) {
        count(&ENTERED, &name_of(span), 1);
        count(&OPEN, &name_of(span), 1);
    }

    fn exit(&self, span: &Id) {
        count(&OPEN, &name_of(span), -1);
    }
}

#[test]
fn spans_of_every_stage_are_entered_and_left() {
    tracing::subscriber::set_global_default(Counting).unwrap();
    let engine = Engine::builder().workers(2).build().unwrap();
    let text: String = (0..400_000).map(|number| format!("word{number}\n")).collect();
    let options = Options { split_bytes: Some(16 << 10), ..Options::default() };
    let output = engine.job(&Words).options(&options).run(Input::bytes(text)).unwrap();
    let write = |key: &[u8], _, text: &mut Vec<u8>| text.extend_from_slice(key);
    output.write(&mut Vec::new(), Path::new("a vector"), &Cancel::new(), write).unwrap();
    drop((output, engine));
    let entered = ENTERED.lock().unwrap();
    for kind in ["plan", "read", "map", "combine", "compress", "reduce", "merge", "write"] {
        let name = format!("tegula::timeline {kind}");
        assert!(entered.contains_key(&name), "{name} in {entered:?}");
    }
    assert!(entered["tegula::timeline read"] > 20);
    assert_eq!((entered["tegula::stage stage"], entered["tegula::stage event"]), (4, 4));
    let open = OPEN.lock().unwrap();
    assert!(open.values().all(|&count| count == 0), "{open:?}");
}

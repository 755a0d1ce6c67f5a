//! The bytes that a worker takes at a time are found while the job runs, whatever the size of the second-level
//! cache, unless the caller gives them.

use std::path::Path;
use std::time::Duration;
use tegula::Topology;
use tegula::{Count, Emit, Engine, Grouping, Input, Job, Options, Result, Split};

const SPLIT_BYTES: u64 = 64 << 10;

/// Counts splits, each at the same cost whatever its size: more at a time is faster.
struct CostlyCalls;

impl Job for CostlyCalls {
    type Key = u8;
    type Combine = Count;

    fn map<'s>(&self, _: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        std::thread::sleep(Duration::from_micros(500));
        emit.emit(0, ());
        Ok(())
    }
}

fn unit_bytes(l2: &str, split_bytes: Option<u64>) -> u64 {
    let text = format!("groups 1, cores 1, l2 {l2}, cache 8M, memory 1G");
    let machine = Topology::from_text(&text, Path::new("machine")).unwrap();
    let engine = Engine::builder().groups(Grouping::Like(machine)).workers(1).build().unwrap();
    let options = Options { split_bytes, ..Options::default() };
    let input = Input::bytes(vec![b'\n'; 64 << 20]);
    let output = engine.job(&CostlyCalls).options(&options).run(input).unwrap();
    output.stats().unit_bytes
}

#[test]
fn a_search_starts_on_caches_of_all_sizes() {
    for l2 in ["512K", "1M", "1280K", "2M"] {
        let found = unit_bytes(l2, None);
        assert!(found > 2 * SPLIT_BYTES, "{l2}: {found}");
    }
}

#[test]
fn a_size_that_is_given_stays() {
    assert_eq!(unit_bytes("2M", Some(SPLIT_BYTES)), SPLIT_BYTES);
}

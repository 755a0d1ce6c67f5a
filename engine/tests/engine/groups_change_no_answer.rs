//! An answer has the same bytes for any grouping of workers, and the statistics count the work of each group.

use crate::jobs::Words;
use crate::support::{count_line, error_saying, grouped, text_of};
use tegula::{Engine, Error, Grouping, Input, Options, Topology, WordClass};

const JOB: Words = Words(WordClass::Whitespace);

fn text() -> String {
    (0..40_000).map(|number| format!("w{} ", number * number % 7919)).collect()
}

fn options() -> Options {
    let (tile_bytes, split_bytes) = (Some(8 << 10), Some(1 << 10));
    Options { tile_bytes, split_bytes, ..Options::default() }
}

#[test]
fn of_machines_that_are_not_there() {
    let run = |engine: &Engine| {
        let output = engine.job(&JOB).options(&options()).run(Input::bytes(text())).unwrap();
        (text_of(&output, count_line), output.stats().clone())
    };
    let (expected, _) = run(&grouped(1, "cores 1"));
    for (workers, machine, groups) in [
        (2, "groups 2, cores 12", 2),
        (8, "groups 8, cores 6", 8),
        (5, "groups 8, cores 6", 5),
        (9, "cores 7\ncores 1, node 0\ncores 2", 3),
    ] {
        let engine = grouped(workers, machine);
        assert_eq!(engine.placement().groups(), groups, "{machine}");
        let (answer, stats) = run(&engine);
        assert!(answer == expected, "{workers} workers, {machine}");
        assert_eq!(stats.groups.iter().map(|group| group.workers).sum::<usize>(), workers);
        assert_eq!(stats.groups.iter().map(|group| group.tiles).sum::<u64>(), stats.tiles);
        assert_eq!(stats.groups.iter().map(|group| group.splits).sum::<u64>(), stats.splits);
        assert_eq!((stats.groups.len(), stats.map_idle.len()), (groups, workers));
    }
}

#[test]
fn of_this_machine_divided() {
    let processors = Topology::detect().processors.len();
    let engine = Engine::builder().groups(Grouping::Count(processors)).build().unwrap();
    let output = engine.job(&JOB).options(&options()).run(Input::bytes(text())).unwrap();
    let one =
        grouped(1, "cores 1").job(&JOB).options(&options()).run(Input::bytes(text())).unwrap();
    assert!(text_of(&output, count_line) == text_of(&one, count_line));
    let refused = Engine::builder().groups(Grouping::Count(processors + 1)).build();
    let error = error_saying(&engine, refused, &["groups", "give 1 to"]);
    assert!(matches!(error, Error::Option { option: "groups", .. }));
}

#[test]
fn with_little_memory() {
    let text: String = (0..600_000).map(|number| format!("word-{} ", number % 400_000)).collect();
    let run = |engine: &Engine| {
        let output = engine.job(&JOB).options(&options()).run(Input::bytes(text.clone())).unwrap();
        (text_of(&output, count_line), output.stats().spilled_bytes)
    };
    let (expected, _) = run(&grouped(1, "cores 1"));
    let machine = Topology::from_text("groups 2, cores 1", std::path::Path::new("two")).unwrap();
    let engine =
        crate::support::limited_builder(crate::support::LITTLE).groups(Grouping::Like(machine));
    let (answer, spilled) = run(&engine.build().unwrap());
    assert!(answer == expected && spilled > 0);
}

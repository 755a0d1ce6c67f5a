//! Values of options that cannot be meant, and a system that has no threads to give.

use crate::jobs::Words;
use crate::support::{engine, error_saying, has_little_address_space, with_address_space};
use tegula::WordClass;
use tegula::{Cut, Emit, Engine, Error, Input, Job, Options, Result, Sort, SortTo, Split, Sum};

/// Records of no size.
struct Nothing;

impl Job for Nothing {
    type Key = u8;
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::Fixed(0)
    }

    fn map<'s>(&self, _split: Split<'s>, _emit: &mut impl Emit<'s, Self>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn sizes_of_zero_are_refused() {
    let engine = engine(2);
    let cases = [
        ("tile_bytes", Options { tile_bytes: Some(0), ..Options::default() }),
        ("split_bytes", Options { split_bytes: Some(0), ..Options::default() }),
    ];
    for (name, options) in cases {
        let job = Words(WordClass::Whitespace);
        let result = engine.job(&job).options(&options).run(Input::bytes("a"));
        let error = error_saying(&engine, result, &[name, "give at least 1"]);
        assert!(matches!(error, Error::Option { option, .. } if option == name));
    }
    let result = engine.job(&Nothing).run(Input::bytes("a"));
    error_saying(&engine, result, &["record size: 0 bytes; give at least 1"]);
}

/// Numbers of splits have 32 bits; the file is a hole, of which nothing is read.
#[test]
fn splits_without_a_number_are_refused() {
    let (engine, folder) = (engine(1), tempfile::tempdir().unwrap());
    let path = folder.path().join("hole");
    std::fs::File::create(&path).unwrap().set_len(1 << 33).unwrap();
    let options = Options { split_bytes: Some(1), ..Options::default() };
    let input = Input::paths([&path]).unwrap();
    let result = engine.job(&Words(WordClass::Whitespace)).options(&options).run(input);
    error_saying(&engine, result, &["split_bytes: more than 2^32", "larger splits"]);
    let (input, mut sorted) = (Input::paths([&path]).unwrap(), Vec::new());
    let to = SortTo::Writer(&mut sorted, &path);
    let result = engine.sort(&Sort::lines(), input, to, &options);
    error_saying(&engine, result, &["split_bytes: more than 2^32", "larger splits"]);
}

#[test]
fn numbers_of_workers_that_cannot_be_meant_are_refused() {
    for workers in [0, 4097, usize::MAX] {
        let built = Engine::builder().workers(workers).build();
        let says = ["workers", &workers.to_string(), "give 1 to 4096"];
        error_saying(&engine(1), built, &says);
    }
}

#[test]
fn a_system_without_threads_to_give_is_an_error() {
    with_address_space("bad_options_are_named::threads_beyond_the_limit", 2_000_000);
}

/// The other process's part; without its limit it asserts nothing.
#[test]
fn threads_beyond_the_limit() {
    if has_little_address_space() {
        let Err(error) = Engine::builder().workers(4096).build() else {
            panic!("no limit was set")
        };
        assert!(error.to_string().starts_with("cannot start the workers: "), "{error}");
        assert!(matches!(error, Error::System { .. }));
    }
}

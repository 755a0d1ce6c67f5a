//! A user's own kernel runs on devices alone: the same values on each, for all sizes, borders and combines,
//! and as in plain Rust. Other devices do the work that a device gives back; if none can do it, the run
//! fails.

use super::inputs::random;
use super::{devices, emulated, engine};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tegula::device::{EmulatedKernel, Fault, FaultAt, Launch, Model};
use tegula::{Accelerator, Delimiter, Error, Input, Options, Pipeline, State};
use tegula_apps::Runs;
use tegula_apps::offload::{By, ByOrder, Key, Number, OwnKernel, Records, Spec, Value};

/// For each length modulo 16 of records that end with SEP, a figure of the length.
const LENGTHS: &str = "
KERNEL void lengths(OFFLOAD) {
  for (u64 i = GID; i < bytes; i += GSIZE) {
    if (UNIT[i] != SEP) continue;
    u64 begin = i;
    while (begin > 0 && UNIT[begin - 1] != SEP) begin--;
    COMBINE((i - begin) % 16, (i64)(i - begin) - SHIFT);
  }
}";
const VALUES: u64 = 16;
const SHIFT: i64 = 20;

fn lengths(bytes: &[u8], separator: u8) -> impl Iterator<Item = i64> {
    let records = bytes.split_inclusive(move |&byte| byte == separator);
    records.map(|record| record.len() as i64 - 1)
}

/// The twin of a kernel in Rust: one function for each way to combine, for these are no closures.
macro_rules! twin {
    ($name:ident, $separator:expr, $combine:expr, $number:expr, $shift:expr) => {
        fn $name(launch: &Launch<'_>, partial: &mut [u64]) {
            let spec = spec_of($combine, $number);
            for length in lengths(launch.bytes, $separator) {
                let (word, value) = (&mut partial[(length % 16) as usize], length - $shift);
                *word = match $combine {
                    By::Sum => word.wrapping_add(value as u64),
                    _ => (*word).max(spec.rank(Value::Whole(value.into()))),
                };
            }
        }
    };
}

twin!(sums, b'\n', By::Sum, Number::I64, SHIFT);
twin!(counts, b';', By::Sum, Number::U64, 0);
twin!(least, b'\n', By::Min, Number::I64, SHIFT);
twin!(greatest, b'\n', By::Max, Number::I64, SHIFT);
twin!(least_natural, b'\n', By::Min, Number::U64, 0);
twin!(greatest_natural, b';', By::Max, Number::U64, 0);

fn spec_of(combine: By, number: Number) -> Spec {
    Spec { values: VALUES, combine, number, ..Spec::default() }
}

/// Returns all kernels, each with its separator and the number subtracted from a length.
fn kernels() -> Vec<(OwnKernel, u8, i64, Spec)> {
    [
        (sums as EmulatedKernel, By::Sum, Number::I64, b'\n', SHIFT),
        (counts, By::Sum, Number::U64, b';', 0),
        (least, By::Min, Number::I64, b'\n', SHIFT),
        (greatest, By::Max, Number::I64, b'\n', SHIFT),
        (least_natural, By::Min, Number::U64, b'\n', 0),
        (greatest_natural, By::Max, Number::U64, b';', 0),
    ]
    .map(|(twin, combine, number, separator, shift)| {
        let records = match separator {
            b'\n' => Records::Lines,
            _ => Records::Delimiter(Delimiter::new([separator]).unwrap()),
        };
        let defines =
            vec![("SEP".to_owned(), separator.into()), ("SHIFT".to_owned(), shift as u64)];
        let skip_empty = true;
        let spec = Spec { records, defines, skip_empty, ..spec_of(combine, number) };
        let kernel = OwnKernel::new(spec.clone(), "lengths.c", LENGTHS).unwrap().emulated(twin);
        (kernel, separator, shift, spec)
    })
    .into()
}

/// Text of records of all lengths up to `most`, each ended.
fn records(separator: u8, bytes: usize, most: usize, seed: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for two in random(seed, bytes).chunks_exact(2) {
        let length = usize::from(u16::from_le_bytes([two[0], two[1]])) % most;
        text.extend(std::iter::repeat_n(b'a' + two[0] % 26, length));
        text.push(separator);
        if text.len() >= bytes {
            break;
        }
    }
    text
}

fn expected(text: &[u8], separator: u8, shift: i64, spec: &Spec) -> Vec<(u64, i128)> {
    let mut values: BTreeMap<u64, i128> = BTreeMap::new();
    for length in lengths(text, separator) {
        let value = i128::from(length - shift);
        let known = values.entry((length % 16) as u64);
        known
            .and_modify(|known| {
                *known = match spec.combine {
                    By::Sum => *known + value,
                    By::Min => (*known).min(value),
                    By::Max => (*known).max(value),
                }
            })
            .or_insert(value);
    }
    // A sum of zeros, and a greatest of none but zeros, are as of nothing.
    let empty = if spec.number == Number::U64 && spec.combine != By::Min { 0 } else { i128::MAX };
    let empty = if spec.combine == By::Sum { 0 } else { empty };
    values.into_iter().filter(|&(_, value)| value != empty).collect()
}

fn values(
    kernel: &OwnKernel,
    input: Input,
    devices: Vec<Arc<Accelerator>>,
    options: &Options,
) -> tegula::Result<Vec<(u64, i128)>> {
    let mut runs = Runs::new(engine(), Options { devices, ..options.clone() });
    let pairs = kernel.run(&mut runs, input)?.pairs()?.into_iter();
    let whole = |pair| match pair {
        (Key::Number(index), Value::Whole(value)) => (index as u64, value),
        other => panic!("{other:?} of an array of whole numbers"),
    };
    Ok(pairs.map(whole).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn values_are_those_of_plain_rust(
        bytes in 2_usize..300_000, most in 1_usize..3000, seed: u64, split in 1_u64..40_000, tiles in 1_u64..6,
    ) {
        let options = Options {
            split_bytes: Some(split), tile_bytes: Some(split * tiles), ..Options::default()
        };
        for (kernel, separator, shift, spec) in kernels() {
            let text = records(separator, bytes, most, seed);
            let expected = expected(&text, separator, shift, &spec);
            for device in devices().iter().filter(|device| device.caps().memory_bytes > 4 << 20) {
                let input = Input::bytes(text.clone());
                let found = values(&kernel, input, vec![Arc::clone(device)], &options).unwrap();
                prop_assert_eq!(&found, &expected, "{:?} {:?}", device, spec);
            }
        }
    }
}

#[test]
fn many_small_files_and_several_devices_share_a_job() {
    let folder = tempfile::tempdir().unwrap();
    let (kernel, separator, shift, spec) = kernels().swap_remove(0);
    let mut all = Vec::new();
    for number in 0..700 {
        let text = records(separator, 40 + number % 300, 50, number as u64);
        std::fs::write(folder.path().join(format!("{number:04}")), &text).unwrap();
        all.extend(text);
    }
    let devices = vec![emulated(Model::default()), emulated(Model::default())];
    let found =
        values(&kernel, Input::paths([folder.path()]).unwrap(), devices, &Options::default());
    assert_eq!(found.unwrap(), expected(&all, separator, shift, &spec));
}

/// A split has the files that begin in it whole, however many they are.
#[test]
fn files_of_any_number_fit_in_a_slot() {
    let (_, separator, shift, spec) = kernels().swap_remove(0);
    let usual = spec.longest_bytes;
    for (files, bytes, longest_bytes, split_bytes) in [
        (12, 60 << 10, 100, None),
        (2000, 32, 100, None),
        (40_000, 3, usual, None),
        (30, 700 << 10, 100, Some(1 << 20)),
        (30, 700 << 10, usual, Some(1 << 20)),
        (30, (1 << 20) - 1, usual, Some(1 << 20)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut text = records(separator, bytes, 90, files);
        text.truncate(bytes - 1);
        text.push(separator);
        let path = |number: u64| folder.path().join(number.to_string());
        (0..files).for_each(|number| std::fs::write(path(number), &text).unwrap());
        let all = text.repeat(files as usize);
        let spec = Spec { longest_bytes, ..spec.clone() };
        let kernel = OwnKernel::new(spec.clone(), "lengths.c", LENGTHS).unwrap().emulated(sums);
        let options = Options { split_bytes, ..Options::default() };
        let input = Input::paths([folder.path()]).unwrap();
        let found = values(&kernel, input, vec![emulated(Model::default())], &options);
        let of = format!("{files} files of {bytes} bytes");
        assert_eq!(found.expect(&of), expected(&all, separator, shift, &spec), "{of}");
    }
}

/// Other devices do the work that a lost device gives back; when none is left, the error names the fault of
/// each.
#[test]
fn a_lost_device_leaves_its_work_to_the_others() {
    let (kernel, separator, shift, spec) = kernels().swap_remove(0);
    let text = records(separator, 6 << 20, 200, 5);
    let expected = expected(&text, separator, shift, &spec);
    for at in [FaultAt::Open, FaultAt::Submit, FaultAt::Kernel, FaultAt::Snapshot] {
        for after in [0, 2, 9] {
            let lost = || {
                let faults = vec![Fault { at, after }];
                emulated(Model { name: "lost".to_owned(), faults, ..Model::default() })
            };
            let input = || Input::bytes(text.clone());
            let devices = vec![lost(), emulated(Model::default()), lost()];
            let found = values(&kernel, input(), devices, &Options::default());
            assert_eq!(found.unwrap(), expected, "{at:?} after {after}");
            match values(&kernel, input(), vec![lost(), lost()], &Options::default()) {
                Ok(found) => assert!(found == expected && after > 0, "{at:?} after {after}"),
                Err(error) => assert!(error.to_string().contains("lost: cannot "), "{error}"),
            }
        }
    }
}

#[test]
fn a_record_has_room_or_is_refused_with_its_place() {
    let (_, separator, shift, spec) = kernels().swap_remove(0);
    let kernel = |longest_bytes| {
        let spec = Spec { longest_bytes, ..spec.clone() };
        OwnKernel::new(spec, "lengths.c", LENGTHS).unwrap().emulated(sums)
    };
    let text = [b"short\n".repeat(30_000), vec![b'a'; 1 << 20], b"\nshort\n".to_vec()].concat();
    let expected = expected(&text, separator, shift, &spec);
    for device in devices().iter().filter(|device| device.caps().memory_bytes > 8 << 20) {
        let run = |kernel: &OwnKernel, options: &Options| {
            values(kernel, Input::bytes(text.clone()), vec![Arc::clone(device)], options)
        };
        let split_bytes = Some(4 << 10);
        let options = Options { split_bytes, tile_bytes: split_bytes, ..Options::default() };
        assert_eq!(run(&kernel(1 << 20), &options).unwrap(), expected);
        let told = run(&kernel(1 << 10), &options).unwrap_err().to_string();
        assert!(told.contains("byte 1") && told.contains("longest record"), "{told}");
    }
    // A device that has no room for it at all says so before it begins.
    let small = emulated(Model { memory_bytes: 256 << 10, ..Model::default() });
    let found = values(&kernel(1 << 20), Input::bytes("a\n"), vec![small], &Options::default());
    let told = found.unwrap_err().to_string();
    assert!(told.contains("262144 bytes of memory") && told.contains("at least"), "{told}");
}

/// `COMBINE` finds an index beyond the values; a write past them is found within the words after the values.
#[test]
fn a_kernel_that_leaves_its_partial_is_found() {
    for (text, parts) in [
        ("COMBINE(UNIT[0], 1);", ["64 times", "beyond the last, 15"]),
        ("COMBINE((u64)-1, 1);", ["64 times", "beyond the last, 15"]),
        ("GLOBAL_ADD64(&partial[VALUES + 7], (u64)1);", ["past the 16 words", "fix"]),
    ] {
        let text = format!("KERNEL void k(OFFLOAD) {{ if (GID < 64) {{ {text} }} }}");
        let spec = spec_of(By::Sum, Number::U64);
        let kernel = OwnKernel::new(spec, "k.c", &text).unwrap();
        for device in devices().iter().filter(|device| device.caps().backend != "emulated") {
            let input = Input::bytes("a line\n");
            let found = values(&kernel, input, vec![Arc::clone(device)], &Options::default());
            let told = found.unwrap_err().to_string();
            assert!(
                told.starts_with("k.c: ") && parts.iter().all(|part| told.contains(part)),
                "{told}"
            );
        }
    }
}

#[test]
fn runs_that_devices_cannot_do_are_refused() {
    let (kernel, separator, shift, spec) = kernels().swap_remove(0);
    let device = || vec![emulated(Model::default())];
    let refused = |input, devices, options: &Options| {
        let error = values(&kernel, input, devices, options).unwrap_err();
        (matches!(error, Error::Option { .. }), error.to_string())
    };
    let folder = tempfile::tempdir().unwrap();
    for (devices, options, part) in [
        (vec![], Options::default(), "none is given"),
        (device(), Options { pipeline: Pipeline::Off, ..Options::default() }, "without a pipeline"),
    ] {
        let (is_option, told) = refused(Input::bytes("a\n"), devices, &options);
        assert!(is_option && told.contains(part), "{told}");
    }
    // gzip's first bytes.
    let packed = folder.path().join("a.gz");
    let bytes = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0";
    std::fs::write(&packed, bytes).unwrap();
    let input = || Input::paths([&packed]).unwrap();
    let state = Some(State::new(folder.path().join("state"), "lengths"));
    let options = Options { state, ..Options::default() };
    let (is_option, told) = refused(input(), device(), &options);
    assert!(!is_option && told.contains("a.gz") && told.contains("as they are"), "{told}");
    // What it advises can be done with the same state.
    let options = Options { plain: true, ..options };
    let found = values(&kernel, input(), device(), &options);
    assert_eq!(found.unwrap(), expected(bytes, separator, shift, &spec));
}

#[test]
fn answers_come_in_the_order_asked_for() {
    let text = b"a\nbbbb\ncc\nd\n";
    let (_, _, _, spec) = kernels().swap_remove(4);
    let pairs = |order, skip_empty| {
        let spec = Spec { order, skip_empty, ..spec.clone() };
        let kernel = OwnKernel::new(spec, "lengths.c", LENGTHS).unwrap().emulated(least_natural);
        let device = vec![emulated(Model::default())];
        values(&kernel, Input::bytes(text.to_vec()), device, &Options::default()).unwrap()
    };
    assert_eq!(pairs(ByOrder::Index, true), [(1, 1), (2, 2), (4, 4)]);
    assert_eq!(pairs(ByOrder::Value, true), [(4, 4), (2, 2), (1, 1)]);
    let all = pairs(ByOrder::Index, false);
    assert_eq!((all.len(), all[0], all[4]), (16, (0, i128::from(u64::MAX)), (4, 4)));
}

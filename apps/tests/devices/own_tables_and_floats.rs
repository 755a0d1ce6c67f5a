//! Users' own kernels that combine by keys, or combine floats: on each device the pairs of plain Rust, for
//! all sizes, borders and combines, with small tables that overflow. Values that cannot be combined are
//! refused with the reason.

use super::inputs::random;
use super::{devices, emulated, engine};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tegula::device::{Fault, FaultAt, Launch, Model};
use tegula::{Accelerator, Engine, Input, Options};
use tegula_apps::Runs;
use tegula_apps::offload::{
    Answer, By, ByOrder, Key, Keys, Number, OwnKernel, Records, Spec, Table, Value,
};

/// Lines of a name, a semicolon and a letter; combines the letters of each name, counted from 'm'.
const NAMES: &str = "
KERNEL void names(OFFLOAD) {
  for (u64 i = GID; i < bytes; i += GSIZE) {
    u64 end = UNIT[i] == '\\n' ? i : i + 1;
    if (end > i && end < bytes) continue;
    u64 begin = end;
    while (begin > 0 && UNIT[begin - 1] != '\\n') begin--;
    COMBINE_BYTES(UNIT + begin, end - begin - 2, (i64)UNIT[end - 1] - 'm');
  }
}";

/// Records of a number of four bytes, the key, and one of another four.
const NUMBERS: &str = "
KERNEL void numbers(OFFLOAD) {
  for (u64 i = GID; i < bytes / 8; i += GSIZE) {
    GLOBAL const i32 *record = (GLOBAL const i32 *)(UNIT + 8 * i);
    COMBINE_KEY((i64)record[0] * 5000000000, record[1]);
  }
}";
const APART: i64 = 5_000_000_000;

fn names(launch: &Launch<'_>, mut see: impl FnMut(&[u8], i64)) {
    for line in launch.bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let (name, letter) = (&line[..line.len() - 2], line[line.len() - 1]);
        see(name, i64::from(letter) - i64::from(b'm'));
    }
}

fn numbers(launch: &Launch<'_>, mut see: impl FnMut(i64, i64)) {
    for record in launch.bytes.as_chunks::<8>().0 {
        let [key, value] =
            [0, 4].map(|at| i32::from_le_bytes(record[at..at + 4].try_into().unwrap()).into());
        see(key * APART, value);
    }
}

fn spec(keys: Keys, combine: By) -> Spec {
    let records = if keys == Keys::Bytes { Records::Lines } else { Records::Fixed(8) };
    let (table_bytes, longest_key) = (64 << 10, 20);
    let (keys, number) = (Some(keys), Number::I64);
    Spec { records, keys, longest_key, table_bytes, number, combine, ..Spec::default() }
}

/// Returns the word that a value is combined as.
fn word(spec: &Spec, value: i64) -> u64 {
    match spec.combine {
        By::Sum => value as u64,
        By::Min | By::Max => spec.rank(Value::Whole(value.into())),
    }
}

/// The twins of both kernels for a way to combine.
macro_rules! twins {
    ($names:ident, $numbers:ident, $combine:expr) => {
        fn $names(launch: &Launch<'_>, partial: &mut [u64]) {
            let spec = spec(Keys::Bytes, $combine);
            let mut table = Table::of(&spec, partial);
            names(launch, |name, value| table.combine_bytes(name, word(&spec, value)));
        }

        fn $numbers(launch: &Launch<'_>, partial: &mut [u64]) {
            let spec = spec(Keys::I64, $combine);
            let mut table = Table::of(&spec, partial);
            numbers(launch, |key, value| table.combine_key(key as u64, word(&spec, value)));
        }
    };
}

twins!(names_summed, numbers_summed, By::Sum);
twins!(names_least, numbers_least, By::Min);
twins!(names_greatest, numbers_greatest, By::Max);

fn kernels(combine: By) -> [(OwnKernel, Keys); 2] {
    let (of_names, of_numbers) = match combine {
        By::Sum => (names_summed as fn(&Launch<'_>, &mut [u64]), numbers_summed as _),
        By::Min => (names_least as _, numbers_least as _),
        By::Max => (names_greatest as _, numbers_greatest as _),
    };
    let kernel = |keys, file, text, twin| {
        (OwnKernel::new(spec(keys, combine), file, text).unwrap().emulated(twin), keys)
    };
    [
        kernel(Keys::Bytes, "names.c", NAMES, of_names),
        kernel(Keys::I64, "numbers.c", NUMBERS, of_numbers),
    ]
}

/// Returns an input for either kernel, of about `different` different keys.
fn input(keys: Keys, count: usize, different: u64, seed: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for drawn in random(seed, 8 * count).as_chunks().0 {
        let drawn = u64::from_le_bytes(*drawn);
        let key = drawn % different;
        match keys {
            // Names of up to 20 bytes, some the beginnings of others, one of none.
            Keys::Bytes => {
                let length = (key % 21) as usize;
                let digits = format!("{key:07}{:0>13}", key / 21);
                bytes.extend_from_slice(&digits.as_bytes()[..length]);
                bytes.extend_from_slice(&[b';', b'a' + (drawn >> 40) as u8 % 26, b'\n']);
            }
            Keys::U64 | Keys::I64 => {
                bytes.extend_from_slice(&(key as i32 - 100).to_le_bytes());
                bytes.extend_from_slice(&((drawn >> 40) as i32 - (1 << 23)).to_le_bytes());
            }
        }
    }
    bytes
}

fn expected(keys: Keys, bytes: &[u8], combine: By) -> Vec<(Key, Value)> {
    let mut values: BTreeMap<Key, i128> = BTreeMap::new();
    let see = |key, value: i64| {
        let value = i128::from(value);
        let known = values.entry(key).and_modify(|known| {
            *known = match combine {
                By::Sum => *known + value,
                By::Min => value.min(*known),
                By::Max => value.max(*known),
            }
        });
        known.or_insert(value);
    };
    let launch = Launch { bytes, arguments: [0; 6], broadcast: &[] };
    let mut see = see;
    match keys {
        Keys::Bytes => names(&launch, |name, value| see(Key::Bytes(name.to_vec()), value)),
        _ => numbers(&launch, |key, value| see(Key::Number(key.into()), value)),
    }
    values.into_iter().map(|(key, value)| (key, Value::Whole(value))).collect()
}

fn run(
    kernel: &OwnKernel,
    bytes: &[u8],
    devices: Vec<Arc<Accelerator>>,
    options: &Options,
) -> tegula::Result<(Answer, u64)> {
    let mut runs = Runs::new(engine(), Options { devices, ..options.clone() });
    let answer = kernel.run(&mut runs, Input::bytes(bytes))?;
    let overflows = runs.stats().devices.iter().map(|device| device.overflows).sum();
    Ok((answer, overflows))
}

/// Devices with room for a record of a mebibyte.
fn large() -> impl Iterator<Item = &'static Arc<Accelerator>> {
    devices().iter().filter(|device| device.caps().memory_bytes > 4 << 20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn tables_are_those_of_plain_rust(
        count in 1_usize..20_000, different in 1_u64..5000, seed: u64,
        split in 100_u64..2000, tiles in 1_u64..60,
    ) {
        let options = Options {
            split_bytes: Some(split), tile_bytes: Some(split * tiles), ..Options::default()
        };
        for combine in [By::Sum, By::Min, By::Max] {
            for (kernel, keys) in kernels(combine) {
                let mut bytes = input(keys, count, different, seed);
                if keys == Keys::Bytes && seed % 2 == 0 {
                    // The last line may have no newline.
                    bytes.pop();
                }
                let expected = expected(keys, &bytes, combine);
                for device in large() {
                    let (answer, _) = run(&kernel, &bytes, vec![Arc::clone(device)], &options).unwrap();
                    prop_assert!(answer.pairs().unwrap() == expected, "{combine:?} {keys:?} {device:?}");
                }
            }
        }
    }
}

#[test]
fn tables_that_overflow_or_are_lost_are_sent_again() {
    let options = Options { split_bytes: Some(2000), ..Options::default() };
    for (kernel, keys) in kernels(By::Sum) {
        let bytes = input(keys, 40_000, 4000, 5);
        let expected = expected(keys, &bytes, By::Sum);
        for device in large() {
            let (answer, overflows) =
                run(&kernel, &bytes, vec![Arc::clone(device)], &options).unwrap();
            assert!(answer.pairs().unwrap() == expected && overflows > 0, "{keys:?} {device:?}");
        }
        for at in [FaultAt::Submit, FaultAt::Kernel, FaultAt::Snapshot, FaultAt::Reset] {
            for after in [0, 3, 20] {
                let lost = Model { faults: vec![Fault { at, after }], ..Model::default() };
                let devices = vec![emulated(lost), emulated(Model::default())];
                let (answer, _) = run(&kernel, &bytes, devices, &options).unwrap();
                assert!(answer.pairs().unwrap() == expected, "{at:?} after {after}");
            }
        }
    }
}

/// The engine has the answer, on disk where it does not fit in memory, and shows it from there in either order.
#[test]
fn answers_larger_than_memory_come_in_the_order_asked_for() {
    let memory = || Engine::builder().workers(2).memory_bytes(40 << 20).held_bytes(0);
    for (keys, file, text, twin) in [
        (Keys::Bytes, "names.c", NAMES, names_summed as fn(&Launch<'_>, &mut [u64])),
        (Keys::I64, "numbers.c", NUMBERS, numbers_summed as _),
    ] {
        let bytes = input(keys, 600_000, 1 << 19, 8);
        let mut expected = expected(keys, &bytes, By::Sum);
        for order in [ByOrder::Index, ByOrder::Value] {
            let (table_bytes, longest_bytes) = (1 << 20, 100);
            let spec = Spec { order, table_bytes, longest_bytes, ..spec(keys, By::Sum) };
            let kernel = OwnKernel::new(spec, file, text).unwrap().emulated(twin);
            let device = emulated(Model { memory_bytes: 8 << 20, ..Model::default() });
            let options = Options { devices: vec![device], ..Options::default() };
            let (engine, folder) = (memory().build().unwrap(), tempfile::tempdir().unwrap());
            std::fs::write(folder.path().join("input"), &bytes).unwrap();
            let mut runs = Runs::new(&engine, options);
            let answer = kernel.run(&mut runs, Input::paths([folder.path()]).unwrap()).unwrap();
            assert!(runs.stats().spilled_bytes > 0, "{keys:?}");
            if order == ByOrder::Value {
                expected.sort_by_key(|(_, value)| match value {
                    Value::Whole(value) => -value,
                    Value::Float(_) => panic!("a sum of whole numbers"),
                });
            }
            assert!(answer.pairs().unwrap() == expected, "{keys:?} by {order:?}");
        }
    }
}

/// The engine counts what an order by value needs beside it, for indices that are not among its pairs.
#[test]
fn indices_without_values_have_their_place_by_value() {
    fn letters(launch: &Launch<'_>, partial: &mut [u64]) {
        for &byte in launch.bytes {
            partial[usize::from(byte)] = partial[usize::from(byte)].wrapping_add(1);
            partial[usize::from(byte) + 256] = partial[usize::from(byte) + 256].wrapping_sub(1);
        }
    }
    let text = "KERNEL void letters(OFFLOAD) {
      for (u64 i = GID; i < bytes; i += GSIZE) { COMBINE(UNIT[i], 1); COMBINE(UNIT[i] + 256, -1); }
    }";
    let run = |values, bytes: &'static [u8], device: &Arc<Accelerator>| {
        let (number, order, records) = (Number::I64, ByOrder::Value, Records::Fixed(1));
        let spec = Spec { values, number, order, records, ..Spec::default() };
        let kernel = OwnKernel::new(spec, "letters.c", text).unwrap().emulated(letters);
        let devices = vec![Arc::clone(device)];
        let (answer, _) = run(&kernel, bytes, devices, &Options::default()).unwrap();
        let pair = |pair| match pair {
            (Key::Number(index), Value::Whole(value)) => (index as usize, value),
            other => panic!("{other:?}"),
        };
        answer.pairs().unwrap().into_iter().map(pair).collect::<Vec<_>>()
    };
    for device in large() {
        for bytes in [&b"abacab"[..], b"a", b"\xff\0", b""] {
            let mut values = vec![0_i128; 600];
            bytes.iter().for_each(|&byte| {
                values[usize::from(byte)] += 1;
                values[usize::from(byte) + 256] -= 1;
            });
            let mut expected: Vec<_> = values.into_iter().enumerate().collect();
            expected.sort_by_key(|&(index, value)| (-value, index));
            assert_eq!(run(600, bytes, device), expected, "{device:?}");
        }
    }
}

#[test]
fn what_a_table_cannot_take_is_told() {
    let [(kernel, keys), _] = kernels(By::Sum);
    for device in large() {
        let told = |bytes: &[u8], split| {
            let options = Options { split_bytes: Some(split), ..Options::default() };
            run(&kernel, bytes, vec![Arc::clone(device)], &options).unwrap_err().to_string()
        };
        let long = told(b"a name of more than 20 bytes;a\n", 1000);
        assert!(long.contains("names.c") && long.contains("more than 20 bytes"), "{long}");
        assert!(long.contains("longest_key"), "{long}");
        let full = told(&input(keys, 40_000, 1 << 40, 6), 1 << 20);
        assert!(full.contains("no room for the keys of one split"), "{full}");
    }
}

#[test]
fn tables_come_in_the_order_asked_for() {
    let answer = |order, skip_empty| {
        let spec = Spec { order, skip_empty, ..spec(Keys::Bytes, By::Sum) };
        let kernel = OwnKernel::new(spec, "names.c", NAMES).unwrap().emulated(names_summed);
        let devices = vec![emulated(Model::default())];
        let bytes = b"b;n\na;m\n;l\nc;n\nb;o\n";
        let (answer, _) = run(&kernel, bytes, devices, &Options::default()).unwrap();
        let name = |(key, value)| match (key, value) {
            (Key::Bytes(name), Value::Whole(value)) => (String::from_utf8(name).unwrap(), value),
            other => panic!("{other:?}"),
        };
        answer.pairs().unwrap().into_iter().map(name).collect::<Vec<_>>()
    };
    let of = |pairs: &[(&str, i128)]| -> Vec<(String, i128)> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    };
    assert_eq!(answer(ByOrder::Index, false), of(&[("", -1), ("a", 0), ("b", 3), ("c", 1)]));
    assert_eq!(answer(ByOrder::Value, true), of(&[("b", 3), ("c", 1), ("", -1)]));
}

/// Floats at the index of their lowest bits; those that are not finite are left out if SKIPS.
const FLOATS: &str = "
KERNEL void floats(OFFLOAD) {
  for (u64 i = GID; i < bytes / WIDTH; i += GSIZE) {
#if WIDTH == 4
    u32 bits = ((GLOBAL const u32 *)UNIT)[i];
    if (SKIPS && (bits >> 23 & 0xff) == 0xff) continue;
    COMBINE(bits & 15, F32_OF_BITS(bits));
#else
    u64 bits = ((GLOBAL const u64 *)UNIT)[i];
    if (SKIPS && (bits >> 52 & 0x7ff) == 0x7ff) continue;
    COMBINE(bits & 15, F64_OF_BITS(bits));
#endif
  }
}";

fn floats(number: Number, combine: By, skips: bool) -> (OwnKernel, u64) {
    let width = if number == Number::F32 { 4 } else { 8 };
    let defines = vec![("WIDTH".to_owned(), width), ("SKIPS".to_owned(), skips.into())];
    let records = Records::Fixed(width);
    let spec = Spec { values: 16, number, combine, records, defines, ..Spec::default() };
    let kernel = OwnKernel::new(spec, "floats.c", FLOATS).unwrap();
    let twin = match (number, combine) {
        (Number::F32, By::Min) => floats_f32_least as fn(&Launch<'_>, &mut [u64]),
        (Number::F32, _) => floats_f32_greatest as _,
        (_, By::Min) => floats_f64_least as _,
        _ => floats_f64_greatest as _,
    };
    (kernel.emulated(twin), width)
}

/// Returns the finite ones of some floats, by index.
fn finite(number: Number, bytes: &[u8]) -> Vec<(usize, f64)> {
    let all: Vec<(usize, f64)> = match number {
        Number::F32 => bytes
            .as_chunks()
            .0
            .iter()
            .map(|bytes| (usize::from(bytes[0] & 15), f32::from_le_bytes(*bytes).into()))
            .collect(),
        _ => bytes
            .as_chunks()
            .0
            .iter()
            .map(|bytes| (usize::from(bytes[0] & 15), f64::from_le_bytes(*bytes)))
            .collect(),
    };
    all.into_iter().filter(|(_, value)| value.is_finite()).collect()
}

macro_rules! twin {
    ($name:ident, $number:expr, $combine:expr) => {
        fn $name(launch: &Launch<'_>, partial: &mut [u64]) {
            let spec = Spec { number: $number, combine: $combine, ..Spec::default() };
            for (index, value) in finite($number, launch.bytes) {
                partial[index] = partial[index].max(spec.rank(Value::Float(value)));
            }
        }
    };
}

twin!(floats_f32_least, Number::F32, By::Min);
twin!(floats_f32_greatest, Number::F32, By::Max);
twin!(floats_f64_least, Number::F64, By::Min);
twin!(floats_f64_greatest, Number::F64, By::Max);

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    /// Bits of any kind: both zeros, subnormal numbers, and numbers that are left out.
    #[test]
    fn least_and_greatest_floats_are_those_of_plain_rust(
        count in 0_usize..20_000, seed: u64, split in 1_u64..5000,
    ) {
        let options = Options { split_bytes: Some(8 * split), ..Options::default() };
        for number in [Number::F32, Number::F64] {
            for combine in [By::Min, By::Max] {
                let (kernel, _) = floats(number, combine, true);
                let mut bytes = random(seed, 8 * count);
                bytes.extend([[0; 8], (1_u64 << 63).to_le_bytes(), [1, 0, 0, 0, 1, 0, 0, 0x80]].concat());
                let mut values = BTreeMap::new();
                for (index, value) in finite(number, &bytes) {
                    let known = values.entry(index).or_insert(value);
                    let is_better = match combine {
                        By::Min => value.total_cmp(known).is_lt(),
                        _ => value.total_cmp(known).is_gt(),
                    };
                    *known = if is_better { value } else { *known };
                }
                let expected: Vec<(u64, u64)> =
                    values.into_iter().map(|(index, value)| (index as u64, value.to_bits())).collect();
                for device in large() {
                    let (answer, _) = run(&kernel, &bytes, vec![Arc::clone(device)], &options).unwrap();
                    let found = answer.pairs().unwrap().into_iter().map(|pair| match pair {
                        (Key::Number(index), Value::Float(value)) => (index as u64, value.to_bits()),
                        other => panic!("{other:?}"),
                    });
                    prop_assert_eq!(&found.collect::<Vec<_>>(), &expected, "{:?} {:?}", number, device);
                }
            }
        }
    }
}

#[test]
fn floats_that_are_not_finite_are_refused() {
    for number in [Number::F32, Number::F64] {
        let (kernel, width) = floats(number, By::Max, false);
        let bytes = vec![0xff; 3 * width as usize];
        for device in large().filter(|device| device.caps().backend != "emulated") {
            let found = run(&kernel, &bytes, vec![Arc::clone(device)], &Options::default());
            let told = found.unwrap_err().to_string();
            assert!(told.contains("floats.c") && told.contains("3 values"), "{told}");
        }
    }
}

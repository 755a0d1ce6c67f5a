//! The OpenCL back-end, on whatever devices have a driver here (PoCL is one for the processor itself):
//! units in flight, partials, tables that overflow, kernels that do not compile.

use crate::machine::{dense, table};
use tegula::device::{
    Device, DeviceError, EmulatedKernel, Kernel, Launch, OpenCl, Outcome, Piece, Room, Shape,
};

/// Returns the devices that can be used; says so if there is none.
fn devices() -> Vec<OpenCl> {
    let listed = OpenCl::list().unwrap_or_else(|error| {
        eprintln!("skipped: {error}");
        Vec::new()
    });
    listed.into_iter().filter_map(|device| device.map_err(|why| eprintln!("{why}")).ok()).collect()
}

fn kernel(entry: &'static str, source: &'static str, emulated: EmulatedKernel) -> Kernel {
    Kernel {
        entry: entry.into(),
        file: "twins.c".into(),
        source: source.into(),
        defines: vec![("WORDS".into(), WORDS as u64)],
        emulated: Some(emulated),
    }
}

const WORDS: usize = 401;

/// The twins of `machine::dense` and `machine::table`, with arguments and a broadcast on top.
const TWINS: &str = "
KERNEL void dense(OFFLOAD) {
  GLOBAL const u64 *numbers = (GLOBAL const u64 *)UNIT;
  for (u64 i = GID; i < bytes / 8; i += GSIZE)
    GLOBAL_ADD64(&partial[(numbers[i] + arg0 * broadcast[0]) % WORDS], (u64)1);
}

KERNEL void table(OFFLOAD) {
  if (partial[0] != 0) return;
  GLOBAL const u64 *numbers = (GLOBAL const u64 *)UNIT;
  for (u64 i = GID; i < bytes / 8; i += GSIZE) {
    u64 key = numbers[i] + 1, at = 0;
    for (; at < (WORDS - 1) / 2; at++) {
      u64 known = GLOBAL_SWAP64(&partial[1 + 2 * at], (u64)0, key);
      if (known == 0 || known == key) break;
    }
    if (at < (WORDS - 1) / 2) GLOBAL_ADD64(&partial[2 + 2 * at], (u64)1);
    else GLOBAL_SWAP64(&partial[0], (u64)0, (u64)1);
  }
}
";

fn shifted(launch: &Launch<'_>, partial: &mut [u64]) {
    let by = launch.arguments[0] * launch.broadcast[0];
    let numbers = launch.bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number));
    let bytes: Vec<u8> = numbers.flat_map(|number| (number + by).to_le_bytes()).collect();
    dense(&Launch { bytes: &bytes, ..*launch }, partial);
}

fn room(partial: Shape) -> Room {
    Room { slots: 3, slot_bytes: 64 << 10, partial, broadcast_words: 1, resident_bytes: 100 << 10 }
}

/// Sends units of some numbers each, in two pieces, and takes snapshots in between; the sum of these, and
/// the outcomes.
fn send(
    device: &dyn Device,
    kernel: &Kernel,
    partial: Shape,
    units: &[Vec<u64>],
) -> (Vec<Vec<u64>>, Vec<Outcome>) {
    let program = device.compile(kernel).unwrap();
    let mut session = program.open(&room(partial)).unwrap();
    session.broadcast(&[3]).unwrap();
    let (mut snapshots, mut outcomes) = (Vec::new(), Vec::new());
    for (number, unit) in units.iter().enumerate() {
        let slot = loop {
            match session.stage().unwrap() {
                Some(slot) => break slot,
                None => outcomes.extend(session.poll(true).unwrap().map(|done| done.outcome)),
            }
        };
        let (first, second) = unit.split_at(unit.len() / 3);
        let start = (8 * first.len()).next_multiple_of(Piece::ALIGNMENT);
        let bytes = session.bytes_mut(&slot);
        bytes.fill(0xff);
        for (at, numbers) in [(0, first), (start, second)] {
            let text: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            bytes[at..at + text.len()].copy_from_slice(&text);
        }
        let piece = |start, numbers: &[u64], argument| Piece {
            start,
            bytes: 8 * numbers.len(),
            arguments: [argument, 0, 0, 0, 0, 0],
        };
        let pieces = [piece(0, first, 5), piece(start, second, number as u64)];
        session.submit(slot, start + 8 * second.len(), &pieces).unwrap();
        if number % 5 == 4 {
            while let Some(done) = session.poll(true).unwrap() {
                outcomes.push(done.outcome);
            }
            let mut snapshot = Vec::new();
            session.snapshot(&mut snapshot).unwrap();
            snapshots.push(snapshot);
        }
    }
    while let Some(done) = session.poll(true).unwrap() {
        outcomes.push(done.outcome);
    }
    (snapshots, outcomes)
}

fn units(below: u64) -> Vec<Vec<u64>> {
    let number = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (0..20).map(|unit| (0..1 + 97 * unit).map(|i| number(i + unit) % below).collect()).collect()
}

/// Pairs of a table, whose places depend on the order of threads.
fn sorted(table: &[u64]) -> Vec<[u64; 2]> {
    let mut pairs: Vec<[u64; 2]> = table[1..].as_chunks().0.to_vec();
    pairs.sort_unstable();
    pairs
}

#[test]
fn partials_are_those_of_the_twin_in_rust() {
    for device in devices() {
        let twin = tegula::device::Emulated::new(tegula::device::Model::default());
        let kernel_dense = kernel("dense", TWINS, shifted);
        let units_dense = units(1 << 20);
        let shape = Shape::Dense(WORDS);
        let found = send(&device, &kernel_dense, shape, &units_dense);
        assert_eq!(found, send(&twin, &kernel_dense, shape, &units_dense), "{device:?}");
        let kernel_table = kernel("table", TWINS, table);
        let shape = Shape::Table(WORDS);
        let found = send(&device, &kernel_table, shape, &units(150));
        let expected = send(&twin, &kernel_table, shape, &units(150));
        assert_eq!(found.1, expected.1);
        for (found, expected) in found.0.iter().zip(&expected.0) {
            assert_eq!(sorted(found), sorted(expected), "{device:?}");
        }
    }
}

#[test]
fn a_table_that_overflows_says_so_until_it_is_reset() {
    for device in devices() {
        let kernel = kernel("table", TWINS, table);
        let many: Vec<u64> = (0..300).collect();
        let units = [vec![1, 2], many, vec![3]];
        let (_, outcomes) = send(&device, &kernel, Shape::Table(WORDS), &units);
        assert_eq!(outcomes, [Outcome::Ok, Outcome::Overflow, Outcome::Overflow], "{device:?}");
    }
}

#[test]
fn a_kernel_that_does_not_compile_is_shown_with_file_and_line() {
    for device in devices() {
        let source = "KERNEL void broken(OFFLOAD) {\n  partial[0] = nothing_of_that_name;\n}\n";
        let error = device.compile(&kernel("broken", source, dense)).err().unwrap();
        let told = error.to_string();
        assert!(matches!(error, DeviceError::Compile { .. }), "{told}");
        for part in ["twins.c", ":2:", "nothing_of_that_name"] {
            assert!(told.contains(part), "{part} is not in {told}");
        }
        let error = device.compile(&kernel("missing", TWINS, dense)).err().unwrap();
        assert!(error.to_string().contains("no kernel of the name missing"), "{error}");
    }
}

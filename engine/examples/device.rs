//! A device beside the cores: counts bytes by value, here on the emulated device, which runs the kernel's twin
//! in Rust. `OpenCl` and `Cuda` compile the kernel's text.
//! `cargo run --release --features emulated --example device -- PATH...`

use std::sync::Arc;
use tegula::device::{Accelerator, Emulated, Kernel, Launch, Model, Offload, Shape};
use tegula::{Cut, Emit, Engine, Input, Job, Offloadable, Result, Split, Sum};

struct Bytes;

impl Job for Bytes {
    type Key = u8;
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::Fixed(1)
    }

    fn device(&self) -> Option<&dyn Offloadable<Self>> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.bytes().iter().for_each(|&byte| emit.emit(byte, 1));
        Ok(())
    }
}

impl Offloadable for Bytes {
    fn offload(&self) -> Offload {
        let kernel = Kernel {
            entry: "bytes_counted".into(),
            file: "bytes.c".into(),
            source: KERNEL.into(),
            defines: Vec::new(),
            emulated: Some(counted),
        };
        // A sum for each value of a byte.
        let partial = Shape::Dense(256);
        Offload { kernel, partial, broadcast: Vec::new(), residence: None }
    }

    fn unload(&self, counts: &[u64], emit: &mut dyn Emit<'_, Self>) -> Result<()> {
        for (byte, &count) in (0..=u8::MAX).zip(counts).filter(|(_, count)| **count > 0) {
            emit.emit_total(byte, count);
        }
        Ok(())
    }
}

const KERNEL: &str = "KERNEL void bytes_counted(OFFLOAD) {
  for (u64 at = GID; at < bytes; at += GSIZE) GLOBAL_ADD64(&partial[UNIT[at]], 1);
}";

/// The twin of the kernel: adds a piece of the input to the counts.
fn counted(launch: &Launch<'_>, counts: &mut [u64]) {
    launch.bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
}

fn main() -> Result<()> {
    let input = Input::paths(std::env::args_os().skip(1))?;
    let device = Arc::new(Accelerator::new(Emulated::new(Model::default())));
    let output = Engine::new()?.job(&Bytes).devices([device]).run(input)?;
    for figures in &output.stats().devices {
        eprintln!("{}: {} bytes", figures.name, figures.bytes);
    }
    for (byte, count) in output.iter()? {
        println!("{}\t{count}", byte.escape_ascii());
    }
    Ok(())
}

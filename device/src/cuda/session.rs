//! A session over CUDA: one stream copies units in while another runs kernels, which wait for their copy by
//! an event. Slots are memory of the device, each with pinned memory of the host.

use super::pinned::Pinned;
use super::{Caps, DeviceError};
use crate::groups::{GROUP, groups};
use crate::{Done, Piece, Room, Session, Shape, Slot, Slots, failed};
use cudarc::driver::sys::CUevent_flags::{self, CU_EVENT_DEFAULT};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DevicePtr, DriverError,
    LaunchConfig, PushKernelArg, result,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct CudaSession {
    caps: Caps,
    room: Room,
    slots: Slots,
    context: Arc<CudaContext>,
    copies: Arc<CudaStream>,
    kernels: Arc<CudaStream>,
    function: CudaFunction,
    /// The slots' memory on the device.
    memory: Vec<CudaSlice<u8>>,
    /// Their memory on the host.
    pinned: Vec<Pinned>,
    /// For each slot the destination of the copy of a table's first word after each unit.
    first_words: Pinned,
    /// Resident units.
    kept: Vec<CudaSlice<u8>>,
    partial: CudaSlice<u64>,
    /// The partial on its way out: copies to memory that is not pinned are ten times slower.
    copied_out: Pinned,
    broadcast: CudaSlice<u64>,
    in_flight: VecDeque<Flight>,
    began: Instant,
    /// The end of the unit that came back last, or the session's beginning, and its time.
    last: (CudaEvent, Duration),
}

struct Flight {
    slot: usize,
    /// The beginning and end of its copy, if the unit was not resident.
    copy: Option<(CudaEvent, CudaEvent)>,
    kernel: CudaEvent,
    end: CudaEvent,
}

type Made<T> = Result<T, DriverError>;

/// Returns the flag that makes an event record its time.
fn timed() -> Option<CUevent_flags> {
    Some(CU_EVENT_DEFAULT)
}

impl CudaSession {
    pub(super) fn open(
        context: &Arc<CudaContext>,
        caps: &Caps,
        function: CudaFunction,
        room: &Room,
    ) -> Made<CudaSession> {
        context.bind_to_thread()?;
        let (copies, kernels) = (context.new_stream()?, context.new_stream()?);
        let partial = kernels.alloc_zeros::<u64>(room.partial.words().max(1))?;
        let broadcast = kernels.alloc_zeros::<u64>(room.broadcast_words.max(1))?;
        let slot = |_| {
            // SAFETY: kernels read it only after a copy into it.
            unsafe { copies.alloc::<u8>(room.slot_bytes.max(1)) }
        };
        let memory = (0..room.slots).map(slot).collect::<Made<Vec<_>>>()?;
        let pinned = |_| Pinned::new(context, room.slot_bytes);
        let pinned = (0..room.slots).map(pinned).collect::<Made<Vec<_>>>()?;
        let first_words = Pinned::new(context, room.slots * size_of::<u64>())?;
        let copied_out = Pinned::new(context, room.partial.words() * size_of::<u64>())?;
        copies.synchronize()?;
        kernels.synchronize()?;
        let start = kernels.record_event(Some(CU_EVENT_DEFAULT))?;
        Ok(CudaSession {
            caps: caps.clone(),
            room: *room,
            slots: Slots::of(room),
            context: Arc::clone(context),
            copies,
            kernels,
            function,
            memory,
            pinned,
            first_words,
            kept: Vec::new(),
            partial,
            copied_out,
            broadcast,
            in_flight: VecDeque::new(),
            began: Instant::now(),
            last: (start, Duration::ZERO),
        })
    }

    fn first_word(&self, slot: usize) -> *mut u64 {
        self.first_words.start().cast::<u64>().wrapping_add(slot)
    }

    /// Copies the partial to a vector.
    fn copy_out(&mut self, into: &mut Vec<u64>) -> Made<()> {
        let words = self.room.partial.words();
        self.copied_out.pin(words * size_of::<u64>())?;
        // SAFETY: that many words are there, aligned to a page and zero or copied before, and nobody else has
        // them.
        let out = unsafe { std::slice::from_raw_parts_mut(self.copied_out.start().cast(), words) };
        self.kernels.memcpy_dtoh(&self.partial.slice(..words), out)?;
        self.kernels.synchronize()?;
        into.clear();
        into.extend_from_slice(out);
        Ok(())
    }

    fn clear(&mut self) -> Made<()> {
        self.kernels.memset_zeros(&mut self.partial)?;
        self.kernels.synchronize()
    }

    /// Copies a slot's first bytes to memory that was kept for them, or else to the slot's own. Returns
    /// events of its beginning and end.
    fn copy(
        &mut self,
        slot: usize,
        kept: Option<usize>,
        bytes: usize,
    ) -> Made<(CudaEvent, CudaEvent)> {
        self.context.bind_to_thread()?;
        self.pinned[slot].pin(bytes)?;
        let (device, from) = (&self.memory[slot], self.pinned[slot].start());
        let copy_began = self.copies.record_event(timed())?;
        let (place, _) = kept.map_or(device, |kept| &self.kept[kept]).device_ptr(&self.copies);
        // SAFETY: both have that many bytes. The host's are not written while this copy is in progress,
        // because the slot is not free until `poll` has seen the unit's end; `drop` waits for the streams.
        unsafe {
            let from = std::slice::from_raw_parts(from, bytes);
            result::memcpy_htod_async(place, from, self.copies.cu_stream())?;
        }
        Ok((copy_began, self.copies.record_event(timed())?))
    }

    /// Launches the kernel over memory that was kept, or else over a slot's own.
    fn run(
        &mut self,
        slot: usize,
        kept: Option<usize>,
        copy: Option<(CudaEvent, CudaEvent)>,
        pieces: &[Piece],
    ) -> Made<()> {
        self.context.bind_to_thread()?;
        let (device, first_word) = (&self.memory[slot], self.first_word(slot));
        let words = self.room.partial.words() as u64;
        let unit = kept.map_or(device, |kept| &self.kept[kept]);
        if let Some((_, copied)) = &copy {
            self.kernels.wait(copied)?;
        }
        for piece in pieces {
            let groups = groups(piece.bytes, &self.caps);
            let numbers = [piece.start as u64, piece.bytes as u64];
            let mut launch = self.kernels.launch_builder(&self.function);
            launch.arg(unit);
            for number in numbers.iter().chain(&piece.arguments) {
                launch.arg(number);
            }
            launch.arg(&self.broadcast).arg(&mut self.partial).arg(&words);
            let (grid, block) = ((groups as u32, 1, 1), (GROUP as u32, 1, 1));
            let shape = LaunchConfig { grid_dim: grid, block_dim: block, shared_mem_bytes: 0 };
            // SAFETY: the arguments are those of `OFFLOAD` in the prelude, in order and size: memory, eight
            // numbers, twice memory, a number. The piece is inside the unit.
            unsafe { launch.launch(shape)? };
        }
        let kernel = self.kernels.record_event(timed())?;
        if let Shape::Table(_) = self.room.partial {
            let (place, _) = self.partial.device_ptr(&self.kernels);
            // SAFETY: both are at least a word. The host's is read only after this copy has ended.
            unsafe {
                let word = std::slice::from_raw_parts_mut(first_word, 1);
                result::memcpy_dtoh_async(word, place, self.kernels.cu_stream())?;
            }
        }
        let end = self.kernels.record_event(timed())?;
        self.in_flight.push_back(Flight { slot, copy, kernel, end });
        Ok(())
    }

    /// Returns the oldest unit in flight, if it is done or was waited for.
    fn oldest(&mut self, wait: bool) -> Made<Option<Done>> {
        let Some(flight) = self.in_flight.front() else { return Ok(None) };
        if wait {
            flight.end.synchronize()?;
        } else if !flight.end.try_is_complete()? {
            return Ok(None);
        }
        let Some(flight) = self.in_flight.pop_front() else { return Ok(None) };
        let between = |from: &CudaEvent, to: &CudaEvent| -> Made<Duration> {
            Ok(Duration::from_secs_f64(f64::from(from.elapsed_ms(to)?.max(0.0)) / 1e3))
        };
        // A kernel begins when its copy has arrived and the kernel before it has ended.
        let mut kernel = between(&self.last.0, &flight.kernel)?;
        let at = self.last.1 + between(&self.last.0, &flight.end)?;
        let (mut copy, mut copied) = (Duration::ZERO, at);
        if let Some((began, ended)) = &flight.copy {
            copy = between(began, ended)?;
            copied = at.saturating_sub(between(ended, &flight.end)?);
            kernel = kernel.min(between(ended, &flight.kernel)?);
        }
        self.last = (flight.end, at);
        // SAFETY: it is there, and nothing writes to it until the slot's next unit.
        let word = unsafe { self.first_word(flight.slot).read() };
        let outcome = self.room.partial.outcome(&[word]);
        self.slots.free.push(flight.slot);
        Ok(Some(Done { outcome, copy, copied, kernel, at }))
    }
}

impl Session for CudaSession {
    fn slots(&mut self) -> &mut Slots {
        &mut self.slots
    }

    fn bytes_mut(&mut self, slot: &Slot) -> &mut [u8] {
        // SAFETY: that many initialised bytes are there, and the owner of a `Slot` has exclusive access: it is
        // neither free nor in flight.
        unsafe { std::slice::from_raw_parts_mut(self.pinned[slot.0].start(), self.room.slot_bytes) }
    }

    fn allocate(&mut self, bytes: usize) -> Option<usize> {
        // SAFETY: kernels read it only after the copy into it.
        self.kept.push(unsafe { self.copies.alloc::<u8>(bytes.max(1)) }.ok()?);
        Some(self.kept.len() - 1)
    }

    fn launch(
        &mut self,
        slot: usize,
        kept: Option<usize>,
        bytes: Option<usize>,
        pieces: &[Piece],
    ) -> Result<(), DeviceError> {
        let copied = bytes.map(|bytes| self.copy(slot, kept, bytes)).transpose();
        let launched = copied.and_then(|copy| self.run(slot, kept, copy, pieces));
        launched.map_err(failed(&self.caps.name, "take a unit"))
    }

    fn poll(&mut self, wait: bool) -> Result<Option<Done>, DeviceError> {
        let failed = failed(&self.caps.name, "run the kernel");
        self.oldest(wait).map_err(failed)
    }

    fn snapshot(&mut self, into: &mut Vec<u64>) -> Result<(), DeviceError> {
        let failed = failed(&self.caps.name, "copy the partial out");
        self.copy_out(into).and_then(|()| self.clear()).map_err(failed)
    }

    fn reset(&mut self) -> Result<(), DeviceError> {
        self.clear().map_err(failed(&self.caps.name, "make the partial zeros"))
    }

    fn broadcast(&mut self, words: &[u64]) -> Result<(), DeviceError> {
        let failed = failed(&self.caps.name, "copy the broadcast words");
        let copied = self.kernels.memcpy_htod(words, &mut self.broadcast);
        copied.and_then(|()| self.kernels.synchronize()).map_err(failed)
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for CudaSession {
    /// Waits until no operation uses the memory that is freed now. An error here has occurred before.
    fn drop(&mut self) {
        let _ = self.copies.synchronize();
        let _ = self.kernels.synchronize();
    }
}

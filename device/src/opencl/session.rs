//! A session over OpenCL: one queue copies units in while another runs kernels, which wait for their copy
//! by an event. Slots are buffers of the device, each with memory that its driver pins.

use super::{Caps, DeviceError};
use crate::groups::{GROUP, groups};
use crate::{Done, Piece, Room, Session, Shape, Slot, Slots, failed};
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::error_codes::{CL_INVALID_EVENT, ClError};
use opencl3::event::Event;
use opencl3::kernel::Kernel as Function;
use opencl3::memory::{
    Buffer, CL_MAP_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE, ClMem,
};
use opencl3::types::{CL_BLOCKING, CL_NON_BLOCKING, cl_device_id, cl_mem};
use std::collections::VecDeque;
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The parts from which a session is made.
pub(super) struct Means<'d> {
    pub(super) context: Arc<Context>,
    pub(super) device: cl_device_id,
    pub(super) caps: &'d Caps,
    pub(super) function: Function,
}

pub(super) struct ClSession {
    caps: Caps,
    room: Room,
    slots: Slots,
    copies: CommandQueue,
    kernels: CommandQueue,
    function: Function,
    memory: Vec<ClSlot>,
    /// Resident units.
    kept: Vec<Buffer<u8>>,
    partial: Buffer<u64>,
    broadcast: Buffer<u64>,
    in_flight: VecDeque<Flight>,
    began: Instant,
    /// The device's time when the session began.
    device_began_ns: i128,
    /// Last, because a context must outlive everything that was made in it.
    context: Arc<Context>,
}

/// A slot: pinned memory of the host, and the same size on the device.
struct ClSlot {
    pinned: Buffer<u8>,
    host: *mut u8,
    device: Buffer<u8>,
    /// The destination of the copy of a table's first word after each unit.
    first_word: Box<[u64; 1]>,
}

// SAFETY: `host` points into memory that `pinned` owns and that is mapped until the session is dropped; it
// is not tied to a thread, and only the owner of the session uses it.
unsafe impl Send for ClSlot {}

struct Flight {
    slot: usize,
    /// `None`: the unit was resident.
    copy: Option<Event>,
    kernels: Vec<Event>,
    /// The last event of all.
    end: Option<Event>,
}

type Made<T> = Result<T, ClError>;

impl ClSession {
    pub(super) fn open(means: Means<'_>, room: &Room) -> Result<ClSession, DeviceError> {
        let name = means.caps.name.clone();
        ClSession::made(means, room).map_err(failed(&name, "take memory"))
    }

    fn made(means: Means<'_>, room: &Room) -> Made<ClSession> {
        let Means { context, device, caps, function } = means;
        let (words, broadcast) = (room.partial.words().max(1), room.broadcast_words.max(1));
        // SAFETY: the device belongs to the context; buffers have at least one byte, and none uses memory
        // of the caller's.
        let (copies, kernels, partial, broadcast) = unsafe {
            let queue = || CommandQueue::create(&context, device, CL_QUEUE_PROFILING_ENABLE);
            let partial = Buffer::create(&context, CL_MEM_READ_WRITE, words, ptr::null_mut())?;
            let broadcast = Buffer::create(&context, CL_MEM_READ_ONLY, broadcast, ptr::null_mut())?;
            (queue()?, queue()?, partial, broadcast)
        };
        let mut session = ClSession {
            caps: caps.clone(),
            room: *room,
            slots: Slots::of(room),
            copies,
            kernels,
            function,
            memory: Vec::with_capacity(room.slots),
            kept: Vec::new(),
            partial,
            broadcast,
            in_flight: VecDeque::new(),
            began: Instant::now(),
            device_began_ns: 0,
            context: Arc::clone(&context),
        };
        for _ in 0..room.slots {
            let slot = session.slot(&context)?;
            session.memory.push(slot);
        }
        session.clear()?;
        session.set_clock()?;
        Ok(session)
    }

    /// Reads the device's clock by a command and waits for its end.
    fn set_clock(&mut self) -> Made<()> {
        let mut word = [0];
        // SAFETY: the partial has at least a word, and the call returns when it has arrived.
        let read = unsafe {
            self.kernels.enqueue_read_buffer(&self.partial, CL_BLOCKING, 0, &mut word, &[])?
        };
        let now = self.began.elapsed().as_nanos() as i128;
        read.wait()?;
        self.device_began_ns = i128::from(read.profiling_command_end()?) - now;
        Ok(())
    }

    fn slot(&self, context: &Context) -> Made<ClSlot> {
        let bytes = self.room.slot_bytes;
        // SAFETY: as for the other buffers. The mapping is as long as the buffer, it exists when the
        // blocking call returns, and `drop` removes it. Fresh memory of a driver is initialised.
        unsafe {
            let flags = CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
            let pinned = Buffer::<u8>::create(context, flags, bytes, ptr::null_mut())?;
            let mut host: cl_mem = ptr::null_mut();
            let (from, queue) = (0, &self.copies);
            queue.enqueue_map_buffer(
                &pinned,
                CL_BLOCKING,
                CL_MAP_WRITE,
                from,
                bytes,
                &mut host,
                &[],
            )?;
            let host = host.cast::<u8>();
            host.write_bytes(0, bytes);
            let device = Buffer::create(context, CL_MEM_READ_ONLY, bytes, ptr::null_mut())?;
            Ok(ClSlot { pinned, host, device, first_word: Box::new([0]) })
        }
    }

    /// Clears the partial.
    fn clear(&mut self) -> Made<()> {
        let bytes = self.room.partial.words() * size_of::<u64>();
        if bytes > 0 {
            // SAFETY: the partial has that many bytes, and no other operation uses it.
            unsafe {
                self.kernels.enqueue_fill_buffer(&mut self.partial, &[0_u64], 0, bytes, &[])?
            };
        }
        self.kernels.finish()
    }

    /// Copies a slot's first bytes to memory that was kept for them, or else to the slot's own.
    fn copy(&mut self, slot: usize, kept: Option<usize>, bytes: usize) -> Made<Event> {
        let at = &mut self.memory[slot];
        let to = kept.map_or(&mut at.device, |kept| &mut self.kept[kept]);
        // SAFETY: the slot's host memory is long enough and initialised, and the device's is as long. It is
        // not written while this copy is in progress, because the slot is not free until `poll` has seen
        // the unit's end.
        let copy = unsafe {
            let from = std::slice::from_raw_parts(at.host, bytes);
            self.copies.enqueue_write_buffer(to, CL_NON_BLOCKING, 0, from, &[])?
        };
        self.copies.flush()?;
        Ok(copy)
    }

    /// Launches the kernel over memory that was kept, or else over a slot's own.
    fn run(
        &mut self,
        slot: usize,
        kept: Option<usize>,
        copy: Option<Event>,
        pieces: &[Piece],
    ) -> Made<()> {
        let at = &mut self.memory[slot];
        let unit = kept.map_or(&at.device, |kept| &self.kept[kept]).get();
        let words = self.room.partial.words() as u64;
        let wait: Vec<_> = copy.iter().map(Event::get).collect();
        // Recorded from here on: if a launch fails, `drop` still waits for the copy.
        self.in_flight.push_back(Flight { slot, copy, kernels: Vec::new(), end: None });
        let Some(flight) = self.in_flight.back_mut() else { return Ok(()) };
        for piece in pieces {
            let groups = groups(piece.bytes, &self.caps);
            let numbers = [piece.start as u64, piece.bytes as u64];
            let numbers = numbers.iter().chain(&piece.arguments);
            let (local, global) = ([GROUP], [GROUP * groups]);
            // SAFETY: the arguments are those of `OFFLOAD` in the prelude, in order and size: a buffer,
            // eight numbers, two buffers, a number. The calls copy them. The piece is inside the unit.
            let kernel = unsafe {
                self.function.set_arg(0, &unit)?;
                let mut index = 1;
                for number in numbers {
                    self.function.set_arg(index, number)?;
                    index += 1;
                }
                self.function.set_arg(index, &self.broadcast.get())?;
                self.function.set_arg(index + 1, &self.partial.get())?;
                self.function.set_arg(index + 2, &words)?;
                self.kernels.enqueue_nd_range_kernel(
                    self.function.get(),
                    1,
                    ptr::null(),
                    global.as_ptr(),
                    local.as_ptr(),
                    &wait,
                )?
            };
            flight.kernels.push(kernel);
        }
        if let Shape::Table(_) = self.room.partial {
            let word = &mut at.first_word[..];
            // SAFETY: the word keeps its place on the heap, and is read only after this event; `drop` waits
            // for the event, too.
            let end = unsafe {
                self.kernels.enqueue_read_buffer(&self.partial, CL_NON_BLOCKING, 0, word, &[])?
            };
            flight.end = Some(end);
        }
        self.kernels.flush()
    }

    /// Returns the oldest unit in flight, if it is done or was waited for.
    fn oldest(&mut self, wait: bool) -> Made<Option<Done>> {
        let Some(flight) = self.in_flight.front() else { return Ok(None) };
        let end = flight.end.as_ref().or(flight.kernels.last()).or(flight.copy.as_ref());
        // One of them exists: a unit is copied or has pieces.
        let Some(end) = end else { return Err(ClError(CL_INVALID_EVENT)) };
        if wait {
            end.wait()?;
        } else {
            let status = end.command_execution_status()?.0;
            if status > 0 {
                return Ok(None);
            }
            if status < 0 {
                return Err(ClError(status));
            }
        }
        // What the end came after is done, too, but NVIDIA's driver gives the times of an event only if its own end
        // was seen.
        flight.kernels.iter().chain(&flight.copy).chain(&flight.end).try_for_each(Event::wait)?;
        let time = |event: &Event| -> Made<Duration> {
            let (began, ended) = (event.profiling_command_start()?, event.profiling_command_end()?);
            Ok(Duration::from_nanos(ended.saturating_sub(began)))
        };
        let kernels = flight.kernels.iter().map(time).collect::<Made<Vec<_>>>()?;
        let copy = flight.copy.as_ref().map(time).transpose()?.unwrap_or_default();
        let ended = i128::from(end.profiling_command_end()?);
        let began = self.device_began_ns;
        let since = |then: i128| Duration::from_nanos(u64::try_from(then - began).unwrap_or(0));
        let copied = match &flight.copy {
            Some(copy) => since(copy.profiling_command_end()?.into()),
            None => since(ended),
        };
        let outcome = self.room.partial.outcome(&self.memory[flight.slot].first_word[..]);
        let (slot, kernel) = (flight.slot, kernels.iter().sum());
        self.in_flight.pop_front();
        self.slots.free.push(slot);
        Ok(Some(Done { outcome, copy, copied, kernel, at: since(ended) }))
    }
}

impl Session for ClSession {
    fn slots(&mut self) -> &mut Slots {
        &mut self.slots
    }

    fn bytes_mut(&mut self, slot: &Slot) -> &mut [u8] {
        let host = self.memory[slot.0].host;
        // SAFETY: that many initialised bytes are mapped there, and the owner of a `Slot` has exclusive
        // access: it is neither free nor in flight.
        unsafe { std::slice::from_raw_parts_mut(host, self.room.slot_bytes) }
    }

    fn allocate(&mut self, bytes: usize) -> Option<usize> {
        // SAFETY: a buffer of at least one byte, which uses no memory of the caller's.
        let made = unsafe {
            Buffer::create(&self.context, CL_MEM_READ_ONLY, bytes.max(1), ptr::null_mut())
        };
        self.kept.push(made.ok()?);
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
        into.clear();
        into.resize(self.room.partial.words(), 0);
        let failed = failed(&self.caps.name, "copy the partial out");
        if !into.is_empty() {
            // SAFETY: the partial has that many words, and the call returns when they have arrived.
            let read = unsafe {
                self.kernels.enqueue_read_buffer(&self.partial, CL_BLOCKING, 0, into, &[])
            };
            read.map_err(&failed)?;
        }
        self.clear().map_err(failed)
    }

    fn reset(&mut self) -> Result<(), DeviceError> {
        self.clear().map_err(failed(&self.caps.name, "make the partial zeros"))
    }

    fn broadcast(&mut self, words: &[u64]) -> Result<(), DeviceError> {
        assert!(words.len() <= self.room.broadcast_words, "room for the broadcast");
        if words.is_empty() {
            return Ok(());
        }
        // SAFETY: the buffer has room for them, and the call returns when they are copied.
        let written = unsafe {
            self.kernels.enqueue_write_buffer(&mut self.broadcast, CL_BLOCKING, 0, words, &[])
        };
        written.map(drop).map_err(failed(&self.caps.name, "copy the broadcast words"))
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for ClSession {
    /// Waits until no operation uses the memory that is freed now. An error here has occurred before.
    fn drop(&mut self) {
        let _ = self.kernels.finish();
        for slot in &self.memory {
            // SAFETY: the address is that of the mapping, which is removed once.
            let _ = unsafe {
                let host = slot.host.cast();
                self.copies.enqueue_unmap_mem_object(slot.pinned.get(), host, &[])
            };
        }
        let _ = self.copies.finish();
    }
}

//! A run: the engine works on threads of its own, and the caller's thread waits without the interpreter's lock, and
//! looks for signals now and then.

use crate::answer::Answer;
use crate::companion::{Caller, Kept, Raised, Seating};
use crate::drawn::Drawn;
use crate::nodes::{self, Desk, Wires};
use crate::plan::Plan;
use crate::shown::{Seen, Showing, Slot, Stream};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use tegula::{Error, Every, Options, Place, Progress};
use tegula_machine::sync::Mutex;
use tegula_nodes::{Here, Machines, Rules, Units};

/// How often signals are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often progress is reported.
const REPORT_EVERY: Duration = Duration::from_millis(250);
/// The time in which an interrupted run may end by itself, before processes are killed.
const GRACE: Duration = Duration::from_millis(100);
/// How often the pairs so far are shown beside progress.
const TOP_EVERY: Duration = Duration::from_secs(1);

/// A flag that stops runs, from any thread.
#[pyclass(frozen, module = "tegula._tegula")]
#[derive(Default)]
pub(crate) struct Cancel(tegula::Cancel);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Cancel {
        Cancel::default()
    }

    fn cancel(&self) {
        self.0.cancel();
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// Who follows a run: a function that is called four times a second with what has been done, the flag that stops the
/// run, and the number of pairs that the function wants to be shown.
struct Follower<'a, 'py> {
    watch: Option<&'a Bound<'py, PyAny>>,
    cancel: Option<&'a Cancel>,
    top: Option<usize>,
}

/// An engine: its workers and its memory.
#[pyclass(frozen, module = "tegula._tegula")]
pub(crate) struct Engine {
    engine: Mutex<Option<Arc<tegula::Engine>>>,
    running: AtomicUsize,
    /// The limit on the memory of this process, in bytes.
    memory: Option<u64>,
    /// The process that has its threads.
    process: u32,
}

impl Drop for Engine {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            self.abandon();
        }
    }
}

/// Why a run gave no answer.
#[pyclass(frozen, get_all, module = "tegula._tegula")]
pub(crate) struct Failure {
    /// `input`, `output`, `memory`, `storage`, `state`, `record`, `option`, `cancelled`, or `other`.
    kind: &'static str,
    message: String,
    /// Of a record: its file, its line from 1, and its byte from 0. `None` of a step that has no records.
    place: Option<(OsString, Option<u64>, Option<u64>)>,
    /// Of an exception: its traceback, its pickle, and whether the function could not be loaded.
    raised: Option<(String, Py<PyBytes>, bool)>,
}

impl Failure {
    pub(crate) fn of(py: Python<'_>, error: &Error) -> Failure {
        let kind = match error {
            Error::Input(_) => "input",
            Error::Output(_) => "output",
            Error::Memory(_) => "memory",
            Error::Storage(_) => "storage",
            Error::State(_) => "state",
            Error::Record { .. } => "record",
            Error::Option { .. } => "option",
            Error::Cancelled => "cancelled",
            _ => "other",
        };
        let mut failure = Failure { kind, message: error.to_string(), place: None, raised: None };
        if let Error::Record { place, cause } = error {
            let Place { source, line, offset } = place.clone();
            // Without either it is a step of the run, and no file.
            let is_record = line.is_some() || offset.is_some();
            failure.place = is_record.then(|| (source.into_os_string(), line, offset));
            if let Some(Raised { text, pickle, at_start }) = cause.downcast_ref() {
                let pickle = PyBytes::new(py, pickle).unbind();
                failure.raised = Some((text.clone(), pickle, *at_start));
            }
        }
        failure
    }
}

#[pymethods]
impl Engine {
    /// Starts workers: as many as processors, or `workers`. `memory` limits the process, in bytes.
    #[new]
    #[pyo3(signature = (workers=None, memory=None, scratch=None))]
    fn new(
        py: Python<'_>,
        workers: Option<usize>,
        memory: Option<u64>,
        scratch: Option<PathBuf>,
    ) -> PyResult<Engine> {
        let built = py.detach(|| {
            let mut builder = tegula::Engine::builder().workers(workers).memory_bytes(memory);
            if let Some(scratch) = scratch {
                builder = builder.scratch(scratch);
            }
            builder.build()
        });
        let engine = built.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Engine {
            engine: Mutex::new(Some(Arc::new(engine))),
            running: AtomicUsize::new(0),
            memory,
            process: std::process::id(),
        })
    }

    /// The number of workers.
    fn workers(&self) -> PyResult<usize> {
        Ok(self.engine()?.workers())
    }

    /// The number of runs at work.
    fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Lets go of the engine in a forked child, which has none of its threads, without ending them.
    fn abandon(&self) {
        // Another thread may have held the lock when the process was forked.
        if let Some(mut engine) = self.engine.try_lock() {
            std::mem::forget(engine.take());
        }
    }

    /// Ends the workers, when the runs at work have ended.
    fn close(&self, py: Python<'_>) {
        if std::process::id() != self.process {
            return self.abandon();
        }
        let engine = self.engine.lock().take();
        py.detach(|| drop(engine));
    }

    /// The number of processors, cores, groups and memory nodes, and the bytes of a second-level cache.
    fn topology(&self) -> PyResult<(usize, usize, usize, usize, u64)> {
        let engine = self.engine()?;
        let topology = engine.topology();
        let (processors, groups) = (topology.processors.len(), topology.groups.len());
        Ok((processors, topology.cores(), groups, topology.nodes.len(), topology.l2_bytes()))
    }

    /// Runs a plan and shows its answers meanwhile. Returns a `Stream`, or a `Failure`.
    ///
    /// `shows`: the kind and the amount of input between shows, the most pairs, and whether they are in order.
    #[pyo3(signature = (plan, shows, watch=None, cancel=None))]
    fn stream<'py>(
        &self,
        py: Python<'py>,
        plan: &Bound<'py, PyDict>,
        shows: (String, f64, Option<usize>, bool),
        watch: Option<Py<PyAny>>,
        cancel: Option<&Cancel>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (engine, plan) = (self.engine()?, Plan::of(plan)?);
        let (every, amount, top, in_order) = shows;
        let slot = Slot::default();
        let every = every_of(&every, amount)?;
        let showing = Showing { every, top, in_order, slot: Arc::clone(&slot) };
        let on = (engine, self.memory, Machines::This);
        match Running::start(py, on, plan, Some(showing), cancel)? {
            Ok(running) => Ok(Bound::new(py, Stream::new(running, slot, watch))?.into_any()),
            Err(error) => failure(py, &error),
        }
    }

    /// Serves a plan as a node of another process, which other nodes reach at the address `host`. They send it the input
    /// if it does not read it. Returns a `Desk`, or a `Failure`.
    fn serve<'py>(
        &self,
        py: Python<'py>,
        plan: &Bound<'py, PyDict>,
        host: IpAddr,
        reads: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (engine, plan) = (self.engine()?, Plan::of(plan)?);
        let streamed = (!reads).then_some(Units::ByRate);
        let (seat, orders, reports) =
            match nodes::seat(Here { memory_bytes: self.memory, streamed, host }) {
                Ok(seat) => seat,
                Err(error) => return failure(py, &error),
            };
        let on = (engine, self.memory, Machines::Node(seat));
        match Running::start(py, on, plan, None, None)? {
            Ok(running) => Ok(Bound::new(py, Desk::new(orders, reports, running))?.into_any()),
            Err(error) => failure(py, &error),
        }
    }

    /// Runs a plan. `watch` is called four times a second with what has been done, and with the `top` pairs so far.
    /// With `wires`, the nodes at their other ends do the work.
    #[pyo3(signature = (plan, watch=None, cancel=None, top=None, wires=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        plan: &Bound<'py, PyDict>,
        watch: Option<&Bound<'py, PyAny>>,
        cancel: Option<&Cancel>,
        top: Option<usize>,
        wires: Option<&Wires>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (engine, plan) = (self.engine()?, Plan::of(plan)?);
        let over = |carrier| Machines::over(carrier, Rules::default());
        let machines = wires.and_then(Wires::carrier).map(over).unwrap_or_default();
        // Shows are made by one machine.
        let top = top.filter(|_| machines.is_this());
        self.running.fetch_add(1, Ordering::Relaxed);
        let on = (engine, self.memory, machines);
        let answer = run(py, on, plan, &Follower { watch, cancel, top });
        self.running.fetch_sub(1, Ordering::Relaxed);
        match answer? {
            Ok(answer) => Ok(Bound::new(py, answer)?.into_any()),
            Err(error) => failure(py, &error),
        }
    }
}

/// Returns how often to show: a part of the input, bytes, or seconds.
fn every_of(kind: &str, amount: f64) -> PyResult<Every> {
    match kind {
        "part" => Ok(Every::Part(amount)),
        "bytes" => Ok(Every::Bytes(amount as u64)),
        "seconds" => Duration::try_from_secs_f64(amount)
            .map(Every::Time)
            .map_err(|error| PyValueError::new_err(error.to_string())),
        other => Err(PyValueError::new_err(format!("every: {other} is not known"))),
    }
}

impl Engine {
    fn engine(&self) -> PyResult<Arc<tegula::Engine>> {
        let engine = self.engine.lock();
        engine.clone().ok_or_else(|| PyRuntimeError::new_err("the engine is closed"))
    }
}

/// An engine, the limit on its memory, and where its jobs run.
type On = (Arc<tegula::Engine>, Option<u64>, Machines);

/// A run on a thread of its own.
pub(crate) struct Running {
    receiver: Mutex<Receiver<tegula::Result<Answer>>>,
    thread: Option<thread::JoinHandle<()>>,
    caller: Option<Arc<Caller>>,
    cancel: tegula::Cancel,
    progress: Arc<Progress>,
    reported: Instant,
    /// The most memory that its processes were seen to have, in bytes.
    companion_bytes_peak: u64,
    /// The process that has the thread.
    process: u32,
}

impl Running {
    /// Starts a run. Processes for it are started on this thread, with which the system ends them.
    fn start(
        py: Python<'_>,
        (engine, memory, mut machines): On,
        mut plan: Plan,
        showing: Option<Showing>,
        cancel: Option<&Cancel>,
    ) -> PyResult<tegula::Result<Running>> {
        let cancel = cancel.map_or_else(tegula::Cancel::new, |cancel| cancel.0.clone());
        let progress = Arc::<Progress>::default();
        let kept = Kept::within(memory, engine.workers());
        let has_all = engine.workers() >= engine.topology().processors.len();
        let seating = if has_all { Seating::Beside } else { Seating::Anywhere };
        let caller = match py.detach(|| plan.caller(kept, seating)) {
            Ok(caller) => caller,
            Err(error) => return Ok(Err(error)),
        };
        let devices = match py.detach(|| plan.open_devices()) {
            Ok(devices) => devices,
            Err(error) => return Ok(Err(error)),
        };
        let state = match py.detach(|| plan.open_state()) {
            Ok(state) => state,
            Err(error) => return Ok(Err(error)),
        };
        let drawn = plan.timeline.take().map(Drawn::new);
        let options = Options {
            devices,
            order: plan.order,
            top: plan.top,
            skip_bad: plan.skip_bad,
            plain: plan.plain,
            tile_bytes: plan.tile_bytes,
            split_bytes: plan.split_bytes,
            state,
            beside_bytes: caller.as_ref().map_or(0, |_| kept.bytes(engine.workers())),
            progress: Some(Arc::clone(&progress)),
            timeline: drawn.as_ref().map(Drawn::timeline),
            cancel: cancel.clone(),
            ..Options::default()
        };
        let (keys, names) = (plan.keys, plan.names());
        let (sender, receiver) = channel();
        let theirs = caller.clone().map(|caller| (caller, kept));
        let work = move || {
            let output = plan.run(&engine, &mut machines, &options, theirs, showing.as_ref());
            // Nodes are told that the run is over.
            drop(machines);
            // A run that failed is drawn, too.
            let written = drawn.map_or(Ok(()), |drawn| drawn.write());
            let output = output.and_then(|output| written.map(|()| output));
            // The receiver waits for it.
            let _ = sender.send(output.map(|output| Answer::new(output, keys, names)));
        };
        let thread = thread::Builder::new().name("tegula run".to_owned()).spawn(work)?;
        let receiver = Mutex::new(receiver);
        let (thread, reported) = (Some(thread), Instant::now());
        let companion_bytes_peak = 0;
        let running = Running {
            receiver,
            thread,
            caller,
            cancel,
            progress,
            reported,
            companion_bytes_peak,
            process: std::process::id(),
        };
        Ok(Ok(running))
    }

    /// Waits for the answer, so long at most. The outer error is what a signal's handler raised.
    pub(crate) fn wait(
        &mut self,
        py: Python<'_>,
        most: Duration,
    ) -> PyResult<Option<tegula::Result<Answer>>> {
        match self.receive(py, most) {
            Ok(answer) => {
                self.weigh_companions();
                self.end(py);
                let peak = self.companion_bytes_peak;
                Ok(Some(answer.map(|answer| answer.beside(peak))))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let place = Place::stage("the run");
                let message = "its thread ended without an answer".to_owned();
                Ok(Some(Err(Error::Panicked { place, message })))
            }
            Err(RecvTimeoutError::Timeout) => py.check_signals().map(|()| None),
        }
    }

    fn receive(
        &self,
        py: Python<'_>,
        most: Duration,
    ) -> Result<tegula::Result<Answer>, RecvTimeoutError> {
        py.detach(|| self.receiver.lock().recv_timeout(most))
    }

    /// Whether somebody stopped the run.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Stops the run: what a split's end does not stop is killed. Native code, and functions on threads, cannot be:
    /// a second interrupt ends this process where they do not return.
    pub(crate) fn stop(mut self, py: Python<'_>) {
        if self.is_of_parent() {
            return;
        }
        self.cancel.cancel();
        let (began, mut insisted) = (Instant::now(), false);
        while let Err(RecvTimeoutError::Timeout) = self.receive(py, LOOK_EVERY) {
            if began.elapsed() > GRACE {
                self.caller.iter().for_each(|caller| caller.kill());
            }
            let raised = py.check_signals().err();
            insisted |= raised.is_some_and(|error| error.is_instance_of::<PyKeyboardInterrupt>(py));
            if insisted && began.elapsed() > 2 * GRACE {
                // Python has no such signals where this fails, and the wait goes on.
                let _ = end_process(py);
            }
        }
        self.end(py);
    }

    /// Whether this is a forked child, in which the run's thread is not there, and whose parent goes on with it.
    fn is_of_parent(&self) -> bool {
        std::process::id() != self.process
    }

    /// Notes the memory of the run's processes, and returns it in bytes.
    fn weigh_companions(&mut self) -> u64 {
        let bytes = self.caller.as_ref().map_or(0, |caller| caller.resident_bytes());
        self.companion_bytes_peak = self.companion_bytes_peak.max(bytes);
        bytes
    }

    /// Reports progress when it is time, with the pairs so far if there are some.
    pub(crate) fn report(
        &mut self,
        py: Python<'_>,
        watch: Option<&Bound<'_, PyAny>>,
        seen: Option<&Slot>,
    ) -> PyResult<()> {
        if self.reported.elapsed() < REPORT_EVERY {
            return Ok(());
        }
        self.reported = Instant::now();
        let companion_bytes = self.weigh_companions();
        let Some(watch) = watch else { return Ok(()) };
        let reading = self.progress.read();
        let dict = PyDict::new(py);
        dict.set_item("stage", reading.stage.name())?;
        dict.set_item("bytes_done", reading.bytes_done)?;
        dict.set_item("bytes_planned", reading.bytes_planned)?;
        dict.set_item("bytes_per_second", reading.bytes_per_second())?;
        dict.set_item("seconds_left", reading.time_left().map(|left| left.as_secs_f64()))?;
        dict.set_item("keys", reading.keys_held)?;
        dict.set_item("memory_bytes", reading.memory_bytes + companion_bytes)?;
        let top = seen.map(|slot| slot.lock());
        if let Some(seen) = top.as_deref().and_then(Option::as_ref) {
            dict.set_item("top", Seen::pairs(seen, py)?)?;
        }
        drop(top);
        watch.call1((dict,)).map(|_| ())
    }

    /// Waits for the thread, which has sent its answer, and ends the processes.
    fn end(&mut self, py: Python<'_>) {
        let (thread, caller) = (self.thread.take(), self.caller.take());
        py.detach(|| {
            let _ = thread.map(thread::JoinHandle::join);
            drop::<Option<Arc<Caller>>>(caller);
        });
    }
}

/// A stream that nobody stopped and nobody reads.
impl Drop for Running {
    fn drop(&mut self) {
        if self.is_of_parent() {
            std::mem::forget((self.thread.take(), self.caller.take()));
        }
        // Those of a run that has ended may be of others, too.
        if self.thread.is_some() {
            self.cancel.cancel();
            self.caller.iter().for_each(|caller| caller.kill());
        }
    }
}

/// Ends this process by the signal of an interrupt, as the system does where nobody handles it.
fn end_process(py: Python<'_>) -> PyResult<()> {
    let signal = py.import("signal")?;
    let interrupt = signal.getattr("SIGINT")?;
    signal.call_method1("signal", (&interrupt, signal.getattr("SIG_DFL")?))?;
    signal.call_method1("raise_signal", (&interrupt,)).map(|_| ())
}

/// Runs a plan, and waits for it. The outer error is what a signal's handler or `watch` raised.
fn run(
    py: Python<'_>,
    engine: On,
    plan: Plan,
    follower: &Follower<'_, '_>,
) -> PyResult<tegula::Result<Answer>> {
    let slot = follower.top.map(|_| Slot::default());
    let showing = slot.as_ref().map(|slot| {
        let every = Every::Time(TOP_EVERY);
        Showing { every, top: follower.top, in_order: false, slot: Arc::clone(slot) }
    });
    let mut running = match Running::start(py, engine, plan, showing, follower.cancel)? {
        Ok(running) => running,
        Err(error) => return Ok(Err(error)),
    };
    loop {
        let seen = match running.wait(py, LOOK_EVERY) {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) if running.is_cancelled() => {
                running.stop(py);
                return Ok(Err(Error::Cancelled));
            }
            Ok(None) => running.report(py, follower.watch, slot.as_ref()),
            Err(error) => Err(error),
        };
        if let Err(error) = seen {
            running.stop(py);
            return Err(error);
        }
    }
}

/// Returns a failure as an object of Python's.
pub(crate) fn failure<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    Ok(Bound::new(py, Failure::of(py, error))?.into_any())
}

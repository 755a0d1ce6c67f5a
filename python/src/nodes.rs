//! The seam to carriers in Python: the driver's end, from which Python takes orders and to which it brings reports, and
//! a node's end, to which it brings orders and from which it takes reports. Both are bytes, which Python does not read.

use crate::running::Running;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;
use tegula_machine::sync::Mutex;
use tegula_nodes::{BEAT, Carrier, Event, Here, Orders, Seat};

/// Reports that may wait: blocks of some mebibytes.
const REPORTS_MOST: usize = 8;
/// About the most bytes of reports that are taken at once.
const TAKEN_BYTES: usize = 8 << 20;

/// The driver's end. A run takes it; the nodes are numbered in the order in which they join.
#[pyclass(frozen, module = "tegula._tegula")]
pub(crate) struct Wires {
    orders: Mutex<Receiver<Told>>,
    events: SyncSender<Event>,
    carrier: Mutex<Option<PyCarrier>>,
    is_over: Arc<AtomicBool>,
    names: Names,
}

/// What messages call the nodes, in the order of their numbers.
type Names = Arc<Mutex<Vec<String>>>;

/// A node, and an order for it; `None` ends the node.
type Told = (usize, Option<Vec<u8>>);

/// The run's side of it.
struct PyCarrier {
    names: Names,
    orders: Sender<Told>,
    events: Receiver<Event>,
    gone: BTreeSet<usize>,
    is_over: Arc<AtomicBool>,
}

#[pymethods]
impl Wires {
    #[new]
    fn new() -> Wires {
        let (sender, orders) = channel();
        let (events, receiver) = sync_channel(REPORTS_MOST);
        let is_over = Arc::<AtomicBool>::default();
        let over = Arc::clone(&is_over);
        let names = Names::default();
        let carrier = PyCarrier {
            names: Arc::clone(&names),
            orders: sender,
            events: receiver,
            gone: BTreeSet::new(),
            is_over: over,
        };
        let (orders, carrier) = (Mutex::new(orders), Mutex::new(Some(carrier)));
        Wires { orders, events, carrier, is_over, names }
    }

    /// Adds a node, at any time. Returns its number.
    fn join(&self, name: String) -> usize {
        let mut names = self.names.lock();
        names.push(name);
        names.len() - 1
    }

    /// The orders that are there, after a wait of some seconds if there are none: the number of a node, and the bytes
    /// for it, or None to end it.
    fn orders<'py>(
        &self,
        py: Python<'py>,
        seconds: f64,
    ) -> Vec<(usize, Option<Bound<'py, PyBytes>>)> {
        let taken = py.detach(|| take(&self.orders.lock(), seconds, |_| 0));
        let shown = |(node, order): Told| (node, order.map(|order| PyBytes::new(py, &order)));
        taken.unwrap_or_default().into_iter().map(shown).collect()
    }

    /// Brings reports of a node.
    fn told(&self, py: Python<'_>, node: usize, reports: Vec<Vec<u8>>) {
        py.detach(|| {
            // Nobody hears them when the run is over.
            let _ = reports
                .into_iter()
                .try_for_each(|report| self.events.send(Event::Told(node, report)));
        });
    }

    /// Says that a node is gone, and why.
    fn gone(&self, py: Python<'_>, node: usize, cause: String) {
        let _ = py.detach(|| self.events.send(Event::Gone(node, cause)));
    }

    /// Ends what no run has taken, or a run that goes on no more.
    fn close(&self) {
        drop(self.carrier.lock().take());
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Whether the run has ended.
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

impl Wires {
    /// Returns the run's side, once.
    pub(crate) fn carrier(&self) -> Option<Box<dyn Carrier>> {
        self.carrier.lock().take().map(|carrier| Box::new(carrier) as Box<dyn Carrier>)
    }
}

impl Drop for PyCarrier {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for PyCarrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PyCarrier").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Carrier for PyCarrier {
    fn name(&self, node: usize) -> String {
        self.names.lock().get(node).cloned().unwrap_or_else(|| format!("node {node}"))
    }

    fn tell(&mut self, node: usize, order: &[u8]) {
        // Python has let go of its end: the run is about to be stopped.
        let _ = self.orders.send((node, Some(order.to_vec())));
    }

    fn next(&mut self, most: Duration) -> Option<Event> {
        let event = self.events.recv_timeout(most).ok()?;
        if let Event::Gone(node, _) = &event {
            self.gone.insert(*node);
        }
        Some(event)
    }

    fn end(&mut self, node: usize) {
        self.gone.insert(node);
        let _ = self.orders.send((node, None));
    }

    fn present(&self) -> usize {
        self.names.lock().len().saturating_sub(self.gone.len())
    }

    fn is_empty(&self) -> bool {
        self.present() == 0
    }
}

/// A node's end, and its run.
#[pyclass(frozen, module = "tegula._tegula")]
pub(crate) struct Desk {
    orders: Mutex<Option<Orders>>,
    reports: Mutex<Receiver<Vec<u8>>>,
    _running: Mutex<Running>,
}

/// Returns a seat and Python's side of it.
pub(crate) fn seat(here: Here) -> tegula::Result<(Seat, Orders, Receiver<Vec<u8>>)> {
    let (sender, reports) = sync_channel(REPORTS_MOST);
    let tell =
        move |report: &[u8]| sender.send(report.to_vec()).map_err(|_| tegula::Error::Cancelled);
    let (seat, orders) = Seat::new(here, tell)?;
    Ok((seat, orders, reports))
}

impl Desk {
    pub(crate) fn new(orders: Orders, reports: Receiver<Vec<u8>>, running: Running) -> Desk {
        let (orders, reports) = (Mutex::new(Some(orders)), Mutex::new(reports));
        Desk { orders, reports, _running: Mutex::new(running) }
    }
}

#[pymethods]
impl Desk {
    /// Brings an order. Returns whether the node goes on.
    fn put(&self, order: &[u8]) -> bool {
        self.orders.lock().as_ref().is_some_and(|orders| orders.put(order))
    }

    /// The reports that are there, after a wait of half a second if there are none; `None` when the node has ended.
    fn reports<'py>(&self, py: Python<'py>) -> Option<Vec<Bound<'py, PyBytes>>> {
        let seconds = BEAT.as_secs_f64();
        let taken = py.detach(|| take(&self.reports.lock(), seconds, Vec::len))?;
        Some(taken.iter().map(|report| PyBytes::new(py, report)).collect())
    }

    /// Ends the node.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            if let Some(orders) = self.orders.lock().take() {
                orders.end();
            }
        });
    }
}

/// Takes what is there, after a wait if nothing is; `None` if nothing will come any more.
fn take<T>(from: &Receiver<T>, seconds: f64, bytes: impl Fn(&T) -> usize) -> Option<Vec<T>> {
    let most = Duration::try_from_secs_f64(seconds).unwrap_or(BEAT);
    let first = match from.recv_timeout(most) {
        Ok(first) => first,
        Err(RecvTimeoutError::Timeout) => return Some(Vec::new()),
        Err(RecvTimeoutError::Disconnected) => return None,
    };
    let mut left = TAKEN_BYTES.saturating_sub(bytes(&first));
    let mut taken = vec![first];
    while left > 0
        && let Ok(next) = from.try_recv()
    {
        left = left.saturating_sub(bytes(&next));
        taken.push(next);
    }
    Some(taken)
}

//! A node that sees other files than the driver, is of another version, fails where the driver does not, or says nothing is
//! left out, and why is named. The others go on. A node that comes late is not left out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tegula::{
    Count, Emit, Engine, Error, Input, Job, Options, Progress, RangeSource, Result, Split,
};
use tegula_nodes::{
    ALIVE, Carrier, Event, Here, Machines, Orders, Ready, Report, Rules, Seat, Shares, Task, Units,
};

struct Words;

impl Job for Words {
    type Key = [u8];
    type Combine = Count;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        emit.emit_each(split.fields(), ());
        Ok(())
    }
}

/// A text as a node sees it.
#[derive(Debug)]
struct Text(Vec<u8>);

impl RangeSource for Text {
    fn read_at(&self, _: &Path, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let from = offset as usize;
        into.copy_from_slice(&self.0[from..from + into.len()]);
        Ok(())
    }
}

fn input(text: &str) -> Input {
    let bytes = text.as_bytes().to_vec();
    let length = bytes.len() as u64;
    Input::ranges(Arc::new(Text(bytes)), [(Path::new("corpus"), length)])
}

/// Returns the options of a job of the program, by its number.
fn options(job: u64) -> Options {
    Options { tile_bytes: Some(100 + job), ..Options::default() }
}

/// How often a node says that it is alive: as often as one of many nodes does.
const BEAT: Duration = Duration::from_millis(3);

/// Nodes on threads of this process.
#[derive(Debug)]
struct Threads {
    orders: Vec<Option<Orders>>,
    events: Receiver<Event>,
    threads: Vec<JoinHandle<()>>,
    gone: usize,
}

impl Threads {
    /// Starts a node for each text that one sees. `change` returns what comes of a node's report on the way, if anything.
    fn seeing(
        texts: &[String],
        change: impl Fn(usize, Vec<u8>) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Threads {
        Threads::streamed(texts, 0, change)
    }

    /// As [`Threads::seeing`]; the first nodes are sent the input by others.
    fn streamed(
        texts: &[String],
        streamed: usize,
        change: impl Fn(usize, Vec<u8>) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Threads {
        let change = Arc::new(change);
        let (sender, events) = channel();
        let (mut orders, mut threads) = (Vec::new(), Vec::new());
        for (node, text) in texts.iter().enumerate() {
            // Taken when the node is gone.
            let reports = Arc::new(Mutex::new(Some(sender.clone())));
            let tell = {
                let (reports, change) = (Arc::clone(&reports), Arc::clone(&change));
                move |report: &[u8]| {
                    let reports = reports.lock().unwrap();
                    let reports = reports.as_ref().ok_or(Error::Cancelled)?;
                    let Some(report) = change(node, report.to_vec()) else { return Ok(()) };
                    reports.send(Event::Told(node, report)).map_err(|_| Error::Cancelled)
                }
            };
            let beat = tell.clone();
            threads.push(thread::spawn(move || {
                while beat(ALIVE).is_ok() {
                    thread::sleep(BEAT);
                }
            }));
            let streamed = (node < streamed).then_some(Units::ByRate);
            let here = Here { memory_bytes: None, streamed, host: Ipv4Addr::LOCALHOST.into() };
            let (seat, put) = Seat::new(here, tell).unwrap();
            orders.push(Some(put));
            let text = text.clone();
            threads.push(thread::spawn(move || {
                let engine = Engine::builder().workers(1).build().unwrap();
                let mut machines = Machines::Node(seat);
                let mut run = |job| run_job(&mut machines, (&engine, Shares::Answer), &text, job);
                let error = (0..).find_map(|job| run(job).err()).unwrap();
                // The driver may be gone.
                let last =
                    |reports: Sender<Event>| reports.send(Event::Gone(node, error.to_string()));
                let _ = reports.lock().unwrap().take().map(last);
            }));
        }
        Threads { orders, events, threads, gone: 0 }
    }
}

impl Carrier for Threads {
    fn name(&self, node: usize) -> String {
        format!("node {node}")
    }

    fn tell(&mut self, node: usize, order: &[u8]) {
        self.orders[node].as_ref().map(|orders| orders.put(order));
    }

    fn next(&mut self, most: Duration) -> Option<Event> {
        let event = self.events.recv_timeout(most).ok()?;
        self.gone += usize::from(matches!(event, Event::Gone(..)));
        Some(event)
    }

    fn end(&mut self, node: usize) {
        self.orders[node].take().iter().for_each(Orders::end);
    }

    fn present(&self) -> usize {
        self.orders.len() - self.gone
    }

    fn is_empty(&self) -> bool {
        self.present() == 0
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.orders.clear();
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

fn run(text: &str, seen: &[String], gathered_most: u64) -> Result<Pairs> {
    run_changed(text, Threads::seeing(seen, |_, report| Some(report)), gathered_most)
}

type Pairs = Vec<(Vec<u8>, u64)>;

fn run_changed(text: &str, nodes: Threads, gathered_most: u64) -> Result<Pairs> {
    let engine = Engine::builder().workers(1).build()?;
    let rules = Rules { gathered_most, ..Rules::default() };
    run_job(&mut Machines::over(Box::new(nodes), rules), (&engine, Shares::Nothing), text, 0)
}

/// Runs a job of the program, by its number.
fn run_job(
    machines: &mut Machines,
    (engine, shares): (&Engine, Shares),
    text: &str,
    job: u64,
) -> Result<Pairs> {
    let sent = machines.sent_input()?;
    let (input, options) = (sent.unwrap_or_else(|| input(text)), options(job));
    let task = Task { engine, job: &Words, input, options: &options, parts: None };
    let (output, mut pairs) = (machines.run(task, shares)?, Vec::new());
    output.for_each(|key, count| pairs.push((key.to_vec(), count)))?;
    Ok(pairs)
}

#[test]
fn and_the_others_go_on() {
    let text: String = (0..2000).map(|at| format!("word{} ", at * 7 % 97)).collect();
    let other = format!("{text}more ");
    let expected = run(&text, std::slice::from_ref(&text), u64::MAX).unwrap();
    assert_eq!(expected.len(), 97);
    for gathered_most in [u64::MAX, 0] {
        let seen = [text.clone(), other.clone(), text.clone()];
        assert_eq!(run(&text, &seen, gathered_most).unwrap(), expected, "{gathered_most}");
    }
    let error = run(&text, &[other.clone(), other], 0).unwrap_err().to_string();
    let named = format!("corpus had {} bytes and has {}", text.len(), text.len() + 5);
    assert!(error.contains("no node is left") && error.contains(&named), "{error}");
    for node in ["node 0: ", "node 1: "] {
        assert_eq!(error.matches(node).count(), 1, "{error}");
    }
}

/// Returns a report as that of a node of an older version.
fn older(report: Vec<u8>) -> Vec<u8> {
    match Report::decode(&report) {
        Ok(Report::Ready(ready)) => {
            Report::Ready(Ready { version: "0.0.1".to_owned(), ..ready }).encode()
        }
        _ => report,
    }
}

#[test]
fn so_is_one_of_another_version() {
    let text: String = (0..2000).map(|at| format!("word{} ", at * 7 % 97)).collect();
    let seen = [text.clone(), text.clone()];
    let expected = run(&text, &seen, u64::MAX).unwrap();
    let second = |node, report| Some(if node == 1 { older(report) } else { report });
    let mixed = run_changed(&text, Threads::seeing(&seen, second), u64::MAX).unwrap();
    assert_eq!(mixed, expected);
    let all = Threads::seeing(&seen, |_, report| Some(older(report)));
    let error = run_changed(&text, all, u64::MAX).unwrap_err().to_string();
    assert!(error.contains("no node is left"), "{error}");
    assert!(error.contains("node 1 has version 0.0.1 of the program"), "{error}");
}

/// Returns a report as that of a node that cannot map.
fn failing(report: Vec<u8>) -> Vec<u8> {
    match Report::decode(&report) {
        Ok(Report::Mapped { lease }) => {
            Report::Failed { lease, cause: "the disk is full".to_owned() }.encode()
        }
        _ => report,
    }
}

#[test]
fn so_is_one_that_fails_where_others_do_not() {
    let text: String = (0..2000).map(|at| format!("word{} ", at * 7 % 97)).collect();
    let seen = [text.clone(), text.clone()];
    let expected = run(&text, &seen, u64::MAX).unwrap();
    let second = |node, report| Some(if node == 1 { failing(report) } else { report });
    let mixed = run_changed(&text, Threads::seeing(&seen, second), u64::MAX).unwrap();
    assert_eq!(mixed, expected);
    let all = Threads::seeing(&seen[..1], |_, report| Some(failing(report)));
    let error = run_changed(&text, all, u64::MAX).unwrap_err().to_string();
    let expected = "no node is left: node 0: it fails where others do not: the disk is full";
    assert!(error.ends_with(expected), "{error}");
}

/// The tiles that the driver maps count once, and so do those of a node that is lost.
#[test]
fn bytes_are_counted_once() {
    let text: String = (0..2000).map(|at| format!("word{} ", at * 7 % 97)).collect();
    let seen = [text.clone(), text.clone()];
    let bytes_done = |nodes: Threads| {
        let engine = Engine::builder().workers(1).build().unwrap();
        let progress = Arc::new(Progress::default());
        let options = Options { progress: Some(Arc::clone(&progress)), ..options(0) };
        let task = Task {
            engine: &engine,
            job: &Words,
            input: input(&text),
            options: &options,
            parts: None,
        };
        Machines::over(Box::new(nodes), Rules::default()).run(task, Shares::Nothing).unwrap();
        let reading = progress.read();
        assert_eq!(reading.bytes_planned, text.len() as u64);
        reading.bytes_done
    };
    let fails = |node, report| Some(if node == 1 { failing(report) } else { report });
    assert_eq!(bytes_done(Threads::seeing(&seen, fails)), text.len() as u64);
    let leaves = |node, report: Vec<u8>| match Report::decode(&report) {
        Ok(Report::Folded { .. }) if node == 1 => {
            Some(Report::Leaves { cause: "it was killed".to_owned() }.encode())
        }
        _ => Some(report),
    };
    assert_eq!(bytes_done(Threads::seeing(&seen, leaves)), text.len() as u64);
}

/// However late it is: it may be the only one that reads the input.
#[test]
fn one_that_starts_late_is_waited_for() {
    let text: String = (0..2000).map(|at| format!("word{} ", at * 7 % 97)).collect();
    let seen = [text.clone(), text.clone()];
    let expected = run(&text, &seen, u64::MAX).unwrap();
    let unread_most = Duration::from_millis(50);
    let run = |nodes: Threads| {
        let engine = Engine::builder().workers(1).build()?;
        let rules = Rules { unread_most, ..Rules::default() };
        run_job(&mut Machines::over(Box::new(nodes), rules), (&engine, Shares::Nothing), &text, 0)
    };
    let late = move |node, report: Vec<u8>| {
        let is_ready = matches!(Report::decode(&report), Ok(Report::Ready(_)));
        if node == 1 && is_ready {
            thread::sleep(10 * unread_most);
        }
        Some(report)
    };
    assert_eq!(run(Threads::streamed(&seen, 1, late)).unwrap(), expected);
    let error = run(Threads::streamed(&seen, 2, late)).unwrap_err().to_string();
    assert!(error.contains("they cannot read the input"), "{error}");
}

/// The other one is heard every few milliseconds meanwhile, as with many nodes.
#[test]
fn so_is_one_that_holds_pairs_and_says_nothing() {
    let text: String = (0..2000).map(|at| format!("word{} ", at * 7 % 97)).collect();
    let seen = [text.clone(), text.clone()];
    let expected = run(&text, &seen, u64::MAX).unwrap();
    let silent = |node, report: Vec<u8>| match Report::decode(&report) {
        Ok(Report::Ready(_) | Report::Mapped { .. }) => Some(report),
        _ => (node == 0).then_some(report),
    };
    let left = run_changed(&text, Threads::seeing(&seen, silent), u64::MAX).unwrap();
    assert_eq!(left, expected);
}

/// The first node has a part in the first job alone. The second is ready for that when the second job has begun.
#[test]
fn one_that_comes_late_goes_through_the_jobs_that_have_ended() {
    let text: String = (0..2000).map(|at| format!("word{} ", at * 7 % 97)).collect();
    let seen = [text.clone(), text.clone()];
    let expected = run(&text, &seen, u64::MAX).unwrap();
    let run = |scratch: &Path| {
        let begun = AtomicU64::new(0);
        let late = move |node, report: Vec<u8>| {
            let is_ready = matches!(Report::decode(&report), Ok(Report::Ready(_)));
            if node == 1 {
                while is_ready && begun.load(Ordering::Relaxed) < 2 {
                    thread::sleep(Duration::from_millis(1));
                }
                return Some(report);
            }
            let begun = begun.fetch_add(u64::from(is_ready), Ordering::Relaxed);
            Some(if begun == 2 { failing(report) } else { report })
        };
        let engine = Engine::builder().workers(1).scratch(scratch).build()?;
        let nodes = Box::new(Threads::seeing(&seen, late));
        let mut machines = Machines::over(nodes, Rules::default());
        let mut run = |job| run_job(&mut machines, (&engine, Shares::Answer), &text, job);
        Ok([run(0)?, run(1)?, run(2)?])
    };
    assert_eq!(run(&std::env::temp_dir()).unwrap(), [&expected; 3].map(Clone::clone));
    let error: Error = run(Path::new("/proc/nowhere")).unwrap_err();
    let named = "node 1: it came late, and answers were not kept for it: ";
    assert!(error.to_string().contains(named), "{error}");
}

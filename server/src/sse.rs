//! Streams of server-sent events: first a snapshot, then what has changed since the last look, the newest only. A stream
//! looks when something has changed, and at most four times a second, so a slow reader is never behind and never a
//! queue.

use crate::supervisor::{AllNews, JobNews, JobSeen, Supervisor};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

/// The least time between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// The same for all jobs, as long as nothing has changed but their progress.
const LOOK_AT_ALL: Duration = Duration::from_secs(1);
/// When a browser may come back that has lost its stream.
const BACK_AFTER: Duration = Duration::from_secs(1);
/// How often a silent stream says that it is there.
const ALIVE: Duration = Duration::from_secs(15);

type Result<T> = std::result::Result<T, Infallible>;

/// What a stream watches, and what it has told.
enum Watches {
    Job(u64, Option<JobSeen>),
    All(Option<u64>),
}

struct Stage {
    supervisor: Arc<Supervisor>,
    watches: Watches,
    changed: watch::Receiver<u64>,
    ready: VecDeque<Event>,
    looked: Option<Instant>,
    /// The id of the newest state, which a browser sends when it comes back.
    last_id: Option<String>,
    _place: OwnedSemaphorePermit,
}

/// Streams a job, or all of them. `last_id` is what the browser has seen already; `place` is held as long as it lasts.
pub(crate) fn stream(
    supervisor: Arc<Supervisor>,
    job: Option<u64>,
    last_id: Option<String>,
    place: OwnedSemaphorePermit,
) -> Sse<impl Stream<Item = Result<Event>>> {
    let mut changed = supervisor.watch();
    changed.mark_changed();
    let watches = match job {
        Some(id) => Watches::Job(id, None),
        None => Watches::All(None),
    };
    let ready = VecDeque::from([Event::default().retry(BACK_AFTER)]);
    let stage = Stage { supervisor, watches, changed, ready, looked: None, last_id, _place: place };
    let events = stream::unfold(stage, |mut stage| async {
        let mut ends = stage.supervisor.ends();
        tokio::select! {
            _ = ends.wait_for(|ends| *ends) => None,
            event = stage.next() => event.map(|event| (Ok(event), stage)),
        }
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE))
}

impl Stage {
    /// Returns the next event, when there is one.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            // The sender lives as long as the supervisor, which this holds.
            self.changed.changed().await.ok()?;
            if let Some(looked) = self.looked {
                tokio::time::sleep_until(looked + LOOK).await;
                while self.is_progress() && looked.elapsed() < LOOK_AT_ALL {
                    tokio::time::sleep(LOOK).await;
                }
            }
            self.changed.mark_unchanged();
            self.looked = Some(Instant::now());
            if !self.look() {
                return None;
            }
        }
    }

    /// Returns whether this is of all jobs, and none of them has changed but in its progress.
    fn is_progress(&self) -> bool {
        match self.watches {
            Watches::All(Some(seen)) => !self.supervisor.has_moved(seen),
            _ => false,
        }
    }

    /// Makes the events of what has changed; `false` if there will be no more.
    fn look(&mut self) -> bool {
        let mut events = Vec::new();
        let id = match &mut self.watches {
            Watches::Job(id, seen) => {
                let Ok((news, now)) = self.supervisor.news_of(*id, *seen) else { return false };
                let is_new = *seen != Some(now);
                *seen = Some(now);
                let JobNews { snapshot, summary, lines } = news;
                let change = format!("{}-{}", self.supervisor.boot(), now.change);
                let is_known = self.last_id.take().is_some_and(|known| known == change);
                if let Some(snapshot) = snapshot.filter(|_| !is_known) {
                    events.push(("snapshot", snapshot.to_string()));
                }
                events.extend(summary.map(|summary| ("summary", text(summary))));
                events.extend(lines.into_iter().map(|(kind, mut line)| {
                    line.insert("job", id);
                    (kind, line.to_string())
                }));
                is_new.then_some(change)
            }
            Watches::All(seen) => {
                let now;
                match *seen {
                    None => {
                        let (all, change) = self.supervisor.all();
                        now = change;
                        let id = format!("{}-{now}", self.supervisor.boot());
                        if self.last_id.take().is_none_or(|known| known != id) {
                            events.push(("snapshot", all.to_string()));
                        }
                    }
                    Some(before) => {
                        let (AllNews { jobs, gone, machine }, change) =
                            self.supervisor.news(before);
                        now = change;
                        events.extend(jobs.into_iter().map(|job| ("job", text(job))));
                        let gone = gone.into_iter().map(|id| json!({ "id": id }).to_string());
                        events.extend(gone.map(|gone| ("gone", gone)));
                        events.extend(machine.map(|machine| ("machine", machine.to_string())));
                    }
                }
                *seen = Some(now);
                Some(format!("{}-{now}", self.supervisor.boot()))
            }
        };
        // Only the last of them has the id: who has seen that has seen all.
        let last = events.len().saturating_sub(1);
        for (number, (kind, data)) in events.into_iter().enumerate() {
            let mut event = Event::default().event(kind).data(data);
            if number == last
                && let Some(id) = &id
            {
                event = event.id(id);
            }
            self.ready.push_back(event);
        }
        true
    }
}

fn text(fields: Map<String, Value>) -> String {
    Value::Object(fields).to_string()
}

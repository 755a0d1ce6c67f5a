//! What is known of a job that runs, from the lines of its `--events`: the newest of each kind, and its lanes and figures
//! over time in a bounded number of steps. It is state and no log: whoever comes late gets all of it at once.

use crate::fields::Fields;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};

/// The most steps of lanes and of figures over time.
const STEPS_MOST: usize = 240;
/// The first length of a step, in seconds.
const STEP_S: f64 = 0.25;
/// The most stages that are kept; a run has five.
const STAGES_MOST: usize = 16;
/// The most lanes that are kept.
const LANES_MOST: usize = 512;
/// The lines of lanes that are kept for those who have not been told: a minute.
const WORK_MOST: usize = 240;

/// Kinds of work, and the letter of each in a lane's cells.
const KINDS: [(&str, u8); 13] = [
    ("plan", b'p'),
    ("read", b'r'),
    ("decode", b'd'),
    ("map", b'm'),
    ("combine", b'c'),
    ("compress", b'k'),
    ("spill", b's'),
    ("reduce", b'u'),
    ("merge", b'g'),
    ("write", b'w'),
    ("copy_in", b'x'),
    ("kernel", b'n'),
    ("copy_out", b'y'),
];
const IDLE: u8 = b'i';

/// The kinds of lines that are passed on as they come.
pub(crate) const PASSED_ON: [&str; 6] = ["progress", "tiles", "lanes", "show", "bad", "stats"];

/// What is known of one attempt of a job.
#[derive(Debug)]
pub(crate) struct View {
    /// The newest line of each kind that is passed on, without `event`, and the number of the change that it was.
    newest: [(u64, Option<Value>); PASSED_ON.len()],
    /// The pairs of the newest show, which its line above lacks.
    pairs: Option<Box<RawValue>>,
    /// The newest lines of lanes. Each tells only what was done since the one before.
    work: VecDeque<Work>,
    lanes: Vec<(String, Vec<[f32; KINDS.len()]>)>,
    history: Vec<Figures>,
    /// The stages so far and when each began, in seconds.
    stages: Vec<(String, f64)>,
    /// Whether its engine has begun.
    has_begun: bool,
    /// Where the cells of the newest grid are: the body of its own answer, because it is long and seldom asked for.
    places: Option<String>,
    step_s: f64,
    changes: u64,
    /// The last line, once it came.
    end: Option<Value>,
}

/// A line of lanes.
#[derive(Debug)]
struct Work {
    /// The number of the change that it was.
    change: u64,
    from_s: f64,
    at_s: f64,
    /// Milliseconds by the numbers of lane and kind.
    ms: BTreeMap<(usize, usize), u64>,
}

/// The figures at the end of a step.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    bytes_done: u64,
    memory_bytes: u64,
    cpu_s: f64,
}

impl Default for View {
    fn default() -> View {
        View {
            newest: Default::default(),
            pairs: None,
            work: VecDeque::new(),
            lanes: Vec::new(),
            history: Vec::new(),
            stages: Vec::new(),
            has_begun: false,
            places: None,
            step_s: STEP_S,
            changes: 0,
            end: None,
        }
    }
}

impl View {
    /// Takes in a line, when the job's log has `log_bytes`; what is no event, or of an unknown kind, changes nothing.
    pub(crate) fn absorb(&mut self, line: &[u8], log_bytes: u64) {
        let Ok(Value::Object(mut event)) = serde_json::from_slice(line) else { return };
        let Some(Value::String(kind)) = event.remove("event") else { return };
        let at_s = event.get("at_s").and_then(Value::as_f64).unwrap_or(0.0);
        match kind.as_str() {
            "lanes" => self.add_lanes(&event, at_s),
            "show" => {
                event.remove("pairs");
                self.pairs = pairs_of(line);
            }
            "progress" => {
                self.add_figures(&event, at_s);
                event.insert("log_bytes".to_owned(), log_bytes.into());
            }
            "places" => {
                event.remove("at_s");
                self.places = Some(Value::Object(std::mem::take(&mut event)).to_string());
            }
            "begin" => self.has_begun = true,
            "end" => self.end = Some(Value::Object(event.clone())),
            _ => {}
        }
        if let Some(number) = PASSED_ON.iter().position(|name| *name == kind) {
            self.changes += 1;
            self.newest[number] = (self.changes, Some(Value::Object(event)));
        }
    }

    /// Returns the newest line of a kind.
    pub(crate) fn newest(&self, kind: &str) -> Option<&Value> {
        let number = PASSED_ON.iter().position(|name| *name == kind)?;
        self.newest[number].1.as_ref()
    }

    /// Returns where the cells of the newest grid are, as JSON.
    pub(crate) fn places(&self) -> Option<&str> {
        self.places.as_deref()
    }

    /// Returns the last line, once it came.
    pub(crate) fn end(&self) -> Option<&Value> {
        self.end.as_ref()
    }

    /// Returns the number of cores that the job can use, where that is less than all: before it has begun, and when no
    /// tile of the map stage waits.
    pub(crate) fn useful(&self) -> Option<usize> {
        if !self.has_begun {
            return Some(1);
        }
        let counts = &self.newest("tiles")?["counts"];
        let is_mapping = self.newest("progress").is_none_or(|line| line["stage"] == "map");
        let (waiting, running) = (counts["waiting"].as_u64()?, counts["running"].as_u64()?);
        (is_mapping && waiting == 0 && running > 0).then_some(running as usize)
    }

    /// Returns the number of lines so far that are passed on.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the newest line of each kind that came after `seen` lines, in the order in which they came; of lanes the
    /// sum of all.
    pub(crate) fn since(&self, seen: u64) -> Vec<(&'static str, Fields)> {
        let kinds = PASSED_ON.iter().zip(&self.newest);
        let mut new: Vec<_> = kinds.filter(|(_, (change, _))| *change > seen).collect();
        new.sort_by_key(|(_, (change, _))| *change);
        let told = |kind: &'static str| match kind {
            "lanes" => Some(self.work_since(seen).into()),
            _ => self.told(kind),
        };
        new.into_iter().filter_map(|(kind, _)| Some((*kind, told(kind)?))).collect()
    }

    /// Returns the newest line of a kind with all that it has.
    fn told(&self, kind: &str) -> Option<Fields> {
        let Value::Object(line) = self.newest(kind)? else { return None };
        let mut line = Fields::from(line.clone());
        if kind == "show" {
            line.insert("pairs", &self.pairs);
        }
        Some(line)
    }

    /// Returns the work of the lines of lanes that came after `seen` lines.
    fn work_since(&self, seen: u64) -> Map<String, Value> {
        let untold = || self.work.iter().filter(|work| work.change > seen);
        let mut sums: BTreeMap<usize, BTreeMap<&str, u64>> = BTreeMap::new();
        for ((lane, kind), ms) in untold().flat_map(|work| &work.ms) {
            let sum = sums.entry(*lane).or_default().entry(KINDS[*kind].0).or_default();
            *sum = sum.saturating_add(*ms);
        }
        let lanes = sums.into_iter();
        let lanes = lanes.map(|(lane, ms)| json!({ "name": self.lanes[lane].0, "ms": ms }));
        Map::from_iter([
            ("at_s".to_owned(), json!(untold().next_back().map(|work| work.at_s))),
            ("from_s".to_owned(), json!(untold().next().map(|work| work.from_s))),
            ("lanes".to_owned(), lanes.collect()),
        ])
    }

    /// Returns the fields of a snapshot (docs/api.md) that are beside the summary.
    pub(crate) fn snapshot(&self) -> Fields {
        let newest = |kind: &str| self.newest(kind).cloned().unwrap_or_default();
        let lanes = self.lanes.iter().map(|(name, cells)| {
            let letters: Vec<u8> = cells.iter().map(|cell| self.letter(cell)).collect();
            json!({ "name": name, "cells": run_lengths(&letters) })
        });
        let lanes: Vec<Value> = lanes.collect();
        let figures = |of: fn(&Figures) -> Value| self.history.iter().map(of).collect::<Vec<_>>();
        let stages = self.stages.iter();
        let stages = stages.map(|(stage, from_s)| json!({ "stage": stage, "from_s": from_s }));
        let snapshot = json!({
            "stages": stages.collect::<Vec<_>>(),
            "progress": newest("progress"),
            "tiles": newest("tiles"),
            "bad": newest("bad"),
            "stats": newest("stats")["stats"],
            "lanes": { "from_s": 0, "step_s": self.step_s, "lanes": lanes },
            "history": {
                "from_s": 0,
                "step_s": self.step_s,
                "bytes_done": figures(|figures| figures.bytes_done.into()),
                "memory_bytes": figures(|figures| figures.memory_bytes.into()),
                "cpu_s": figures(|figures| figures.cpu_s.into()),
            },
        });
        let mut fields = match snapshot {
            Value::Object(fields) => Fields::from(fields),
            _ => Fields::default(),
        };
        fields.insert("show", &self.told("show"));
        fields
    }

    /// The kind of most of a cell's time.
    fn letter(&self, cell: &[f32; KINDS.len()]) -> u8 {
        let busy: f32 = cell.iter().sum();
        let most = cell.iter().zip(KINDS).max_by(|(a, _), (b, _)| a.total_cmp(b));
        match most {
            // Less than a tenth of the time is not worth a colour.
            Some((_, (_, letter))) if busy > 100.0 * self.step_s as f32 => letter,
            _ => IDLE,
        }
    }

    fn add_lanes(&mut self, event: &Map<String, Value>, at_s: f64) {
        let from_s = event.get("from_s").and_then(Value::as_f64).unwrap_or(at_s);
        self.make_room(at_s);
        let mut work = Work { change: self.changes + 1, from_s, at_s, ms: BTreeMap::new() };
        for lane in event.get("lanes").and_then(Value::as_array).into_iter().flatten() {
            let Some(place) = lane["name"].as_str().and_then(|name| self.place_of(name)) else {
                continue;
            };
            for (number, (kind, _)) in KINDS.iter().enumerate() {
                let ms = lane["ms"][*kind].as_u64().unwrap_or(0);
                if ms > 0 {
                    self.add_work(place, number, ms, from_s, at_s);
                    let sum = work.ms.entry((place, number)).or_default();
                    *sum = sum.saturating_add(ms);
                }
            }
        }
        self.work.push_back(work);
        self.work.drain(..self.work.len().saturating_sub(WORK_MOST));
    }

    /// Returns the place of a lane, which is made if there is room.
    fn place_of(&mut self, name: &str) -> Option<usize> {
        let place = self.lanes.iter().position(|(lane, _)| lane == name);
        if place.is_none() && self.lanes.len() < LANES_MOST {
            self.lanes.push((name.to_owned(), Vec::new()));
            return Some(self.lanes.len() - 1);
        }
        place
    }

    /// Adds work to the cells of a lane.
    fn add_work(&mut self, place: usize, kind: usize, ms: u64, from_s: f64, at_s: f64) {
        let steps = ((from_s / self.step_s) as usize)..=((at_s / self.step_s) as usize);
        let cells = &mut self.lanes[place].1;
        let length = cells.len().max(steps.end() + 1);
        cells.resize(length, [0.0; KINDS.len()]);
        for step in steps {
            let (begin, end) = (step as f64 * self.step_s, (step + 1) as f64 * self.step_s);
            let inside = (end.min(at_s) - begin.max(from_s)).max(0.0);
            let part = if at_s > from_s { inside / (at_s - from_s) } else { 1.0 };
            cells[step][kind] += (ms as f64 * part) as f32;
        }
    }

    fn add_figures(&mut self, event: &Map<String, Value>, at_s: f64) {
        self.make_room(at_s);
        if let Some(stage) = event.get("stage").and_then(Value::as_str)
            && self.stages.len() < STAGES_MOST
            && !self.stages.iter().any(|(known, _)| known == stage)
        {
            // It began since the line before; the first began with the run.
            let from_s = if self.stages.is_empty() { 0.0 } else { at_s };
            self.stages.push((stage.to_owned(), from_s));
        }
        let number = |name: &str| event.get(name).and_then(Value::as_u64).unwrap_or(0);
        let figures = Figures {
            bytes_done: number("bytes_done"),
            memory_bytes: number("memory_bytes"),
            cpu_s: event.get("cpu_s").and_then(Value::as_f64).unwrap_or(0.0),
        };
        let step = (at_s / self.step_s) as usize;
        let before = self.history.last().copied().unwrap_or_default();
        self.history.resize(step.max(self.history.len()), before);
        self.history.truncate(step);
        self.history.push(figures);
    }

    /// Doubles the steps until `at_s` has one.
    fn make_room(&mut self, at_s: f64) {
        while at_s.is_finite() && (at_s / self.step_s) as usize >= STEPS_MOST {
            self.step_s *= 2.0;
            for (_, cells) in &mut self.lanes {
                let whole = cells.chunks(2).map(|pair| {
                    let mut sum = pair[0];
                    pair[1..].iter().for_each(|other| {
                        sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
                    });
                    sum
                });
                *cells = whole.collect();
            }
            self.history = self.history.chunks(2).filter_map(<[_]>::last).copied().collect();
        }
    }
}

/// Returns the pairs of a show as they are written. Streams send them as one line.
fn pairs_of(line: &[u8]) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Show {
        pairs: Box<RawValue>,
    }
    let Show { pairs } = serde_json::from_slice(line).ok()?;
    match pairs.get().contains('\r') {
        false => Some(pairs),
        // It is no part of a text, where it would be escaped.
        true => RawValue::from_string(pairs.get().replace('\r', " ")).ok(),
    }
}

/// Formats letters as `m12r1`.
fn run_lengths(letters: &[u8]) -> String {
    let runs = letters.chunk_by(PartialEq::eq);
    runs.map(|run| format!("{}{}", char::from(run[0]), run.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(from_s: f64, at_s: f64, kind: &str, ms: u64) -> Vec<u8> {
        let lane = json!({ "name": "worker-0", "ms": { kind: ms } });
        json!({ "event": "lanes", "at_s": at_s, "from_s": from_s, "lanes": [lane] })
            .to_string()
            .into_bytes()
    }

    fn snapshot(view: &View) -> Value {
        serde_json::to_value(view.snapshot()).unwrap()
    }

    #[test]
    fn pairs_keep_their_order_and_their_digits() {
        let mut view = View::default();
        let pairs = r#"[{"value":"GET","count":18446744073709551617},{"value":"PUT","count":1.0}]"#;
        let line = format!("{{\"event\":\"show\",\"at_s\":2,\"show\":1,\"pairs\":{pairs}}}");
        view.absorb(line.as_bytes(), 0);
        let [(kind, told)] = &view.since(0)[..] else { panic!("one line") };
        let expected = format!("{{\"at_s\":2,\"pairs\":{pairs},\"show\":1}}");
        assert_eq!((*kind, told.to_string()), ("show", expected.clone()));
        assert!(view.snapshot().to_string().contains(&format!("\"show\":{expected}")));
        view.absorb(b"{\"event\":\"show\",\"pairs\":[\r{\"value\":1}\r]}", 0);
        assert_eq!(view.since(1)[0].1.to_string(), "{\"pairs\":[ {\"value\":1} ]}");
    }

    #[test]
    fn work_that_was_not_told_is_added_up() {
        let mut view = View::default();
        view.absorb(&lanes(0.0, 0.25, "map", 200), 0);
        view.absorb(&lanes(0.25, 0.5, "map", 100), 0);
        view.absorb(&lanes(0.5, 0.75, "read", 50), 0);
        let told = |seen| {
            let [(kind, told)] = &view.since(seen)[..] else { panic!("one line") };
            assert_eq!(*kind, "lanes");
            serde_json::to_value(told).unwrap()
        };
        let work = |ms: Value| json!([{ "name": "worker-0", "ms": ms }]);
        let all = json!({ "from_s": 0.0, "at_s": 0.75, "lanes": work(json!({ "map": 300, "read": 50 })) });
        assert_eq!(told(0), all);
        let last = json!({ "from_s": 0.5, "at_s": 0.75, "lanes": work(json!({ "read": 50 })) });
        assert_eq!(told(2), last);
        assert!(view.since(3).is_empty());
        for step in 3..1000 {
            view.absorb(&lanes(f64::from(step) / 4.0, f64::from(step + 1) / 4.0, "map", 250), 0);
        }
        let kept = &serde_json::to_value(&view.since(0)[0].1).unwrap()["lanes"];
        assert_eq!(*kept, work(json!({ "map": 250 * WORK_MOST })));
    }

    #[test]
    fn lanes_are_cells_of_the_kind_of_most_of_their_time() {
        let mut view = View::default();
        view.absorb(&lanes(0.0, 0.5, "map", 400), 0);
        view.absorb(&lanes(0.75, 1.0, "read", 200), 0);
        assert_eq!(snapshot(&view)["lanes"]["lanes"][0]["cells"], "m2i1r1i1");
    }

    #[test]
    fn lanes_and_figures_are_bounded_for_any_length() {
        let mut view = View::default();
        for step in 0..40_000_u64 {
            let at_s = step as f64 / 4.0;
            view.absorb(&lanes(at_s, at_s + 0.25, "map", 250), 0);
            let progress = json!({ "event": "progress", "at_s": at_s, "bytes_done": step });
            view.absorb(progress.to_string().as_bytes(), 0);
        }
        let snapshot = snapshot(&view);
        let history = snapshot["history"]["bytes_done"].as_array().unwrap();
        assert!((100..=STEPS_MOST).contains(&history.len()), "{}", history.len());
        assert!(history.iter().map(|bytes| bytes.as_u64().unwrap()).is_sorted());
        assert_eq!(history.last().unwrap(), 39_999);
        let cells = snapshot["lanes"]["lanes"][0]["cells"].as_str().unwrap();
        assert!(cells.starts_with('m') && cells.len() <= 6, "{cells}");
    }

    #[test]
    fn the_newest_of_each_kind_is_kept() {
        let mut view = View::default();
        for line in [
            &br#"{"event":"progress","at_s":1,"stage":"map"}"#[..],
            br#"{"event":"progress","at_s":2,"stage":"reduce"}"#,
            br#"{"event":"later","at_s":2}"#,
            b"{\"event\":",
            b"",
            b"[]",
            b"\xff",
            br#"{"event":"stats","at_s":3,"stats":{"keys":7}}"#,
            br#"{"event":"end","at_s":3,"code":0}"#,
        ] {
            view.absorb(line, 0);
        }
        assert_eq!(view.newest("progress").unwrap()["stage"], "reduce");
        assert_eq!(snapshot(&view)["stats"]["keys"], 7);
        assert_eq!(view.end().unwrap()["code"], 0);
        let kinds = |seen| view.since(seen).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
        assert_eq!(kinds(0), ["progress", "stats"]);
        assert_eq!(kinds(2), ["stats"]);
        assert_eq!(kinds(view.changes()), [] as [&str; 0]);
    }
}

//! What is known of a job that runs, from the lines of its `--events`: the newest of each kind, and its lanes and figures
//! over time in a bounded number of steps. It is state and no log: whoever comes late gets all of it at once.

use serde_json::{Map, Value, json};

/// The most steps of lanes and of figures over time.
const STEPS_MOST: usize = 240;
/// The first length of a step, in seconds.
const STEP_S: f64 = 0.25;
/// The most stages that are kept; a run has five.
const STAGES_MOST: usize = 16;
/// The most lanes that are kept.
const LANES_MOST: usize = 512;

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

    /// Returns the newest line of each kind that came after `seen` lines, in the order in which they came.
    pub(crate) fn since(&self, seen: u64) -> Vec<(&'static str, &Value)> {
        let kinds = PASSED_ON.iter().zip(&self.newest);
        let mut new: Vec<_> = kinds
            .filter(|(_, (change, _))| *change > seen)
            .filter_map(|(kind, (change, line))| Some((*change, *kind, line.as_ref()?)))
            .collect();
        new.sort_by_key(|(change, ..)| *change);
        new.into_iter().map(|(_, kind, line)| (kind, line)).collect()
    }

    /// Returns the fields of a snapshot (docs/api.md) that are beside the summary.
    pub(crate) fn snapshot(&self) -> Map<String, Value> {
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
            "show": newest("show"),
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
        match snapshot {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
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
        let steps = ((from_s / self.step_s) as usize)..=((at_s / self.step_s) as usize);
        for lane in event.get("lanes").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = lane["name"].as_str() else { continue };
            let place = match self.lanes.iter().position(|(lane, _)| lane == name) {
                Some(place) => place,
                None if self.lanes.len() < LANES_MOST => {
                    self.lanes.push((name.to_owned(), Vec::new()));
                    self.lanes.len() - 1
                }
                None => continue,
            };
            let cells = &mut self.lanes[place].1;
            let length = cells.len().max(steps.end() + 1);
            cells.resize(length, [0.0; KINDS.len()]);
            for (number, (kind, _)) in KINDS.iter().enumerate() {
                let ms = lane["ms"][*kind].as_f64().unwrap_or(0.0);
                for step in steps.clone() {
                    let (begin, end) = (step as f64 * self.step_s, (step + 1) as f64 * self.step_s);
                    let inside = (end.min(at_s) - begin.max(from_s)).max(0.0);
                    let part = if at_s > from_s { inside / (at_s - from_s) } else { 1.0 };
                    cells[step][number] += (ms * part) as f32;
                }
            }
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

    #[test]
    fn lanes_are_cells_of_the_kind_of_most_of_their_time() {
        let mut view = View::default();
        view.absorb(&lanes(0.0, 0.5, "map", 400), 0);
        view.absorb(&lanes(0.75, 1.0, "read", 200), 0);
        assert_eq!(view.snapshot()["lanes"]["lanes"][0]["cells"], "m2i1r1i1");
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
        let snapshot = view.snapshot();
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
        assert_eq!(view.snapshot()["stats"]["keys"], 7);
        assert_eq!(view.end().unwrap()["code"], 0);
        let kinds = |seen| view.since(seen).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
        assert_eq!(kinds(0), ["progress", "stats"]);
        assert_eq!(kinds(2), ["stats"]);
        assert_eq!(kinds(view.changes()), [] as [&str; 0]);
    }
}

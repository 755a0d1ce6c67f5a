//! A plan, as the Python facade hands it down: a dict of plain values. Taken apart here, and made a job.

use crate::answer::{Answered, Ended};
use crate::companion::{Caller, Companions, Kept, Seating, Waiting};
use crate::csv;
use crate::dynamic::{
    Called, Cells, Columns, Dynamic, FieldPairs, JsonPairs, Kind, Known, OrderBy, Pairs,
    RecordPairs,
};
use crate::memory::{Memory, Parts};
use crate::native::Native;
use crate::objects::KeyForm;
use crate::parted::Parted;
use crate::ready::{Program, Ready, words_of};
use crate::reducing::reduce;
use crate::shown::Showing;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tegula::device::Present;
use tegula::{
    Accelerator, ByteSet, Cancel, Collect, Cut, Delimiter, Engine, Identity, Incremental, Input,
    Job, Mean, Options, Order, Output, Show, Shown, State, Sum,
};
use tegula_apps::grep::{Counted, Grep, Meaning};
use tegula_apps::json::{JsonCounts, JsonPath, JsonSums};
use tegula_apps::top::{FieldCounts, FieldSums};
use tegula_apps::{WordCount, Words};
use tegula_nodes::{Machines, Shares, Task};

/// The work of a run.
pub(crate) struct Plan {
    source: Source,
    map: Map,
    combine: Combine,
    pub(crate) order: Order,
    pub(crate) top: Option<usize>,
    pub(crate) skip_bad: bool,
    pub(crate) plain: bool,
    pub(crate) tile_bytes: Option<u64>,
    pub(crate) split_bytes: Option<u64>,
    /// About the most bytes of lines that a Python function is given at a time.
    part_bytes: Option<usize>,
    pub(crate) keys: KeyForm,
    state: Option<Saving>,
    /// The names of devices that work beside the cores, as the command line has them.
    devices: Vec<String>,
    /// The file that keeps their sizes of units.
    device_sizes: Option<PathBuf>,
    /// Who reduces the collected values of each key at the end, if that is not the map's function's process.
    reducer: Option<Map>,
    /// Whether somebody does.
    reduces: bool,
    /// Whether the answer is that of what the state holds so far, without a map.
    is_saved: bool,
    /// The file that the run is drawn into.
    pub(crate) timeline: Option<PathBuf>,
    /// Where nodes write the answer, if they do.
    parts: Option<Parted>,
    /// The identity of the job for a state, as names and values.
    identity: Option<Vec<(String, String)>>,
}

enum Source {
    Paths { paths: Vec<OsString>, cut: Cut },
    Memory { memory: Arc<Memory>, record_bytes: u64 },
    Parts(Arc<Parts>),
}

enum Map {
    Words(Words),
    /// Separator, key, and value if there is one.
    Field(u8, usize, Option<usize>),
    /// Key, and value if there is one.
    Json(JsonPath, Option<JsonPath>),
    Grep(Grep),
    Lines,
    /// Records in order.
    Records(OrderBy),
    Native(Native),
    Processes {
        zygote: Py<Waiting>,
        program: Vec<u8>,
    },
    Threads(Py<PyAny>),
    /// A job of the command line's.
    Ready(Ready),
    /// A program of several jobs.
    Program(Program),
}

enum Combine {
    One(Kind),
    Collect,
    Many {
        names: Vec<String>,
        kinds: Vec<Kind>,
    },
    /// That of a ready-made job, whose columns have these names.
    Own(Vec<String>),
}

/// The most columns of `agg`.
const COLUMNS_MOST: usize = 8;

pub(crate) fn item<'py>(dict: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    dict.get_item(name)?.ok_or_else(|| unknown(name, "a plan without it"))
}

/// A state: its folder or URL, the job's name, whether it is incremental, and the command that `tegula show` would
/// present it by, if there is one.
type Saving = (PathBuf, String, bool, Vec<u8>);

pub(crate) fn unknown(name: &str, value: &str) -> PyErr {
    PyValueError::new_err(format!("{name}: {value} is not known to this version of Tegula"))
}

impl Plan {
    /// Takes a plan apart.
    pub(crate) fn of(dict: &Bound<'_, PyDict>) -> PyResult<Plan> {
        let part = |name| -> PyResult<Bound<'_, PyDict>> { Ok(item(dict, name)?.cast_into()?) };
        let (combine, map) = (Combine::of(&part("combine")?)?, Map::of(&part("map")?)?);
        let reducer: Option<Bound<'_, PyDict>> = item(dict, "reducer")?.extract()?;
        let order: Option<String> = item(dict, "order")?.extract()?;
        let keys: String = item(dict, "keys")?.extract()?;
        Ok(Plan {
            source: Source::of(&part("source")?)?,
            map,
            combine,
            order: match order.as_deref() {
                Some("key") => Order::Key,
                Some("value") => Order::Value,
                None => Order::None,
                Some(other) => return Err(unknown("order", other)),
            },
            top: item(dict, "top")?.extract()?,
            skip_bad: item(dict, "skip_bad")?.extract()?,
            plain: item(dict, "plain")?.extract()?,
            tile_bytes: item(dict, "tile_bytes")?.extract()?,
            split_bytes: item(dict, "split_bytes")?.extract()?,
            part_bytes: item(dict, "part_bytes")?.extract()?,
            keys: match keys.as_str() {
                "text" => KeyForm::Text,
                "bytes" => KeyForm::Bytes,
                "tagged" => KeyForm::Tagged,
                other => return Err(unknown("keys", other)),
            },
            state: item(dict, "state")?.extract()?,
            devices: item(dict, "devices")?.extract()?,
            device_sizes: item(dict, "device_sizes")?.extract()?,
            reducer: reducer.map(|reducer| Map::of(&reducer)).transpose()?,
            reduces: item(dict, "reduces")?.extract()?,
            is_saved: item(dict, "is_saved")?.extract()?,
            timeline: item(dict, "timeline")?.extract()?,
            parts: Parted::of(&item(dict, "parts")?)?,
            identity: item(dict, "identity")?.extract()?,
        })
    }

    /// Returns the names of the answer's columns; none if there is but one.
    pub(crate) fn names(&self) -> Vec<String> {
        match &self.combine {
            Combine::Many { names, .. } | Combine::Own(names) => names.clone(),
            Combine::One(_) | Combine::Collect => Vec::new(),
        }
    }

    /// Returns the state that the run is saved in.
    pub(crate) fn open_state(&self) -> tegula::Result<Option<State>> {
        let Some((folder, job, is_incremental, about)) = &self.state else { return Ok(None) };
        let state = State::within(tegula_cli::folders(folder, None)?, job);
        let state = if about.is_empty() { state } else { state.about(about.clone()) };
        Ok(Some(if *is_incremental { state.incremental(Incremental::default()) } else { state }))
    }

    /// Opens the devices of the plan, which may take some tenths of a second.
    pub(crate) fn open_devices(&self) -> tegula::Result<Vec<Arc<Accelerator>>> {
        if self.devices.iter().all(|name| name == "cpu") {
            return Ok(Vec::new());
        }
        let found = Present::look().named(&self.devices, self.device_sizes.as_deref());
        found.map_err(|cause| tegula::Error::Option { option: "devices", cause })
    }

    /// Starts the processes of a Python map, if it wants some.
    pub(crate) fn caller(
        &mut self,
        kept: Kept,
        seating: Seating,
    ) -> tegula::Result<Option<Arc<Caller>>> {
        let map = self.reducer.as_mut().unwrap_or(&mut self.map);
        Ok(match map {
            Map::Processes { zygote, program } => {
                let companions = Companions::start(zygote.get(), program, kept, seating)?;
                program.clear();
                Some(Arc::new(Caller::Processes(companions)))
            }
            Map::Threads(callable) => {
                let callable = Python::attach(|py| callable.clone_ref(py));
                Some(Arc::new(Caller::Threads(callable)))
            }
            _ => None,
        })
    }

    /// Runs the plan.
    pub(crate) fn run(
        self,
        engine: &Engine,
        machines: &mut Machines,
        options: &Options,
        caller: Option<(Arc<Caller>, Kept)>,
        showing: Option<&Showing>,
    ) -> tegula::Result<Box<dyn Answered>> {
        let reducer = caller.clone().map(|(caller, _)| caller).filter(|_| self.reduces);
        let Some(reducer) = reducer else {
            return self.map_and_combine(engine, machines, options, caller, showing);
        };
        // Before the last step there are lists of values, whose order is another.
        let collecting = Options { order: Order::Key, top: None, ..options.clone() };
        let answer = self.map_and_combine(engine, machines, &collecting, caller, showing)?;
        reduce(&*answer, &reducer, engine.workers(), options)
    }

    fn map_and_combine(
        self,
        engine: &Engine,
        machines: &mut Machines,
        options: &Options,
        caller: Option<(Arc<Caller>, Kept)>,
        showing: Option<&Showing>,
    ) -> tegula::Result<Box<dyn Answered>> {
        let record_bytes = self.source.record_bytes();
        let (keys, names) = (self.keys, self.names());
        let memory = self.source.memory();
        let (input, cut) = match machines.sent_input()? {
            Some(_) if matches!(self.map, Map::Program(_)) => {
                let cause = "each node reads the input of this job".to_owned();
                return Err(tegula::Error::Option { option: "on", cause });
            }
            Some(input) => (input, self.source.cut()),
            None => self.source.open()?,
        };
        let identity = self.identity.map(|fields| {
            let fields = fields.iter();
            fields.fold(Identity::new("python", 1), |all, (name, value)| all.with(name, value))
        });
        let (is_saved, part_bytes, parted) = (self.is_saved, self.part_bytes, self.parts);
        let run = Run {
            engine,
            machines,
            options,
            input,
            showing,
            identity,
            keys,
            names,
            is_saved,
            parted,
        };
        match (self.map, self.combine) {
            (Map::Ready(ready), _) => ready.run(run),
            (Map::Program(program), _) => {
                program.run((engine, run.machines), options, run.input, memory.as_ref())
            }
            (Map::Words(words), _) => run.job(&WordCount { words }),
            (Map::Field(separator, by, None), _) => run.job(&FieldCounts { separator, by }),
            (Map::Field(separator, by, Some(sum)), Combine::One(Kind::Sum)) => {
                run.job(&FieldSums { separator, by, sum })
            }
            (Map::Grep(grep), _) => run.job(&grep),
            (Map::Lines, _) => run.dynamic::<Sum<u64>>(Pairs::Lines, cut, vec![Kind::Count]),
            (Map::Records(by), combine) => {
                run.combined(Pairs::Records(RecordPairs { cut, by }), cut, combine)
            }
            (Map::Field(separator, by, Some(value)), combine) => {
                let is_number = !matches!(combine, Combine::Collect);
                let fields = FieldPairs { separator, by, value, is_number };
                run.numbers(Pairs::Field(fields), cut, combine)
            }
            (Map::Json(by, None), _) => run.job(&JsonCounts { by }),
            (Map::Json(by, Some(sum)), Combine::One(Kind::Sum)) => run.job(&JsonSums { by, sum }),
            (Map::Json(by, Some(value)), combine) => {
                let is_number = !matches!(combine, Combine::Collect);
                run.numbers(Pairs::Json(JsonPairs { by, value, is_number }), cut, combine)
            }
            (Map::Native(native), Combine::One(kind)) => native.run(run, cut, kind, record_bytes),
            (Map::Native(_), _) => Err(tegula::Error::Option {
                option: "map_native",
                cause: "its values are combined by count, sum, min, max or mean".to_owned(),
            }),
            (Map::Processes { .. } | Map::Threads(_), combine) => match caller {
                Some((caller, kept)) => {
                    let called = Called { caller, kept, part_bytes };
                    run.combined(Pairs::Called(called), cut, combine)
                }
                None => Err(tegula::Error::Option {
                    option: "map",
                    cause: "nobody runs the function".to_owned(),
                }),
            },
        }
    }
}

/// A run of some job.
pub(crate) struct Run<'r> {
    engine: &'r Engine,
    machines: &'r mut Machines,
    options: &'r Options,
    input: Input,
    /// Who sees answers while it runs.
    showing: Option<&'r Showing>,
    /// Of a job that is not one of the ready-made.
    pub(crate) identity: Option<Identity>,
    keys: KeyForm,
    names: Vec<String>,
    is_saved: bool,
    /// Where nodes write the answer, if they do.
    parted: Option<Parted>,
}

impl Run<'_> {
    pub(crate) fn job<J>(self, job: &J) -> tegula::Result<Box<dyn Answered>>
    where
        J: Job<Key = [u8]> + 'static,
        J::Combine: Columns,
        Output<J>: Send + Sync,
    {
        let Run { engine, machines, options, input, showing, keys, names, is_saved, .. } = self;
        if !machines.is_this() {
            let write = self.parted.as_ref().map(|parted| {
                let form = (keys, &names[..]);
                move |output, path: &Path, _: &Cancel| parted.write(output, path, form)
            });
            let parts = self.parted.as_ref().zip(write.as_ref()).map(|(parted, write)| {
                tegula_nodes::Parts { folder: &parted.folder, ending: &parted.ending, write }
            });
            let task = Task { engine, job, input, options, parts };
            let output = machines.run(task, Shares::Nothing)?;
            return Ok(Box::new(Ended::new(output)));
        }
        let mut run = engine.job(job).options(options);
        if is_saved {
            return Ok(Box::new(Ended::new(run.saved()?.output)));
        }
        if let Some(showing) = showing {
            let see = move |shown: &Shown<'_, J>| showing.see(shown, keys, &names);
            let mut show = Show::new(showing.every, see).in_order(showing.in_order);
            if let Some(top) = showing.top {
                show = show.top(top).order(Order::Value);
            }
            run = run.show(show);
        }
        Ok(Box::new(Ended::new(run.run(input)?)))
    }

    pub(crate) fn dynamic<C: Columns>(
        mut self,
        pairs: Pairs,
        cut: Cut,
        kinds: Vec<Kind>,
    ) -> tegula::Result<Box<dyn Answered>>
    where
        Output<Dynamic<C>>: Send + Sync,
    {
        let identity = self.identity.take();
        let known = identity.map(|identity| Known::of(identity, &pairs));
        self.job(&Dynamic::<C> { pairs, cut, kinds, known, combine: PhantomData })
    }

    /// Runs with pairs whose values are floats, or bytes that are collected.
    fn numbers(
        self,
        pairs: Pairs,
        cut: Cut,
        combine: Combine,
    ) -> tegula::Result<Box<dyn Answered>> {
        match combine {
            Combine::One(Kind::Mean) => self.dynamic::<Mean<f64>>(pairs, cut, vec![Kind::Mean]),
            combine => self.combined(pairs, cut, combine),
        }
    }

    /// Runs with what takes any number.
    fn combined(
        self,
        pairs: Pairs,
        cut: Cut,
        combine: Combine,
    ) -> tegula::Result<Box<dyn Answered>> {
        match combine {
            Combine::One(Kind::Count) => self.dynamic::<Sum<u64>>(pairs, cut, vec![Kind::Count]),
            Combine::One(kind) => self.dynamic::<Cells<1>>(pairs, cut, vec![kind]),
            Combine::Collect => self.dynamic::<Collect<[u8]>>(pairs, cut, vec![Kind::Count]),
            Combine::Many { kinds, .. } if kinds.len() <= 4 => {
                self.dynamic::<Cells<4>>(pairs, cut, kinds)
            }
            Combine::Many { kinds, .. } => self.dynamic::<Cells<COLUMNS_MOST>>(pairs, cut, kinds),
            Combine::Own(_) => Err(tegula::Error::Option {
                option: "combine",
                cause: "this map has no combine of its own".to_owned(),
            }),
        }
    }
}

impl Source {
    fn of(dict: &Bound<'_, PyDict>) -> PyResult<Source> {
        let kind: String = item(dict, "kind")?.extract()?;
        match kind.as_str() {
            "paths" => {
                let cut = item(dict, "cut")?;
                Ok(Source::Paths { paths: item(dict, "paths")?.extract()?, cut: cut_of(&cut)? })
            }
            "memory" => {
                let bytes: PyBuffer<u8> = item(dict, "bytes")?.extract()?;
                let record_bytes = item(dict, "record_bytes")?.extract()?;
                Ok(Source::Memory { memory: Arc::new(Memory::new(bytes)?), record_bytes })
            }
            "parts" => {
                let parts: Vec<PyBuffer<u8>> = item(dict, "parts")?.extract()?;
                Ok(Source::Parts(Arc::new(Parts::new(parts)?)))
            }
            other => Err(unknown("source", other)),
        }
    }

    fn record_bytes(&self) -> Option<usize> {
        let bytes = match self {
            Source::Paths { cut: Cut::Fixed(bytes), .. } => *bytes,
            Source::Paths { .. } | Source::Parts(_) => return None,
            Source::Memory { record_bytes, .. } => *record_bytes,
        };
        usize::try_from(bytes).ok()
    }

    /// Returns the array that is the input, if it is one.
    fn memory(&self) -> Option<Arc<Memory>> {
        match self {
            Source::Memory { memory, .. } => Some(Arc::clone(memory)),
            Source::Paths { .. } | Source::Parts(_) => None,
        }
    }

    fn cut(&self) -> Cut {
        match self {
            Source::Parts(_) => Cut::Whole,
            Source::Paths { cut, .. } => *cut,
            Source::Memory { record_bytes, .. } => Cut::Fixed(*record_bytes),
        }
    }

    /// Looks the input up.
    fn open(self) -> tegula::Result<(Input, Cut)> {
        let cut = self.cut();
        let input = match self {
            Source::Parts(parts) => {
                let list = parts.list();
                Input::ranges(parts, list)
            }
            Source::Paths { paths, .. } => tegula_cli::input(&paths)?,
            Source::Memory { memory, .. } => {
                let length = memory.len();
                Input::ranges(memory, [(Path::new("memory"), length)])
            }
        };
        Ok((input, cut))
    }
}

/// Returns a cut: lines, rows of CSV, whitespace, whole files, the bytes between records, or the bytes of each.
fn cut_of(cut: &Bound<'_, PyAny>) -> PyResult<Cut> {
    if let Ok(bytes) = cut.extract::<u64>() {
        return Ok(Cut::Fixed(bytes));
    }
    if let Ok(delimiter) = cut.extract::<Vec<u8>>() {
        let delimiter =
            Delimiter::new(delimiter).map_err(|error| PyValueError::new_err(error.to_string()))?;
        return Ok(Cut::Delimiter(delimiter));
    }
    let name: String = cut.extract()?;
    match name.as_str() {
        "lines" => Ok(Cut::Lines),
        "whitespace" => Ok(Cut::After(ByteSet::of(b" \t\n\x0b\x0c\r"))),
        "whole" => Ok(Cut::Whole),
        "csv" => Ok(Cut::Framed(csv::record)),
        other => Err(unknown("cut", other)),
    }
}

impl Map {
    fn of(dict: &Bound<'_, PyDict>) -> PyResult<Map> {
        let kind: String = item(dict, "kind")?.extract()?;
        let text = |name: &str| -> PyResult<String> { item(dict, name)?.extract() };
        match kind.as_str() {
            "words" => Ok(Map::Words(words_of(&text("words")?)?)),
            "field" => Ok(Map::Field(
                item(dict, "separator")?.extract()?,
                item(dict, "by")?.extract()?,
                item(dict, "value")?.extract()?,
            )),
            "json" => {
                let path = |text: String| {
                    text.parse::<JsonPath>()
                        .map_err(|cause| PyValueError::new_err(format!("json: {text:?}; {cause}")))
                };
                let value: Option<String> = item(dict, "value")?.extract()?;
                Ok(Map::Json(path(text("by")?)?, value.map(path).transpose()?))
            }
            "grep" => {
                let counted = match text("by")?.as_str() {
                    "file" => Counted::Matches,
                    "line" => Counted::Lines,
                    "match" => Counted::Texts,
                    other => return Err(unknown("by", other)),
                };
                let meaning = Meaning {
                    ignores_case: item(dict, "ignore_case")?.extract()?,
                    is_fixed: item(dict, "fixed")?.extract()?,
                };
                let grep = Grep::new(&text("pattern")?, meaning, counted);
                grep.map(Map::Grep).map_err(|error| PyValueError::new_err(error.to_string()))
            }
            "lines" => Ok(Map::Lines),
            "records" => Ok(Map::Records(order_by(dict)?)),
            "native" => Native::of(dict).map(Map::Native),
            "processes" => Ok(Map::Processes {
                zygote: item(dict, "zygote")?.cast_into()?.unbind(),
                program: item(dict, "program")?.extract()?,
            }),
            "threads" => Ok(Map::Threads(item(dict, "callable")?.unbind())),
            other => match (Ready::of(other, dict)?, Program::of(other, dict)?) {
                (Some(ready), _) => Ok(Map::Ready(ready)),
                (_, Some(program)) => Ok(Map::Program(program)),
                _ => Err(unknown("map", other)),
            },
        }
    }
}

/// Returns what records are ordered by.
fn order_by(dict: &Bound<'_, PyDict>) -> PyResult<OrderBy> {
    let by: String = item(dict, "by")?.extract()?;
    match by.as_str() {
        "all" => Ok(OrderBy::All),
        "bytes" => {
            let (start, end): (usize, usize) = item(dict, "bytes")?.extract()?;
            Ok(OrderBy::Bytes(start..end))
        }
        "field" => Ok(OrderBy::Field {
            separator: item(dict, "separator")?.extract()?,
            number: item(dict, "field")?.extract()?,
            is_numeric: item(dict, "numeric")?.extract()?,
        }),
        other => Err(unknown("by", other)),
    }
}

impl Combine {
    fn of(dict: &Bound<'_, PyDict>) -> PyResult<Combine> {
        let kind: String = item(dict, "kind")?.extract()?;
        let named = |name: &str| {
            let found = Kind::ALL.into_iter().find(|(known, _)| *known == name);
            found.map(|(_, kind)| kind).ok_or_else(|| unknown("combine", name))
        };
        match kind.as_str() {
            "own" => Ok(Combine::Own(item(dict, "names")?.extract()?)),
            "collect" | "reduce" | "merge" | "sort" => Ok(Combine::Collect),
            "agg" => {
                let columns: Vec<(String, String)> = item(dict, "columns")?.extract()?;
                if columns.is_empty() || columns.len() > COLUMNS_MOST {
                    let message =
                        format!("agg: {} columns; give 1 to {COLUMNS_MOST}", columns.len());
                    return Err(PyValueError::new_err(message));
                }
                let kinds = columns.iter().map(|(_, kind)| named(kind)).collect::<PyResult<_>>()?;
                Ok(Combine::Many {
                    names: columns.into_iter().map(|(name, _)| name).collect(),
                    kinds,
                })
            }
            name => Ok(Combine::One(named(name)?)),
        }
    }
}

//! A job as it will run: the command line with every name understood, or refused with the reason.

use crate::codec::Codec;
use crate::command::{is_class, words};
use crate::conf::{Conf, refused};
use crate::fields::KeyFields;
use crate::input::without_scheme;
use crate::lines::KeyEnd;
use crate::options::CommandLine;
use crate::order::KeyOrder;
use crate::partition::Partition;
use crate::shipped::Shipped;
use std::path::PathBuf;
use std::time::Duration;
use tegula::{Delimiter, Result};

/// A job of commands.
#[derive(Debug)]
pub struct Settings {
    pub(crate) inputs: Vec<String>,
    pub(crate) output: PathBuf,
    pub(crate) mapper: Vec<String>,
    pub(crate) combiner: Option<Vec<String>>,
    pub(crate) reducer: Reducer,
    /// The number of reducers.
    pub(crate) parts: usize,
    pub(crate) partition: Partition,
    pub(crate) order: KeyOrder,
    pub(crate) map_output: KeyEnd,
    pub(crate) reduce_input_separator: Vec<u8>,
    pub(crate) reduce_output: KeyEnd,
    /// Between key and value in part files.
    pub(crate) output_separator: Vec<u8>,
    pub(crate) codec: Codec,
    /// Lines of a map task, if the job says (`NLineInputFormat`).
    pub(crate) lines_per_map: Option<usize>,
    /// What is between the offset of a record in its file and the record, if mappers get both.
    pub(crate) offset_separator: Option<Vec<u8>>,
    /// What ends a record of the input, if it is not a line.
    pub(crate) delimiter: Option<Delimiter>,
    pub(crate) shipped: Vec<Shipped>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) conf: Conf,
    pub(crate) reporter_prefix: Vec<u8>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) fails_by_exit_code: bool,
    pub(crate) is_lazy: bool,
    pub(crate) is_verbose: bool,
    /// Bytes of a map task's input, if the job says.
    pub(crate) split_bytes: Option<u64>,
    /// Memory of a map task's output that is combined at once.
    pub(crate) sort_bytes: usize,
    /// The most bytes of a line that a command prints, by the memory of the run.
    pub(crate) line_bytes_most: usize,
}

/// What becomes of sorted lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reducer {
    /// There is no sort: the output of mappers is the answer.
    None,
    /// They are the answer.
    Identity,
    Command(Vec<String>),
}

/// The most reducers: a key begins with two bytes of its part's number, of which the last is for counters.
const PARTS_MOST: usize = u16::MAX as usize;
const SORT_MB: usize = 100;
const TIMEOUT_MS: u64 = 600_000;
/// The input format of tasks of so many lines.
pub(crate) const BY_LINES: &str = "NLineInputFormat";
const IDENTITY_REDUCER: &str = "org.apache.hadoop.mapred.lib.IdentityReducer";

impl Settings {
    /// Understands a command line.
    ///
    /// # Errors
    /// [`Error::Option`](tegula::Error::Option): what is missing, what cannot be meant, and what needs Java, with the
    /// command that runs it on the Hadoop engine.
    pub fn of(line: CommandLine) -> Result<Settings> {
        refuse_java(&line)?;
        let conf = &line.conf;
        let needed = |option: &str| {
            refused("streaming", format!("{option} is missing; -help shows the options"))
        };
        if line.inputs.is_empty() {
            return Err(needed("-input <path>"));
        }
        let output = line.output.as_deref().ok_or_else(|| needed("-output <folder>"))?;
        let mapper = line
            .mapper
            .as_deref()
            .ok_or_else(|| needed("-mapper <command> (-mapper cat passes lines on)"))?;
        let parts = conf.number::<usize>("mapreduce.job.reduces")?.unwrap_or(1);
        if parts > PARTS_MOST {
            return Err(refused("-numReduceTasks", format!("{parts}; give {PARTS_MOST} at most")));
        }
        let reducer = match line.reducer.as_deref() {
            Some("NONE") => Reducer::None,
            _ if parts == 0 => Reducer::None,
            None | Some(IDENTITY_REDUCER) => Reducer::Identity,
            Some(command) => Reducer::Command(command_words("-reducer", command)?),
        };
        let combiner = line.combiner.as_deref().filter(|_| reducer != Reducer::None);
        let separator = |name: &str| conf.get(name).unwrap_or("\t").as_bytes().to_vec();
        let output_separator = separator("mapreduce.output.textoutputformat.separator");
        let lines_per_map = match input_format(&line) {
            Some(class) if simple_name(class) == BY_LINES => Some(
                conf.number("mapreduce.input.lineinputformat.linespermap")?.unwrap_or(1).max(1),
            ),
            _ => None,
        };
        let ignores_offsets = conf.flag("stream.map.input.ignoreKey", lines_per_map.is_none());
        let timeout = conf.number("mapreduce.task.timeout")?.unwrap_or(TIMEOUT_MS);
        let sort_mb = conf.number("mapreduce.task.io.sort.mb")?.unwrap_or(SORT_MB);
        let reporter = conf.get("stream.stderr.reporter.prefix").unwrap_or("reporter:");
        Ok(Settings {
            output: folder_of_answer(output)?,
            mapper: command_words("-mapper", mapper)?,
            combiner: combiner.map(|command| command_words("-combiner", command)).transpose()?,
            reducer,
            parts: parts.max(1),
            partition: partition(&line)?,
            order: order(&line)?,
            map_output: key_end(
                conf,
                "stream.map.output.field.separator",
                "stream.num.map.output.key.fields",
            )?,
            reduce_input_separator: separator("stream.reduce.input.field.separator"),
            reduce_output: key_end(
                conf,
                "stream.reduce.output.field.separator",
                "stream.num.reduce.output.key.fields",
            )?,
            output_separator,
            codec: Codec::of(&line)?,
            lines_per_map,
            offset_separator: (!ignores_offsets)
                .then(|| separator("stream.map.input.field.separator")),
            // The readers of groups of lines know lines alone.
            delimiter: conf
                .get("textinputformat.record.delimiter")
                .filter(|_| lines_per_map.is_none())
                .map(Delimiter::new)
                .transpose()?,
            shipped: Shipped::all(&line.files, &line.archives)?,
            reporter_prefix: reporter.as_bytes().to_vec(),
            timeout: (timeout > 0).then(|| Duration::from_millis(timeout)),
            fails_by_exit_code: conf.flag("stream.non.zero.exit.is.failure", true),
            is_lazy: line.is_lazy,
            is_verbose: line.is_verbose,
            split_bytes: split_bytes(conf)?,
            sort_bytes: sort_mb.max(1) << 20,
            line_bytes_most: usize::MAX,
            inputs: line.inputs,
            environment: line.environment,
            conf: line.conf,
        })
    }

    /// Returns whether mappers write the answer, so that nothing is sorted.
    pub fn is_map_only(&self) -> bool {
        self.reducer == Reducer::None
    }
}

/// Refuses what names Java classes, other than those whose work is done here.
fn refuse_java(line: &CommandLine) -> Result<()> {
    if let Some((option, value)) = line.of_java.first() {
        return Err(line.of_hadoop_engine(&format!("-{option}"), value));
    }
    let commands =
        [("-mapper", &line.mapper), ("-combiner", &line.combiner), ("-reducer", &line.reducer)];
    for (option, command) in commands {
        let Some(command) = command else { continue };
        let is_java =
            is_class(command) || option == "-reducer" && command.eq_ignore_ascii_case("aggregate");
        if is_java && command != IDENTITY_REDUCER {
            return Err(line.of_hadoop_engine(option, command));
        }
    }
    let usual = ["TextInputFormat", BY_LINES];
    if let Some(class) = input_format(line).filter(|class| !usual.contains(&simple_name(class))) {
        return Err(line.of_hadoop_engine("-inputformat", class));
    }
    let output = line.output_format.as_deref();
    let output = output.or_else(|| line.conf.class("mapreduce.job.outputformat.class"));
    if let Some(class) = output.filter(|class| simple_name(class) != "TextOutputFormat") {
        return Err(line.of_hadoop_engine("-outputformat", class));
    }
    for (name, value) in line.conf.iter() {
        let form = [
            "stream.map.input",
            "stream.map.output",
            "stream.reduce.input",
            "stream.reduce.output",
        ];
        let is_other_form = form.contains(&name) && value != "text";
        let is_class = name.starts_with("stream.") && name.ends_with(".class");
        if is_other_form || is_class {
            return Err(line.of_hadoop_engine("-D", &format!("{name}={value}")));
        }
    }
    Ok(())
}

fn input_format(line: &CommandLine) -> Option<&str> {
    line.input_format.as_deref().or_else(|| line.conf.class("mapreduce.job.inputformat.class"))
}

fn partition(line: &CommandLine) -> Result<Partition> {
    const OPTIONS: &str = "mapreduce.partition.keypartitioner.options";
    let conf = &line.conf;
    let class =
        line.partitioner.as_deref().or_else(|| conf.class("mapreduce.job.partitioner.class"));
    let Some(class) = class else { return Ok(Partition::Hash) };
    match simple_name(class) {
        "HashPartitioner" => Ok(Partition::Hash),
        "KeyFieldBasedPartitioner" => {
            let separator = key_separator(conf);
            if let Some(fields) = conf.number("num.key.fields.for.partition")? {
                return Ok(Partition::Fields(KeyFields::first(separator, fields)));
            }
            match conf.get(OPTIONS).filter(|options| !options.is_empty()) {
                Some(options) => {
                    Ok(Partition::Fields(KeyFields::parse(OPTIONS, separator, options)?))
                }
                None => Ok(Partition::Text),
            }
        }
        _ => Err(line.of_hadoop_engine("-partitioner", class)),
    }
}

fn order(line: &CommandLine) -> Result<KeyOrder> {
    const CLASS: &str = "mapreduce.job.output.key.comparator.class";
    const OPTIONS: &str = "mapreduce.partition.keycomparator.options";
    let conf = &line.conf;
    let Some(class) = conf.class(CLASS) else { return Ok(KeyOrder::Bytes) };
    match simple_name(class) {
        "KeyFieldBasedComparator" => {
            match conf.get(OPTIONS).filter(|options| !options.is_empty()) {
                Some(options) => {
                    Ok(KeyOrder::Fields(KeyFields::parse(OPTIONS, key_separator(conf), options)?))
                }
                None => Ok(KeyOrder::Bytes),
            }
        }
        "Text$Comparator" => Ok(KeyOrder::Bytes),
        _ => Err(line.of_hadoop_engine("-D", &format!("{CLASS}={class}"))),
    }
}

fn key_separator(conf: &Conf) -> &[u8] {
    conf.get("mapreduce.map.output.key.field.separator").unwrap_or("\t").as_bytes()
}

fn key_end(conf: &Conf, separator: &'static str, fields: &'static str) -> Result<KeyEnd> {
    let text = conf.get(separator).unwrap_or("\t");
    if text.is_empty() {
        return Err(refused(separator, "it is empty; give at least a byte".to_owned()));
    }
    Ok(KeyEnd { separator: text.as_bytes().to_vec(), fields: conf.number(fields)?.unwrap_or(1) })
}

/// Returns the size of splits: Hadoop's formula, if one of its bounds is given.
fn split_bytes(conf: &Conf) -> Result<Option<u64>> {
    let least: Option<u64> = conf.number("mapreduce.input.fileinputformat.split.minsize")?;
    let most: Option<u64> = conf.number("mapreduce.input.fileinputformat.split.maxsize")?;
    let usual = tegula::DEFAULT_TILE_BYTES;
    let bounded = usual.min(most.unwrap_or(usual)).max(least.unwrap_or(1)).max(1);
    Ok((least.is_some() || most.is_some()).then_some(bounded))
}

/// Returns the path that `-output` names.
fn folder_of_answer(text: &str) -> Result<PathBuf> {
    let path = without_scheme(text);
    let is_scheme = |scheme: &str| {
        scheme.len() > 1
            && scheme.chars().all(|one| one.is_ascii_alphanumeric() || "+-.".contains(one))
    };
    match path.split_once(":/") {
        Some((scheme, _)) if is_scheme(scheme) => {
            let for_hdfs = match scheme {
                "hdfs" => "; `tegula hadoop` knows hdfs:///path, without a host",
                _ => "",
            };
            let cause =
                format!("{text}: the answer is a folder of this machine; give its path{for_hdfs}");
            Err(refused("-output", cause))
        }
        _ => Ok(PathBuf::from(path)),
    }
}

fn command_words(option: &'static str, command: &str) -> Result<Vec<String>> {
    let words = words(command);
    match words.is_empty() {
        true => Err(refused(option, "the command is empty".to_owned())),
        false => Ok(words),
    }
}

/// Returns a class's name without its package.
pub(crate) fn simple_name(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}

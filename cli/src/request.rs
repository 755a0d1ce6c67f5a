//! The request of a command as data: its name, and the options that decide its job and the form of its
//! answer. A state keeps it as JSON, so that `tegula show` can present the answers later.

use crate::flags::AnswerFlags;
use clap::ValueEnum;
use serde_json::{Map, Value, json};

/// Version of the form. A program that knows another one refuses the request.
const VERSION: u64 = 1;

/// The option in which the state of one of several jobs keeps the job's note.
pub(crate) const NOTE: &str = "note";

/// A command and its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub(crate) command: String,
    options: Map<String, Value>,
}

impl Request {
    /// Returns a request for a command without options.
    pub fn of(command: &str) -> Request {
        Request { command: command.to_owned(), options: Map::new() }
    }

    /// Adds an option: a flag, a number or a text.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Request {
        self.options.insert(name.to_owned(), value.into());
        self
    }

    /// Adds an option that is one of several choices.
    pub fn choice(self, name: &str, choice: &impl ValueEnum) -> Request {
        let value = choice.to_possible_value();
        self.with(name, value.map(|value| value.get_name().to_owned()))
    }

    /// Adds an option that is a list of byte strings.
    pub fn list<'a>(self, name: &str, items: impl Iterator<Item = &'a [u8]>) -> Request {
        let items: Vec<Value> = items.map(of_bytes).collect();
        self.with(name, items)
    }

    /// Adds the options of an answer of pairs. Its order and length are chosen anew at each show.
    pub(crate) fn answer(self, answer: &AnswerFlags) -> Request {
        self.choice("format", &answer.format)
    }

    /// Returns the form of an answer: the program's version, and the command with its options.
    pub(crate) fn form(&self) -> Vec<u8> {
        [concat!("tegula ", env!("CARGO_PKG_VERSION"), " ").as_bytes(), &self.to_bytes()].concat()
    }

    /// Returns the bytes that a state keeps.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (command, options) = (&self.command, &self.options);
        json!({ "command": command, "version": VERSION, "options": options })
            .to_string()
            .into_bytes()
    }
}

/// Returns a byte string in JSON: a text, or hexadecimal digits where it is not UTF-8.
fn of_bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": digits })
        }
    }
}

#[cfg(feature = "state")]
mod read {
    use super::*;
    use crate::flags::Format;
    use tegula::{Error, Result};

    impl Request {
        /// Parses the bytes of [`to_bytes`](Request::to_bytes); `None` for anything else.
        pub fn parse(bytes: &[u8]) -> Option<Request> {
            let request: Value = serde_json::from_slice(bytes).ok()?;
            let options = request["options"].as_object()?.clone();
            let command = request["command"].as_str()?.to_owned();
            (request["version"] == VERSION).then_some(Request { command, options })
        }

        /// Returns an option that `with` added.
        pub fn option<'a, T>(
            &'a self,
            name: &str,
            read: impl FnOnce(&'a Value) -> Option<T>,
        ) -> Result<T> {
            self.options.get(name).and_then(read).ok_or_else(|| self.unread(name))
        }

        /// Returns the error of an option that is not there or has another form.
        pub(crate) fn unread(&self, name: &str) -> Error {
            let command = &self.command;
            let cause = format!(
                "its request of {command} has no {name} that this version reads; use the \
                 version of the program that saved it"
            );
            Error::Option { option: "--state", cause }
        }

        /// Returns whether an option was added.
        pub(crate) fn has(&self, name: &str) -> bool {
            self.options.contains_key(name)
        }

        /// Returns an option that `choice` added.
        pub fn chosen<T: ValueEnum>(&self, name: &str) -> Result<T> {
            self.option(name, |value| T::from_str(value.as_str()?, false).ok())
        }

        /// Returns an option that `list` added.
        pub fn listed(&self, name: &str) -> Result<Vec<Vec<u8>>> {
            self.option(name, |list| list.as_array()?.iter().map(to_bytes).collect())
        }

        /// Returns the options that `answer` added.
        pub(crate) fn answer_flags(&self) -> Result<AnswerFlags> {
            let format: Format = self.chosen("format")?;
            Ok(AnswerFlags { format, ..AnswerFlags::default() })
        }
    }

    fn to_bytes(item: &Value) -> Option<Vec<u8>> {
        if let Some(text) = item.as_str() {
            return Some(text.as_bytes().to_vec());
        }
        let (pairs, rest) = item["hex"].as_str()?.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
    }
}

//! Settings: the environment's variables by the names that the stores' own tools have, and how
//! patient to be. They are looked at when a URL is.

use crate::address::{Address, Scheme};
use crate::fault::Fault;
use crate::find::find;
use crate::folders::{Connection, RemoteFolders};
use crate::hdfs::Hdfs;
use crate::object::Objects;
use crate::retry::Patience;
use crate::runtime;
use crate::source::Source;
use crate::store::Store;
use object_store::client::HttpConnector;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tegula::{Disk, Error, Folders, Input, Result};

/// Where to find servers and credentials, and how patient to be with them.
#[derive(Clone, Default)]
pub struct Settings {
    variables: BTreeMap<String, String>,
    connector: Option<Arc<dyn HttpConnector>>,
}

/// Fields may be secrets.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

const TRIES: &str = "TEGULA_REMOTE_TRIES";
const SECONDS: &str = "TEGULA_REMOTE_SECONDS";
const LEASE: &str = "TEGULA_STATE_LEASE_SECONDS";

impl Settings {
    /// Those of the environment of this process.
    pub fn from_env() -> Settings {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Settings { variables: variables.collect(), connector: None }
    }

    /// No settings at all.
    pub fn new() -> Settings {
        Settings::default()
    }

    /// These settings, with one variable set.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Settings {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Sends requests to object stores by other clients of HTTP than its own, such as those of a program that has its own
    /// proxies or certificates.
    #[must_use]
    pub fn over(mut self, connector: Arc<dyn HttpConnector>) -> Settings {
        self.connector = Some(connector);
        self
    }

    pub(crate) fn connector(&self) -> Option<Arc<dyn HttpConnector>> {
        self.connector.clone()
    }

    /// As [`input`](crate::input), with these settings.
    ///
    /// # Errors
    /// As [`input`](crate::input).
    pub fn input(&self, url: &str) -> Result<Input> {
        let address = Address::parse(url)?;
        let path = Path::new(url);
        let fault = |fault: Fault| fault.of_listing(path);
        let patience = self.patience().map_err(fault)?;
        match address.scheme {
            Scheme::S3 | Scheme::Gs | Scheme::Az => {
                let store = Objects::new(self, &address, patience).map_err(fault)?;
                Settings::read(&address, store, path, patience)
            }
            Scheme::Hdfs => {
                let store = Hdfs::new(self, &address).map_err(fault)?;
                Settings::read(&address, store, path, patience)
            }
        }
    }

    /// As [`folders`](crate::folders()), with these settings.
    ///
    /// # Errors
    /// As [`folders`](crate::folders()).
    pub fn folders(&self, url: &str, scratch: &Path) -> Result<Arc<dyn Folders>> {
        let address = Address::parse(url)?;
        let fault = |fault: Fault| fault.of_listing(Path::new(url));
        let patience = self.patience().map_err(fault)?;
        match address.scheme {
            Scheme::S3 | Scheme::Gs | Scheme::Az => {
                let store = Objects::new(self, &address, patience).map_err(fault)?;
                self.connected(store, address, patience, scratch)
                    .map_err(|cause| fault(cause).into())
            }
            Scheme::Hdfs => {
                let store = Hdfs::new(self, &address).map_err(fault)?;
                self.connected(store, address, patience, scratch)
                    .map_err(|cause| fault(cause).into())
            }
        }
    }

    fn connected<S: Store + 'static>(
        &self,
        store: S,
        address: Address,
        patience: Patience,
        scratch: &Path,
    ) -> Result<Arc<dyn Folders>, Fault> {
        let lease = Duration::from_secs(self.number(LEASE, 20)?.into());
        let (store, scratch) = (Arc::new(store), Arc::new(Disk::new(scratch)));
        let connection = Connection { store, address, patience, until: None, lease, scratch };
        Ok(Arc::new(RemoteFolders::new(connection)))
    }

    fn read<S: Store + 'static>(
        address: &Address,
        store: S,
        url: &Path,
        patience: Patience,
    ) -> Result<Input> {
        let system = |cause| Error::System { action: "start threads for remote input", cause };
        let found = runtime::block_on(find(&store, address, url, patience)).map_err(system)??;
        let files: Vec<_> =
            found.iter().map(|entry| (address.url(&entry.path), entry.bytes)).collect();
        let source = Source::new(store, address, &found, patience);
        Ok(Input::ranges(Arc::new(source), files))
    }

    /// The value of a variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Variables whose names begin so and that are not empty.
    pub(crate) fn with_prefix<'s>(
        &'s self,
        prefix: &'s str,
    ) -> impl Iterator<Item = (&'s str, &'s str)> {
        let set = self.variables.iter().filter(|(_, value)| !value.is_empty());
        let named = set.filter(move |(name, _)| name.starts_with(prefix));
        named.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn patience(&self) -> Result<Patience, Fault> {
        Ok(Patience {
            tries: self.number(TRIES, 8)?,
            time: Duration::from_secs(self.number(SECONDS, 60)?.into()),
        })
    }

    fn number(&self, name: &str, default: u32) -> Result<u32, Fault> {
        let Some(text) = self.get(name) else { return Ok(default) };
        match text.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(Fault::refused(
                format!("the variable {name} is `{text}`"),
                "make it a whole number, at least 1",
            )),
        }
    }
}

//! HDFS, by its own protocols: the namenode is asked for names and blocks, datanodes for bytes, whose
//! checksums are checked. Settings are those of Hadoop: the files in `HADOOP_CONF_DIR`, and
//! `HADOOP_USER_NAME`.
//!
//! A file that is open here is held to the blocks it had when its modification time was compared with
//! the one listed. Blocks do not change, so all their bytes are of that version, and the next range needs no
//! further check.

use crate::address::Address;
use crate::fault::Fault;
use crate::retry::{Patience, Tries, no_answer, retry};
use crate::settings::Settings;
use crate::store::{Child, Content, Entry, Store, UNFINISHED, Wanted, check_below, version};
use futures_util::{FutureExt, StreamExt};
use hdfs_native::client::FileStatus;
use hdfs_native::file::FileReader;
use hdfs_native::{Client, ClientBuilder, HdfsError, WriteOptions};
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tegula_machine::sync::Mutex;
use tokio::time::timeout;

/// Files that stay open: more than readers there are at a time.
const OPEN_FILES_MAX: usize = 256;
/// The end of the name of the answer for a folder that is not empty.
const NOT_EMPTY: &str = "PathIsNotEmptyDirectoryException";

/// Permissions of the folders of a state, before the server's mask.
const FOLDER_MODE: u32 = 0o755;

/// A file system of HDFS.
pub(crate) struct Hdfs {
    client: Client,
    /// Files by their names, with the version that each is of.
    open: Mutex<HashMap<String, (u64, Arc<FileReader>)>>,
}

impl fmt::Debug for Hdfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hdfs").finish_non_exhaustive()
    }
}

impl Hdfs {
    /// Connects to nothing yet.
    pub(crate) fn new(settings: &Settings, address: &Address) -> Result<Hdfs, Fault> {
        let mut builder = ClientBuilder::new().with_url(address.root.clone());
        if let Some(folder) = settings.get("HADOOP_CONF_DIR") {
            builder = builder.with_config_dir(folder);
        }
        if let Some(user) = settings.get("HADOOP_USER_NAME") {
            builder = builder.with_user(user);
        }
        if address.authority.contains(':') {
            // One namenode: nothing to fail over to, and trying again is done here.
            builder = builder.with_config([("dfs.client.failover.max.attempts", "0")]);
        }
        let client = crate::runtime::block_on(async { builder.build() });
        let client = client.map_err(|cause| Fault::lost(cause.to_string()))?.map_err(fault)?;
        Ok(Hdfs { client, open: Mutex::default() })
    }

    /// The file of that version, open.
    async fn open(&self, wanted: &Wanted<'_>) -> Result<Arc<FileReader>, Fault> {
        let lock = || self.open.lock();
        if let Some((version, file)) = lock().get(wanted.path)
            && *version == wanted.version
        {
            return Ok(Arc::clone(file));
        }
        let path = absolute(wanted.path);
        let file = Arc::new(self.client.read(&path).await.map_err(fault)?);
        // In this order: a file that is unchanged now was unchanged when its blocks were listed.
        let now = self.client.get_file_info(&path).await.map_err(fault)?;
        let now = entry(wanted.path, &now);
        if now.version != wanted.version || file.file_length() as u64 != now.bytes {
            return Err(Fault::Changed);
        }
        let mut open = lock();
        if open.len() >= OPEN_FILES_MAX {
            open.clear();
        }
        open.insert(wanted.path.to_owned(), (wanted.version, Arc::clone(&file)));
        Ok(file)
    }

    async fn read_open(
        file: &FileReader,
        wanted: &Wanted<'_>,
        into: &mut [u8],
        got: &mut usize,
    ) -> Result<(), Fault> {
        let end = wanted.offset + into.len() as u64;
        if end > file.file_length() as u64 {
            return Err(Fault::Changed);
        }
        let mut bytes = Box::pin(file.read_range_stream(wanted.offset as usize, into.len()));
        let stall = wanted.patience.stall();
        loop {
            let Ok(next) = timeout(stall, bytes.next()).await else {
                return Err(Fault::lost(no_answer(stall)));
            };
            let Some(piece) = next else { return Ok(()) };
            let piece = piece.map_err(fault)?;
            let Some(place) = into.get_mut(*got..*got + piece.len()) else {
                return Err(Fault::lost("more bytes came than were asked for"));
            };
            place.copy_from_slice(&piece);
            *got += piece.len();
        }
    }
}

/// Waits for the client, which panics on some answers that no namenode should give, such as names that are not UTF-8.
async fn contained<T>(request: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let refused = |_| Err(Fault::refused("the answer is none of HDFS", "see the namenode's log"));
    AssertUnwindSafe(request).catch_unwind().await.unwrap_or_else(refused)
}

impl Store for Hdfs {
    /// The name of a file that is not finished.
    type Upload = String;

    const LISTS_WITHOUT_SLASHES: bool = false;

    async fn file(&self, path: &str) -> Result<Option<Entry>, Fault> {
        let name = absolute(path);
        let status = async { self.client.get_file_info(&name).await.map_err(fault) };
        match contained(status).await {
            // Whatever name the answer has: this one was asked for.
            Ok(status) if !status.isdir => Ok(Some(entry(path, &status))),
            Ok(_) => Ok(None),
            Err(fault) => missing(fault),
        }
    }

    async fn children(
        &self,
        folder: &str,
        patience: Patience,
    ) -> Result<Option<Vec<Child>>, Fault> {
        let name = absolute(folder);
        let list = async || self.client.list_status(&name, false).await.map_err(fault);
        match retry(patience, async || contained(list()).await).await {
            // A file is listed as itself.
            Ok(statuses) if statuses.iter().any(|status| status.path == name) => Ok(None),
            Ok(statuses) => {
                let child = |status: &FileStatus| {
                    let path = status.path.trim_start_matches('/');
                    check_below(folder, path)?;
                    Ok(match status.isdir {
                        true => Child::Folder(path.to_owned()),
                        false => Child::File(entry(path, status)),
                    })
                };
                statuses.iter().map(child).collect::<Result<_, _>>().map(Some)
            }
            Err(fault) => missing(fault),
        }
    }

    async fn tree(&self, folder: &str, patience: Patience) -> Result<Option<Vec<Entry>>, Fault> {
        let Some(first) = self.children(folder, patience).await? else { return Ok(None) };
        let (mut files, mut folders, mut children) = (Vec::new(), Vec::new(), first);
        loop {
            for child in children {
                match child {
                    Child::File(file) => files.push(file),
                    Child::Folder(path) => folders.push(path),
                }
            }
            let Some(next) = folders.pop() else { return Ok(Some(files)) };
            // A folder that is gone by now was never there.
            children = self.children(&next, patience).await?.unwrap_or_default();
        }
    }

    async fn read(
        &self,
        wanted: &Wanted<'_>,
        into: &mut [u8],
        got: &mut usize,
    ) -> Result<(), Fault> {
        let stall = wanted.patience.stall();
        let file = match timeout(stall, contained(self.open(wanted))).await {
            Ok(file) => file?,
            Err(_) => return Err(Fault::lost(no_answer(stall))),
        };
        let result = contained(Hdfs::read_open(&file, wanted, into, got)).await;
        if result.is_err() {
            // The next try asks anew where the blocks are, and whether the file is still the same.
            self.open.lock().remove(wanted.path);
        }
        result
    }

    async fn create(&self, path: &str, bytes: &[u8], patience: Patience) -> Result<(), Fault> {
        let (upload, content) = (unfinished(path), Content::Bytes(bytes));
        let name = absolute(&upload);
        let made = match contained(self.write(&name, content, patience.time, &mut 0)).await {
            Ok(()) => self.move_to(&name, &absolute(path), false).await,
            fault => fault,
        };
        if made == Err(Fault::Exists) {
            // What is left is removed by the next run that takes the state.
            let _ = self.remove(&upload).await;
        }
        match made {
            // A run that has taken the state has removed it. The next try finds that run's file.
            Err(Fault::Missing) => Err(Fault::lost(format!("another run removed {upload}"))),
            made => made,
        }
    }

    async fn send(
        &self,
        path: &str,
        content: Content<'_>,
        patience: Patience,
    ) -> Result<String, Fault> {
        let upload = unfinished(path);
        let mut tries = Tries::new(patience);
        loop {
            let (name, time, mut at) = (absolute(&upload), patience.time, 0);
            let fault = match contained(self.write(&name, content, time, &mut at)).await {
                Ok(()) => return Ok(upload),
                Err(fault) => fault,
            };
            if at > 0 {
                tries.came_on();
            }
            tries.again(fault, false).await?;
        }
    }

    async fn publish(&self, path: &str, _: Content<'_>, upload: &String) -> Result<(), Fault> {
        self.move_to(&absolute(upload), &absolute(path), true).await
    }

    async fn discard(&self, _: &str, upload: &String) -> Result<(), Fault> {
        self.remove(upload).await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), Fault> {
        self.move_to(&absolute(from), &absolute(to), true).await
    }

    async fn remove(&self, path: &str) -> Result<(), Fault> {
        contained(async { self.delete(path).await.map_err(fault)? }).await
    }

    async fn make_folder(&self, path: &str) -> Result<(), Fault> {
        let path = absolute(path);
        let made = async { self.client.mkdirs(&path, FOLDER_MODE, true).await.map_err(fault) };
        contained(made).await
    }

    async fn remove_folder(&self, path: &str) -> Result<(), Fault> {
        let removed = async {
            match self.delete(path).await {
                // It is a run's that has waited for it, or has what no run will finish, which the next one removes.
                Err(HdfsError::RPCError(exception, _)) if exception.ends_with(NOT_EMPTY) => Ok(()),
                removed => removed.map_err(fault)?,
            }
        };
        contained(removed).await
    }
}

impl Hdfs {
    /// Removes a file or an empty folder.
    async fn delete(&self, path: &str) -> Result<Result<(), Fault>, HdfsError> {
        let is_removed = self.client.delete(&absolute(path), false).await?;
        Ok(if is_removed { Ok(()) } else { Err(Fault::Missing) })
    }

    async fn move_to(&self, from: &str, to: &str, overwrite: bool) -> Result<(), Fault> {
        contained(async { self.client.rename(from, to, overwrite).await.map_err(fault) }).await
    }

    /// Writes a file, each piece of it in `time`. Counts the bytes so far in `at`, even if the rest fails.
    async fn write(
        &self,
        path: &str,
        content: Content<'_>,
        time: Duration,
        at: &mut u64,
    ) -> Result<(), Fault> {
        let late = |_| Fault::lost(no_answer(time));
        let options = WriteOptions::default().overwrite(true);
        let created = timeout(time, self.client.create(path, options)).await.map_err(late)?;
        let mut file = created.map_err(fault)?;
        while *at < content.bytes() {
            let piece = content.piece(*at)?;
            let bytes = piece.len() as u64;
            let written = timeout(time, file.write_bytes(piece.into())).await.map_err(late)?;
            written.map_err(fault)?;
            *at += bytes;
        }
        timeout(time, file.close()).await.map_err(late)?.map_err(fault)
    }
}

/// Returns a name that no other run has for a file until it is complete: a file that is being written has its name
/// from the start.
fn unfinished(path: &str) -> String {
    format!("{path}.{:016x}{UNFINISHED}", RandomState::new().hash_one(path))
}

fn absolute(path: &str) -> String {
    format!("/{path}")
}

fn entry(path: &str, status: &FileStatus) -> Entry {
    let bytes = status.length as u64;
    let version = version(bytes, &status.modification_time.to_string());
    Entry { path: path.to_owned(), bytes, version }
}

/// Turns a missing file into `None`.
fn missing<T>(fault: Fault) -> Result<Option<T>, Fault> {
    if fault == Fault::Missing { Ok(None) } else { Err(fault) }
}

/// Classifies an answer of HDFS, or its absence.
fn fault(cause: HdfsError) -> Fault {
    const CREDENTIALS: &str = "check HADOOP_USER_NAME, or run kinit, and the file's permissions";
    const CONFIGURATION: &str =
        "write hdfs://host:port/path, or set HADOOP_CONF_DIR to the folder of core-site.xml";
    let text = cause.to_string();
    match cause {
        HdfsError::FileNotFound(_) => Fault::Missing,
        HdfsError::AlreadyExists(_) => Fault::Exists,
        // All that is known of each datanode follows.
        HdfsError::DataTransferError(said) => {
            Fault::lost(said.split(": [").next().unwrap_or_default())
        }
        HdfsError::IOError(_)
        | HdfsError::ChecksumError
        | HdfsError::BlocksNotFound(_)
        | HdfsError::InvalidRPCResponse(_)
        | HdfsError::FatalRPCError(..) => Fault::Lost { cause: text },
        HdfsError::RPCError(exception, message) => {
            let name = exception.rsplit('.').next().unwrap_or(&exception);
            let first = message.lines().next().unwrap_or_default();
            let cause = format!("{name}: {first}");
            match name {
                "StandbyException" | "RetriableException" | "SafeModeException" => {
                    Fault::Lost { cause }
                }
                // The answer for a path below a file.
                "AccessControlException" if message.contains("(is not a directory)") => {
                    Fault::Missing
                }
                "FileNotFoundException" => Fault::Missing,
                "AccessControlException" => Fault::refused(cause, CREDENTIALS),
                _ => Fault::refused(cause, "see the namenode's log"),
            }
        }
        HdfsError::SASLError(_) | HdfsError::GSSAPIError(..) | HdfsError::NoSASLMechanism => {
            Fault::refused(text, CREDENTIALS)
        }
        HdfsError::InvalidArgument(_)
        | HdfsError::UrlParseError(_)
        | HdfsError::XmlParseError(_) => Fault::refused(text, CONFIGURATION),
        _ => Fault::refused(text, "see the namenode's log"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(exception: &str, message: &str) -> Fault {
        fault(HdfsError::RPCError(exception.to_owned(), message.to_owned()))
    }

    #[test]
    fn a_file_is_missing_or_there_as_the_namenode_says() {
        assert_eq!(fault(HdfsError::FileNotFound("a".to_owned())), Fault::Missing);
        assert_eq!(fault(HdfsError::AlreadyExists("a".to_owned())), Fault::Exists);
        assert_eq!(answer("java.io.FileNotFoundException", "no a"), Fault::Missing);
        let below = "/a/b (is not a directory)\nat org.apache";
        assert_eq!(
            answer("org.apache.hadoop.security.AccessControlException", below),
            Fault::Missing
        );
    }

    #[test]
    fn what_may_come_back_is_asked_for_again() {
        for name in ["StandbyException", "RetriableException", "SafeModeException"] {
            let cause = format!("{name}: later");
            assert_eq!(answer(&format!("org.apache.{name}"), "later\nat x"), Fault::Lost { cause });
        }
        let several = HdfsError::DataTransferError("no datanode: [a: b, c: d]".to_owned());
        assert_eq!(fault(several), Fault::lost("no datanode"));
        let causes = [
            HdfsError::IOError(std::io::ErrorKind::BrokenPipe.into()),
            HdfsError::ChecksumError,
            HdfsError::BlocksNotFound("a".to_owned()),
            HdfsError::FatalRPCError("a".to_owned(), "b".to_owned()),
        ];
        for cause in causes {
            let said = cause.to_string();
            assert_eq!(fault(cause), Fault::Lost { cause: said });
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let advice = |cause: Fault| match cause {
            Fault::Refused { cause, advice } => (cause, advice),
            other => panic!("{other:?}"),
        };
        let (cause, denied) = advice(answer("a.AccessControlException", "denied: user=me\nat x"));
        assert_eq!(cause, "AccessControlException: denied: user=me");
        assert!(denied.contains("kinit"), "{denied}");
        for cause in [HdfsError::SASLError("a".to_owned()), HdfsError::NoSASLMechanism] {
            assert_eq!(advice(fault(cause)).1, denied);
        }
        let (_, configuration) = advice(fault(HdfsError::InvalidArgument("no host".to_owned())));
        assert!(configuration.contains("HADOOP_CONF_DIR"), "{configuration}");
        for cause in [answer("a.QuotaExceededException", "full"), fault(HdfsError::TrashNotEnabled)]
        {
            assert_eq!(advice(cause).1, "see the namenode's log");
        }
    }
}

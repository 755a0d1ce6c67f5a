//! A socket in the file system on which the server listens. Its path is removed with it, and nothing else ever is: what
//! is there already stays, but for a socket on which nobody listens.

use crate::Fault;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};

/// A socket that only its owner can open.
pub(crate) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Its device and number in the file system.
    is: (u64, u64),
}

impl Socket {
    /// Listens at a path.
    ///
    /// # Errors
    /// [`Fault`] if there is anything but a socket that was left, or it cannot be made.
    pub(crate) async fn bind(path: &Path) -> Result<Socket, Fault> {
        let cannot = |cause: io::Error| fault(path, &cause.to_string());
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => remove_left(path).await?,
            Ok(_) => {
                let cause = "what is there is no socket; remove it, or give another path";
                return Err(fault(path, cause));
            }
            Err(cause) if cause.kind() == ErrorKind::NotFound => {}
            Err(cause) => return Err(cannot(cause)),
        }
        let listener = UnixListener::bind(path).map_err(cannot)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(cannot)?;
        let is = identity(path).map_err(cannot)?;
        Ok(Socket { listener, path: path.to_path_buf(), is })
    }

    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Another server's may be there by now.
        if identity(&self.path).is_ok_and(|is| is == self.is) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes a socket on which nobody listens.
async fn remove_left(path: &Path) -> Result<(), Fault> {
    match UnixStream::connect(path).await {
        Err(cause) if cause.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|cause| fault(path, &cause.to_string()))
        }
        Ok(_) => Err(fault(path, "another server is there; stop it, or give another path")),
        Err(cause) => Err(fault(path, &cause.to_string())),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

fn fault(path: &Path, cause: &str) -> Fault {
    Fault(format!("{}: cannot listen: {cause}", path.display()))
}

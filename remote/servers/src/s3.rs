//! An S3 server over a folder: buckets are folders, keys are paths. It checks signatures, gives
//! ETags, ranges and lists by pages of 1000. The public one lists no ETags, as some servers do not.

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::dto::{
    GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput, ListObjectsV2Input,
    ListObjectsV2Output,
};
use s3s::service::S3ServiceBuilder;
use s3s::{S3Request, S3Response, S3Result, s3_error};
use s3s_fs::FileSystem;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// A server that runs until it is dropped.
pub struct S3 {
    root: TempDir,
    address: SocketAddr,
    _runtime: Runtime,
}

impl S3 {
    /// The one access key that is let in.
    pub const KEY_ID: &str = "tegula";
    /// Its secret.
    pub const SECRET: &str = "secret of tegula";

    /// Starts a server without buckets, which lets the one key in.
    pub fn start() -> S3 {
        S3::start_with(Some(SimpleAuth::from_single(S3::KEY_ID, S3::SECRET)))
    }

    /// Starts a server that lets everybody in who does not sign.
    pub fn start_public() -> S3 {
        S3::start_with(None)
    }

    fn start_with(auth: Option<SimpleAuth>) -> S3 {
        let root = tempfile::tempdir().unwrap();
        let mut builder = S3ServiceBuilder::new(Objects {
            files: FileSystem::new(root.path()).unwrap(),
            root: root.path().to_path_buf(),
            lists_tags: auth.is_some(),
        });
        if let Some(auth) = auth {
            builder.set_auth(auth);
        }
        let service = builder.build();
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let http = Builder::new(TokioExecutor::new());
                    // A client that goes away is no fault of the server's.
                    let _ = http.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        S3 { root, address, _runtime: runtime }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the server, for `AWS_ENDPOINT_URL`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where an object lies on disk.
    pub fn path(&self, bucket: &str, key: &str) -> PathBuf {
        self.root.path().join(bucket).join(key)
    }

    /// Makes or replaces an object, and its bucket.
    pub fn put(&self, bucket: &str, key: &str, bytes: &[u8]) {
        let path = self.path(bucket, key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// The server of the library, with what it lacks of S3.
struct Objects {
    files: FileSystem,
    root: PathBuf,
    lists_tags: bool,
}

#[async_trait::async_trait]
impl s3s::S3 for Objects {
    async fn get_object(
        &self,
        request: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        self.files.get_object(request).await
    }

    /// A folder is no object.
    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        if self.root.join(&request.input.bucket).join(&request.input.key).is_dir() {
            return Err(s3_error!(NoSuchKey));
        }
        self.files.head_object(request).await
    }

    /// With ETags.
    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let bucket = request.input.bucket.clone();
        let mut response = self.files.list_objects_v2(request).await?;
        for object in response.output.contents.iter_mut().flatten().filter(|_| self.lists_tags) {
            let bytes =
                fs::read(self.root.join(&bucket).join(object.key.as_deref().unwrap_or_default()));
            let sum = md5::compute(bytes.unwrap_or_default());
            object.e_tag = Some(s3s::dto::ETag::Strong(format!("{sum:x}")));
        }
        Ok(response)
    }
}

//! An S3 server over a folder: buckets are folders, keys are paths. It checks signatures, gives
//! ETags, ranges and lists by pages of 1000. The public one lists no ETags, as some servers do not.

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::dto::{
    GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput, ListObjectsV2Input,
    ListObjectsV2Output, PutObjectInput, PutObjectOutput,
};
use s3s::service::S3ServiceBuilder;
use s3s::{S3Request, S3Response, S3Result, s3_error};
use s3s_fs::FileSystem;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// A server that runs until it is dropped.
pub struct S3 {
    root: TempDir,
    address: SocketAddr,
    busy: Arc<Mutex<Busy>>,
    happenings: Arc<Mutex<Happenings>>,
    _runtime: Runtime,
}

/// Answers that say that the server has too much to do.
#[derive(Default)]
struct Busy {
    status: u16,
    retry_after: Option<u32>,
    left: u32,
}

/// What happens between two requests.
#[derive(Default)]
struct Happenings {
    next: Option<(u32, Box<dyn FnOnce() + Send>)>,
    requests: u32,
}

impl Happenings {
    fn request(&mut self) {
        if let Some((_, act)) = self.next.take_if(|(before, _)| *before == self.requests) {
            act();
        }
        self.requests += 1;
    }
}

impl Busy {
    fn refuse(&mut self) -> Option<Response<s3s::Body>> {
        self.left = self.left.checked_sub(1)?;
        let mut refusal = Response::builder().status(self.status);
        if let Some(seconds) = self.retry_after {
            refusal = refusal.header("retry-after", seconds);
        }
        let body = "<Error><Code>SlowDown</Code><Message>Reduce your rate.</Message></Error>";
        Some(refusal.body(s3s::Body::from(body.to_owned())).unwrap())
    }
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
        let busy = Arc::<Mutex<Busy>>::default();
        let happenings = Arc::<Mutex<Happenings>>::default();
        let shared = (Arc::clone(&busy), Arc::clone(&happenings));
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (service, (busy, happenings)) = (service.clone(), shared.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let refusal = busy.lock().unwrap().refuse();
                    if refusal.is_none() {
                        happenings.lock().unwrap().request();
                    }
                    let service = service.clone();
                    async move {
                        match refusal {
                            Some(refusal) => Ok(refusal),
                            None => service.call(request.map(Into::into)).await,
                        }
                    }
                });
                tokio::spawn(async move {
                    let http = Builder::new(TokioExecutor::new());
                    // A client that goes away is no fault of the server's.
                    let _ = http.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        S3 { root, address, busy, happenings, _runtime: runtime }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the server, for `AWS_ENDPOINT_URL`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers the next requests, so many, with `status` alone, and with `Retry-After` if so many
    /// seconds are given.
    pub fn refuse_next(&self, requests: u32, status: u16, retry_after: Option<u32>) {
        *self.busy.lock().unwrap() = Busy { status, retry_after, left: requests };
    }

    /// How many requests are still to be refused.
    pub fn left_to_refuse(&self) -> u32 {
        self.busy.lock().unwrap().left
    }

    /// Answers so many requests more, and then does `act` before the next one.
    pub fn after(&self, requests: u32, act: impl FnOnce() + Send + 'static) {
        let next = Some((requests, Box::new(act) as Box<dyn FnOnce() + Send>));
        *self.happenings.lock().unwrap() = Happenings { next, requests: 0 };
    }

    /// Requests that were answered since [`S3::after`], or since the start.
    pub fn requests(&self) -> u32 {
        self.happenings.lock().unwrap().requests
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

    async fn put_object(
        &self,
        request: S3Request<PutObjectInput>,
    ) -> S3Result<S3Response<PutObjectOutput>> {
        self.files.put_object(request).await
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

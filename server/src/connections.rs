//! Where the server listens, how many may be connected, and how long each may take. `http.rs` answers what they ask.

use crate::impatient::Impatient;
use crate::socket::Socket;
use crate::supervisor::Supervisor;
use crate::{Check, Config, Fault, Listen, Watched, http, say};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

/// Connections that may be open at once.
const CONNECTIONS_MOST: usize = 1024;
/// The most bytes of a request's header.
const HEADER_MOST: usize = 16 << 10;
/// How often jobs that are over for long are looked for.
const CLEARS_EVERY: Duration = Duration::from_secs(600);

/// Serves until a signal comes.
pub(crate) async fn serve(
    config: Config,
    check: Check,
    watched: Option<Watched>,
    ready: impl FnOnce(&Listen),
) -> Result<(), Fault> {
    let listen = config.listen.clone();
    match listen {
        Listen::Tcp(address) => {
            let cannot = |cause| {
                Fault(format!(
                    "{address}: cannot listen: {cause}; another server may be there, give another address (--listen)"
                ))
            };
            let listener = TcpListener::bind(address).await.map_err(cannot)?;
            let address = listener.local_addr().unwrap_or(address);
            let supervisor = Supervisor::open(config, check, address.port())?;
            if let Some(watched) = watched {
                let cannot = |cause| Fault(format!("the run cannot be watched: {cause}"));
                supervisor.adopt(watched).map_err(cannot)?;
            }
            ready(&Listen::Tcp(address));
            let hosts = hosts_of(address, supervisor.hosts());
            let accept = || async {
                let (stream, _) = listener.accept().await?;
                // Lines of a stream are sent at once.
                stream.set_nodelay(true)?;
                Ok(stream)
            };
            serve_on(supervisor, hosts, accept).await;
        }
        Listen::Unix(path) => {
            let supervisor = Supervisor::open(config, check, 0)?;
            let socket = Socket::bind(&path).await?;
            ready(&Listen::Unix(path));
            serve_on(supervisor, Vec::new(), || socket.accept()).await;
        }
    }
    Ok(())
}

/// Returns the names by which a server at an address may be asked.
fn hosts_of(address: std::net::SocketAddr, more: &[String]) -> Vec<String> {
    let port = address.port();
    let mut hosts = vec![address.to_string()];
    if address.ip().is_loopback() {
        hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}")));
    }
    for name in more {
        hosts.extend([name.clone(), format!("{name}:{port}")]);
    }
    hosts
}

/// Serves the connections that `accept` gives, until a signal comes.
async fn serve_on<S, A>(supervisor: Arc<Supervisor>, hosts: Vec<String>, accept: impl Fn() -> A)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    A: Future<Output = std::io::Result<S>>,
{
    let routes = http::routes(Arc::clone(&supervisor), hosts);
    supervisor.begin();
    let send_within = supervisor.send_within();
    let clears = Arc::clone(&supervisor);
    tokio::spawn(async move {
        loop {
            let clears = Arc::clone(&clears);
            let _ = tokio::task::spawn_blocking(move || clears.clear()).await;
            tokio::time::sleep(CLEARS_EVERY).await;
        }
    });
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MOST));
    let accept_all = async {
        loop {
            let Ok(place) = Arc::clone(&connections).acquire_owned().await else { return };
            let stream = match accept().await {
                Ok(stream) => stream,
                Err(cause) => {
                    // As where there are too many open files: some may be closed soon.
                    say(&format!("cannot accept a connection: {cause}"));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let stream = Impatient::new(stream, send_within);
            let service = TowerToHyperService::new(routes.clone());
            tokio::spawn(async move {
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new())
                    .header_read_timeout(send_within)
                    .max_buf_size(HEADER_MOST);
                // A client that misbehaves or goes away ends its own connection only.
                let _ = http.serve_connection(TokioIo::new(stream), service).await;
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accept_all => {}
        () = interrupted(supervisor.signals()) => {}
    }
    supervisor.end();
    // Processes are killed by now, or when what follows them is dropped.
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// Waits for one of these signals.
async fn interrupted(kinds: &[i32]) {
    let kinds = kinds.iter().map(|&kind| SignalKind::from_raw(kind));
    let mut signals: Vec<_> = kinds.filter_map(|kind| signal(kind).ok()).collect();
    if signals.is_empty() {
        return std::future::pending().await;
    }
    let waits = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
    futures_util::future::select_all(waits).await;
}

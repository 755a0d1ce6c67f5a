//! A proxy before a server, which passes bytes on and cuts connections on the way back to the client:
//! in the middle of an answer, as a network does.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;

/// The numbers of connections still to be cut, and of those cut.
#[derive(Debug, Default)]
struct Cuts {
    left: AtomicI64,
    behind_bytes: AtomicU64,
    done: AtomicU64,
}

/// A proxy that listens until the process ends.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    cuts: Arc<Cuts>,
}

impl Proxy {
    /// Passes connections on to `server`, whole for now. It listens at `at`, whose port may be 0 for
    /// any.
    pub fn start(at: (IpAddr, u16), server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind(at).unwrap();
        let address = listener.local_addr().unwrap();
        let cuts = Arc::<Cuts>::default();
        let shared = Arc::clone(&cuts);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let cuts = Arc::clone(&shared);
                thread::spawn(move || serve(&client, server, &cuts));
            }
        });
        Proxy { address, cuts }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of connections that were cut.
    pub fn cut(&self) -> u64 {
        self.cuts.done.load(Ordering::SeqCst)
    }

    /// Cuts the next `connections` connections, open ones too, each after `behind_bytes` more bytes of
    /// answers.
    pub fn cut_next(&self, connections: u32, behind_bytes: u64) {
        self.cuts.behind_bytes.store(behind_bytes, Ordering::SeqCst);
        self.cuts.left.store(connections.into(), Ordering::SeqCst);
    }
}

fn serve(client: &TcpStream, server: SocketAddr, cuts: &Cuts) {
    let Ok(server) = TcpStream::connect(server) else { return };
    thread::scope(|scope| {
        scope.spawn(|| {
            while pass(client, &server, u64::MAX) > 0 {}
            let _ = server.shutdown(Shutdown::Write);
        });
        let mut passed = 0;
        loop {
            let cutting = cuts.left.load(Ordering::SeqCst) > 0;
            let behind = cuts.behind_bytes.load(Ordering::SeqCst);
            if !cutting {
                passed = 0;
            } else if passed >= behind && cuts.left.fetch_sub(1, Ordering::SeqCst) > 0 {
                cuts.done.fetch_add(1, Ordering::SeqCst);
                break;
            }
            let most = if cutting { behind.saturating_sub(passed).max(1) } else { u64::MAX };
            match pass(&server, client, most) {
                0 => break,
                count => passed += count,
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    });
}

/// Passes a piece on; 0 when either side is done.
fn pass(mut from: &TcpStream, mut to: &TcpStream, most: u64) -> u64 {
    let mut piece = [0; 64 << 10];
    let most = most.min(piece.len() as u64) as usize;
    match from.read(&mut piece[..most]) {
        Ok(count) if to.write_all(&piece[..count]).is_ok() => count as u64,
        _ => 0,
    }
}

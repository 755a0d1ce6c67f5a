//! A connection that ends when nobody reads what it sends: a client that waits for ever would keep its place from others.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream whose writes fail when the other side has taken nothing for a time.
pub(crate) struct Impatient<S> {
    stream: S,
    within: Duration,
    /// Runs while a write waits.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<S: Unpin> Impatient<S> {
    pub(crate) fn new(stream: S, within: Duration) -> Impatient<S> {
        Impatient { stream, within, waits: None }
    }

    /// Does a step of a write, which fails if those before it have waited for too long.
    fn step<T>(
        &mut self,
        cx: &mut Context<'_>,
        step: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let done = step(Pin::new(&mut self.stream), cx);
        if done.is_ready() {
            self.waits = None;
            return done;
        }
        let within = self.within;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(within)));
        waits.as_mut().poll(cx).map(|()| Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.step(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.step(cx, |stream, cx| stream.poll_write_vectored(cx, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.step(cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.step(cx, AsyncWrite::poll_shutdown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn a_write_ends_when_nobody_reads() {
        run(async {
            let (near, _far) = duplex(8);
            let mut near = Impatient::new(near, Duration::from_millis(20));
            let ended = near.write_all(&[0; 9]).await.unwrap_err();
            assert_eq!(ended.kind(), ErrorKind::TimedOut);
        });
    }

    #[test]
    fn a_slow_reader_gets_all() {
        run(async {
            let (near, mut far) = duplex(8);
            let mut near = Impatient::new(near, Duration::from_millis(200));
            let reads = async {
                for _ in 0..10 {
                    sleep(Duration::from_millis(40)).await;
                    far.read_exact(&mut [0; 8]).await.unwrap();
                }
            };
            let (written, ()) = futures_util::future::join(near.write_all(&[0; 80]), reads).await;
            written.unwrap();
        });
    }
}

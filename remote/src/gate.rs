//! The pause that a busy store asks for: answers of 429 and 503 may name the seconds to wait (`Retry-After`,
//! RFC 9110, section 10.2.3). No request of any reader goes to the bucket before that. Other code tries
//! again; this only holds requests back.

use async_trait::async_trait;
use object_store::Result;
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService,
};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tegula_machine::sync::Mutex;

/// Makes clients that stay away as long as they are asked to, but no longer than this.
#[derive(Debug)]
pub(crate) struct Gated {
    /// Makes clients that do not.
    pub(crate) connector: Arc<dyn HttpConnector>,
    pub(crate) longest: Duration,
}

impl HttpConnector for Gated {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        let client = self.connector.connect(options)?;
        let gate = Gate { client, longest: self.longest, shut_until: Mutex::default() };
        Ok(HttpClient::new(gate))
    }
}

#[derive(Debug)]
struct Gate {
    client: HttpClient,
    longest: Duration,
    shut_until: Mutex<Option<Instant>>,
}

impl Gate {
    fn shut_until(&self) -> tegula_machine::sync::MutexGuard<'_, Option<Instant>> {
        self.shut_until.lock()
    }
}

#[async_trait]
impl HttpService for Gate {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let shut_until = *self.shut_until();
        if let Some(until) = shut_until {
            tokio::time::sleep_until(until.into()).await;
        }
        let response = self.client.execute(request).await?;
        if let Some(pause) = pause(&response) {
            let until = Instant::now() + pause.min(self.longest);
            let mut shut_until = self.shut_until();
            *shut_until = Some(shut_until.map_or(until, |before| before.max(until)));
        }
        Ok(response)
    }
}

/// Returns the pause that an answer asks for. Stores give it in seconds; a date is ignored.
fn pause(response: &HttpResponse) -> Option<Duration> {
    matches!(response.status().as_u16(), 429 | 503).then_some(())?;
    let seconds = response.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

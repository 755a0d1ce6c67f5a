//! The routes of the server: who may pass, and how much anyone may send. docs/api.md describes them all.

use crate::auth::User;
use crate::job::{Request as JobRequest, State as JobState};
use crate::supervisor::{Denied, Supervisor};
use crate::{metrics, page, sse};
use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, ALLOW, AUTHORIZATION, CONTENT_DISPOSITION, CONTENT_ENCODING,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, ORIGIN, REFERRER_POLICY, RETRY_AFTER,
    SET_COOKIE, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use futures_util::stream;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::SeekFrom;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The most bytes of a body, and of the lines of an answer that are sent at once.
const BODY_MOST: usize = 1 << 20;
/// Streams that may be open at once.
const STREAMS_MOST: usize = 64;
/// When a client may ask again that was told so.
const RETRY_AFTER_S: &str = "5";
/// The end of a log that is sent if nothing else is asked for.
const LOG_BYTES: u64 = 64 << 10;
/// The most summaries of a list, and those if nothing else is asked for.
const LIST_MOST: usize = 1000;
const LIST_USUAL: usize = 100;
/// Bytes of a file that are read at a time.
const CHUNK_BYTES: usize = 64 << 10;

#[derive(Clone)]
struct App {
    supervisor: Arc<Supervisor>,
    /// Names by which the server may be asked; empty if any may be used.
    hosts: Arc<[String]>,
    streams: Arc<Semaphore>,
}

type Answer = Result<Response, Denied>;

/// Returns what answers requests. `hosts` are the names by which it may be asked, any if there are none.
pub(crate) fn routes(supervisor: Arc<Supervisor>, hosts: Vec<String>) -> Router {
    let streams = Arc::new(Semaphore::new(STREAMS_MOST));
    let app = App { supervisor, hosts: hosts.into(), streams };
    let job = Router::new()
        .route("/", get(job).delete(cancel))
        .route("/priority", post(prioritise))
        .route("/again", post(again))
        .route("/places", get(places))
        .route("/answer", get(answer))
        .route("/log", get(log))
        .route("/timeline.svg", get(timeline));
    Router::new()
        .route("/api/session", post(session))
        .route("/api/jobs", get(list).post(submit))
        .nest("/api/jobs/{id}", job)
        .route("/api/machine", get(machine))
        .route("/api/overview", get(overview))
        .route("/api/events", get(events))
        .route("/metrics", get(metrics_text))
        .fallback(page_file)
        .layer(middleware::from_fn_with_state(app.clone(), guard))
        .with_state(app)
}

/// Lets a request pass if it is from here and from a user, and makes every answer safe to look at.
async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let needs_user = {
        let path = request.uri().path();
        path == "/metrics" || path.starts_with("/api/") || path == "/api"
    };
    let mut response = match check_origin(&app, request.method(), request.headers()) {
        Err(cause) => error(StatusCode::FORBIDDEN, &cause),
        Ok(()) => match user_of(&app, request.headers()).cloned() {
            Some(user) => {
                request.extensions_mut().insert(user);
                next.run(request).await
            }
            None if needs_user => {
                error(StatusCode::UNAUTHORIZED, "the server's token is missing or wrong")
            }
            None => next.run(request).await,
        },
    };
    let status = response.status();
    let is_told =
        response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if (status.is_client_error() || status.is_server_error()) && !is_told {
        let allow = response.headers().get(ALLOW).cloned();
        let reason = status.canonical_reason().unwrap_or("refused").to_lowercase();
        response = error(status, &reason);
        response.headers_mut().extend(allow.map(|allow| (ALLOW, allow)));
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, page::POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("x-frame-options"), "DENY"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

/// Refuses what another site makes a browser ask: by another name, or from another page.
fn check_origin(app: &App, method: &Method, headers: &HeaderMap) -> Result<(), String> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if app.hosts.is_empty() {
        return Ok(());
    }
    let is_own = |host: &str| app.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
    let host = text(HOST).unwrap_or("");
    if !is_own(host) {
        return Err(format!("{host}: this is no name of this server; start it with --host {host}"));
    }
    let changes = *method != Method::GET && *method != Method::HEAD;
    match text(ORIGIN) {
        Some(origin) if changes => {
            let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            match site.is_some_and(is_own) {
                true => Ok(()),
                false => {
                    Err(format!("{origin}: pages of another site may not change anything here"))
                }
            }
        }
        _ => Ok(()),
    }
}

fn user_of<'a>(app: &'a App, headers: &HeaderMap) -> Option<&'a User> {
    let auth = app.supervisor.auth();
    if let Some(header) = headers.get(AUTHORIZATION) {
        return auth.of_token(header.to_str().ok()?.strip_prefix("Bearer ")?.trim());
    }
    auth.of_cookies(headers.get(COOKIE)?.to_str().ok()?)
}

async fn session(State(app): State<App>, Extension(user): Extension<User>) -> Answer {
    let cookie = app.supervisor.auth().cookie_for(&user);
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response())
}

async fn submit(
    State(app): State<App>,
    Extension(user): Extension<User>,
    request: Request,
) -> Answer {
    let request: JobRequest = body(&app, request).await?;
    let id = app.supervisor.submit(request, &user)?;
    Ok(created(id))
}

fn created(id: u64) -> Response {
    let at = [("location", format!("/api/jobs/{id}"))];
    (StatusCode::CREATED, at, axum::Json(json!({ "id": id }))).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    state: Option<String>,
    user: Option<String>,
    before: Option<u64>,
    count: Option<usize>,
}

async fn list(State(app): State<App>, request: Request) -> Answer {
    let query: ListQuery = query(&request)?;
    let states = query.state.iter().flat_map(|states| states.split(',')).map(|name| {
        let state = JobState::ALL.into_iter().find(|state| state.name() == name);
        state.ok_or_else(|| Denied::Malformed(format!("state: {name} is none")))
    });
    let states: Vec<JobState> = states.collect::<Result<_, _>>()?;
    let (before, count) = (query.before.unwrap_or(u64::MAX), query.count.unwrap_or(LIST_USUAL));
    let count = count.clamp(1, LIST_MOST);
    let (jobs, next) = app.supervisor.list(&states, query.user.as_deref(), before, count);
    Ok(axum::Json(json!({ "jobs": jobs, "next": next })).into_response())
}

async fn job(State(app): State<App>, Path(id): Path<String>) -> Answer {
    Ok(axum::Json(app.supervisor.snapshot(number(&id)?)?).into_response())
}

async fn places(State(app): State<App>, Path(id): Path<String>) -> Answer {
    let places = app.supervisor.places(number(&id)?)?;
    Ok(([(CONTENT_TYPE, "application/json")], places).into_response())
}

async fn cancel(State(app): State<App>, Path(id): Path<String>) -> Answer {
    let summary = app.supervisor.cancel(number(&id)?)?;
    Ok((StatusCode::ACCEPTED, axum::Json(summary)).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Priority {
    priority: i32,
}

async fn prioritise(State(app): State<App>, Path(id): Path<String>, request: Request) -> Answer {
    let Priority { priority } = body(&app, request).await?;
    Ok(axum::Json(app.supervisor.prioritise(number(&id)?, priority)?).into_response())
}

async fn again(
    State(app): State<App>,
    Extension(user): Extension<User>,
    Path(id): Path<String>,
) -> Answer {
    Ok(created(app.supervisor.again(number(&id)?, &user)?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerQuery {
    from: Option<u64>,
    count: Option<u64>,
}

async fn answer(State(app): State<App>, Path(id): Path<String>, request: Request) -> Answer {
    let (AnswerQuery { from, count }, id) = (query(&request)?, number(&id)?);
    let summary = app.supervisor.summary(id)?;
    if summary.get("answer_bytes").is_none_or(Value::is_null) {
        let state = summary.get("state").and_then(Value::as_str).unwrap_or_default();
        return Err(Denied::Conflict(format!("job {id} has no answer: it is {state}")));
    }
    let path = app.supervisor.folder(id).path("answer");
    match count {
        Some(count) => lines_of(path, from.unwrap_or(0), count).await,
        None => {
            let name = format!("attachment; filename=\"tegula-{id}.txt\"");
            let kind = "application/octet-stream";
            let mut response = file_from(path, from.unwrap_or(0), u64::MAX, kind).await?;
            let name = HeaderValue::from_str(&name).ok();
            response.headers_mut().extend(name.map(|name| (CONTENT_DISPOSITION, name)));
            Ok(response)
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogQuery {
    from: Option<u64>,
    tail: Option<u64>,
}

async fn log(State(app): State<App>, Path(id): Path<String>, request: Request) -> Answer {
    let (LogQuery { from, tail }, id) = (query(&request)?, number(&id)?);
    app.supervisor.summary(id)?;
    let path = app.supervisor.folder(id).path("log");
    let bytes = tokio::fs::metadata(&path).await.map_or(0, |file| file.len());
    let tail = tail.unwrap_or(LOG_BYTES).min(BODY_MOST as u64);
    let from = from.unwrap_or(bytes.saturating_sub(tail));
    match file_from(path, from, BODY_MOST as u64, TEXT).await {
        // A job that has not begun has said nothing.
        Err(Denied::Missing(_)) => Ok(part_of(Vec::new(), 0, 0)),
        response => response,
    }
}

async fn timeline(State(app): State<App>, Path(id): Path<String>) -> Answer {
    let id = number(&id)?;
    app.supervisor.summary(id)?;
    let path = app.supervisor.folder(id).path("timeline.svg");
    let mut response = file_from(path, 0, u64::MAX, "image/svg+xml").await?;
    // It is a picture and no page: nothing in it may run, whatever a name in it says.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    Ok(response)
}

async fn machine(State(app): State<App>) -> Answer {
    Ok(axum::Json(app.supervisor.machine()).into_response())
}

async fn overview(State(app): State<App>) -> Answer {
    Ok(axum::Json(app.supervisor.all().0).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventsQuery {
    job: Option<u64>,
}

async fn events(State(app): State<App>, request: Request) -> Answer {
    let EventsQuery { job } = query(&request)?;
    if let Some(id) = job {
        app.supervisor.summary(id)?;
    }
    let Ok(place) = Arc::clone(&app.streams).try_acquire_owned() else {
        return Err(Denied::Full("too many streams are open".to_owned()));
    };
    let last = request.headers().get("last-event-id").and_then(|id| id.to_str().ok());
    let last = last.map(str::to_owned);
    Ok(sse::stream(app.supervisor, job, last, place).into_response())
}

async fn metrics_text(State(app): State<App>) -> Answer {
    let streams = STREAMS_MOST - app.streams.available_permits();
    let text = metrics::text(&app.supervisor.totals(), streams);
    Ok(([(CONTENT_TYPE, metrics::TYPE)], text).into_response())
}

async fn page_file(request: Request) -> Answer {
    let path = request.uri().path();
    let missing = || Denied::Missing(format!("{path}: there is nothing here"));
    let name = path.strip_prefix('/').ok_or_else(missing)?;
    let (bytes, kind) = page::file(name).ok_or_else(missing)?;
    match *request.method() {
        Method::GET | Method::HEAD => {
            let accepted = request.headers().get(ACCEPT_ENCODING).and_then(|all| all.to_str().ok());
            let headers = [(CONTENT_TYPE, kind), (VARY, "accept-encoding")];
            if accepted.is_some_and(|all| all.contains("gzip")) {
                return Ok((headers, [(CONTENT_ENCODING, "gzip")], bytes).into_response());
            }
            Ok((headers, page::content(bytes)?).into_response())
        }
        _ => Ok((StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")]).into_response()),
    }
}

const TEXT: &str = "text/plain; charset=utf-8";

/// Returns a file's bytes from `from` on, `most` at most, as they are read.
async fn file_from(path: PathBuf, from: u64, most: u64, kind: &'static str) -> Answer {
    let missing = |_| Denied::Missing("there is no such file of this job".to_owned());
    let mut file = File::open(&path).await.map_err(missing)?;
    let bytes = file.metadata().await?.len();
    let from = from.min(bytes);
    file.seek(SeekFrom::Start(from)).await?;
    let left = most.min(bytes - from);
    let chunks = stream::try_unfold((file, left), |(mut file, left)| async move {
        let mut chunk = vec![0; CHUNK_BYTES.min(usize::try_from(left).unwrap_or(CHUNK_BYTES))];
        if chunk.is_empty() {
            return Ok(None);
        }
        let read = file.read(&mut chunk).await?;
        chunk.truncate(read);
        Ok::<_, std::io::Error>((read > 0).then_some((chunk, (file, left - read as u64))))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert("content-length", left.into());
    headers.insert("tegula-bytes", bytes.into());
    headers.insert("tegula-next", (from + left).into());
    Ok(response)
}

/// Returns some lines of a file.
async fn lines_of(path: PathBuf, from: u64, count: u64) -> Answer {
    let mut file = File::open(&path).await?;
    let bytes = file.metadata().await?.len();
    let from = from.min(bytes);
    file.seek(SeekFrom::Start(from)).await?;
    let (mut text, mut lines) = (Vec::new(), 0);
    while text.len() < BODY_MOST && lines < count {
        let begin = text.len();
        text.resize((begin + CHUNK_BYTES).min(BODY_MOST), 0);
        let read = file.read(&mut text[begin..]).await?;
        text.truncate(begin + read);
        if read == 0 {
            break;
        }
        let ends = text[begin..].iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let wanted = usize::try_from(count - lines - 1).unwrap_or(usize::MAX);
        let (mut found, mut cut) = (0, None);
        for (number, (at, _)) in ends.enumerate() {
            found += 1;
            if number == wanted {
                cut = Some(begin + at + 1);
                break;
            }
        }
        lines += found;
        if let Some(cut) = cut {
            text.truncate(cut);
        }
    }
    let next = from + text.len() as u64;
    Ok(part_of(text, bytes, next))
}

fn part_of(text: Vec<u8>, bytes: u64, next: u64) -> Response {
    let headers = [("tegula-bytes", bytes.to_string()), ("tegula-next", next.to_string())];
    ([(CONTENT_TYPE, TEXT)], headers, text).into_response()
}

impl From<std::io::Error> for Denied {
    fn from(cause: std::io::Error) -> Denied {
        Denied::Broken(cause.to_string())
    }
}

/// Parses a job's number. What is none is no job's.
fn number(id: &str) -> Result<u64, Denied> {
    id.parse().map_err(|_| Denied::Missing(format!("there is no job {id}")))
}

fn query<T: DeserializeOwned>(request: &Request) -> Result<T, Denied> {
    let query = Query::try_from_uri(request.uri());
    query.map(|Query(query)| query).map_err(|error| Denied::Malformed(error.body_text()))
}

/// Reads a JSON body, within limits of size and time.
async fn body<T: DeserializeOwned>(app: &App, request: Request) -> Result<T, Denied> {
    let read = axum::body::to_bytes(request.into_body(), BODY_MOST);
    let bytes = match timeout(app.supervisor.send_within(), read).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(Denied::TooLarge),
        Err(_) => return Err(Denied::Malformed("the body did not come in time".to_owned())),
    };
    serde_json::from_slice(&bytes).map_err(|error| Denied::Malformed(format!("the body: {error}")))
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        match self {
            Denied::Malformed(cause) => error(StatusCode::BAD_REQUEST, &cause),
            Denied::Forbidden(cause) => error(StatusCode::FORBIDDEN, &cause),
            Denied::Missing(cause) => error(StatusCode::NOT_FOUND, &cause),
            Denied::Conflict(cause) => error(StatusCode::CONFLICT, &cause),
            Denied::TooLarge => error(StatusCode::PAYLOAD_TOO_LARGE, "a body has at most 1 MB"),
            Denied::Broken(cause) => error(StatusCode::INTERNAL_SERVER_ERROR, &cause),
            Denied::Full(cause) => {
                let mut response = error(StatusCode::TOO_MANY_REQUESTS, &cause);
                let after = HeaderValue::from_static(RETRY_AFTER_S);
                response.headers_mut().insert(RETRY_AFTER, after);
                response
            }
        }
    }
}

fn error(status: StatusCode, cause: &str) -> Response {
    (status, axum::Json(json!({ "error": cause }))).into_response()
}

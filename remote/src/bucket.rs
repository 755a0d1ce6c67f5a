//! Opens buckets: the builders of the object stores, with the variables of the environment that belong to
//! each.

use crate::address::{Address, Scheme};
use crate::fault::{Fault, innermost};
use crate::gate::Gated;
use crate::retry::Patience;
use crate::settings::Settings;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::ReqwestConnector;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::list::PaginatedListStore;
use object_store::multipart::MultipartStore;
use object_store::{ClientConfigKey, ObjectStore, RetryConfig};
use reqwest::{Proxy, Url};
use std::sync::Arc;
use std::time::Duration;

/// A store that also lists by pages and takes parts of objects.
pub(crate) trait Bucket: ObjectStore + PaginatedListStore + MultipartStore {}

impl<S: ObjectStore + PaginatedListStore + MultipartStore> Bucket for S {}

/// Opens the bucket of an address. Nothing is connected to yet.
pub(crate) fn open(
    settings: &Settings,
    address: &Address,
    patience: Patience,
) -> object_store::Result<Arc<dyn Bucket>> {
    let connector = settings.connector().unwrap_or_else(|| {
        // Fails if there is a provider already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Arc::new(ReqwestConnector::default())
    });
    // Shorter than the time after which a connection counts as lost.
    let gated = Gated { connector, longest: patience.stall() / 2 };
    match address.scheme {
        Scheme::Gs => open_gs(settings, &address.authority, gated),
        Scheme::Az => open_az(settings, &address.authority, gated),
        Scheme::S3 | Scheme::Hdfs => open_s3(settings, &address.authority, gated),
    }
}

/// Variables that are URLs of servers.
const URLS: [&str; 12] = [
    "AWS_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_STS",
    "AWS_METADATA_ENDPOINT",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "GOOGLE_BASE_URL",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_ENDPOINT",
    "AZURE_STORAGE_AUTHORITY_HOST",
    "AZURE_AUTHORITY_HOST",
    "AZURE_MSI_ENDPOINT",
];
/// Variables that name a proxy, which needs no scheme. It may have a password, so messages do not have its text.
const PROXIES: [&str; 3] = ["AWS_PROXY_URL", "GOOGLE_PROXY_URL", "AZURE_PROXY_URL"];
/// A key in JSON and certificates, which may have several lines.
const OF_LINES: [&str; 4] = [
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_PROXY_CA_CERTIFICATE",
    "AZURE_PROXY_CA_CERTIFICATE",
    "AWS_PROXY_CA_CERTIFICATE",
];

/// Checks the variables of a store, for which the library panics. Those that it does not know may be of other programs.
///
/// # Errors
/// If one cannot be part of a request.
pub(crate) fn check(settings: &Settings, scheme: Scheme) -> Result<(), Fault> {
    for (name, value) in known(settings, scheme) {
        if URLS.contains(&name) && !is_url(value) {
            let cause = format!("the variable {name} is `{value}`");
            return Err(Fault::refused(cause, "make it a URL, http://host:port or https://host"));
        }
        if PROXIES.contains(&name) && Proxy::all(value).is_err() {
            let cause = format!("the variable {name} is not the URL of a proxy");
            return Err(Fault::refused(cause, "make it one, http://host:port"));
        }
        if !OF_LINES.contains(&name) && value.chars().any(char::is_control) {
            let cause =
                format!("the variable {name} has a control character, such as the end of a line");
            return Err(Fault::refused(cause, "correct it"));
        }
    }
    Ok(())
}

/// Returns the fault of a variable that the library cannot parse, of which its error has the value alone.
pub(crate) fn unparsed(
    settings: &Settings,
    scheme: Scheme,
    error: &object_store::Error,
) -> Option<Fault> {
    let said = innermost(error);
    let is_of = |value: &str| said.starts_with(&format!("failed to parse \"{value}\" as "));
    let (name, _) = known(settings, scheme).find(|(_, value)| is_of(value))?;
    Some(Fault::refused(format!("the variable {name}: {said}"), "correct it"))
}

/// Returns the variables that a store is opened with.
fn known(settings: &Settings, scheme: Scheme) -> impl Iterator<Item = (&str, &str)> {
    let prefix = match scheme {
        Scheme::Gs => "GOOGLE_",
        Scheme::Az => "AZURE_",
        Scheme::S3 | Scheme::Hdfs => "AWS_",
    };
    settings.with_prefix(prefix).filter(move |(name, _)| is_known(scheme, name))
}

/// Returns whether a store is opened with a variable of that name.
fn is_known(scheme: Scheme, name: &str) -> bool {
    let key = name.to_ascii_lowercase();
    let is_key = match scheme {
        Scheme::Gs => key.parse::<GoogleConfigKey>().is_ok(),
        Scheme::Az => key.parse::<AzureConfigKey>().is_ok(),
        Scheme::S3 | Scheme::Hdfs => key.parse::<AmazonS3ConfigKey>().is_ok(),
    };
    is_key || URLS.contains(&name)
}

fn is_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// Trying again is done over all stores alike, so not below.
fn once() -> RetryConfig {
    RetryConfig { max_retries: 0, retry_timeout: Duration::ZERO, ..RetryConfig::default() }
}

/// A limit on a whole request would forbid slow connections; stalls are seen to elsewhere.
const UNLIMITED: (ClientConfigKey, &str) = (ClientConfigKey::Timeout, "1day");

fn open_s3(
    settings: &Settings,
    bucket: &str,
    gated: Gated,
) -> object_store::Result<Arc<dyn Bucket>> {
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_retry(once())
        .with_http_connector(gated)
        .with_config(AmazonS3ConfigKey::Client(UNLIMITED.0), UNLIMITED.1);
    for (name, value) in settings.with_prefix("AWS_") {
        if let Ok(key) = name.to_ascii_lowercase().parse() {
            builder = builder.with_config(key, value);
        }
    }
    // As the store's own tools call them.
    for (name, key) in [
        ("AWS_ENDPOINT_URL", AmazonS3ConfigKey::Endpoint),
        ("AWS_ENDPOINT_URL_S3", AmazonS3ConfigKey::Endpoint),
    ] {
        if let Some(value) = settings.get(name) {
            builder = builder.with_config(key, value);
        }
    }
    const CREDENTIALS: [&str; 6] = [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_METADATA_ENDPOINT",
    ];
    if !any(settings, &CREDENTIALS) {
        builder = builder.with_skip_signature(true);
    }
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
    if is_plain(endpoint.as_deref()) {
        builder = builder.with_allow_http(true);
    }
    Ok(Arc::new(builder.build()?))
}

fn open_gs(
    settings: &Settings,
    bucket: &str,
    gated: Gated,
) -> object_store::Result<Arc<dyn Bucket>> {
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_bucket_name(bucket)
        .with_retry(once())
        .with_http_connector(gated)
        .with_config(GoogleConfigKey::Client(UNLIMITED.0), UNLIMITED.1);
    for (name, value) in settings.with_prefix("GOOGLE_") {
        if let Ok(key) = name.to_ascii_lowercase().parse() {
            builder = builder.with_config(key, value);
        }
    }
    const CREDENTIALS: [&str; 5] = [
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_PATH",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_BEARER_TOKEN",
    ];
    if !any(settings, &CREDENTIALS) {
        builder = builder.with_skip_signature(true);
    }
    if is_plain(settings.get("GOOGLE_BASE_URL")) {
        builder = builder.with_config(GoogleConfigKey::Client(ClientConfigKey::AllowHttp), "true");
    }
    Ok(Arc::new(builder.build()?))
}

fn open_az(
    settings: &Settings,
    container: &str,
    gated: Gated,
) -> object_store::Result<Arc<dyn Bucket>> {
    let mut builder = MicrosoftAzureBuilder::new()
        .with_retry(once())
        .with_http_connector(gated)
        .with_config(AzureConfigKey::Client(UNLIMITED.0), UNLIMITED.1);
    for (name, value) in settings.with_prefix("AZURE_") {
        if let Ok(key) = name.to_ascii_lowercase().parse() {
            builder = builder.with_config(key, value);
        }
    }
    // As in abfss://container@account.dfs.core.windows.net/.
    builder = match container.split_once('@') {
        Some((container, host)) => {
            let account = host.split('.').next().unwrap_or(host);
            builder.with_container_name(container).with_account(account)
        }
        None => builder.with_container_name(container),
    };
    const CREDENTIALS: [&str; 10] = [
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_TOKEN",
        "AZURE_STORAGE_CLIENT_ID",
        "AZURE_CLIENT_ID",
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_USE_AZURE_CLI",
        "AZURE_STORAGE_USE_EMULATOR",
    ];
    if !any(settings, &CREDENTIALS) {
        builder = builder.with_skip_signature(true);
    }
    let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
    if is_plain(endpoint.as_deref()) {
        builder = builder.with_allow_http(true);
    }
    Ok(Arc::new(builder.build()?))
}

fn any(settings: &Settings, names: &[&str]) -> bool {
    names.iter().any(|name| settings.get(name).is_some())
}

/// Who names an endpoint without encryption wants it.
fn is_plain(endpoint: Option<&str>) -> bool {
    endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"))
}

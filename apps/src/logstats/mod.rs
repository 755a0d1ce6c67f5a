//! Log statistics. `Logins` is the workload of the Ostrich paper (section 7.1): the time online of each
//! user, from a log of logins and logouts. `Access` is the equivalent for web servers: requests and bytes
//! by host, path, status or hour. `docs/logstats.md` has the formats.

mod access;
mod generate;
mod logins;

pub use access::{Access, AccessKey, Requests, Traffic};
pub use generate::LoginLines;
pub use logins::Logins;

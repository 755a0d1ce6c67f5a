//! Input from real servers on loopback, through the whole engine, beside the same bytes from memory.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod a_changed_file_is_never_mixed;
mod busy_stores_are_asked_again;
mod common;
mod hdfs_gives_the_same_answer;
mod lost_connections_are_tried_again;
mod object_stores_give_the_same_answer;
mod refusals_say_what_to_do;
mod runs_wait_for_leases;
mod states_are_kept_elsewhere;
mod urls_name_what_paths_name;

//! The engine as its users see it: jobs over the public API, against counts made in the plainest
//! way. One file per behaviour; `jobs`, `reference` and `support` are what they share.

// The lint's exception for tests does not reach shared modules of tests.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod jobs;
mod packing;
mod reference;
mod support;

mod a_job_compares_its_own_pairs;
mod a_share_says_who_maps;
mod all_values_come_in_the_order_of_the_input;
mod answers_are_shown_while_a_job_runs;
mod answers_are_the_same_in_every_shape;
mod answers_that_stand_are_left;
mod bad_input_is_named;
mod bad_options_are_named;
mod bad_records_are_named_or_skipped;
mod bits_that_flip_on_the_disk_are_found;
mod cancelled_runs_end_soon;
mod compressed_files_are_read_as_what_they_hold;
mod containers_give_one_answer;
mod damaged_files_are_named;
mod every_error_is_raised;
mod files_are_read_past_the_page_cache;
mod groups_change_no_answer;
mod holdings_answer_as_one_machine;
mod many_jobs_share_an_engine;
mod memory_has_a_limit;
mod misbehaving_jobs_fail_alone;
mod numbers_are_the_same_in_every_shape;
mod only_what_changed_runs_again;
mod outputs_that_cannot_be_written_are_named;
mod overflowing_tables_lose_nothing;
mod pairs_of_tasks_are_those_of_a_stable_sort;
mod reading_overlaps_mapping;
mod records_are_never_torn;
mod runs_go_on_where_they_ended;
mod shows_end_with_their_job;
mod shows_tell_what_is_to_come;
mod sizes_are_found_on_every_machine;
mod sorted_records_are_those_of_a_stable_sort;
mod sorted_records_stay_in_their_files;
mod sorts_go_on_where_they_ended;
mod states_know_their_job_and_input;
mod states_show_their_answers;
mod states_that_do_not_add_up_are_refused;
mod streams_are_read_to_their_end;
mod the_books_are_counted_to_the_byte;
mod tiles_are_seen_while_a_job_runs;
mod timelines_show_what_each_thread_did;
mod tops_are_shown_by_samples;

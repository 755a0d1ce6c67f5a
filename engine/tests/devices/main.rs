//! Devices beside cores, on the emulated device and on present ones: one behaviour a file.

// The lint's exception for tests does not reach shared modules of tests.
#![allow(clippy::unwrap_used)]

mod as_many_threads_fill_slots_as_pay;
mod each_unit_counts_exactly_once;
mod faults_of_devices_are_named;
mod machine;
mod numbers;
#[cfg(feature = "opencl")]
mod opencl_runs_kernels;
mod refused_runs_leave_their_states;
mod runs_go_on_with_devices_and_without;
mod shares_bound_devices;
mod shows_have_what_devices_did;
mod units_come_near_the_ideal;

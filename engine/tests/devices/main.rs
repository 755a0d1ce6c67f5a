//! Devices beside cores, on the emulated device: one behaviour a file.

mod each_unit_counts_exactly_once;
mod machine;
mod units_come_near_the_ideal;

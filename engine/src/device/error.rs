//! What can go wrong with devices.

/// Faults of devices. None of them fails a job: the cores do what a device cannot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A back-end finds nothing to work with.
    #[error("{backend}: {cause}; {advice}")]
    Missing {
        /// The back-end.
        backend: &'static str,
        /// What is not there.
        cause: String,
        /// What to do.
        advice: &'static str,
    },
    /// The device cannot do what kernels need.
    #[error("{device}: {cause}")]
    Unfit {
        /// Its name.
        device: String,
        /// What it cannot do.
        cause: String,
    },
    /// A kernel does not compile.
    #[error("{file} does not compile for {device}:\n{log}")]
    Compile {
        /// The device's name.
        device: String,
        /// The name of the kernel's file.
        file: String,
        /// What the compiler says, with file and line.
        log: String,
    },
    /// The device has not enough memory.
    #[error(
        "{device}: {memory_bytes} bytes of memory, and the job needs at least {least_bytes}; \
         give smaller splits, or a job whose partial is smaller"
    )]
    TooSmall {
        /// Its name.
        device: String,
        /// What it has, or may use.
        memory_bytes: u64,
        /// What two units and the partial need.
        least_bytes: u64,
    },
    /// A job of devices alone was not done by them.
    #[error("only devices may do this job, and they did not do all of it: {faults}")]
    Alone {
        /// Each device with what went wrong.
        faults: String,
    },
    /// The device failed, or is gone.
    #[error("{device}: cannot {action}: {cause}")]
    Failed {
        /// Its name.
        device: String,
        /// What it was to do.
        action: &'static str,
        /// What it said.
        cause: String,
    },
}

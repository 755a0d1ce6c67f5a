//! Errors of devices.

/// Errors of devices. None of them fails a job, because the cores do the work instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A back-end has no usable device.
    #[error("{backend}: {cause}; {advice}")]
    Missing {
        /// The back-end.
        backend: &'static str,
        /// The missing part.
        cause: String,
        /// Advice to the user.
        advice: &'static str,
    },
    /// The device lacks an ability that kernels need.
    #[error("{device}: {cause}")]
    Unfit {
        /// Its name.
        device: String,
        /// The missing ability.
        cause: String,
    },
    /// A kernel does not compile.
    #[error("{file} does not compile for {device}:\n{log}")]
    Compile {
        /// The device's name.
        device: String,
        /// The name of the kernel's file.
        file: String,
        /// The compiler's message, with file and line.
        log: String,
    },
    /// The device has too little memory.
    #[error(
        "{device}: {memory_bytes} bytes of memory, and the job needs at least {least_bytes}; \
         give smaller splits, or a job whose partial is smaller"
    )]
    TooSmall {
        /// Its name.
        device: String,
        /// The memory that it has or may use, in bytes.
        memory_bytes: u64,
        /// The memory that two units and the partial need, in bytes.
        least_bytes: u64,
    },
    /// Devices did not do a job that runs on devices alone.
    #[error("only devices may do this job, and they did not do all of it: {faults}")]
    Alone {
        /// Each device with its error.
        faults: String,
    },
    /// The device failed or disappeared.
    #[error("{device}: cannot {action}: {cause}")]
    Failed {
        /// Its name.
        device: String,
        /// The operation that failed.
        action: &'static str,
        /// The driver's message.
        cause: String,
    },
}

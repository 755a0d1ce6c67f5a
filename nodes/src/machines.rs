//! Where a command's jobs run: the one place at which a program chooses between its own engine and several machines.

use crate::carrier::{Carrier, Seat};
use crate::drive::{Shares, drive};
use tegula::{Engine, Input, Job, Options, Output, Result};

/// Where jobs run.
#[derive(Debug, Default)]
pub enum Machines {
    /// On this machine's engine alone.
    #[default]
    This,
    /// On nodes that this process drives.
    Nodes(Box<dyn Carrier>),
    /// On another process, of which this is a node.
    Node(Seat),
}

impl Machines {
    /// Runs a job there.
    ///
    /// # Errors
    /// Those of [`JobRun::run`](tegula::JobRun::run), of [`drive`](crate::drive()) and of [`Seat::run`].
    pub fn run<J: Job>(
        &mut self,
        engine: &Engine,
        job: &J,
        input: Input,
        options: &Options,
        shares: Shares,
    ) -> Result<Output<J>> {
        match self {
            Machines::This => engine.job(job).options(options).run(input),
            Machines::Nodes(carrier) => drive(&mut **carrier, engine, job, input, options, shares),
            Machines::Node(seat) => seat.run(engine, job, input, options),
        }
    }

    /// Returns the input of the next job, if this is a node to which others send it.
    ///
    /// # Errors
    /// Those of [`Seat::sent_input`].
    pub fn sent_input(&mut self) -> Result<Option<Input>> {
        match self {
            Machines::Node(seat) => seat.sent_input(),
            Machines::This | Machines::Nodes(_) => Ok(None),
        }
    }

    /// Returns whether jobs run on this machine's engine alone.
    pub fn is_this(&self) -> bool {
        matches!(self, Machines::This)
    }

    /// Returns whether this process is a node, so that answers are another's to write.
    pub fn is_node(&self) -> bool {
        matches!(self, Machines::Node(_))
    }
}

//! Where a command's jobs run: the one place at which a program chooses between its own engine and several machines.

use crate::carrier::{Carrier, Seat};
use crate::drive::{Earlier, Shares, drive};
use crate::rules::Rules;
use crate::task::Task;
use tegula::{Error, Input, Job, Output, Result};

/// Where jobs run.
#[derive(Debug, Default)]
pub enum Machines {
    /// On this machine's engine alone.
    #[default]
    This,
    /// On nodes that this process drives.
    Nodes {
        /// What carries messages to them.
        carrier: Box<dyn Carrier>,
        /// What the jobs before the next one have left.
        earlier: Earlier,
        /// How their work is divided.
        rules: Rules,
    },
    /// On another process, of which this is a node.
    Node(Seat),
}

impl Machines {
    /// Returns the nodes of a carrier.
    pub fn over(carrier: Box<dyn Carrier>, rules: Rules) -> Machines {
        Machines::Nodes { carrier, earlier: Earlier::default(), rules }
    }

    /// Runs a job there.
    ///
    /// # Errors
    /// Those of [`JobRun::run`](tegula::JobRun::run), of [`drive`](crate::drive()) and of [`Seat::run`].
    pub fn run<J: Job>(&mut self, task: Task<'_, J>, shares: Shares) -> Result<Output<J>> {
        match self {
            Machines::This => task.engine.job(task.job).options(task.options).run(task.input),
            Machines::Nodes { carrier, earlier, rules } => {
                drive(&mut **carrier, (earlier, *rules), task, shares)
            }
            Machines::Node(seat) => seat.run(task),
        }
    }

    /// Returns the input of the next job, if this is a node to which others send it.
    ///
    /// # Errors
    /// Those of [`Seat::sent_input`].
    pub fn sent_input(&mut self) -> Result<Option<Input>> {
        match self {
            Machines::Node(seat) => seat.sent_input(),
            Machines::This | Machines::Nodes { .. } => Ok(None),
        }
    }

    /// Tells the driver, if this is a node, why it leaves before its first job.
    pub fn say_why(&self, error: &Error) {
        if let Machines::Node(seat) = self {
            seat.say_why(Some(error));
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

//! k-means: points in groups around their means, by Lloyd's rounds ("Least squares quantization in PCM",
//! IEEE Transactions on Information Theory 28(2), 1982). Points stay in memory, and devices keep the points
//! that they were sent. Each round is one job that reads them in place. Takes a matrix with a point per
//! row; hands on the means.

mod begun;
mod centres;
mod group_mean;
mod offload;
mod start;

use crate::matrix::Element;
use crate::{Matrix, Runs};
pub use begun::Begun;
use centres::{Centres, Sums};
use group_mean::GroupMean;
use offload::OnDevices;
use tegula::device::{ARGUMENTS, Offload};
use tegula::{Cut, Emit, Error, Identity, Input, Job, Offloadable, Result, Resumable, Split};

/// The parameters of k-means.
#[derive(Clone, Copy, Debug)]
pub struct KMeans {
    /// Number of groups, at least 1 and at most the points.
    pub groups: usize,
    /// The most rounds, after which the search stops even if points still change their group.
    pub rounds_most: usize,
    /// Seed of the random numbers: the same seed gives the same answer.
    pub seed: u64,
    /// The choice of the first means.
    pub start: Start,
}

/// The choice of the first means among the points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Start {
    /// Different points, all equally likely.
    #[default]
    Random,
    /// k-means++ (Arthur and Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007): one
    /// after the other, each point with a probability proportional to the square of its distance to the
    /// nearest mean so far. Takes about as long as a round, on one processor.
    Spread,
}

/// Groups of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// The mean of each group.
    pub means: Vec<Vec<f64>>,
    /// The number of points of each group.
    pub counts: Vec<u64>,
    /// The number of rounds done.
    pub rounds: usize,
    /// Whether another round would change nothing.
    pub settled: bool,
}

impl KMeans {
    /// Groups points. A round takes points x groups x columns steps, shared by all workers; its sums do not
    /// depend on their number. A point belongs to the nearest mean, or to the first of equally near ones. A
    /// group that loses all its points keeps its mean.
    ///
    /// # Errors
    /// Returns [`Error::Option`] if there are fewer points than groups, or no group; [`Error::Record`] if a number is not
    /// finite, or so large that squares of distances may be beyond the largest number; and errors of running.
    pub fn group(&self, runs: &mut Runs<'_>, points: &Matrix) -> Result<Groups> {
        self.group_seen(runs, points, &mut |_| Ok(()))
    }

    /// As [`group`](KMeans::group), and passes the groups to `see` when a round has ended.
    ///
    /// # Errors
    /// Those of `group`, and those of `see`, after which no round follows.
    pub fn group_seen(
        &self,
        runs: &mut Runs<'_>,
        points: &Matrix,
        see: &mut dyn FnMut(&Groups) -> Result<()>,
    ) -> Result<Groups> {
        if !(1..=points.rows).contains(&self.groups) {
            let cause = format!("{} of {} points; give 1 to as many", self.groups, points.rows);
            return Err(Error::Option { option: "groups", cause });
        }
        let on_devices = if runs.has_devices() {
            Some(OnDevices::new(runs, points)?)
        } else {
            let [bad, nearness] = points.least(runs, |place, bytes| {
                [points.first_bad(place, bytes), points.nearness(bytes)]
            })?;
            points.refuse(bad)?;
            points.refuse_far(nearness)?;
            None
        };
        let mut groups = Groups {
            means: self.first_means(points),
            counts: vec![0; self.groups],
            rounds: 0,
            settled: false,
        };
        while !groups.settled && groups.rounds < self.rounds_most {
            groups.advance(runs, points, on_devices.as_ref())?;
            see(&groups)?;
        }
        Ok(groups)
    }
}

impl Groups {
    /// Does one round: assigns each point to the nearest mean, then moves each mean to the middle of its
    /// points. If no mean moves, no point will ever change its group again.
    fn advance(
        &mut self,
        runs: &mut Runs<'_>,
        points: &Matrix,
        on_devices: Option<&OnDevices<'_>>,
    ) -> Result<()> {
        let (element, means) = (points.element, self.means.clone());
        let begun = Begun { round: self.rounds as u64 + 1, element, means };
        let on_devices = on_devices.map(|points| RoundOnDevices { points, means: &begun.means });
        let round = Round { on_devices, ..begun.job() };
        let input = Input::shared(points.bytes.clone());
        let output = runs.noted(&round, input, &begun.to_bytes())?;
        *self = begun.groups(&output)?;
        Ok(())
    }
}

/// The job of one round: sums the points of each group, by group and column.
struct Round<'p> {
    /// The means that points are compared with.
    means: &'p [Vec<f64>],
    element: Element,
    centres: Centres,
    on_devices: Option<RoundOnDevices<'p>>,
}

/// The same round as devices do it.
struct RoundOnDevices<'p> {
    points: &'p OnDevices<'p>,
    means: &'p [Vec<f64>],
}

impl Job for Round<'_> {
    type Key = u64;
    type Combine = GroupMean;

    fn cut(&self) -> Cut {
        Cut::Fixed((self.centres.columns * self.element.bytes()) as u64)
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn device(&self) -> Option<&dyn Offloadable<Self>> {
        self.on_devices.as_ref().map(|round| round as &dyn Offloadable<Self>)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let sums = Sums::of(&self.centres, self.element, split.bytes());
        sums.iter().for_each(|(key, sum)| emit.emit(key, sum));
        Ok(())
    }
}

impl Resumable for Round<'_> {
    fn identity(&self) -> Identity {
        let means: Vec<u8> =
            self.means.iter().flatten().flat_map(|mean| mean.to_le_bytes()).collect();
        let round = Identity::new("kmeans round", 1).with("element", format!("{:?}", self.element));
        round.with("groups", self.means.len()).with_bytes("means", &means)
    }
}

impl<'p> Offloadable<Round<'p>> for RoundOnDevices<'p> {
    fn offload(&self) -> Offload {
        self.points.offload(self.means)
    }

    fn launch(&self, _: &Split<'_>) -> Option<[u64; ARGUMENTS]> {
        Some(self.points.arguments(self.means.len()))
    }

    fn unload(&self, partial: &[u64], emit: &mut dyn Emit<'_, Round<'p>>) -> Result<()> {
        let sums = self.points.sums(partial, self.means.len());
        sums.for_each(|(key, sum)| emit.emit(key, sum));
        Ok(())
    }
}

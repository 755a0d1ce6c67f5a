//! A part of the input whose files are decompressed in order, each by itself. The ends of their blocks are
//! not known beforehand, so each file gets a range of numbers in proportion to its length. So the numbers of
//! blocks are in the order of the input, in whichever order files are decompressed.

use crate::input::{Format, Material};
use crate::origin::{Origin, OriginKind};
use std::ops::Range;
use std::path::PathBuf;

/// The numbers that all compressed files of an input may have: half of those there are.
const NUMBERS: u64 = 1 << 31;
/// An empty file needs numbers, too: it may hold a header only, and still expand.
const WEIGHT_LEAST: u64 = 64;

/// Files that are decompressed as they are read.
pub struct Packed {
    /// Its place among the plan's parts.
    pub number: usize,
    pub material: Material,
    formats: Vec<Format>,
    /// Of all files of the part.
    pub(super) weight: u64,
    /// Of all such parts of the plan.
    pub(super) weight_of_all: u64,
    /// Compressed bytes of all files.
    pub(super) bytes: u64,
}

impl Packed {
    pub(super) fn new(number: usize, material: Material, formats: Vec<Format>) -> Packed {
        let bytes = (0..material.files()).map(|file| material.bytes(file)).sum();
        let weight = bytes + WEIGHT_LEAST * material.files() as u64;
        Packed { number, material, formats, weight, weight_of_all: weight, bytes }
    }

    pub fn files(&self) -> usize {
        self.formats.len()
    }

    pub fn path(&self, file: usize) -> PathBuf {
        self.material.path(file)
    }

    /// Returns the length of a file as stored, in bytes.
    pub fn bytes(&self, file: usize) -> u64 {
        self.material.bytes(file)
    }

    pub fn format(&self, file: usize) -> Format {
        self.formats[file]
    }

    /// Returns a file's share of the numbers.
    pub fn weight(&self, file: usize) -> u64 {
        self.bytes(file) + WEIGHT_LEAST
    }

    /// Returns the numbers of a stretch of files, from the weight of all before it to that and its own.
    pub fn numbers(&self, weights: Range<u64>) -> Range<u64> {
        let numbers = |weight: u64| {
            let numbers = u128::from(weight) * u128::from(NUMBERS) / u128::from(self.weight_of_all);
            numbers as u64
        };
        numbers(weights.start)..numbers(weights.end)
    }

    /// Returns the numbers of all files.
    pub fn numbers_of_all(&self) -> u64 {
        self.numbers(0..self.weight).end
    }

    /// Returns the origin of a file, of which `newlines` were read.
    pub fn origin(&self, file: usize, newlines: Option<u64>) -> Origin<'_> {
        let kind = OriginKind::Packed { material: &self.material, file, newlines };
        Origin { part: self.number, kind }
    }
}

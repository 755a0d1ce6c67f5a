"""The two jobs in mrjob, on its runner in one process."""

import heapq

from mrjob.job import MRJob
from mrjob.step import MRStep


class WordCount(MRJob):
    def words(self, _, line):
        for word in line.split():
            yield word, 1

    def add(self, word, counts):
        yield word, sum(counts)

    def to_one(self, word, counts):
        yield None, (sum(counts), word)

    def top(self, _, pairs):
        for count, word in heapq.nlargest(10, pairs):
            yield word, count

    def steps(self):
        first = MRStep(mapper=self.words, combiner=self.add, reducer=self.to_one)
        return [first, MRStep(reducer=self.top)]


class MeanByHost(MRJob):
    def mapper(self, _, line):
        fields = line.split(" ")
        yield fields[0], (int(fields[3]), 1)

    def combiner(self, host, pairs):
        yield host, [sum(column) for column in zip(*pairs, strict=True)]

    def reducer(self, host, pairs):
        total, count = [sum(column) for column in zip(*pairs, strict=True)]
        yield host, total / count


def _run(job):
    with job.make_runner() as runner:
        runner.run()
        return list(job.parse_output(runner.cat_output()))


def word_count(path):
    return _run(WordCount(["-r", "inline", path]))


def mean_by_host(path):
    return dict(_run(MeanByHost(["-r", "inline", path])))

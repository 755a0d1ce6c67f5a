"""The driver's side: it starts an actor on each node of a cluster and carries messages between it and the run."""

from __future__ import annotations

import importlib
import threading
import time
import warnings
from collections import defaultdict
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from tegula import _tegula
from tegula._ray.actor import Node
from tegula.engine import byte_count
from tegula.errors import Error, OptionError
from tegula.functions import portable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

# Seconds between two looks at what the run has to say, and what nodes have.
_LOOK = 0.01
# The resource of a node that does not read the input: others send it.
_STREAMED = "tegula_streamed"
# Seconds between two looks for nodes that came since.
_JOIN = 2.0
# Seconds after which a node that has not started is told of.
_LATE = 10.0


class Cluster:
    """The nodes of a Ray cluster, for `Job.run(on=...)`. Made by `ray`."""

    def __init__(
        self,
        address: str,
        workers: int | None,
        memory: int | None,
        scratch: str | None,
        start_seconds: float = 60.0,
    ) -> None:
        self._ray = _imported()
        self._shape = (workers, memory, scratch)
        self._start_seconds = start_seconds
        if not self._ray.is_initialized():
            try:
                self._ray.init(address, log_to_driver=False, logging_level="error")
            except ConnectionError as error:
                raise Error(
                    f"ray: no cluster was found at {address!r}: {error}"
                ) from None

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes that are there."""
        return [_name(node) for node in self._alive()]

    def run(
        self,
        plan: dict[str, Any],
        run: Callable[[_tegula.Wires], _tegula.Answer],
    ) -> _tegula.Answer:
        """Run a plan: `run` runs it here, and the nodes do its work."""
        wires = _tegula.Wires()
        with self.carrying(wires, Node, portable(plan)):
            try:
                return run(wires)
            finally:
                wires.close()

    @contextmanager
    def carrying(
        self, wires: Any, kind: type, *arguments: Any
    ) -> Iterator[threading.Thread]:
        """Start an actor on each node, and carry messages between them and `wires` until those are over.

        kind: its class, made with these arguments, and the node's workers, memory, scratch, address, and "it reads".
        """
        actors: list[Any] = []
        known: set[str] = set()
        starts = Starts(self._start_seconds)

        def join(alive: list[dict[str, Any]]) -> None:
            """Start an actor on each node that came since."""
            for node in alive:
                if node["NodeID"] not in known:
                    known.add(node["NodeID"])
                    starts.join(len(actors), _name(node))
                    actors.append(self._actor(node, kind, arguments))
                    wires.join(_name(node))

        join(self._alive())
        if not actors:
            raise Error("ray: the cluster has no node with a processor")
        carried = (wires, actors, join, starts)
        thread = threading.Thread(target=self._carry, args=carried, daemon=True)
        thread.start()
        try:
            yield thread
        finally:
            thread.join()
            for actor in actors:
                self._ray.kill(actor)

    def _alive(self) -> list[dict[str, Any]]:
        # A head often has no processors to give.
        nodes = self._ray.nodes()
        return [one for one in nodes if one["Alive"] and one["Resources"].get("CPU")]

    def _actor(
        self, node: dict[str, Any], kind: type, arguments: tuple[Any, ...]
    ) -> Any:
        """Start the actor of a node, which has all of its processors."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # Its orders and its reports do not wait for each other.
        self._ray.method(concurrency_group="orders")(kind.put)  # type: ignore[attr-defined]
        self._ray.method(concurrency_group="reports")(kind.reports)  # type: ignore[attr-defined]
        cpus = int(node["Resources"]["CPU"])
        workers, memory, scratch = self._shape
        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        remote = self._ray.remote(
            num_cpus=cpus,
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"orders": 1, "reports": 1},
        )(kind)
        host = node["NodeManagerAddress"]
        reads = _STREAMED not in node["Resources"]
        shape = (workers or cpus, memory, scratch, host, reads)
        return remote.options(scheduling_strategy=there).remote(*arguments, *shape)

    def _look(self, wires: Any, found: SimpleQueue[list[dict[str, Any]]]) -> None:
        """Look for nodes that came since. Without its head a cluster answers late or not, and its nodes go on."""
        while not wires.is_over():
            with suppress(Exception):
                found.put(self._alive())
            time.sleep(_JOIN)

    def _carry(
        self, wires: Any, actors: list[Any], join: Callable[..., None], starts: Starts
    ) -> None:
        """Carry messages until the run is over."""
        waiting: dict[Any, int] = {}
        found: SimpleQueue[list[dict[str, Any]]] = SimpleQueue()
        threading.Thread(target=self._look, args=(wires, found), daemon=True).start()
        heard = 0
        while not wires.is_over():
            if not found.empty():
                join(found.get())
            for at, actor in enumerate(actors[heard:], heard):
                waiting[actor.reports.remote()] = at
            heard = len(actors)
            told: dict[int, list[bytes]] = defaultdict(list)
            for at, order in wires.orders(_LOOK):
                if order is None:
                    self._ray.kill(actors[at])
                else:
                    told[at].append(order)
            for at, orders in told.items():
                actors[at].put.remote(orders)
            asked = list(waiting)
            limits = {"num_returns": len(asked), "timeout": _LOOK}
            for reference in self._ray.wait(asked, **limits)[0] if asked else []:
                at = waiting.pop(reference)
                cause = self._hear(wires, at, reference)
                if cause is None:
                    starts.start(at)
                    waiting[actors[at].reports.remote()] = at
                else:
                    starts.end(at)
                    wires.gone(at, cause)
            for at, cause in starts.failed():
                # It would start later, and work uncounted.
                self._ray.kill(actors[at])
                waiting = {one: node for one, node in waiting.items() if node != at}
                wires.gone(at, cause)

    def _hear(self, wires: Any, at: int, reference: Any) -> str | None:
        """Bring what a node tells; return why it tells nothing any more."""
        try:
            reports = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return str(error).strip().splitlines()[-1]
        if reports is None:
            return "it has ended"
        # A node that works has nothing to tell, and is alive all the same.
        wires.told(at, reports or [_tegula.ALIVE])
        return None


class Starts:
    """Which nodes have started. Ray starts an actor when all processors of its node are free, and may wait for that for ever.

    A node that is late is told of. While none works, those that have not started for `seconds` have failed.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._names: dict[int, str] = {}
        # Of nodes that have not started, since when they are waited for.
        self._since: dict[int, float] = {}
        self._late: set[int] = set()
        self._working: set[int] = set()
        self._idle = time.monotonic()

    def join(self, node: int, name: str) -> None:
        self._names[node] = name
        self._since[node] = time.monotonic()

    def start(self, node: int) -> None:
        """Note that a node has told something."""
        self._since.pop(node, None)
        self._working.add(node)

    def end(self, node: int) -> None:
        """Note that a node tells nothing any more."""
        self._since.pop(node, None)
        self._working.discard(node)
        self._idle = time.monotonic()

    def failed(self) -> list[tuple[int, str]]:
        """Return the nodes that are waited for no longer, each once, and why."""
        now = time.monotonic()
        for node, since in self._since.items():
            if now - since > _LATE and node not in self._late:
                self._late.add(node)
                warnings.warn(
                    f"ray: {self._names[node]} has not started: it takes part once all of its processors are free",
                    RuntimeWarning,
                    stacklevel=2,
                )
        if self._working:
            return []
        limit = now - self._seconds
        failed = [
            node
            for node, since in self._since.items()
            if max(since, self._idle) < limit
        ]
        for node in failed:
            del self._since[node]
        cause = f"it has not started for {self._seconds:g} s, because not all of its processors are free"
        return [(node, cause) for node in failed]


def ray(
    address: str = "auto",
    *,
    workers: int | None = None,
    memory: int | str | None = None,
    scratch: str | None = None,
    start_seconds: float = 60.0,
) -> Cluster:
    """Return the nodes of a Ray cluster, which do a job together: `job.run(on=tg.ray("auto"))`.

    address: as `ray.init` takes it; a program that has called that goes on with its cluster.
    workers: the workers of each node; default: one for each of its processors.
    memory: the limit on the resident size of each node's process, in bytes or as "4G".
    scratch: the folder on each node for what does not fit.
    start_seconds: how long nodes are waited for while none works. A node starts when all of its processors are free.

    The input must be where each node finds it under the same name. The others send it to nodes that have the resource
    `tegula_streamed` (`ray start --resources='{"tegula_streamed": 1}'`). The package must be installed on each node, in the
    same version. Raises `Error` if there is no such cluster, or Ray is not installed.
    """
    limit = byte_count("memory", memory)
    return Cluster(address, workers, limit, scratch, start_seconds)


def _imported() -> ModuleType:
    try:
        importlib.import_module("ray.exceptions")
        return importlib.import_module("ray")
    except ImportError:
        raise OptionError("Ray is not installed: pip install 'ray>=2.50'") from None


def _name(node: dict[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})"

"""Jobs over the machines of a Ray cluster. This package alone knows Ray, of which it uses four things: to start an actor
on each node, to call it, to carry bytes, and to learn that a node is dead. Who does what is decided in Rust.
"""

from tegula._ray.cluster import Cluster, ray

__all__ = ["Cluster", "ray"]

"""The executable cache of TF_POPLAR_FLAGS=--executable_cache_path: an entry for each program that was made.

An entry holds the traced graph, under a key made of the graph, the replicas, the options and the versions. TensorFlow
runs graphs as they are, so a hit saves no compiler; it shows, as on the real stack, which changes of a program would
have it compiled again. Folders, signatures, sizes and eviction are those of docs/cache.md, and `tremula cache --dir`
looks after the entries.
"""

from __future__ import annotations

import hashlib
import weakref
from typing import Any

import tensorflow.compat.v2 as tf

from tremula import __version__, log
from tremula.cache import trust
from tremula.cache.keys import key_of
from tremula.cache.store import HIT, Store
from tremula.distributed import launch_environment
from tremula.frontends.tensorflow import flags
from tremula.frontends.tensorflow.config import active

#: options that choose devices rather than change what is compiled
_DEVICE_OPTIONS = ("auto_select_ipus", "select_ipus", "device_connection.type", "serialization_output_folder")
_noted: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def _folder() -> str:
    """Where entries are kept: as TF_POPLAR_FLAGS says, else the launcher's folder; empty for nowhere."""
    return flags.flag("executable_cache_path") or launch_environment.executable_cache() or ""


def wanted() -> bool:
    """Whether the flag names a folder."""
    return bool(_folder())


def program_ready(concrete: Any, replicas: int = 1, name: str = "") -> str:
    """Look a traced function up in the cache, and keep it there if it is new. Without the flag, nothing happens.

    Args:
        concrete: the traced function, as one replica runs it.
        replicas: how many replicas run it.
        name: what the user calls it.

    Returns:
        What the cache said: `hit`, a reason for a miss, or nothing if there is no cache.
    """
    folder = _folder()
    if not folder:
        return ""
    graph = concrete.graph
    known = _noted.get(graph)
    if known is not None:
        return known
    data = graph.as_graph_def().SerializeToString(deterministic=True)
    root, _ = trust.usable_root(folder)
    store = Store(root)
    key = key_of(_description(data, replicas))
    label = name or tf.compat.as_str(concrete.name)
    with store.lock(key, timeout=60.0):
        found = store.get(key)
        if found.entry is None or found.entry.blobs.get("graph.pb") != data:
            store.put(key, {"model": label, "front end": "tensorflow"}, {"graph.pb": data})
    _noted[graph] = found.reason
    said = "found in" if found.reason == HIT else "put into"
    log.layer("tremula").info(
        "The program %s was %s the executable cache %s (%s).", label, said, root, key[:12]
    )
    return found.reason


def _description(graph: bytes, replicas: int) -> dict[str, Any]:
    config = active.active()
    options = {} if config is None else config.to_dict()
    return {
        "graph": hashlib.sha256(graph).hexdigest(),
        "replicas": replicas,
        "processes": active.process_count(),
        "options": {name: value for name, value in options.items() if name not in _DEVICE_OPTIONS},
        "tensorflow": tf.__version__,
        "tremula": __version__,
    }

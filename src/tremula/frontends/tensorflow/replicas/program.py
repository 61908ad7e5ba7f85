"""A Python function as a program of the device, on all of its replicas."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow import devices, executable_cache, random_seed
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.replicas import context, instances
from tremula.frontends.tensorflow.replicas.analysis import Analysis, is_compiled
from tremula.frontends.tensorflow.replicas.lowering import Lowering
from tremula.frontends.tensorflow.replicas.variables import ReplicaVariable, give_own_stream, local_variable
from tremula.frontends.tensorflow.static_shape import static_sizes

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun
    from tremula.telemetry.run_record import Entry

#: types that the device does not compute with
REFUSED_TYPES = (tf.float64,)


class DeviceFunction:
    """Traces a function and runs it on the device.

    With one replica, it is a `tf.function` without XLA; functions inside with `jit_compile=True` become part of it.
    With several, the traced graph is copied for each of them (`lowering.py`). All replicas get the same arguments. The
    results are those of replica 0; `collectives.gather` gives those of all.

    Args:
        function: what to run; may call `tf.function`s.
        replicas: how many replicas run it; by default as many as the device has room for, at each call.
        ordinal: the number of the device.
        autograph: whether Python loops and branches of `function` become those of the graph.
        label: what it is called in reports of the chip model; None: whoever made it reports it.

    A call raises a TypeError if an argument or result is of a type that the device lacks.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        replicas: int | None = None,
        ordinal: int = 0,
        autograph: bool = True,
        label: str | None = None,
    ) -> None:
        self._python_function = function
        self._replicas = replicas
        self._ordinal = ordinal
        self._autograph = autograph
        self._label = label
        self._entry: Entry | None = None
        self._modelled: ModelledRun | None = None
        self._functions: dict[tuple[int, int], Any] = {}
        self._seeded = random_seed.generation()
        self._replicated: dict[int, tuple[Any, Any]] = {}
        #: whether the traced function itself can run: one replica, and no function inside that XLA would compile
        self._as_traced = False
        #: how many replicas each traced graph is for: a program that spreads over several IPUs has fewer
        self._traced_for: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    @property
    def replicas(self) -> int:
        """How many replicas run it now."""
        return active.replica_count(ordinal=self._ordinal) if self._replicas is None else self._replicas

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not tf.executing_eagerly():
            return self._run(*args, **kwargs)
        if executable_cache.wanted():
            executable_cache.program_ready(self.concrete(*args, **kwargs), self.replicas)
        if self._label is not None and self._entry is None:
            self._look(self._label, self.concrete(*args, **kwargs), args, kwargs)
        if not devices.require_device(self._ordinal):
            return _zeros(self.concrete(*args, **kwargs))
        started = perf_counter()
        results = self._run(*args, **kwargs)
        seconds = perf_counter() - started
        if self._entry is not None:
            devices.ran(self._entry, self._ordinal, seconds, modelled=self._modelled)
        else:
            devices.count_run(self._ordinal, seconds)
        return results

    def _look(self, label: str, concrete: Any, args: Any, kwargs: Any) -> None:
        """Answer questions about it, and let the chip model look at it, before it first runs."""
        from tremula.frontends.tensorflow.modelling.graph_subject import first_run

        self._entry = devices.wrapped(label)
        flat = concrete.function_type.unpack_inputs(concrete.function_type.bind(*args, **kwargs))
        # counts of loops may be arguments
        known = {
            place: value.numpy()
            for place, value in enumerate(flat)
            if value.dtype.is_integer and value.shape.rank == 0 and hasattr(value, "numpy")
        }
        self._modelled = first_run(concrete.graph, label, self.replicas, self._entry, known=known)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        replicas = self.replicas
        function = self._function(replicas)
        if replicas == 1 and self._as_traced and not instances.several():
            return function(*args, **kwargs)
        concrete = function.get_concrete_function(*args, **kwargs)
        replicas = self._traced_for.get(concrete.graph, replicas)
        compiled = any(is_compiled(concrete.graph, name) for name in concrete.graph._functions)
        if replicas == 1 and not compiled and not instances.several():
            self._as_traced = self.replicas == 1
            context.about_to_run(concrete.graph)
            return function(*args, **kwargs)
        replicated = self._replicate(concrete, replicas)
        flat = concrete.function_type.unpack_inputs(concrete.function_type.bind(*args, **kwargs))
        structure, results = concrete.structured_outputs, replicated(*flat)
        if structure is None:
            return None
        return tf.nest.pack_sequence_as(structure, results, expand_composites=True)

    def inline(self, *args: Any, **kwargs: Any) -> Any:
        """Run it as a part of the graph that is being traced, on one replica."""
        with context.program(1, self._ordinal, exact=self._replicas is not None):
            return self._python_function(*args, **kwargs)

    def concrete(self, *args: Any, **kwargs: Any) -> Any:
        """The traced function for such arguments, as one replica runs it."""
        return self._function(self.replicas).get_concrete_function(*args, **kwargs)

    def _function(self, replicas: int) -> Any:
        if self._seeded != random_seed.generation():
            # `reset_ipu_seed`: random streams begin anew, so programs are traced anew
            self._seeded = random_seed.generation()
            self._functions.clear()
            self._replicated.clear()
        key = replicas, active.process_count()
        if key not in self._functions:
            traced = tf.__internal__.autograph.tf_convert(
                self._python_function, tf.__internal__.autograph.control_status_ctx()
            ) if self._autograph else self._python_function  # fmt: skip

            def program(*args: Any, **kwargs: Any) -> Any:
                _check_types((args, kwargs), "input")
                seed = random_seed.seed(self._ordinal)
                if seed is not None:
                    tf.compat.v1.get_default_graph().seed = seed % (1 << 31)
                with context.program(replicas, self._ordinal, exact=self._replicas is not None) as known:
                    results = traced(*args, **kwargs)
                self._traced_for[tf.compat.v1.get_default_graph()] = known.replicas
                # operations run anyhow, and are not values
                results = tf.nest.map_structure(lambda x: None if isinstance(x, tf.Operation) else x, results)
                _check_types(results, "output")
                return results

            self._functions[key] = tf.function(program, autograph=False)
        return self._functions[key]

    def _replicate(self, concrete: Any, replicas: int) -> Any:
        known = self._replicated.get(id(concrete))
        if known is None:
            known = self._replicated[id(concrete)] = (concrete, replicate(concrete, replicas))
        return known[1]


def replicate(concrete: Any, replicas: int) -> Any:
    """A traced function on all replicas: takes its flat arguments and gives the flat outputs of replica 0."""
    graph = concrete.graph
    context.about_to_run(graph)
    captures = graph.captures
    arguments = len(graph.inputs) - len(captures)
    known = Analysis()
    # made now, since a function that is being traced cannot make variables
    written = {
        position: ReplicaVariable(
            variable, replicas, generator=generator, first=instances.first_replica(replicas)
        )
        for position, variable, generator in _written(graph, known, replicas)
    }

    @tf.function(autograph=False)
    def replicated(*flat: Any) -> list[Any]:
        inputs = [*flat[:arguments], *(external for external, _ in captures)]
        return _on_replicas(graph, known, inputs, written, replicas)

    return replicated


def build_on_replicas(graph: Any, inputs: Sequence[Any], replicas: int) -> list[Any]:
    """Copy a traced graph for all replicas into the graph of a session's function; its outputs on replica 0.

    Args:
        graph: the traced graph.
        inputs: a tensor for each of its inputs, arguments and captures alike.
        replicas: how many replicas there are.
    """
    known = Analysis()
    written = {
        position: ReplicaVariable(
            variable,
            replicas,
            generator=generator,
            first=instances.first_replica(replicas),
            handle=inputs[position],
        )
        for position, variable, generator in _written(graph, known, replicas)
    }
    return _on_replicas(graph, known, inputs, written, replicas)


def _written(graph: Any, known: Analysis, replicas: int) -> Iterator[tuple[int, Any, bool]]:
    """The variables that each replica has one of: position in the inputs, variable, whether it is a random state."""
    first = instances.first_replica(replicas)
    if replicas == 1 and not first:
        return
    effects = known.effects(graph)
    variables = {id(variable.handle): variable for variable in map(local_variable, graph.variables)}
    for position, (external, _) in enumerate(graph.captures, len(graph.inputs) - len(graph.captures)):
        variable = variables[id(external)] if id(external) in variables else _variable_of(external)
        generator = position in effects.generators
        if first and generator and variable is not None:
            give_own_stream(variable, first)
        if replicas > 1 and variable is not None and position in effects.writes:
            yield position, variable, generator


def _on_replicas(
    graph: Any, known: Analysis, inputs: Sequence[Any], written: dict[int, ReplicaVariable], replicas: int
) -> list[Any]:
    for variable in written.values():
        variable.refresh()
    given = [written[at].handles if at in written else value for at, value in enumerate(inputs)]
    same_streams = active.prng_stability() or random_seed.identical_replicas()
    first = instances.first_replica(replicas)
    exchange = instances.Exchange(replicas) if instances.several() else None
    lowering = Lowering(known, range(first, first + replicas), same_streams=same_streams, exchange=exchange)
    outputs = lowering.copy(graph, given)
    for variable in written.values():
        variable.remember()
    return [value[0] if isinstance(value, list) else value for value in outputs]


def _check_types(values: Any, role: str) -> None:
    for value in tf.nest.flatten(values, expand_composites=True):
        dtype = getattr(value, "dtype", None)
        if tf.is_tensor(value) and dtype in REFUSED_TYPES:
            raise TypeError(
                f"Unsupported data type for {role}: {dtype.name}. The device computes with at most 32 bits: use "
                f"tf.float32."
            )


def _zeros(concrete: Any) -> Any:
    """What a program gives that is only compiled: zeros in the structure of its results."""
    flat = [
        tf.zeros([length or 1 for length in static_sizes(tensor)], tensor.dtype)
        for tensor in concrete.outputs
    ]
    if concrete.structured_outputs is None:
        return None
    return tf.nest.pack_sequence_as(concrete.structured_outputs, flat, expand_composites=True)


def _variable_of(handle: Any) -> Any:
    """The variable that a resource belongs to; None if it is not a variable.

    A graph does not know the variables whose resources it passes to ops directly, such as slots of optimizers.
    """
    find = getattr(handle, "_parent_trackable", None)
    found = None if find is None else find()
    return local_variable(found) if isinstance(found, tf.Variable) else None

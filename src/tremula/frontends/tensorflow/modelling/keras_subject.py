"""Keras models as subjects of questions to the chip model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow.compat.v2 as tf

from tremula.errors import Error
from tremula.frontends.tensorflow.capture.capture import capture
from tremula.frontends.tensorflow.capture.captured import Captured
from tremula.frontends.tensorflow.capture.layers import LayerTree
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.dialect.advice_code import KerasCode
from tremula.frontends.tensorflow.keras import pipeline_run
from tremula.frontends.tensorflow.keras.programs import Mode
from tremula.frontends.tensorflow.keras.step_graph import trace_step
from tremula.frontends.tensorflow.modelling.first_run import FirstRun
from tremula.frontends.tensorflow.modelling.subject import Parts, TensorFlowSubject
from tremula.program.loops import Loops
from tremula.telemetry.run_record import Entry

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun
    from tremula.distributed.host_run import HostRun


def subject_of_model(
    model: Any, mode: Mode, specs: Any, *, steps: int = 1, replicas: int = 1, name: str | None = None
) -> TensorFlowSubject:
    """A model with the data of one step.

    Args:
        model: a model that is built, and compiled if it is trained.
        mode: what it does.
        specs: the types of a batch of one replica.
        steps: of an execution.
        replicas: that run it.
        name: for reports; by default the model's.

    Raises:
        Error: the number of samples of a batch is not known, or the model cannot be traced.
    """
    flat = tf.nest.flatten(specs)
    batch = next((spec.shape[0] for spec in flat if spec.shape.rank), 1)
    if batch is None:
        raise Error(
            f"The number of samples in a batch of {model.name} is not known: give a batch_size, or batch the dataset "
            "with drop_remainder=True."
        )
    accumulation = 1
    if mode is Mode.FIT and hasattr(model, "_is_pipelined"):
        accumulation = pipeline_run.accumulation_steps(model, steps)
    layers = LayerTree(model)

    def read(micro_batch: int | None) -> Captured:
        return capture(trace_step(model, mode, specs, micro_batch), model=model)

    def train(random: bool, instance: int, instances: int, steps: int) -> HostRun | None:
        # imported here, because it loads what joins processes
        from tremula.frontends.tensorflow.measured.equivalence import train_together

        return train_together(model, specs, accumulation, random, instance, instances, steps)

    return TensorFlowSubject(
        Parts(
            name=name or model.name,
            capture=read,
            loops=Loops(max(1, steps // accumulation), accumulation, replicas),
            micro_batch=int(batch),
            layers=layers,
            dialect=_dialect(model, mode is Mode.FIT),
            optimizer=_described(getattr(model, "optimizer", None)) if mode is Mode.FIT else "",
            options=model_options(model),
            prefetch_depth=getattr(model, "_infeed_kwargs", {}).get("prefetch_depth"),
            train=train,
        )
    )


def subject_of_factory(
    model: Any,
    *,
    name: str,
    training: bool,
    loss: Any,
    optimizer: Any,
    batch_size: int,
    inputs: Any = None,
    targets: Any = None,
) -> TensorFlowSubject:
    """A model that a function of the user's made.

    Args:
        model: the model.
        name: for reports.
        training: whether it is trained.
        loss: what it is trained with.
        optimizer: an optimizer or the name of one; None in inference.
        batch_size: samples of a micro-batch.
        inputs: of one micro-batch; None: as the model's own inputs say.
        targets: what the loss compares with; None: one for each output, of the kind that the loss takes.

    Raises:
        Error: the model cannot be traced.
    """
    given = _specs(model.inputs, batch_size) if inputs is None else _specs(inputs, batch_size)
    if not model.built:
        model(tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), given))
    if not training:
        return subject_of_model(model, Mode.PREDICT, (given,), name=name)
    if getattr(model, "optimizer", None) is None or optimizer is not model.optimizer:
        model.compile(optimizer=optimizer, loss=loss)
    wanted = _targets(model, loss, given) if targets is None else _specs(targets, batch_size)
    return subject_of_model(model, Mode.FIT, (given, wanted), name=name)


def _specs(tensors: Any, batch_size: int) -> Any:
    """The types of a batch."""

    def one(tensor: Any) -> Any:
        value = tensor if hasattr(tensor, "dtype") else tf.convert_to_tensor(tensor)
        sizes = tf.TensorShape(value.shape).as_list()
        return tf.TensorSpec([batch_size, *sizes[1:]], tf.dtypes.as_dtype(value.dtype))

    if isinstance(tensors, list) and len(tensors) == 1:
        return one(tensors[0])
    return tf.nest.map_structure(one, tensors)


def _targets(model: Any, loss: Any, given: Any) -> Any:
    """Targets like the outputs of a model; for sparse losses the number of a class."""
    outputs = model.compute_output_signature(given) if not hasattr(model, "outputs") else model.outputs
    batch = tf.nest.flatten(given)[0].shape[0]
    listed = outputs if isinstance(outputs, list) else tf.nest.flatten(outputs)
    losses = tf.nest.flatten(loss) if isinstance(loss, (list, tuple, dict)) else [loss] * len(listed)
    found = []
    for output, each in zip(listed, losses, strict=True):
        sizes = [batch, *output.shape.as_list()[1:]]
        name = each if isinstance(each, str) else getattr(each, "name", getattr(each, "__name__", ""))
        sparse = "sparse" in str(name).lower()
        found.append(tf.TensorSpec(sizes[:-1], tf.int32) if sparse else tf.TensorSpec(sizes, tf.float32))
    return found[0] if len(found) == 1 else found


def first_run(
    model: Any, mode: Mode, concrete: Any, specs: Any, steps: int, replicas: int, entry: Entry
) -> ModelledRun | None:
    """What happens before a program of a model runs for the first time (`FirstRun`).

    Args:
        model: the model.
        mode: what the program is for.
        concrete: the traced program.
        specs: the types of a batch of one replica.
        steps: of an execution.
        replicas: that run it.
        entry: of the model in the record of this run.
    """
    graph = concrete.graph
    # the number of steps is the last argument
    place = len(graph.inputs) - len(graph.captures) - 1

    def subject() -> TensorFlowSubject:
        return subject_of_model(model, mode, specs, steps=steps, replicas=replicas * active.process_count())

    return FirstRun(
        graph,
        f"{model.name} ({mode.value})",
        entry,
        replicas,
        subject,
        model=model,
        known={place: steps},
        options=model_options(model),
        prefetch_depth=getattr(model, "_infeed_kwargs", {}).get("prefetch_depth"),
    ).look()


def _dialect(model: Any, training: bool) -> KerasCode:
    """How changes are written for a model; one whose layers have no assignment gets general lines."""
    if not hasattr(model, "_is_pipelined"):
        return KerasCode(training=training)
    try:
        return KerasCode.of(model, training)
    except (RuntimeError, ValueError, NotImplementedError, AttributeError):
        return KerasCode(training=training)


def model_options(model: Any) -> dict[str, Any]:
    """What a model's options say about the device."""
    if not hasattr(model, "_is_pipelined"):
        return {}
    if not model._is_pipelined():
        return dict(model._gradient_accumulation_optimizer_kwargs)
    options = dict(model._pipelining_kwargs)
    schedule = options.get("pipeline_schedule")
    stages = pipeline_run.pipeline_stages(model)
    return {
        **options,
        "schedule": "Grouped" if schedule is None else schedule.name,
        "device_mapping": stages.mapping if stages is not None else [],
        "forward_options": [
            getattr(each, "_options", each)
            for each in options.get("forward_propagation_stages_poplar_options") or []
        ],
    }


def _described(optimizer: Any) -> str:
    """An optimizer with its numbers, as text."""
    if optimizer is None:
        return ""
    try:
        config = optimizer.get_config()
    except (NotImplementedError, TypeError, AttributeError):
        config = {}
    numbers = {
        key: value for key, value in config.items() if isinstance(value, (int, float)) and value is not False
    }
    return f"{type(optimizer).__name__}({', '.join(f'{key}={value:g}' for key, value in numbers.items())})"

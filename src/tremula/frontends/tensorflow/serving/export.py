"""Export for serving.

An exported model is a SavedModel: preprocessing, the program of one step and postprocessing as one function of stock
ops, in which variables are constants. TensorFlow Serving can run it anywhere. The executable of the program (a loop
with queues, as the device runs it) is in `assets/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow import loops
from tremula.frontends.tensorflow.serving.saved_model import save_model
from tremula.frontends.tensorflow.serving.steps import Step, Steps, check_folder, frozen


def export_single_step(
    predict_step: Step,
    export_dir: str,
    iterations: int,
    predict_step_signature: Any = None,
    input_dataset: Any = None,
    output_names: Any = None,
    preprocessing_step: Step | None = None,
    preprocessing_step_signature: Any = None,
    postprocessing_step: Step | None = None,
    postprocessing_step_signature: Any = None,
    purge_export_dir: bool = False,
) -> Any:
    """Export a function.

    Args:
        predict_step: what runs on the device.
        export_dir: the folder of the SavedModel.
        iterations: of the loop in the executable.
        predict_step_signature: of the arguments of `predict_step`.
        input_dataset: from whose elements the signature of the model follows.
        output_names: of the results: text, or a list; `output_0`, ... by default.
        preprocessing_step: runs before it, on the CPU.
        preprocessing_step_signature: of its arguments.
        postprocessing_step: runs after it, on the CPU.
        postprocessing_step_signature: of its arguments.
        purge_export_dir: whether a folder that is not empty is emptied.

    Returns:
        The function that was exported.

    Raises:
        TypeError: a signature, the dataset or the names are of the wrong kind.
        ValueError: the folder is not empty, a signature is missing, or the steps do not fit together.
    """
    check_folder(export_dir, purge_export_dir)
    steps = Steps(
        predict_step,
        predict_step_signature,
        input_dataset,
        preprocessing_step,
        preprocessing_step_signature,
        postprocessing_step,
        postprocessing_step_signature,
    )
    steps.check()
    arguments = steps.predict_arguments()
    step = frozen(predict_step, arguments)

    def program(infeed: Any, outfeed: Any) -> Any:
        return loops.repeat(iterations, lambda *args: outfeed.enqueue(step(*args)), [], infeed)

    return save_model(steps, step, program, export_dir, output_names)


def export_pipeline(
    computational_stages: Sequence[Step],
    export_dir: str,
    iterations: int,
    inputs: Sequence[Any] | None = None,
    device_mapping: Sequence[int] | None = None,
    pipeline_schedule: Any = None,
    poplar_options: Any = None,
    name: str | None = None,
    predict_step_signature: Any = None,
    input_dataset: Any = None,
    output_names: Any = None,
    preprocessing_step: Step | None = None,
    preprocessing_step_signature: Any = None,
    postprocessing_step: Step | None = None,
    postprocessing_step_signature: Any = None,
    purge_export_dir: bool = False,
) -> Any:
    """Export a pipeline; what is not described here is as of `export_single_step`.

    Args:
        computational_stages: its stages.
        export_dir: the folder of the SavedModel.
        iterations: how many micro-batches the pipeline of the executable takes.
        inputs: the first arguments of the first stage, the same for all micro-batches.
        device_mapping: as of `pipelining_ops.pipeline`; so are the next three.
        pipeline_schedule: as said.
        poplar_options: as said.
        name: as said.
        predict_step_signature: of the arguments of the first stage.
        input_dataset: see there.
        output_names: see there.
        preprocessing_step: see there.
        preprocessing_step_signature: see there.
        postprocessing_step: see there.
        postprocessing_step_signature: see there.
        purge_export_dir: see there.
    """
    from tremula.frontends.tensorflow.pipeline.build import pipeline

    check_folder(export_dir, purge_export_dir)
    bound = list(inputs or ())
    steps = Steps(
        computational_stages[0],
        predict_step_signature,
        input_dataset,
        preprocessing_step,
        preprocessing_step_signature,
        postprocessing_step,
        postprocessing_step_signature,
        bound,
    )
    steps.check()
    stages: list[Any] = []
    signature = steps.stage_arguments()
    for stage in computational_stages:
        stages.append(frozen(stage, signature))
        results = tf.nest.flatten(stages[-1].get_concrete_function().outputs)
        signature = [tf.TensorSpec(result.shape, result.dtype) for result in results]

    def program(infeed: Any, outfeed: Any) -> Any:
        return pipeline(
            stages,
            gradient_accumulation_count=iterations,
            inputs=bound,
            infeed_queue=infeed,
            outfeed_queue=outfeed,
            device_mapping=device_mapping,
            pipeline_schedule=pipeline_schedule,
            forward_propagation_stages_poplar_options=poplar_options,
            name=name,
        )

    def step(*args: Any) -> Any:
        values: Any = [*(tf.convert_to_tensor(value) for value in bound), *args]
        for stage in stages:
            values = tf.nest.flatten(stage(*values))
        return values

    return save_model(steps, step, program, export_dir, output_names)


def export_keras(
    model: Any,
    export_dir: str,
    batch_size: Any = None,
    output_names: Any = None,
    preprocessing_step: Step | None = None,
    preprocessing_step_signature: Any = None,
    postprocessing_step: Step | None = None,
    postprocessing_step_signature: Any = None,
    purge_export_dir: bool = False,
) -> Any:
    """Export a Keras model that was made in an `IPUStrategy`; see `export_single_step`.

    Args:
        model: the model. Its loop has as many iterations as it was compiled to run at once.
        export_dir: the folder of the SavedModel.
        batch_size: of the exported model; by default the one that the model was built with.
        output_names: see there.
        preprocessing_step: see there.
        preprocessing_step_signature: see there.
        postprocessing_step: see there.
        postprocessing_step_signature: see there.
        purge_export_dir: see there.

    Raises:
        ValueError: the model was made outside of a strategy, or its shapes are not known.
    """
    if not hasattr(model, "export_for_ipu_serving"):
        raise ValueError(
            "This model was not created inside an IPU strategy, so it cannot be exported for IPUs: create it in "
            "`with ipu.ipu_strategy.IPUStrategy().scope():`."
        )
    check_folder(export_dir, purge_export_dir)
    signature = _model_signature(model, batch_size)

    def predict(*args: Any) -> Any:
        values = list(args) if len(args) > 1 else args[0]
        with model.distribute_strategy.scope():
            return tf.nest.flatten(model(values, training=False))

    steps = Steps(
        predict,
        signature,
        None,
        preprocessing_step,
        preprocessing_step_signature,
        postprocessing_step,
        postprocessing_step_signature,
    )
    steps.check()
    step = frozen(predict, signature)
    iterations = int(getattr(model, "_steps_per_execution", None) or 1)

    def program(infeed: Any, outfeed: Any) -> Any:
        return loops.repeat(iterations, lambda *args: outfeed.enqueue(step(*args)), [], infeed)

    return save_model(steps, step, program, export_dir, output_names, signature)


def _model_signature(model: Any, batch_size: Any) -> list[Any]:
    """The inputs of a Keras model, with a batch size."""
    size = None if batch_size is None else int(batch_size)
    specs = [
        tf.TensorSpec(shape if size is None else [size, *shape[1:]], dtype, name=name)
        for name, shape, dtype in _model_inputs(model)
    ]
    if not all(spec.shape.is_fully_defined() for spec in specs):
        raise ValueError(
            "Not all dimensions of inputs can be determined: give a batch size to the model's Input layers, or "
            "`batch_size` when it is exported."
        )
    return specs


def _model_inputs(model: Any) -> list[tuple[str, Any, Any]]:
    """Names, shapes and types of the inputs that a Keras model was built with."""
    for name in ("_build_input_shape", "_inferred_input_shape"):
        # a program may have built it with tensors as sizes, which functions cannot compare
        if getattr(model, name, None) is not None:
            setattr(model, name, tf.nest.map_structure(_plain_size, getattr(model, name)))
    shapes = getattr(model, "_build_input_shape", None)
    if getattr(model, "inputs", None):
        return [
            (tensor.name.partition(":")[0], tensor.shape, tensor.dtype)
            for tensor in tf.nest.flatten(model.inputs)
        ]
    spec = getattr(model, "_saved_model_inputs_spec", None)
    if spec is not None:
        return [
            (f"input_{number}", each.shape, each.dtype)
            for number, each in enumerate(tf.nest.flatten(spec), 1)
        ]
    if shapes is None:
        raise ValueError(
            "The inputs of this model are not known yet: build it, or call it once, before it is exported."
        )
    several = isinstance(shapes, list) and shapes and isinstance(shapes[0], tuple | list | tf.TensorShape)
    dtype = tf.as_dtype(model.dtype or tf.float32)
    return [
        (f"input_{number}", tf.TensorShape(shape), dtype)
        for number, shape in enumerate(shapes if several else [shapes], 1)
    ]


def _plain_size(size: Any) -> Any:
    return int(size) if tf.is_tensor(size) else size

"""A traced Keras step as nodes: phases, loops, layers with lines, variables with roles. Nothing runs for it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

from ipu_tensorflow_addons.keras.layers import LSTM, LayerNormalization
from tremula.frontends.tensorflow.capture.capture import capture
from tremula.frontends.tensorflow.capture.captured import Captured
from tremula.frontends.tensorflow.capture.variants import in_half, with_sent_types
from tremula.frontends.tensorflow.keras.programs import Mode
from tremula.frontends.tensorflow.keras.step_graph import trace_step
from tremula.frontends.tensorflow.rules import placements
from tremula.frontends.tensorflow.rules.lower import lower
from tremula.frontends.tensorflow.rules.program import program_of
from tremula.program.control import Branch, op_runs, walk
from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.program.tensor import Role
from tremula.program.verify import verify

BATCH = 4


@pytest.fixture(autouse=True)
def unconfigured() -> None:
    ipu.config.reset_ipu_configuration()
    tf.keras.backend.clear_session()


def convolutional() -> Any:
    """A convolution, a norm with running statistics, two dense layers."""
    return tf.keras.Sequential([
        tf.keras.Input((8, 8, 3)),
        tf.keras.layers.Conv2D(4, 3, name="convolution"),
        tf.keras.layers.BatchNormalization(name="norm"),
        tf.keras.layers.ReLU(name="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(16, activation="relu", name="hidden"),
        tf.keras.layers.Dense(2, name="classes"),
    ])  # fmt: skip


def made(build: Any = convolutional, optimizer: Any = "adam", loss: Any = None) -> Any:
    with ipu.ipu_strategy.IPUStrategy().scope():
        model = build()
        model.compile(optimizer, loss or tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def captured(model: Any, mode: Mode = Mode.FIT, batch: int | None = None) -> Captured:
    inputs = [tf.TensorSpec([BATCH, *each.shape[1:]], each.dtype) for each in model.inputs]
    given = inputs[0] if len(inputs) == 1 else inputs
    specs = (given, tf.TensorSpec([BATCH], tf.int32)) if mode is not Mode.PREDICT else (given,)
    return capture(trace_step(model, mode, specs, batch), model=model)


def program(found: Captured) -> Program:
    places = placements.own(found.nodes)
    return program_of(found, lower(found.nodes, results=found.kept), places, samples=BATCH)


def types(found: Captured, phase: Phase) -> Counter[str]:
    return Counter(node.type for node in found.nodes if node.phase is phase)


def test_each_op_belongs_to_its_phase() -> None:
    found = captured(made())
    forward, backward, update = (types(found, each) for each in (Phase.FORWARD, Phase.BACKWARD, Phase.UPDATE))
    assert (forward["Conv2D"], forward["MatMul"], forward["FusedBatchNormV3"]) == (1, 2, 1)
    assert (backward["Conv2DBackpropFilter"], backward["MatMul"], backward["FusedBatchNormGradV3"]) == (
        1,
        4,
        1,
    )
    assert update["ResourceApplyAdam"] == 8
    assert not {"ResourceApplyAdam", "Conv2DBackpropFilter"} & forward.keys()
    assert not found.unknown_sizes


def test_all_weights_are_trained_by_their_own_gradient() -> None:
    model = made()
    found = captured(model)
    assert {each.variable.name for each in found.trained} == {v.name[:-2] for v in model.trainable_variables}
    for each in found.trained:
        assert each.gradient.shape == each.variable.shape
        assert each.variable.name.partition("/")[0] in each.gradient.name


def test_a_gradient_that_nothing_uses_is_left_out() -> None:
    """The compiler leaves it out as well: the gradient of the data has no use."""
    assert "Conv2DBackpropInput" not in types(captured(made()), Phase.BACKWARD)


def test_nodes_know_their_layer_and_the_line_that_made_it() -> None:
    found = captured(made())
    line = convolutional.__code__.co_firstlineno
    for phase in (Phase.FORWARD, Phase.BACKWARD):
        products = [
            n for n in found.nodes if n.phase is phase and n.type in ("MatMul", "Conv2DBackpropFilter")
        ]
        assert {node.module for node in products} <= {"convolution", "hidden", "classes"}
        for node in products:
            assert node.source is not None
            assert node.source.file == __file__
            assert line < node.source.line <= line + 9
            assert node.source.function == "convolutional"


@pytest.mark.parametrize("generation", ["legacy", "experimental"])
def test_variables_have_roles_and_state_has_an_owner(generation: str) -> None:
    found = program(captured(made(optimizer=getattr(tf.keras.optimizers, generation).Adam(0.1))))
    roles = Counter(tensor.role for tensor in found.tensors if tensor.role is not Role.ACTIVATION)
    assert roles[Role.PARAMETER] == 8
    assert roles[Role.STATE] == 16
    assert roles[Role.ACCUMULATOR] == 8
    parameters = {
        number: tensor for number, tensor in enumerate(found.tensors) if tensor.role is Role.PARAMETER
    }
    for tensor in found.tensors:
        if tensor.role in (Role.STATE, Role.ACCUMULATOR):
            assert tensor.shape == parameters[tensor.owner].shape
            assert parameters[tensor.owner].name in tensor.name
    assert len(found.trained) == len(found.gradients) == len(found.carried) == 8


def test_without_accumulation_the_update_reads_gradients() -> None:
    found = program(captured(made())).without_accumulation()
    assert not found.of_phase(Phase.ACCUMULATE)
    assert found.carried == found.gradients


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "rmsprop", "adagrad", "adadelta", "ftrl", "nadam"])
@pytest.mark.parametrize("generation", ["legacy", ""])
def test_optimizers_of_both_generations_train_all_weights(optimizer: str, generation: str) -> None:
    kinds = getattr(tf.keras.optimizers, generation) if generation else tf.keras.optimizers
    name = {"sgd": "SGD", "rmsprop": "RMSprop"}.get(optimizer, optimizer.capitalize())
    found = captured(made(optimizer=getattr(kinds, name)(0.1)))
    assert len(found.trained) == 8
    update = [op for op in program(found).ops if op.phase is Phase.UPDATE]
    assert (
        sum(any(work.elements >= 2304 for work in op.works if hasattr(work, "elements")) for op in update)
        >= 1
    )


def test_clipped_gradients_are_found_behind_the_clipping() -> None:
    found = captured(made(optimizer=tf.keras.optimizers.legacy.SGD(0.1, global_clipnorm=1.0)))
    assert len(found.trained) == 8
    assert all(each.gradient.shape == each.variable.shape for each in found.trained)


def test_inference_has_one_phase_and_no_state() -> None:
    found = captured(made(), Mode.PREDICT)
    assert not found.training
    assert {node.phase for node in found.nodes} == {Phase.FORWARD}
    assert [value.shape for value in found.outputs] == [(BATCH, 2)]
    assert Role.STATE not in {tensor.role for tensor in program(found).tensors}


def test_another_micro_batch_is_traced_anew() -> None:
    found = captured(made(), batch=16)
    assert found.inputs[0].shape == (16, 8, 8, 3)
    assert next(node for node in found.nodes if node.type == "Conv2D").output.shape == (16, 6, 6, 4)


def test_loops_of_an_execution_are_counted() -> None:
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    model = made()
    model.compile("adam", "mse", steps_per_execution=12)
    model.set_gradient_accumulation_options(gradient_accumulation_steps_per_replica=3)
    model.fit(np.zeros((48, 8, 8, 3), np.float32), np.zeros((48, 2), np.float32), batch_size=BATCH, verbose=0)
    graph = model.train_tf_function._list_all_concrete_functions()[0].graph
    place = len(graph.inputs) - len(graph.captures) - 1
    found = capture(graph, model=model, known={place: 12})
    assert (found.counts.iterations, found.counts.accumulation) == (4, 3)
    assert len(found.trained) == 8
    assert [value.shape for value in found.inputs] == [(BATCH, 8, 8, 3), (BATCH, 2)]
    assert types(found, Phase.BACKWARD)["MatMul"] == 4


def recurrent() -> Any:
    inputs = tf.keras.Input((10, 3), BATCH)
    outputs = tf.keras.layers.Dense(2)(LayerNormalization()(LSTM(5)(inputs)))
    return tf.keras.Model(inputs, outputs)


def test_layers_of_the_libraries_are_one_node_and_one_for_their_gradient() -> None:
    found = captured(made(recurrent))
    for phase in (Phase.FORWARD, Phase.BACKWARD):
        kinds = types(found, phase)
        assert (kinds["tremula.Lstm"], kinds["tremula.Norm"]) == (1, 1)
        assert kinds["While"] == kinds["TensorListPushBack"] == 0
    lstm = next(node for node in found.nodes if node.type == "tremula.Lstm")
    assert {name: lstm.attribute(name) for name in ("steps", "batch", "inputs", "hidden")} == {
        "steps": 10, "batch": BATCH, "inputs": 3, "hidden": 5,
    }  # fmt: skip
    assert len(found.trained) == 7


def test_half_precision_computes_in_half_and_keeps_weights() -> None:
    found = captured(made())
    in_half(found)
    products = [node for node in found.nodes if node.type in ("MatMul", "Conv2D")]
    assert {value.dtype for node in products for value in node.inputs} == {"fp16"}
    assert {each.variable.dtype for each in found.trained} == {"fp32"}
    assert {each.gradient.dtype for each in found.trained} == {"fp32"}
    assert program(found).trained


def test_inputs_of_another_type_are_cast_on_the_device() -> None:
    found = captured(made(), Mode.PREDICT)
    with_sent_types(found, ["uint8"])
    (value,) = found.inputs
    assert value.dtype == "uint8"
    (cast,) = value.users
    assert (cast.type, cast.output.dtype) == ("Cast", "fp32")
    assert next(node for node in found.nodes if node.type == "Conv2D").inputs[0] is cast.output


def looped() -> Any:
    """A stock recurrent layer, which is a loop, and a branch."""
    inputs = tf.keras.Input((10, 3), BATCH)
    hidden = tf.keras.layers.GRU(5, name="recurrent", reset_after=False)(inputs)
    chosen = tf.keras.layers.Lambda(
        lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x), lambda: x + 1.0), name="chosen"
    )(hidden)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(2)(chosen))


def test_a_loop_keeps_its_trips_without_accumulation() -> None:
    whole = program(captured(made(looped)))
    straight = whole.without_accumulation()
    assert not straight.of_phase(Phase.ACCUMULATE)
    assert whole.control is not None
    assert straight.control is not None
    before, after = (op_runs(each.control, each.functions) for each in (whole, straight))
    trips = {whole.ops[op].name: runs for op, runs in before.items() if runs > 1}
    assert set(trips.values()) == {10}
    assert {straight.ops[op].name: runs for op, runs in after.items() if runs > 1} == trips
    verify(straight)


def test_a_branch_names_the_tensor_that_decides() -> None:
    found = program(captured(made(looped), Mode.PREDICT))
    assert found.control is not None
    branches = [node for node in walk(found.control) if isinstance(node, Branch)]
    assert branches
    assert all(found.tensors[each.predicate].dtype == "bool" for each in branches)
    verify(found)

"""Operators of a compiled library in TensorFlow programs: forward, gradient, on the host, errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tremula.frontends.poplar.codelets.cpp import compiler
from tremula.frontends.poplar.cpp.installation import Installation, install

pytestmark = pytest.mark.slow  # compiles the libraries for this environment

SOURCE = """
#include <poplar/Graph.hpp>
#include <popops/ElementWise.hpp>

extern "C" {
int32_t custom_op_api_level = LEVEL;

poplar::program::Program Build(poplar::Graph &graph, const std::vector<poplar::Tensor> &inputs,
                               std::vector<poplar::Tensor> &outputs, const std::string &attributes,
                               const std::string &debug) {
  poplar::program::Sequence prog;
  outputs.push_back(popops::mul(graph, inputs[0], std::stof(attributes), prog, debug));
  return prog;
}

poplar::program::Program Build_grad(poplar::Graph &graph, int, const std::vector<poplar::Tensor> &gradients,
                                    const std::vector<poplar::Tensor> &, const std::vector<poplar::Tensor> &,
                                    std::vector<poplar::Tensor> &outputs, const std::string &attributes,
                                    const std::string &debug) {
  poplar::program::Sequence prog;
  outputs.push_back(popops::mul(graph, gradients[0], std::stof(attributes), prog, debug));
  return prog;
}

void Callback(const std::vector<void *> &data, const std::vector<std::uint32_t> &sizes, std::vector<void *> &outputs,
              const std::string &, const std::string &) {
  for (std::uint32_t i = 0; i < sizes[0]; ++i)
    static_cast<float *>(outputs[0])[i] = static_cast<float *>(data[0])[i] + 0.5f;
}
}
"""
_PROGRAM = """
import sys
import numpy as np
import tensorflow as tf
from tensorflow.python import ipu

config = ipu.config.IPUConfig()
config.auto_select_ipus = 1
config.configure_ipu_system()
outs = {"output_types": [tf.float32], "output_shapes": [[3]]}

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        (y,) = ipu.custom_ops.precompiled_user_op(
            [x], sys.argv[1], outs=outs, attributes="3.0", gradient_attributes="3.0"
        )
        loss = tf.reduce_sum(y * y)
    (z,) = ipu.custom_ops.cpu_user_operation([y], sys.argv[1], outs=outs)
    return y, tape.gradient(loss, x), z

strategy = ipu.ipu_strategy.IPUStrategy()
with strategy.scope():
    for result in strategy.run(step, [tf.constant([1.0, 2.0, 3.0])]):
        print(result.numpy().tolist())
"""


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    if compiler.find() is None:
        pytest.skip("there is no C++ compiler")
    return install(tmp_path_factory.mktemp("cpp") / "sdk")


def run(installation: Installation, folder: Path, level: int) -> subprocess.CompletedProcess[str]:
    found = compiler.find()
    assert found is not None
    (folder / "op.cpp").write_text(SOURCE.replace("LEVEL", str(level)))
    subprocess.run(
        [*found.command, "-std=c++14", "-fPIC", "-shared", f"-I{installation.include}", str(folder / "op.cpp"),
         f"-L{installation.lib}", "-lpoplar", "-lpopops", "-o", str(folder / "libop.so")],
        check=True, timeout=110,
    )  # fmt: skip
    environment = {**os.environ, "LD_LIBRARY_PATH": str(installation.lib), "TF_CPP_MIN_LOG_LEVEL": "2"}
    command = [sys.executable, "-c", _PROGRAM, str(folder / "libop.so")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, check=False)


def test_forward_gradient_and_host_function(installation: Installation, tmp_path: Path) -> None:
    ran = run(installation, tmp_path, 5)
    assert ran.stdout.splitlines() == ["[3.0, 6.0, 9.0]", "[18.0, 36.0, 54.0]", "[3.5, 6.5, 9.5]"], ran.stderr


def test_a_library_of_another_level_is_refused(installation: Installation, tmp_path: Path) -> None:
    ran = run(installation, tmp_path, 3)
    assert "has API level 3, level 5 is needed" in ran.stderr

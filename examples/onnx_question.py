"""Write an ONNX model and ask what it would need on one IPU and on four, without running it."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tremula import ask


def write_model(path):
    """A convolution, a pooling over the image, and a product."""
    random = np.random.default_rng(0)
    kernel = random.normal(size=(32, 3, 3, 3)).astype(np.float32)
    matrix = random.normal(size=(32, 10)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["images", "kernel"], ["features"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["features"], ["active"]),
        helper.make_node("GlobalAveragePool", ["active"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "matrix"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [8, 3, 64, 64])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [8, 10])],
        [numpy_helper.from_array(kernel, "kernel"), numpy_helper.from_array(matrix, "matrix")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)]), path)


def main():
    write_model("classifier.onnx")
    answers = ask.estimate(ask.onnx_file("classifier.onnx"), ipus=[1, 4], target="bow")
    for result in answers.results:
        print(f"{result.ipus} IPU(s): fits: {result.fits}, {result.brief} (modelled)")


if __name__ == "__main__":
    main()

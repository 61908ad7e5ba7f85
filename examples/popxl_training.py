"""Fit a line with PopXL: a graph, its gradient by autodiff, and an update in place."""

import numpy as np
import popxl
import popxl.ops as ops


def main():
    random = np.random.default_rng(0)
    ir = popxl.Ir()
    with ir.main_graph, popxl.in_sequence():
        x_stream = popxl.h2d_stream((32, 1), popxl.float32)
        y_stream = popxl.h2d_stream((32, 1), popxl.float32)
        loss_stream = popxl.d2h_stream((), popxl.float32)
        x, y = ops.host_load(x_stream), ops.host_load(y_stream)
        slope = popxl.variable(np.zeros((1, 1), np.float32), name="slope")

        def squared_error(x, y, slope):
            return ops.mean((x @ slope - y) ** 2.0)

        graph = ir.create_graph(squared_error, x, y, slope)
        call = ops.call_with_info(graph, x, y, slope)
        backward = popxl.transforms.autodiff(graph, grads_required=[graph.inputs[2]])
        (gradient,) = ops.call(backward.graph, 1.0, inputs_dict=backward.inputs_dict(call))
        ops.scaled_add_(slope, gradient, b=-0.1)
        ops.host_store(loss_stream, call.outputs[0])

    with popxl.Session(ir, "ipu_hw") as session:
        for step in range(51):
            inputs = random.normal(size=(32, 1)).astype(np.float32)
            found = session.run({x_stream: inputs, y_stream: 3 * inputs})[loss_stream]
            if step % 25 == 0:
                print(f"step {step}: loss {float(found):.4f}")
        print(f"slope: {session.get_tensor_data(slope).item():.3f}")


if __name__ == "__main__":
    main()

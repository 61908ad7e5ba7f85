"""All nodes of a program: none is left out, unknown ones are listed, and the effort grows with their number."""

import sys

from tremula.frontends.tensorflow.rules.elementwise import PASSES
from tremula.frontends.tensorflow.rules.handlers import HANDLERS
from tremula.frontends.tensorflow.rules.lower import unknown_work
from tremula.frontends.tensorflow.rules.updates import RULES
from tremula.plan import elementwise_vertices
from tremula.program.work import Unknown


def test_an_unknown_op_is_costed_by_what_it_reads_and_writes(graph):
    made = graph("Svd", graph.input(16, 16), shape=(16,))
    lowered = graph.lower()
    assert lowered[made.node].works == (Unknown("Svd", 256, 16),)
    assert lowered[made.node].unknown
    assert [(each.type, each.count) for each in unknown_work(lowered)] == [("Svd", 1)]


def test_every_node_gets_something(graph):
    x = graph.input(8, 8)
    for kind in (*HANDLERS, *PASSES):
        graph(kind, x, x, x, x, x, shape=(8, 8))
    lowered = graph.lower()
    assert list(lowered) == graph.nodes


def test_names_of_passes_are_in_the_cycle_table():
    names = {name for passes in PASSES.values() for name in passes}
    names |= {each.operation for rule in RULES.values() for each in rule}
    assert {name: unknown for name in names if (unknown := elementwise_vertices.resolve(name)[1])} == {}


def test_lowering_is_linear_in_the_number_of_nodes(new_graph):
    """Calls of Python functions stand for time: twice the nodes are at most about twice the calls."""

    def calls(layers):
        graph = new_graph()
        x = graph.input(32, 64)
        for _ in range(layers):
            x = graph("MatMul", x, graph.read(graph.variable(64, 64)), shape=(32, 64))
            x = graph("BiasAdd", x, graph.read(graph.variable(64)), shape=(32, 64))
            x = graph("Tanh", graph("Mul", x, graph.const(2.0), shape=(32, 64)), shape=(32, 64))
        count = 0

        def trace(frame, event, _):
            nonlocal count
            count += event == "call"

        before = sys.getprofile()
        sys.setprofile(trace)
        try:
            graph.lower(results=[x])
        finally:
            sys.setprofile(before)
        return count

    assert calls(400) < 2.2 * calls(200)


def test_rules_load_no_framework():
    """They work on nodes alone."""
    import subprocess

    script = (
        "import sys\nfor n in ('torch', 'tensorflow'): sys.modules[n] = None\n"
        "import tremula.frontends.tensorflow.rules.lower"
    )
    subprocess.run([sys.executable, "-c", script], check=True)

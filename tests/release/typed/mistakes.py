"""Mistakes that a type checker has to find; each line names the kind of error that it gives."""

import gcipuinfo
import poplar
import poplin
import popops
import poptorch
import popxl
from poplar.program import Sequence

wrong_option = poptorch.Options().deviceIterations("two")  # arg-type
wrong_name = poptorch.trainingModle  # attr-defined
graph = poplar.Graph(poplar.IPUModel().createDevice())
program = Sequence()
left = graph.addVariable(poplar.FLOAT, 4)  # arg-type
number: int = popops.add(graph, left, 1.0, program)  # assignment
product: str = poplin.matMul(graph, left, left, program)  # assignment
misspelt = popops.addd  # attr-defined
unmapped = graph.setTileMaping(left, 0)  # attr-defined
power: int = gcipuinfo.IpuPower  # assignment
text: str = popxl.Ir().main_graph  # assignment

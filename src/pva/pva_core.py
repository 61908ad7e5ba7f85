"""The classes of this package, under the name of the original's internal module."""

from __future__ import annotations

from pva.categories import Categories, CategoryBytes
from pva.compilation import CompilationReport, Graph
from pva.compute_sets import ComputeSet, Vertex, VertexType
from pva.debug_contexts import DebugContext, SourceLocation
from pva.enums import ComputeInstrumentationLevel, ExternalExchangeInstrumentationLevel, ProfilerMode
from pva.execution import Block, ExecutionReport, Run, TotalCycles
from pva.execution_steps import ExecutionStep, StepComputeSet, StepOnIpu
from pva.liveness import LiveMemory, LivenessProgramStep
from pva.lowered_variables import EquivalenceClass, LoweredVariable, LoweredVariables
from pva.memory import IPU, Bytes, Memory, Tile
from pva.operations import Operation, OperationAnalysis
from pva.programs import Program, ProgramVisitor
from pva.report import InstrumentationSettings, PoplarVersion, Report, Version
from pva.target import Target
from pva.trace import Event, Process, Thread, Trace
from pva.variables import Variable

__all__ = [
    "IPU",
    "Block",
    "Bytes",
    "Categories",
    "CategoryBytes",
    "CompilationReport",
    "ComputeInstrumentationLevel",
    "ComputeSet",
    "DebugContext",
    "EquivalenceClass",
    "Event",
    "ExecutionReport",
    "ExecutionStep",
    "ExternalExchangeInstrumentationLevel",
    "Graph",
    "InstrumentationSettings",
    "LiveMemory",
    "LivenessProgramStep",
    "LoweredVariable",
    "LoweredVariables",
    "Memory",
    "Operation",
    "OperationAnalysis",
    "PoplarVersion",
    "Process",
    "ProfilerMode",
    "Program",
    "ProgramVisitor",
    "Report",
    "Run",
    "SourceLocation",
    "StepComputeSet",
    "StepOnIpu",
    "Target",
    "Thread",
    "Tile",
    "TotalCycles",
    "Trace",
    "Variable",
    "Version",
    "Vertex",
    "VertexType",
]

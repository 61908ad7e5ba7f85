from tremula.frontends.poplar.codelets.python_classes import InOut as InOut
from tremula.frontends.poplar.codelets.python_classes import Input as Input
from tremula.frontends.poplar.codelets.python_classes import MultiVertex as MultiVertex
from tremula.frontends.poplar.codelets.python_classes import Output as Output
from tremula.frontends.poplar.codelets.python_classes import SupervisorVertex as SupervisorVertex
from tremula.frontends.poplar.codelets.python_classes import Vector as Vector
from tremula.frontends.poplar.codelets.python_classes import VectorLayout as VectorLayout
from tremula.frontends.poplar.codelets.python_classes import VectorList as VectorList
from tremula.frontends.poplar.codelets.python_classes import VectorListLayout as VectorListLayout
from tremula.frontends.poplar.codelets.python_classes import Vertex as Vertex
from tremula.frontends.poplar.graph.connect import FieldRef as FieldRef
from tremula.frontends.poplar.graph.connect import VertexRef as VertexRef
from tremula.frontends.poplar.graph.vertices import ComputeSet as ComputeSet
from tremula.frontends.poplar.program.endpoints import DataStream as DataStream
from tremula.frontends.poplar.program.endpoints import Function as Function
from tremula.frontends.poplar.program.endpoints import HostFunction as HostFunction
from tremula.frontends.poplar.program.endpoints import RemoteBuffer as RemoteBuffer
from tremula.frontends.poplar.types import BOOL as BOOL
from tremula.frontends.poplar.types import CHAR as CHAR
from tremula.frontends.poplar.types import FLOAT as FLOAT
from tremula.frontends.poplar.types import HALF as HALF
from tremula.frontends.poplar.types import INT as INT
from tremula.frontends.poplar.types import LONG as LONG
from tremula.frontends.poplar.types import LONGLONG as LONGLONG
from tremula.frontends.poplar.types import SHORT as SHORT
from tremula.frontends.poplar.types import SIGNED_CHAR as SIGNED_CHAR
from tremula.frontends.poplar.types import UNSIGNED_CHAR as UNSIGNED_CHAR
from tremula.frontends.poplar.types import UNSIGNED_INT as UNSIGNED_INT
from tremula.frontends.poplar.types import UNSIGNED_LONG as UNSIGNED_LONG
from tremula.frontends.poplar.types import UNSIGNED_LONGLONG as UNSIGNED_LONGLONG
from tremula.frontends.poplar.types import UNSIGNED_SHORT as UNSIGNED_SHORT
from tremula.frontends.poplar.types import Type as Type

from . import program as program
from ._cycles import cycleCount as cycleCount
from ._cycles import cycleStamp as cycleStamp
from ._engine import Engine as Engine
from ._engine import Executable as Executable
from ._engine import LegacyStreamCallback as LegacyStreamCallback
from ._engine import StreamCallback as StreamCallback
from ._engine import compileGraph as compileGraph
from ._enums import CodeletFileType as CodeletFileType
from ._enums import RelativeSyncDelayType as RelativeSyncDelayType
from ._enums import ReplicatedStreamMode as ReplicatedStreamMode
from ._enums import SyncType as SyncType
from ._enums import TargetType as TargetType
from ._enums import TensorCloneMethod as TensorCloneMethod
from ._enums import UpsampleMethod as UpsampleMethod
from ._enums import VariableMappingMethod as VariableMappingMethod
from ._exceptions import *
from ._graph import Graph as Graph
from ._half import copyDeviceHalfToFloat as copyDeviceHalfToFloat
from ._half import copyFloatToDeviceHalf as copyFloatToDeviceHalf
from ._print_format import PrintTensorFmt as PrintTensorFmt
from ._registers import FloatingPointBehaviour as FloatingPointBehaviour
from ._registers import setFloatingPointBehaviour as setFloatingPointBehaviour
from ._registers import setStochasticRounding as setStochasticRounding
from ._target import Device as Device
from ._target import DeviceManager as DeviceManager
from ._target import IPUModel as IPUModel
from ._target import Target as Target
from ._tensor import Interval as Interval
from ._tensor import Tensor as Tensor
from ._tensor import VariableInterval as VariableInterval
from ._tensor import append as append
from ._tensor import concat as concat
from .program import *

__version__: str

def versionString() -> str: ...
def packageHash() -> str: ...

from poplar import Graph as Graph
from tremula.frontends.poplar.libs.popops.operations import BinaryOpType as BinaryOpType
from tremula.frontends.poplar.libs.popops.operations import TernaryOpType as TernaryOpType
from tremula.frontends.poplar.libs.popops.operations import UnaryOpType as UnaryOpType

from . import embedding as embedding
from . import expr as expr
from . import padding as padding
from . import rearrange as rearrange
from ._control import *
from ._elementwise import *
from ._fills import *
from ._gather import *
from ._reduce import *
from ._scaled import *
from ._slices import *
from ._tensors import *

def addCodelets(graph: Graph) -> None: ...

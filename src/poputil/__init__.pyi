from tremula.frontends.poplar.libs.errors import PoplibsError

from . import graphfn as graphfn
from ._mapping import *
from ._tensors import *

poplibs_error = PoplibsError

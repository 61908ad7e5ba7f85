"""Every op type that traced programs hold has a rule.

The list is what TensorFlow 2.15 traced for training steps in Keras (MNIST, ResNet-50, BERT, U-Net, CosmoFlow, LSTM and
GRU with several optimizers) and for the programs in the tests of this front end.
"""

import pytest

from tremula.frontends.tensorflow.rules.constants import STATIC
from tremula.frontends.tensorflow.rules.elementwise import CAST, PASSES
from tremula.frontends.tensorflow.rules.handlers import HANDLERS
from tremula.frontends.tensorflow.rules.updates import ASSIGNMENTS, NAMES

TRACED = """
    Abs AddN AddV2 All Any Assert AssignAddVariableOp AssignSubVariableOp AssignVariableOp BiasAdd
    BiasAddGrad BroadcastGradientArgs BroadcastTo Cast ConcatOffset ConcatV2 Const Conv2D
    Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2
    DestroyResourceOp DisableCopyOnRead DivNoNan DynamicStitch Einsum EmptyTensorList EnsureShape Equal Erf
    Exp ExpandDims FIFOQueueV2 Fill FloorDiv FloorMod FusedBatchNormGradV3 FusedBatchNormV3 GatherV2 Greater
    GreaterEqual Identity IdentityN IsFinite IsNan InvertPermutation IteratorGetNext
    IteratorV2 L2Loss LeakyRelu LeakyReluGrad
    Less Log Log1p LogicalAnd LogicalNot LogicalOr MatMul Max MaxPool MaxPool3D MaxPool3DGrad MaxPoolGrad
    Maximum Mean MergeV2Checkpoints Minimum Mul Neg NoOp NotEqual OneHot OptionalGetValue Pack Pad
    Placeholder PlaceholderWithDefault Pow Prod PyFunc QueueDequeueV2 QueueEnqueueV2 QueueSizeV2
    RandomShuffle RandomUniform RandomUniformInt Range ReadVariableOp RealDiv Reciprocal Relu ReluGrad
    Reshape ResourceApplyAdam ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum
    ResourceGather ResourceScatterAdd RestoreV2 Rsqrt RsqrtGrad SaveV2 Select SelectV2 Shape ShapeN Sigmoid
    SigmoidGrad Size Slice Softmax SparseSoftmaxCrossEntropyWithLogits Split Sqrt Square SquaredDifference
    Squeeze StatelessRandomGetKeyCounter StatelessRandomUniformV2 StopGradient StridedSlice StridedSliceGrad
    StringJoin Sub Sum Tanh TanhGrad TensorListElementShape TensorListFromTensor TensorListGetItem
    TensorListLength TensorListPopBack TensorListPushBack TensorListReserve TensorListSetItem
    TensorListStack TensorScatterAdd Tile Transpose Unique Unpack UnsortedSegmentSum UpperBound VarHandleOp
    VarIsInitializedOp ZerosLike
"""


def test_every_traced_type_has_a_rule():
    known = {*HANDLERS, *PASSES, *ASSIGNMENTS, *NAMES, *STATIC, CAST}
    assert set(TRACED.split()) - known == set()


@pytest.mark.parametrize(
    "kind", ["Adam", "Momentum", "KerasMomentum", "RMSProp", "CenteredRMSProp", "Ftrl", "AdaMax"]
)
def test_optimizers_have_dense_forms(kind):
    assert f"ResourceApply{kind}" in NAMES

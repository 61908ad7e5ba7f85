"""Which rule lowers which op: TensorFlow's op type to a function of this package."""

from __future__ import annotations

from collections.abc import Callable

from tremula.frontends.tensorflow.rules import (
    aliases,
    composites,
    convolutions,
    lists,
    lookups,
    movement,
    norms,
    pooling,
    products,
    random_draws,
    reductions,
    sequences,
    updates,
    views,
)
from tremula.frontends.tensorflow.rules.call import Call
from tremula.program.lowered import Lowered

Handler = Callable[[Call], Lowered]

_RULES: list[tuple[Handler, str]] = [
    (aliases.alias, " ".join(aliases.ALIASES)),
    (views.reshape, "Reshape Squeeze ExpandDims"),
    (views.transpose, "Transpose ConjugateTranspose"),
    (views.expand, "BroadcastTo"),
    (views.tile, "Tile"),
    (views.parts, "Split SplitV Unpack"),
    (views.part, "Slice"),
    (views.strided_part, "StridedSlice"),
    (views.dynamic_part, "XlaDynamicSlice"),
    (movement.bitcast, "Bitcast Real Imag"),
    (movement.constant, "Const"),
    (movement.fill, "Fill Range LinSpace"),
    (movement.hint, """
        NoOp Placeholder VarHandleOp VarIsInitializedOp VariableV2 IteratorGetNext IteratorGetNextSync OptionalGetValue
        OptionalHasValue IteratorGetNextAsOptional QueueDequeueV2 QueueDequeueManyV2 FIFOQueueV2 Assert
        DestroyResourceOp TensorArrayCloseV3 RngReadAndSkip RngSkip StatelessRandomGetKeyCounter
        StatelessRandomGetKeyCounterAlg StatelessRandomGetAlg AnonymousSeedGenerator ControlTrigger LoopCond
        BroadcastGradientArgs ConcatOffset MutexV2 DeleteIterator OneShotIterator IteratorV2
        AnonymousIteratorV2 AnonymousIteratorV3 MakeIterator EmptyTensorMap
        QueueSizeV2 DisableCopyOnRead OptionalFromValue OptionalNone
     """),
    (movement.stream_out, "QueueEnqueueV2 QueueEnqueueManyV2"),
    (movement.on_host, """
        PyFunc PyFuncStateless EagerPyFunc Print PrintV2 StringFormat AsString HostComputeMlir LookupTableFindV2
        LookupTableImportV2 SaveV2 RestoreV2 MergeV2Checkpoints WriteSummary WriteScalarSummary WriteHistogramSummary
        WriteImageSummary WriteAudioSummary ScalarSummary HistogramSummary ImageSummary MergeSummary ReadFile WriteFile
        DecodeJpeg DecodePng DecodeImage EncodePng EncodeJpeg StringJoin StringSplitV2 RegexReplace
     """),
    (movement.concatenation, "ConcatV2 Concat Pack ParallelConcat"),
    (movement.pad, "Pad PadV2 MirrorPad"),
    (movement.mirror_gradient, "MirrorPadGrad"),
    (movement.slice_gradient, "StridedSliceGrad"),
    (movement.slice_assignment, "ResourceStridedSliceAssign StridedSliceAssign TensorStridedSliceUpdate"),
    (movement.slice_update, "XlaDynamicUpdateSlice InplaceUpdate InplaceAdd"),
    (movement.piecewise, "Reverse ReverseV2 ReverseSequence Roll"),
    (movement.scattered_copy, """
        SpaceToDepth DepthToSpace SpaceToBatch SpaceToBatchND BatchToSpace BatchToSpaceND DataFormatVecPermute
     """),
    (movement.triangle, """
        MatrixBandPart BatchMatrixBandPart MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixDiag MatrixDiagV2
        MatrixDiagV3 Diag BatchMatrixDiag BatchMatrixSetDiag
     """),
    (movement.diagonal, "MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 DiagPart BatchMatrixDiagPart"),
    (movement.where, "Where"),
    (lists.reserve, "TensorListReserve EmptyTensorList TensorListResize TensorArrayV3"),
    (lists.write, "TensorListSetItem TensorListPushBack TensorListPushBackBatch TensorArrayWriteV3"),
    (lists.read, "TensorListGetItem TensorArrayReadV3"),
    (lists.pop, "TensorListPopBack"),
    (lists.whole, """
        TensorListStack TensorListFromTensor TensorListScatterV2 TensorListScatter TensorListSplit TensorArrayGatherV3
        TensorArrayScatterV3 TensorArrayConcatV3 TensorArraySplitV3 TensorArrayGradV3 TensorArrayGradWithShape
     """),
    (lists.gathered, "TensorListGather TensorListConcat TensorListConcatV2 TensorListConcatLists"),
    (products.product, "MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3"),
    (products.einsum, "Einsum XlaEinsum"),
    (products.add_bias, "BiasAdd BiasAddV1"),
    (products.cross, "Cross"),
    (products.sparse_product, "SparseTensorDenseMatMul"),
    (sequences.labelling_loss, "CTCLoss CTCLossV2"),
    (sequences.greedy_decoder, "CTCGreedyDecoder"),
    (sequences.beam_decoder, "CTCBeamSearchDecoder"),
    (sequences.block, " ".join(sequences.BLOCKS)),
    (convolutions.convolution, "Conv2D Conv3D DepthwiseConv2dNative"),
    (convolutions.input_gradient, """
        Conv2DBackpropInput Conv2DBackpropInputV2 Conv3DBackpropInput Conv3DBackpropInputV2
        DepthwiseConv2dNativeBackpropInput
     """),
    (convolutions.filter_gradient, """
        Conv2DBackpropFilter Conv2DBackpropFilterV2 Conv3DBackpropFilter Conv3DBackpropFilterV2
        DepthwiseConv2dNativeBackpropFilter
     """),
    (convolutions.gradient_of_bias, "BiasAddGrad"),
    (norms.softmax, "Softmax LogSoftmax tremula.Softmax"),
    (norms.batch_norm, """
        FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3
     """),
    (norms.cross_entropy, "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits"),
    (norms.local_response, "LRN LRNGrad"),
    (pooling.pool, "MaxPool MaxPoolV2 MaxPool3D AvgPool AvgPool3D MaxPoolWithArgmax"),
    (pooling.pool_gradient, """
        MaxPoolGrad MaxPoolGradV2 MaxPool3DGrad AvgPoolGrad AvgPool3DGrad MaxPoolGradWithArgmax MaxPoolGradGrad
        MaxPoolGradGradV2 MaxPool3DGradGrad
     """),
    (pooling.fractional_pool, "FractionalMaxPool FractionalAvgPool FractionalMaxPoolGrad FractionalAvgPoolGrad"),
    (pooling.resize, """
        ResizeNearestNeighbor ResizeBilinear ResizeBicubic ResizeArea CropAndResize ScaleAndTranslate
     """),
    (pooling.resize_gradient, """
        ResizeNearestNeighborGrad ResizeBilinearGrad ResizeBicubicGrad CropAndResizeGradImage ScaleAndTranslateGrad
     """),
    (pooling.windows, "ExtractImagePatches ExtractVolumePatches"),
    (pooling.dilation, "Dilation2D Dilation2DBackpropInput Dilation2DBackpropFilter"),
    (reductions.reduction, " ".join(reductions.OPERATIONS)),
    (reductions.half_of_squares, "L2Loss"),
    (reductions.scan, "Cumsum Cumprod CumulativeLogsumexp"),
    (reductions.sort, "TopK TopKV2 InTopK InTopKV2 NthElement ApproxTopK XlaSort XlaVariadicSort"),
    (reductions.unique, "Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2"),
    (reductions.searched, "LowerBound UpperBound"),
    (reductions.contrast, "AdjustContrast AdjustContrastv2"),
    (reductions.counts, "Bincount DenseBincount HistogramFixedWidth"),
    (lookups.gather, "Gather GatherV2 ResourceGather"),
    (lookups.gather_nd, "GatherNd ResourceGatherNd"),
    (lookups.scatter_into_variable, """
        ResourceScatterAdd ResourceScatterSub ResourceScatterMul ResourceScatterDiv ResourceScatterMax
        ResourceScatterMin ResourceScatterUpdate ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate
        ResourceScatterNdMax ResourceScatterNdMin ScatterAdd ScatterSub ScatterUpdate
        ScatterMul ScatterDiv ScatterMax ScatterMin ScatterNdAdd ScatterNdSub ScatterNdUpdate
     """),
    (lookups.scatter_nd, "ScatterNd"),
    (lookups.scatter_into_copy, """
        TensorScatterUpdate TensorScatterAdd TensorScatterSub TensorScatterMax TensorScatterMin ScatterNdNonAliasingAdd
     """),
    (lookups.segments, """
        UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd SegmentSum SegmentMax SegmentMin
        SegmentProd SegmentMean SegmentSumV2 SegmentMaxV2 SegmentMinV2 SegmentProdV2
     """),
    (lookups.sparse_segments, """
        SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN SparseSegmentSumWithNumSegments
        SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments
     """),
    (lookups.inverted, "InvertPermutation"),
    (lookups.filled_sparse, "SparseToDense"),
    (lookups.one_hot, "OneHot"),
    (lookups.stitch, "DynamicStitch ParallelDynamicStitch"),
    (composites.recurrent, "tremula.Lstm tremula.Gru tremula.Augru"),
    (composites.embedding, "tremula.Embedding"),
    (composites.norm, "tremula.Norm"),
    (composites.dropout, "tremula.Dropout"),
    (composites.gelu, "tremula.Gelu"),
]  # fmt: skip

HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(random_draws.NAMES, random_draws.random),
    **{name: updates.sparse_update for name in updates.NAMES if "Sparse" in name},
    **{name: rule for rule, names in _RULES for name in names.split()},
}


def rule_for(kind: str) -> Handler:
    """The rule for an op by its type; what has none is unknown. Element-wise ops are in `fusion`."""
    return HANDLERS.get(kind, Call.unknown)

//===- TileOps.td - structured ops that linalg does not have ----------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_TILEOPS
#define TILEWRIGHT_DIALECTS_TILE_TILEOPS

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Tile_Dialect : Dialect {
  let name = "tw_tile";
  let cppNamespace = "::tilewright::tile";
  let summary = "Structured ops on tiles that linalg cannot express";
  let description = [{
    The structured ops are destination-style ops on tensors and, after bufferization, on memrefs (then without results).
    All structured ops except `tw_tile.scan`, `tw_tile.sort` and `tw_tile.scatter` implement TilingInterface: a tile of
    the result is computed by the same op on tiles of the operands.
    `tw_tile.place`, `tw_tile.divisor`, `tw_tile.require` and `tw_tile.report` are scalar ops for the bodies of other
    ops.
  }];
}

def Tile_Shaped : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef]>;

/// The base class of destination-style ops. The `outs` operands come after the other operands. An op on tensors has one
/// result per `outs` operand.
class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, !listconcat([
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>], traits)> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
  code destination = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
  }];
  let extraClassDeclaration = destination;
}

def Tile_MatmulOp : Tile_Op<"matmul", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition",
     "generateResultTileValue", "getIterationDomainTileFromResultTile"]>]> {
  let summary = "Matrix product C[b, m, n] = sum_k A[b, m, k] * B[b, k, n], with B packed in column panels";
  let description = [{
    The shape of B is b x panels x K/`group` x (`panel` * group). Panel p contains the columns from p * panel on, and
    `group` consecutive k of one column are adjacent in memory (1 for f32, 1 or 2 for bf16 and f16, 2 or 4 for bytes).
    Columns beyond N and rows beyond K are zero. The op overwrites C and does not accumulate into it.

    Any number of batch dimensions b precede m, n and k. B has all of the batch dimensions or none. `lhs_permutation`
    maps the canonical dimensions b..., m, k to dimensions of A. A transposed A is therefore read through its strides.

    An optional third input, `chosen`, contains an integer for each index of the single batch dimension: A[b] is
    multiplied by B[chosen[b]] (a mixture of experts, where A is grouped by expert). A tile of one batch element
    has a slice of B instead of this input. With `from_end`, negative integers count from the end.

    1. (tile_matmul_c1) A has the rank of C, and lhs_permutation is a permutation.
    2. (tile_matmul_c2) the packed sizes of B cover K and N.
    3. (tile_matmul_c3) the element type of C is f32, f64 or i32.
    4. (tile_matmul_c4) with a third input, C has rank 3, B has rank 4 and a static batch dimension, and the input has
       one integer for each batch element of C.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, I64Attr:$panel, I64Attr:$group,
    DenseI64ArrayAttr:$lhs_permutation, UnitAttr:$from_end);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_ConvolutionOp : Tile_Op<"convolution", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition",
     "generateResultTileValue", "getIterationDomainTileFromResultTile"]>]> {
  let summary = "2-D convolution in channels-last, with weights packed in column panels";
  let description = [{
    The input is N x H x W x C and already padded, the weight is panels x KH x KW x C/`group` x (`panel` * group), and
    the result is N x OH x OW x F:
    out[n, oh, ow, f] = sum in[n, oh*sh + kh*dh, ow*sw + kw*dw, c] *
      w[f / panel, kh, kw, c / group, (f % panel) * group + c % group].

    With `merged_width` = KW > 0, the weight is panels x KH x (KW*C)/`group` x (`panel` * group). The
    dilation along the width is then 1, so the KW pixels of a row of the window are KW*C consecutive elements of the
    input, and two reduction loops become one.
    If `merged_height` = KH is given too, the weight is panels x (KH*KW*C)/`group` x (`panel` * group), and one
    reduction loop iterates over the whole window. For this purpose, the kernel first gathers windows in a buffer, which
    is faster if KW*C fills only a part of the reduction dimension of a matrix unit.

    1. (tile_convolution_c1) input and result have rank 4; the weight has rank 5, rank 4 with a merged width, or rank
       3 if both are merged; strides and dilations are two positive numbers each.
    2. (tile_convolution_c2) a merged width requires a dilation of 1 along the width, and a merged height requires
       a merged width.
    3. (tile_convolution_c3) the static sizes of input, weight and result are consistent.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$dilations, I64Attr:$panel, I64Attr:$group, DefaultValuedAttr<I64Attr, "0">:$merged_width,
    DefaultValuedAttr<I64Attr, "0">:$merged_height);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_GroupedConvolutionOp : Tile_Op<"grouped_convolution", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition"]>]> {
  let summary = "2-D convolution with few channels per group (one channel: depthwise) in channels-last";
  let description = [{
    The input is N x H x W x (G*C) without padding, the weight is KH x KW x C x (G*F) and has the result's element
    type, and the result is N x OH x OW x (G*F):
    out[n, oh, ow, f] = sum in[n, oh*sh + kh*dh - ph, ow*sw + kw*dw - pw, (f / F)*C + c] * w[kh, kw, c, f].

    Elements outside of the input are zero, and no padded copy is needed. A negative padding crops the input. In a tile,
    `first` contains the row and the column of the whole result at which the tile begins.

    1. (tile_grouped_convolution_c1) all operands have rank 4, the weight has a static shape, and the channels of
       input and result are static.
    2. (tile_grouped_convolution_c2) there are two positive strides, two positive dilations and two paddings; `first`
       has two numbers or none.
    3. (tile_grouped_convolution_c3) input, weight and result have the same number of groups; weight and result have
       the same float type.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Index>:$first, Variadic<Tile_Shaped>:$outputs,
    DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$padding);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` (`first` `(` $first^ `)`)? `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
  let extraClassDeclaration = destination # [{
    /// Returns the number of groups of the input. The result has the same number.
    int64_t getGroups() {
      auto sizeOf = [](::mlir::Value v, int64_t dim) { return ::llvm::cast<::mlir::ShapedType>(v.getType()).getDimSize(dim); };
      return sizeOf(getInputs()[0], 3) / sizeOf(getInputs()[1], 2);
    }
  }];
}

def Tile_DepthwiseGradientOp : Tile_Op<"depthwise_gradient", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition"]>]> {
  let summary = "Gradient of a depthwise convolution's weight in channels-last, separately for each part of each image";
  let description = [{
    The input is N x H x W x C without padding, the gradient of the convolution's result is N x OH x OW x C, and the
    result is N x parts x KH x KW x C:
    out[n, p, kh, kw, c] = sum in[n, oh*sh + kh*dh - ph, ow*sw + kw*dw - pw, c] * grad[n, oh, ow, c].

    The sum is over the rows oh of part p (at most `lines` rows, starting at p * lines) and over all columns ow.
    Elements outside of the input are zero. A later op adds the parts. In a tile, `first_part` is the first part of
    the tile.

    1. (tile_depthwise_gradient_c1) the ranks are 4, 4 and 5; the channels and the sizes of the kernel are static; all
       operands have the same number of channels; the result is of floats.
    2. (tile_depthwise_gradient_c2) there are two positive strides, two positive dilations and two paddings, and
       `lines` is at least 1.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Optional<Index>:$first_part, Variadic<Tile_Shaped>:$outputs,
    DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$padding, I64Attr:$lines);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` (`first_part` $first_part^)? `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_PackOp : Tile_Op<"pack", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition"]>]> {
  let summary = "Pack a matrix into the column panels that tw_tile.matmul and tw_tile.convolution read";
  let description = [{
    An input b x K x N becomes b x panels x K/group x (panel * group), with zeros beyond K and N. `permutation` maps
    the canonical dimensions b..., k, n to dimensions of the input. With `inner` = 2, the two dimensions before K (KH
    and KW of a convolution) are inside the panels: KH x KW x C x F becomes panels x KH x KW x C/group x (panel *
    group).
    1. (tile_pack_c1) `permutation` is a permutation, and the result's sizes cover the input's sizes.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, I64Attr:$panel, I64Attr:$group,
    DenseI64ArrayAttr:$permutation, DefaultValuedAttr<I64Attr, "0">:$inner);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_AttentionOp : Tile_Op<"attention", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition"]>]> {
  let summary = "Attention softmax(scale * Q K^T + mask) V by online softmax over blocks of keys";
  let description = [{
    The inputs are the query B x H x L x D, the key B x Hk x S x D, the value B x Hk x S x Dv and optionally a mask,
    additive in f32 or boolean as i8, that broadcasts to B x H x L x S. The outputs are the result B x H x L x Dv and
    the log-sum-exp B x H x L (f32). For the query, the key, the value and the result, `permutations` has four numbers
    each, which map the canonical dimensions to the dimensions of that operand. With `causal`, row i attends to columns
    up to i; in a tile, row i of the tile is row `first_row` + i. Query head h reads key head h / (H / Hk). The result of
    a row whose scores are all -inf is 0, or NaN with `nan_rows`.
    1. (tile_attention_c1) the operands have the ranks above, and `permutations` consists of permutations.
    2. (tile_attention_c2) H is a multiple of Hk.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Optional<Index>:$first_row, Variadic<Tile_Shaped>:$outputs, F64Attr:$scale, UnitAttr:$causal,
    UnitAttr:$nan_rows, OptionalAttr<DenseI64ArrayAttr>:$permutations);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` (`first_row` $first_row^)? `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_AttentionGradientOp : Tile_Op<"attention_gradient", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition"]>]> {
  let summary = "Gradients of tw_tile.attention with respect to query, key and value, from its result and log-sum-exp";
  let description = [{
    The inputs are the query B x H x L x D, the key B x H x S x D, the value B x H x S x Dv, the result and its
    gradient B x H x L x Dv, the log-sum-exp B x H x L (f32) and optionally the mask of the attention. The outputs are
    the gradients of query, key and value. For each of the first five inputs and the three outputs, `permutations` has
    four numbers, which map the canonical dimensions to the dimensions of that operand. A tile is a whole head of one
    batch element. The result O may be replaced by sum(dO * O) of each of its rows, which has the type of the
    log-sum-exp; `permutations` of this operand are then not used. The CPU code generator requires O.

    P = exp(scale * Q K^T + mask - logsumexp), where P is 0 at masked elements and in rows with an infinite logsumexp.
    The gradients are dV = P^T dO, dS = P * (dO V^T - sum(dO * O)), dQ = scale * dS K, dK = scale * dS^T Q.

    1. (tile_attention_gradient_c1) the operands have the ranks above and the same number of heads, and `permutations`
       consists of permutations.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, F64Attr:$scale, UnitAttr:$causal,
    OptionalAttr<DenseI64ArrayAttr>:$permutations);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_ScanKind : I32EnumAttr<"ScanKind", "combining function", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">, I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]> {
  let cppNamespace = "::tilewright::tile";
}
def Tile_ScanOp : Tile_Op<"scan"> {
  let summary = "Cumulative sum, product, maximum or minimum along `dim`; input and output have one shape";
  let description = "1. (tile_scan_c1) `dim` is in range, and the shapes are equal.";
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, Tile_ScanKind:$kind, I64Attr:$dim);
  let assemblyFormat = "$kind attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}
def Tile_SortOp : Tile_Op<"sort"> {
  let summary = "Stable sort along `dim`; the outputs contain the first values in order, and their i64 indices";
  let description = "NaN is the largest value. Integers are compared as signed numbers, unless the op has the attribute `tw.unsigned`. 1. (tile_sort_c1) `dim` is in range, and the size of the outputs along `dim` is at most the input's.";
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, I64Attr:$dim, UnitAttr:$descending);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}
def Tile_ScatterKind : I32EnumAttr<"ScatterKind", "how a written value is combined with the old one", [
    I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">, I32EnumAttrCase<"Mul", 2, "mul">,
    I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"Min", 4, "min">]> {
  let cppNamespace = "::tilewright::tile";
}
def Tile_ScatterOp : Tile_Op<"scatter"> {
  let summary = "Write or combine source elements at indexed positions of the destination, in row-major order";
  let description = [{
    The first input is the source, whose shape is the iteration space d0, d1, .... The other inputs are index tensors.
    `index_maps` has one map per index tensor, from the iteration space to the indices at which this tensor is read. The
    values read from the index tensors are s0, s1, ..., and the element of the source is combined with
    dest[`dest_map`(d0, ...)[s0, ...]]. Negative index values count from the end of the dimension, unless the op has the
    attribute `tw.from_start`. The only output is the destination, which contains the old values before the op. Elements
    are processed in row-major order of the source.
    1. (tile_scatter_c1) there is one map per index tensor.
    2. (tile_scatter_c2) `dest_map` has one result per dimension of the destination, one dimension per dimension of
       the source, and one symbol per index tensor.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, AffineMapArrayAttr:$index_maps,
    AffineMapAttr:$dest_map, Tile_ScatterKind:$kind);
  let assemblyFormat = "$kind attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_PlaceOp : Op<Tile_Dialect, "place", [Pure, SameOperandsAndResultType, Elementwise, Scalarizable, Vectorizable, Tensorizable]> {
  let summary = "Convert a computed number to an index in [0, limit), and report numbers out of range";
  let description = [{
    With `from_end`, a negative number counts from the end. If the number is out of range, the result is 0, and the
    call of the kernel fails with an error that contains the number. Therefore a program that indexes out of range
    gets an error, and no memory outside of the indexed tensor is accessed.
  }];
  let arguments = (ins SignlessIntegerOrIndexLike:$number, SignlessIntegerOrIndexLike:$limit, UnitAttr:$from_end);
  let results = (outs SignlessIntegerOrIndexLike:$place);
  let assemblyFormat = "$number `below` $limit (`from_end` $from_end^)? attr-dict `:` type($place)";
}

def Tile_DivisorOp : Op<Tile_Dialect, "divisor", [Pure, SameOperandsAndResultType, Elementwise, Scalarizable, Vectorizable, Tensorizable]> {
  let summary = "Replace a zero divisor of an integer division with 1, and report the error at the end of the call";
  let description = "The call fails with eager's ZeroDivisionError. Device code divides by 1 and reports no error, because eager's kernels for GPUs report none.";
  let arguments = (ins SignlessIntegerLike:$divisor);
  let results = (outs SignlessIntegerLike:$result);
  let assemblyFormat = "$divisor attr-dict `:` type($result)";
}

def Tile_RequireOp : Op<Tile_Dialect, "require", [Pure, AllTypesMatch<["value", "result"]>, Elementwise, Scalarizable, Vectorizable, Tensorizable]> {
  let summary = "Return the value, and make the call of the kernel fail with the message if the condition is false";
  let description = "--tw-lower-index-checks expands the op in code for CPUs. Device code and HLS designs do not check the condition.";
  let arguments = (ins BoolLike:$condition, AnyType:$value, StrAttr:$message);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$condition `,` $value $message attr-dict `:` type($condition) `,` type($value)";
}

def Tile_ReportOp : Op<Tile_Dialect, "report", [MemoryEffects<[MemWrite]>]> {
  let summary = "Make the call of the kernel fail because the number is not an index below the limit";
  let description = "The loops of a scatter skip a write whose index is out of range, and report the index by this op. For reads, tw_tile.place reports the index.";
  let arguments = (ins Index:$number, Index:$limit);
  let assemblyFormat = "$number `below` $limit attr-dict";
}

#endif

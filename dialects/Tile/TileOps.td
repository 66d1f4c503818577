//===- TileOps.td - what linalg cannot say in tiles ------------------------===//
//
// Destination-style ops on tensors, and after bufferization on memrefs (then without results). Each implements
// TilingInterface where a tile of its result is the same op on tiles of its operands.
//
//===----------------------------------------------------------------------===//
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
  let summary = "Structured ops that linalg cannot express in tiles";
}

def Tile_Shaped : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef]>;

/// `outs` operands come last; on tensors there is one result for each.
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
  let summary = "C[b, m, n] = sum_k A[b, m, k] * B[b, k, n], B packed in column panels";
  let description = [{
    B is b x panels x K/`group` x (`panel` * group): panel p holds columns p * panel ...; `group` consecutive k of one
    column lie side by side (1 for f32, 2 for bf16 dot products and AMX). Columns past N and rows past K hold zero. C
    accumulates nothing: it is overwritten.
    Batch dimensions b (any number) lead; B has all of them or none. `lhs_permutation` says where the canonical
    dimensions b..., m, k lie in A (a transposed A is read through its strides).
    A third input, integers for the one batch dimension, chooses: batch b is multiplied by B[chosen[b]] (experts whose rows
    were brought together). A tile of one batch has a slice of B in its place. With `from_end` they may count from the end.
    1. (tile_matmul_c1) A has the rank of C, and lhs_permutation is a permutation. 2. (tile_matmul_c2) B's packed sizes cover K and N. 3. (tile_matmul_c3) C is f32, f64 or i32.
    4. (tile_matmul_c4) what chooses is one integer for each batch of C, of rank 3; B is of rank 4, with as many batches as are known.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, I64Attr:$panel, I64Attr:$group,
    DenseI64ArrayAttr:$lhs_permutation, UnitAttr:$from_end);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_ConvolutionOp : Tile_Op<"convolution", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition",
     "generateResultTileValue", "getIterationDomainTileFromResultTile"]>]> {
  let summary = "Two-dimensional convolution in channels-last, weights packed in column panels";
  let description = [{
    input N x H x W x C (already padded), weight panels x KH x KW x C/`group` x (`panel` * group), result N x OH x OW x F.
    out[n, oh, ow, f] = sum in[n, oh*sh + kh*dh, ow*sw + kw*dw, c] * w[f / panel, kh, kw, c, f % panel].
    With `merged_width` = KW > 0 the weight is panels x KH x (KW*C)/`group` x (`panel` * group): where dilation leaves no
    gaps, the KW pixels of a window's row are KW*C consecutive elements of the input, one reduction instead of two.
    With `merged_height` = KH as well it is panels x (KH*KW*C)/`group` x (`panel` * group), one reduction for all: the
    windows of a line are gathered for it, which pays where KW*C fills a part of a matrix unit's depth.
    1. (tile_convolution_c1) input and result are rank 4, weight rank 5, 4 with a merged width, 3 with both merged.
    2. (tile_convolution_c2) a merged width has dilation 1, a merged height a merged width. 3. (tile_convolution_c3) sizes
    agree, as far as known.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$dilations, I64Attr:$panel, I64Attr:$group, DefaultValuedAttr<I64Attr, "0">:$merged_width,
    DefaultValuedAttr<I64Attr, "0">:$merged_height);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_GroupedConvolutionOp : Tile_Op<"grouped_convolution", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition"]>]> {
  let summary = "Two-dimensional convolution of narrow groups (one channel: depthwise) in channels-last";
  let description = [{
    input N x H x W x (G*C) as it is, weight KH x KW x C x (G*F) of the result's type, result N x OH x OW x (G*F).
    out[n, oh, ow, f] = sum in[n, oh*sh + kh*dh - ph, ow*sw + kw*dw - pw, (f / F)*C + c] * w[kh, kw, c, f]; what lies
    outside of the input counts as zero, so there is no padded copy. A negative padding crops. A tile says by `first`
    at which line and pixel of the result it begins.
    1. (tile_grouped_convolution_c1) all of rank 4, the weight of known sizes, input and result of known channels.
    2. (tile_grouped_convolution_c2) two positive strides and dilations, two paddings; `first` has two numbers or none.
    3. (tile_grouped_convolution_c3) the channels of input and result are those of the same number of groups.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Index>:$first, Variadic<Tile_Shaped>:$outputs,
    DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$padding);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` (`first` `(` $first^ `)`)? `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
  let extraClassDeclaration = destination # [{
    /// Of the input and of the result.
    int64_t getGroups() {
      auto sizeOf = [](::mlir::Value v, int64_t dim) { return ::llvm::cast<::mlir::ShapedType>(v.getType()).getDimSize(dim); };
      return sizeOf(getInputs()[0], 3) / sizeOf(getInputs()[1], 2);
    }
  }];
}

def Tile_DepthwiseGradientOp : Tile_Op<"depthwise_gradient", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition"]>]> {
  let summary = "Gradient of the weight of a depthwise convolution in channels-last, from each part of each image";
  let description = [{
    input N x H x W x C as it is, gradient of the convolution's result N x OH x OW x C; result N x parts x KH x KW x C.
    out[n, p, kh, kw, c] = sum over the lines oh of part p (`lines` of them from p * lines on, as far as there are) and all
    pixels ow of in[n, oh*sh + kh*dh - ph, ow*sw + kw*dw - pw, c] * grad[n, oh, ow, c]; what lies outside of the input
    counts as zero. The parts are added up behind it. A tile says by `first_part` at which part it begins.
    1. (tile_depthwise_gradient_c1) ranks 4, 4 and 5, known channels and kernel, all of as many channels.
    2. (tile_depthwise_gradient_c2) two positive strides and dilations, two paddings, some lines a part.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Optional<Index>:$first_part, Variadic<Tile_Shaped>:$outputs,
    DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$padding, I64Attr:$lines);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` (`first_part` $first_part^)? `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_PackOp : Tile_Op<"pack", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition"]>]> {
  let summary = "Column panels of a matrix, as tw_tile.matmul and tw_tile.convolution read them";
  let description = [{
    input b x K x N -> b x panels x K/group x (panel * group), zero beyond K and N. `permutation` says where the canonical
    dimensions b..., k, n lie in the input. With `inner` = 2 the two dimensions before K (a convolution's KH and KW) lie
    inside the panels: KH x KW x C x F -> panels x KH x KW x C/group x (panel * group).
    1. (tile_pack_c1) the result's sizes cover the input's.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, I64Attr:$panel, I64Attr:$group,
    DenseI64ArrayAttr:$permutation, DefaultValuedAttr<I64Attr, "0">:$inner);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_AttentionOp : Tile_Op<"attention", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition"]>]> {
  let summary = "softmax(scale * Q K^T + mask) V by online softmax over blocks of keys";
  let description = [{
    inputs: query B x H x L x D, key B x Hk x S x D, value B x Hk x S x Dv and, with four of them, an additive f32 or boolean
    (i8) mask that broadcasts to B x H x L x S. outputs: result B x H x L x Dv and log-sum-exp B x H x L (f32). `permutations` holds, for query, key, value and
    result, where the canonical four dimensions lie in the operand (4 numbers each). `causal`: row i (`first_row` + i in
    a tile) sees columns up to i. A grouped head h reads key head h / (H / Hk).
    1. (tile_attention_c1) ranks as above. 2. (tile_attention_c2) H is a multiple of Hk.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Optional<Index>:$first_row, Variadic<Tile_Shaped>:$outputs, F64Attr:$scale, UnitAttr:$causal,
    OptionalAttr<DenseI64ArrayAttr>:$permutations);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` (`first_row` $first_row^)? `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_AttentionGradientOp : Tile_Op<"attention_gradient", [DeclareOpInterfaceMethods<TilingInterface,
    ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation", "getResultTilePosition"]>]> {
  let summary = "Gradients of tw_tile.attention by its query, key and value, from its result and log-sum-exp";
  let description = [{
    inputs: query B x H x L x D, key B x H x S x D, value B x H x S x Dv, result and its gradient B x H x L x Dv, log-sum-exp
    B x H x L (f32) and, with seven of them, the mask of the attention. outputs: the gradients of query, key and value.
    `permutations` holds, for the five operands of rank 4 in front and for the outputs, where the canonical four dimensions lie
    in the operand. With P = exp(scale * Q K^T + mask - logsumexp), 0 where masked and in rows of an infinite logsumexp:
    dV = P^T dO, dS = P * (dO V^T - sum(dO * O)), dQ = scale * dS K, dK = scale * dS^T Q. Tiles are whole heads.
    1. (tile_attention_gradient_c1) ranks as above, one number of heads.
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
  let summary = "Running combination along `dim`; one input, one output of the same shape";
  let description = "1. (tile_scan_c1) `dim` in range, shapes equal.";
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, Tile_ScanKind:$kind, I64Attr:$dim);
  let assemblyFormat = "$kind attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}
def Tile_SortOp : Tile_Op<"sort"> {
  let summary = "Stable sort along `dim`: outputs are values and i64 indices, cut to their size along `dim`";
  let description = "NaN counts as largest. 1. (tile_sort_c1) `dim` in range; the outputs' size there is at most the input's.";
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, I64Attr:$dim, UnitAttr:$descending);
  let assemblyFormat = "attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}
def Tile_ScatterKind : I32EnumAttr<"ScatterKind", "how a written value meets the old one", [
    I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">, I32EnumAttrCase<"Mul", 2, "mul">,
    I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"Min", 4, "min">]> {
  let cppNamespace = "::tilewright::tile";
}
def Tile_ScatterOp : Tile_Op<"scatter"> {
  let summary = "Write or combine source elements at indexed places of the destination, in row-major order of the source";
  let description = [{
    inputs: source (its shape is the iteration space d0, d1, ...), then index tensors, each read through its map of `index_maps`
    from the iteration space; the values read are s0, s1, ... The element goes to dest[`dest_map`(d0, ...)[s0, ...]].
    Negative index values count from the end of the dimension. The one output is the destination, already holding the old values.
    1. (tile_scatter_c1) one map per index tensor. 2. (tile_scatter_c2) `dest_map` has the destination's rank of results, the source's of dimensions, a symbol for each index.
  }];
  let arguments = (ins Variadic<Tile_Shaped>:$inputs, Variadic<Tile_Shaped>:$outputs, AffineMapArrayAttr:$index_maps,
    AffineMapAttr:$dest_map, Tile_ScatterKind:$kind);
  let assemblyFormat = "$kind attr-dict `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?";
}

def Tile_PlaceOp : Op<Tile_Dialect, "place", [Pure, SameOperandsAndResultType, Elementwise, Scalarizable, Vectorizable, Tensorizable]> {
  let summary = "A place inside [0, limit) from a number of the user's";
  let description = [{
    With `from_end` a negative number counts from the end. A number outside of the range gives place 0, and the call of the kernel
    fails with it: programs that index out of range are told so, and no memory of others is touched.
  }];
  let arguments = (ins SignlessIntegerOrIndexLike:$number, SignlessIntegerOrIndexLike:$limit, UnitAttr:$from_end);
  let results = (outs SignlessIntegerOrIndexLike:$place);
  let assemblyFormat = "$number `below` $limit (`from_end` $from_end^)? attr-dict `:` type($place)";
}

def Tile_DivisorOp : Op<Tile_Dialect, "divisor", [Pure, SameOperandsAndResultType, Elementwise, Scalarizable, Vectorizable, Tensorizable]> {
  let summary = "What an integer may be divided by: 1 for 0, and the call of the kernel fails";
  let description = "The call ends with eager's ZeroDivisionError. Device code divides by 1 in silence, as eager's kernels for GPUs do.";
  let arguments = (ins SignlessIntegerLike:$divisor);
  let results = (outs SignlessIntegerLike:$result);
  let assemblyFormat = "$divisor attr-dict `:` type($result)";
}

def Tile_ReportOp : Op<Tile_Dialect, "report", [MemoryEffects<[MemWrite]>]> {
  let summary = "Let the call of the kernel fail: the number is no place below the limit";
  let description = "What tw_tile.place does for reads, for writes that are skipped.";
  let arguments = (ins Index:$number, Index:$limit);
  let assemblyFormat = "$number `below` $limit attr-dict";
}

#endif

//===- Lowering.h - shared state of the graph-to-structured lowerings --------===//
//
// One ordered walk lowers a function. For each tw value, the lowering records how the value is read. Permutes,
// broadcasts and unit dimensions do not become ops: they are part of the indexing maps of the consumers, until an op
// needs the tensor itself.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_KERNELS_LOWERING_H
#define TILEWRIGHT_LIB_KERNELS_LOWERING_H

#include "dialects/Graph/Graph.h"
#include "dialects/Tile/Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace tilewright::structured {

/// Returns the type in which a tw element is stored: i8 for booleans, signless integers for unsigned ones, otherwise
/// the same type.
mlir::Type storageType(mlir::Type elementType);
/// Returns the type in which a tw element is computed: f32 for floats of less than 32 bits, i1 for booleans, signless
/// integers for unsigned ones, otherwise the same type.
mlir::Type computeType(mlir::Type elementType);
/// Returns the type in which sums accumulate: f32 for floats of up to 32 bits, otherwise the stored type.
mlir::Type accumulatorType(mlir::Type elementType);

/// Describes how element (d0, d1, ...) of a value is read: it is base[map(d0, d1, ...)], or `splat` for all elements if
/// there is no base.
struct Read {
  mlir::Value base;
  mlir::AffineMap map;
  mlir::TypedAttr splat;
  mlir::Type elementType; // type in the graph, which distinguishes booleans, unsigned bytes and signed bytes
  bool asStored = false;  // if true, the body gets the stored element, for copies
  bool asRounded = false; // if true, a decision depends on the element, so fusion may not drop its rounding
};

/// Builds the body of a generic. Its arguments are the inputs' elements in their compute types (or stored types if
/// Read::asStored is set) and the outputs' elements in their stored types.
using BodyBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange inputs, mlir::ValueRange outputs)>;

/// Returns a size as the dimension of a tensor type. The dimension is dynamic unless the size is a constant. `size` may
/// be null.
int64_t extent(mlir::AffineExpr size);

/// The state of lowering one function.
class Lowering {
public:
  Lowering(mlir::func::FuncOp function, mlir::Block &body);

  /// Elementwise ops whose result determines a decision, directly or through other elementwise ops. Their roundings are
  /// preserved (deciders()).
  llvm::DenseSet<mlir::Operation *> decide;

  bool splitProducts = true;   ///< the option split-products of --tw-lower-graph
  bool attentionDelta = false; ///< its option attention-delta

  /// The builder inserts new ops after all ops lowered so far. `loc` and `name` are those of the op that is being
  /// lowered.
  mlir::OpBuilder builder;
  mlir::Location loc;
  llvm::StringRef name;

  //===-- values ----------------------------------------------------------===//
  void set(mlir::Value graphValue, mlir::Value tensor);
  void setRead(mlir::Value graphValue, Read read) { reads[graphValue] = read; }
  /// Returns how an iteration space reads the graph value; `iterationToValue` maps the loops to the value's dimensions.
  Read read(mlir::Value graphValue, mlir::AffineMap iterationToValue);
  /// Returns how an iteration space of these sizes reads the graph value with NumPy's broadcasting.
  Read readBroadcast(mlir::Value graphValue, llvm::ArrayRef<mlir::AffineExpr> sizes);
  /// Returns the value as a tensor of its own shape. If the value has only been recorded as a read of another tensor,
  /// emits ops that compute it.
  mlir::Value tensor(mlir::Value graphValue);
  /// Returns the read of a structured tensor through a map.
  static Read of(mlir::Value tensor, mlir::AffineMap map);
  /// Returns `read` with the elements in their stored types.
  static Read stored(Read read) {
    read.asStored = true;
    return read;
  }

  //===-- sizes -----------------------------------------------------------===//
  /// Returns a size as an index value. Symbolic sizes are computed once, at the top of the function.
  mlir::Value size(mlir::AffineExpr expr);
  mlir::OpFoldResult foldedSize(mlir::AffineExpr expr);
  llvm::SmallVector<mlir::OpFoldResult> foldedSizes(llvm::ArrayRef<mlir::AffineExpr> exprs);
  mlir::Value empty(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type storage);
  mlir::Value filled(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::TypedAttr value);
  /// extractSlice() and insertSlice() create tensor.extract_slice and tensor.insert_slice. For a slice without
  /// elements, extractSlice() returns an empty tensor and insertSlice() returns `into`, because MLIR's verifiers reject
  /// an offset past the end even if the slice has no elements.
  mlir::Value extractSlice(mlir::Value from, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                           llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<mlir::OpFoldResult> strides);
  mlir::Value insertSlice(mlir::Value source, mlir::Value into, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                          llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<mlir::OpFoldResult> strides);

  //===-- ops -------------------------------------------------------------===//
  /// Creates a linalg.generic that is named after the op being lowered.
  mlir::linalg::GenericOp generic(llvm::ArrayRef<Read> inputs, mlir::ValueRange outputs,
                                  llvm::ArrayRef<mlir::AffineMap> outputMaps,
                                  llvm::ArrayRef<mlir::utils::IteratorType> iterators, BodyBuilder body);
  /// Creates an all-parallel generic into an empty tensor. The body returns values of the type `storage`.
  mlir::Value elementwise(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type storage, llvm::ArrayRef<Read> inputs,
                          BodyBuilder body);
  /// Creates a linalg.contract whose destination has the sizes `sizes` and is filled with 0. `maps` are those of both
  /// factors and of the result.
  mlir::Value contract(mlir::Value lhs, mlir::Value rhs, llvm::ArrayRef<mlir::AffineMap> maps,
                       llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type accumulator,
                       llvm::ArrayRef<mlir::NamedAttribute> attributes);
  /// Copies the elements that `read` describes into a separate tensor.
  mlir::Value copied(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type storage, const Read &read);
  /// Rounds accumulators (a tensor of a compute type) to the type in which `elementType` is stored, if the types
  /// differ.
  mlir::Value rounded(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type elementType);
  /// Returns a tensor with the sizes `to` and the same elements in row-major order.
  mlir::Value reshaped(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> from, llvm::ArrayRef<mlir::AffineExpr> to);

  mlir::MLIRContext *context() const { return builder.getContext(); }
  mlir::AffineExpr dim(unsigned i) const { return mlir::getAffineDimExpr(i, builder.getContext()); }
  mlir::AffineExpr constant(int64_t c) const { return mlir::getAffineConstantExpr(c, builder.getContext()); }
  mlir::AffineMap identity(unsigned rank) const { return mlir::AffineMap::getMultiDimIdentityMap(rank, context()); }
  mlir::AffineMap map(unsigned dims, llvm::ArrayRef<mlir::AffineExpr> results) const {
    return mlir::AffineMap::get(dims, 0, results, context());
  }

private:
  llvm::DenseMap<mlir::Value, Read> reads;
  llvm::DenseMap<mlir::Value, mlir::Value> tensors;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> sizeCache;
  llvm::SmallVector<mlir::Value> symbols;
  mlir::OpBuilder top; // inserts at the top of the function, where sizes are computed
};

//===----------------------------------------------------------------------===//
// Scalars: the ops inside of bodies
//===----------------------------------------------------------------------===//

/// Returns the flag `contract`. All float ops in a body have this flag, except reductions, maxima and minima.
mlir::arith::FastMathFlagsAttr contractFlag(mlir::OpBuilder &b);
/// Returns the flags `contract` and `reassoc` for the combining op of a float reduction.
mlir::arith::FastMathFlagsAttr reductionFlags(mlir::OpBuilder &b);
/// Returns the flag `nsz` for maxima and minima. torch does not specify which of the two zeros is greater, and x86's
/// instructions do not order them. An ordered result would take additional instructions.
mlir::arith::FastMathFlagsAttr extremeFlags(mlir::OpBuilder &b);

/// load() converts a stored element to its compute type, and store() converts it back. These roundings are flagged as
/// implicit, so that later passes may drop them. If the consumer makes a decision that depends on the element
/// (`asRounded`), they are not flagged.
mlir::Value load(mlir::OpBuilder &b, mlir::Location loc, mlir::Value stored, mlir::Type elementType,
                 bool asRounded = false);
mlir::Value store(mlir::OpBuilder &b, mlir::Location loc, mlir::Value computed, mlir::Type elementType);
/// Returns the element of a splat, in its compute type or, if not `computed`, in its stored type.
mlir::Value splatConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::TypedAttr splat, bool computed = true);
mlir::Value floatConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, double value);
mlir::Value intConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, int64_t value);

/// Emits the scalar computation of an elementwise op. Its operands have compute types, and `elementType` in the graph.
/// Returns null for unsupported ops.
mlir::Value elementwiseScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args,
                              mlir::Type elementType);
mlir::Value floatScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args);
mlir::Value integerScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args,
                          bool isUnsigned);
mlir::Value booleanScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args);
/// Emits torch's conversion between element types for a cast that the user wrote. `stored` and the result have stored
/// types.
mlir::Value castScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Value stored, mlir::Type from, mlir::Type to);

/// Combines two elements of a reduction, in compute types; the order of elements is arbitrary. MaxNumber takes one
/// instruction and ignores NaN. It is for reductions after which another op makes the result NaN.
mlir::Value combineScalar(mlir::OpBuilder &b, mlir::Location loc, tile::Combiner kind, mlir::Value lhs, mlir::Value rhs,
                          bool isUnsigned);
/// Returns the identity element of `kind` in the accumulator type `type`.
mlir::TypedAttr neutralElement(tile::Combiner kind, mlir::Type type, bool isUnsigned);
/// Maps unsigned integers to signed integers with the same order, and back, for maxima and minima in loops that compare
/// only signed integers.
mlir::Value signFlipped(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);

/// A factor of a product: a 2-D tensor of rows (or columns) x k or, if `depthFirst`, of k x rows (or columns).
struct Factor {
  mlir::Value tensor;
  bool depthFirst = false;
};

/// Emits the product m x n over k, in `accumulator`. If k is long and there are few tiles, k is divided into parts.
mlir::Value contracted(Lowering &l, const Factor &lhs, const Factor &rhs, mlir::AffineExpr m, mlir::AffineExpr n,
                       mlir::AffineExpr k, mlir::Type accumulator, llvm::ArrayRef<mlir::NamedAttribute> attributes);

//===----------------------------------------------------------------------===//
// The op families
//===----------------------------------------------------------------------===//

mlir::LogicalResult lowerElementwise(Lowering &l, mlir::Operation *op);
/// Returns the elementwise ops, reshapes and permutes whose roundings may change a decision, such as a comparison, a
/// conversion to integers, an order of sorted elements, or the index of a maximum. A sum may differ from eager's by one
/// rounding, but a decision must be the same as in eager.
llvm::DenseSet<mlir::Operation *> deciders(mlir::Block &graph);
mlir::LogicalResult lowerSource(Lowering &l, mlir::Operation *op);
mlir::LogicalResult lowerView(Lowering &l, mlir::Operation *op);
mlir::LogicalResult lowerReduction(Lowering &l, mlir::Operation *op);
mlir::LogicalResult lowerNormalization(Lowering &l, mlir::Operation *op);
mlir::LogicalResult lowerContraction(Lowering &l, graph::MatmulOp op);
mlir::LogicalResult lowerConvolution(Lowering &l, mlir::Operation *op);
mlir::LogicalResult lowerPooling(Lowering &l, mlir::Operation *op);
mlir::LogicalResult lowerIndexing(Lowering &l, mlir::Operation *op);
mlir::LogicalResult lowerRandom(Lowering &l, graph::RandomOp op);
mlir::LogicalResult lowerAttention(Lowering &l, graph::AttentionOp op);
mlir::LogicalResult lowerAttentionGradient(Lowering &l, graph::AttentionGradientOp op);

/// Emits tensor[indices] in the body of an elementwise op, or `otherwise` if one of `indices` is outside of one of
/// `bounds` (a dimension and its size). Indices may be negative. No element outside of the bounds is read.
mlir::Value extractInside(mlir::OpBuilder &b, mlir::Location at, mlir::Value tensor,
                          llvm::SmallVector<mlir::Value> indices,
                          llvm::ArrayRef<std::pair<unsigned, mlir::Value>> bounds, mlir::Value otherwise);

/// Pads a tensor with `value` (a stored constant). Amounts may be symbolic, but not negative. If `byRows` is true and
/// the last dimension is not padded, the result is an elementwise op, which runs on all threads. Otherwise the result
/// is a tensor.pad, which is tiled only along dimensions without padding. A tensor.pad is never fused into the kernel
/// of a windowed op that reads it.
mlir::Value padded(Lowering &l, mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> sizes,
                   llvm::ArrayRef<mlir::OpFoldResult> low, llvm::ArrayRef<mlir::OpFoldResult> high,
                   llvm::ArrayRef<mlir::AffineExpr> paddedSizes, mlir::TypedAttr value, bool byRows = false);

} // namespace tilewright::structured

#endif

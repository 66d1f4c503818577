//===- Lowering.h - shared state of the graph-to-structured lowerings --------===//
//
// One ordered walk lowers a function. For each tw value the lowering records how it is read. Permutes, broadcasts
// and unit dimensions do not become ops: they are part of the indexing maps of their readers, until an op needs
// the tensor itself.
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

/// The type in which a tw element is stored: i8 for booleans, signless integers for unsigned ones,
/// otherwise the same type.
mlir::Type storageType(mlir::Type elementType);
/// The type in which a tw element is computed: f32 for narrower floats, i1 for booleans, signless integers
/// for unsigned ones.
mlir::Type computeType(mlir::Type elementType);
/// The type in which sums accumulate: f32 for floats of up to 32 bits, otherwise the stored type.
mlir::Type accumulatorType(mlir::Type elementType);

/// How element (d0, d1, ...) of a value is read: base[map(d0, d1, ...)], or `splat` for all elements if
/// there is no base.
struct Read {
  mlir::Value base;
  mlir::AffineMap map;
  mlir::TypedAttr splat;
  mlir::Type elementType; // the graph's type: distinguishes boolean, unsigned and signed bytes
  bool asStored = false;  // the body gets the stored element: for copies, which compute nothing
  bool asRounded = false; // fusion may not drop the element's rounding: a decision depends on it
};

/// Builds the body of a generic. It gets the inputs' elements in their compute types and the outputs'
/// elements as stored.
using BodyBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange inputs, mlir::ValueRange outputs)>;

/// Returns a size as a dimension of a tensor type: dynamic unless it is a constant. `size` may be null.
int64_t extent(mlir::AffineExpr size);

/// The state of lowering one function.
class Lowering {
public:
  Lowering(mlir::func::FuncOp function, mlir::Block &body);

  /// Elementwise ops whose result reaches a decision through elementwise ops alone. Their roundings are
  /// kept (deciders()).
  llvm::DenseSet<mlir::Operation *> decide;

  /// The builder inserts after everything lowered so far; `loc` and `name` are those of the op that is being lowered.
  mlir::OpBuilder builder;
  mlir::Location loc;
  llvm::StringRef name;

  //===-- values ----------------------------------------------------------===//
  void set(mlir::Value graphValue, mlir::Value tensor);
  void setRead(mlir::Value graphValue, Read read) { reads[graphValue] = std::move(read); }
  /// Returns how an iteration space reads the graph value; `iterationToValue` maps the loops to the value's dimensions.
  Read read(mlir::Value graphValue, mlir::AffineMap iterationToValue);
  /// Returns how an iteration space of these sizes reads the graph value with numpy's broadcasting.
  Read readBroadcast(mlir::Value graphValue, llvm::ArrayRef<mlir::AffineExpr> sizes);
  /// Returns the value as a tensor of its own shape. Emits ops for it if so far the value is only recorded as a read of
  /// another tensor.
  mlir::Value tensor(mlir::Value graphValue);
  /// Returns the read of a structured tensor through a map.
  static Read of(mlir::Value tensor, mlir::AffineMap map);
  /// Returns the same read, but of the elements as they are stored.
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
  /// Create tensor.extract_slice and tensor.insert_slice. A slice without elements creates no such op, because the
  /// upstream verifiers reject an offset past the end even then.
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
  /// Creates a linalg.contract into zeros of these sizes. `maps` are those of both factors and of the result.
  mlir::Value contract(mlir::Value lhs, mlir::Value rhs, llvm::ArrayRef<mlir::AffineMap> maps,
                       llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type accumulator,
                       llvm::ArrayRef<mlir::NamedAttribute> attributes);
  /// Copies the elements that `read` describes into a separate tensor.
  mlir::Value copied(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type storage, const Read &read);
  /// Rounds accumulators (a structured tensor of a compute type) to the stored form of `elementType` if
  /// the types differ.
  mlir::Value rounded(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type elementType);
  /// Returns the same elements in row-major order with other sizes.
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

/// contract: the flag of all float ops in a body.
mlir::arith::FastMathFlagsAttr contractFlag(mlir::OpBuilder &b);
/// contract, reassoc: the flags of the combining op of a float reduction.
mlir::arith::FastMathFlagsAttr reductionFlags(mlir::OpBuilder &b);
/// nsz: the flag of maxima and minima. torch does not specify which of the two zeros is the greater, and neither do
/// x86's instructions. An ordered result would take four more instructions.
mlir::arith::FastMathFlagsAttr extremeFlags(mlir::OpBuilder &b);

/// Convert a stored element to its compute type, and back. The roundings are implicit ones and are flagged as
/// droppable, unless the reader makes a decision by the element (`asRounded`).
mlir::Value load(mlir::OpBuilder &b, mlir::Location loc, mlir::Value stored, mlir::Type elementType,
                 bool asRounded = false);
mlir::Value store(mlir::OpBuilder &b, mlir::Location loc, mlir::Value computed, mlir::Type elementType);
/// Returns the element of a splat, in its compute type or as it is stored.
mlir::Value splatConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::TypedAttr splat, bool computed = true);
mlir::Value floatConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, double value);
mlir::Value intConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, int64_t value);

/// Emits the scalar computation of an elementwise op on elements in compute types. Returns null for unsupported ops.
/// `elementType` is the graph's type of the operands.
mlir::Value elementwiseScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args,
                              mlir::Type elementType);
mlir::Value floatScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args);
mlir::Value integerScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args,
                          bool isUnsigned);
mlir::Value booleanScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args);
/// Emits torch's conversion between element types, as the user wrote it. `stored` and the result are in stored form.
mlir::Value castScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Value stored, mlir::Type from, mlir::Type to);

/// Combines elements in a reduction on compute types, whose order is free. MaxNumber takes one instruction and ignores
/// NaN. It is for reductions of elements whose NaN reaches the result through a later op.
mlir::Value combineScalar(mlir::OpBuilder &b, mlir::Location loc, tile::Combiner kind, mlir::Value lhs, mlir::Value rhs,
                          bool isUnsigned);
/// Returns the neutral element of `kind` in an accumulator of this type.
mlir::TypedAttr neutralElement(tile::Combiner kind, mlir::Type type, bool isUnsigned);
/// Maps an unsigned integer to the signed integer that has the same rank in order, and back. Used for maxima and minima
/// in loops that compare signed integers only.
mlir::Value signFlipped(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);

/// A factor of a product: a 2-D tensor of rows (or columns) x k, or of k x rows (or columns) if `depthFirst`.
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
/// Returns the elementwise ops whose roundings a decision depends on: a comparison, a conversion to integers, or the
/// index of a maximum. A sum that differs from eager's by one rounding is correct, but a decision is either eager's or
/// wrong.
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
/// `bounds` (a dimension and its size). Indices may be negative. Elements outside are never read.
mlir::Value extractInside(mlir::OpBuilder &b, mlir::Location at, mlir::Value tensor,
                          llvm::SmallVector<mlir::Value> indices,
                          llvm::ArrayRef<std::pair<unsigned, mlir::Value>> bounds, mlir::Value otherwise);

/// Surrounds a tensor with `value` (a stored constant). Amounts may be symbolic, but not negative. With `byRows`, and
/// if the last dimension is not padded, the result is an elementwise op, which threads share. Otherwise it is a
/// tensor.pad, which runs on one thread but is never fused into the kernel of a windowed op that reads it.
mlir::Value padded(Lowering &l, mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> sizes,
                   llvm::ArrayRef<mlir::OpFoldResult> low, llvm::ArrayRef<mlir::OpFoldResult> high,
                   llvm::ArrayRef<mlir::AffineExpr> paddedSizes, mlir::TypedAttr value, bool byRows = false);

} // namespace tilewright::structured

#endif

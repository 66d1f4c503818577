//===- Lowering.h - the shared ground of the graph-to-structured lowerings ----===//
//
// One ordered walk lowers a function; a tw value is known by how it is read: permutes, broadcasts and unit dimensions
// never become ops of their own, they are indexing maps of whoever reads, until someone needs the tensor itself.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_STRUCTURED_LOWERING_H
#define TILEWRIGHT_STRUCTURED_LOWERING_H

#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace tilewright::structured {

/// The type a tw element is stored as: booleans in i8, unsigned integers in signless ones, anything else as it is.
mlir::Type storageType(mlir::Type elementType);
/// The type a tw element is computed in: f32 for narrower floats, i1 for booleans, signless integers
/// for unsigned ones.
mlir::Type computeType(mlir::Type elementType);
/// The type sums accumulate in: f32 for floats up to 32 bits, otherwise the stored type.
mlir::Type accumulatorType(mlir::Type elementType);

/// How element (d0, d1, ...) of a value is read: base[map(d0, d1, ...)], or `splat` everywhere when there is no base.
struct Read {
  mlir::Value base;
  mlir::AffineMap map;
  mlir::TypedAttr splat;
  mlir::Type elementType; // of the graph: says whether bytes are booleans, unsigned or signed
  bool asStored = false;  // the body gets the stored element: for moves, which compute nothing
  bool asRounded = false; // fusion may not drop the element's rounding: the body decides by it
};

/// What fills the body of a generic: the inputs' elements in their compute types, then the outputs' elements as stored.
using BodyBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange inputs, mlir::ValueRange outputs)>;

/// The state of lowering one function.
class Lowering {
public:
  Lowering(mlir::func::FuncOp function, mlir::Block &body);

  /// Elementwise ops from which a decision follows through elementwise ops alone: their roundings stay (deciders()).
  llvm::DenseSet<mlir::Operation *> decide;

  /// The builder stands behind everything lowered so far; `loc` and `name` are those of the op being lowered.
  mlir::OpBuilder builder;
  mlir::Location loc;
  llvm::StringRef name;

  //===-- values ----------------------------------------------------------===//
  void set(mlir::Value graphValue, mlir::Value tensor);
  void setRead(mlir::Value graphValue, Read read) { reads[graphValue] = std::move(read); }
  /// How the iteration space of `iterationToValue`'s dimensions reads the graph value.
  Read read(mlir::Value graphValue, mlir::AffineMap iterationToValue);
  /// The same by numpy's broadcasting from a space with these sizes.
  Read readBroadcast(mlir::Value graphValue, llvm::ArrayRef<mlir::AffineExpr> sizes);
  /// The value as a tensor of its own shape; builds it when so far it was only a way of reading another one.
  mlir::Value tensor(mlir::Value graphValue);
  /// A structured tensor read through a map.
  static Read of(mlir::Value tensor, mlir::AffineMap map);
  /// The same read, of the elements as they are stored.
  static Read stored(Read read) {
    read.asStored = true;
    return read;
  }

  //===-- sizes -----------------------------------------------------------===//
  /// Symbolic sizes are computed once, at the function's top.
  mlir::Value size(mlir::AffineExpr expr);
  mlir::OpFoldResult foldedSize(mlir::AffineExpr expr);
  llvm::SmallVector<mlir::OpFoldResult> foldedSizes(llvm::ArrayRef<mlir::AffineExpr> exprs);
  mlir::Value empty(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type storage);
  mlir::Value filled(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::TypedAttr value);
  /// tensor.extract_slice and insert_slice; of no elements there is nothing to cut or put (upstream's verifiers take an
  /// offset past the end of such a slice for an error).
  mlir::Value extractSlice(mlir::Value from, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                           llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<mlir::OpFoldResult> strides);
  mlir::Value insertSlice(mlir::Value source, mlir::Value into, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                          llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<mlir::OpFoldResult> strides);

  //===-- ops -------------------------------------------------------------===//
  /// One linalg.generic named after the op being lowered.
  mlir::linalg::GenericOp generic(llvm::ArrayRef<Read> inputs, mlir::ValueRange outputs,
                                  llvm::ArrayRef<mlir::AffineMap> outputMaps,
                                  llvm::ArrayRef<mlir::utils::IteratorType> iterators, BodyBuilder body);
  /// An all-parallel generic into an empty tensor of these sizes and stored type; the body returns the stored value.
  mlir::Value elementwise(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type storage, llvm::ArrayRef<Read> inputs,
                          BodyBuilder body);
  /// linalg.contract into zeros of these sizes; the maps of both factors and of the result.
  mlir::Value contract(mlir::Value lhs, mlir::Value rhs, llvm::ArrayRef<mlir::AffineMap> maps,
                       llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type accumulator,
                       llvm::ArrayRef<mlir::NamedAttribute> attributes);
  /// The elements as `read` gives them, in a tensor of their own.
  mlir::Value copied(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type storage, const Read &read);
  /// Rounds accumulators (a structured tensor of a compute type) to the stored form of `elementType`, if it differs.
  mlir::Value rounded(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type elementType);
  /// The same elements in row-major order under other sizes.
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
  mlir::OpBuilder top; // where sizes are computed
};

//===----------------------------------------------------------------------===//
// Scalars: what stands in the bodies
//===----------------------------------------------------------------------===//

/// contract: what every float op of a body carries.
mlir::arith::FastMathFlagsAttr contractFlag(mlir::OpBuilder &b);
/// contract, reassoc: what the combining op of a float reduction carries.
mlir::arith::FastMathFlagsAttr reductionFlags(mlir::OpBuilder &b);
/// nsz: what maxima and minima carry. torch does not say which of two zeros is the greater; x86's instructions do not
/// either, and to find out takes four more.
mlir::arith::FastMathFlagsAttr extremeFlags(mlir::OpBuilder &b);

/// A stored element to its compute type, and back; roundings here are implicit ones and flagged as droppable, unless
/// what reads the element decides by it (`asRounded`).
mlir::Value load(mlir::OpBuilder &b, mlir::Location loc, mlir::Value stored, mlir::Type elementType,
                 bool asRounded = false);
mlir::Value store(mlir::OpBuilder &b, mlir::Location loc, mlir::Value computed, mlir::Type elementType);
/// A splat's element, in its compute type or as it is stored.
mlir::Value splatConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::TypedAttr splat, bool computed = true);
mlir::Value floatConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, double value);
mlir::Value intConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, int64_t value);

/// The scalar meaning of an elementwise op on elements in compute types (null: not an op of the table).
/// `elementType` is the graph's type of the operands computed with.
mlir::Value elementwiseScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args,
                              mlir::Type elementType);
mlir::Value floatScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args);
mlir::Value integerScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args,
                          bool isUnsigned);
mlir::Value booleanScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange args);
/// torch's conversion between element types, as the user wrote it: `from` as stored, the result as stored.
mlir::Value castScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Value stored, mlir::Type from, mlir::Type to);

/// The combining functions of reductions on compute types. MaxNumber, of floats, passes over NaN: one instruction where
/// what follows finds the NaN again.
enum class Combine { Sum, Prod, Max, MaxNumber, Min, Any, All };
mlir::Value combineScalar(mlir::OpBuilder &b, mlir::Location loc, Combine kind, mlir::Value lhs, mlir::Value rhs,
                          bool isUnsigned);
/// Its neutral element in an accumulator of this type.
mlir::TypedAttr neutralElement(Combine kind, mlir::Type type, bool isUnsigned);
/// An unsigned integer as the signed one of the same rank in order, and back: maxima and minima of loops that know
/// signed integers alone.
mlir::Value signFlipped(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);

/// A factor of a product: a tensor of two dimensions, rows (or columns) x k, or k x these.
struct Factor {
  mlir::Value tensor;
  bool depthFirst = false;
};

/// The product m x n over k, in `accumulator`; over a long k and of few tiles in parts of k.
mlir::Value contracted(Lowering &l, const Factor &lhs, const Factor &rhs, mlir::AffineExpr m, mlir::AffineExpr n,
                       mlir::AffineExpr k, mlir::Type accumulator, llvm::ArrayRef<mlir::NamedAttribute> attributes);

//===----------------------------------------------------------------------===//
// The op families
//===----------------------------------------------------------------------===//

mlir::LogicalResult lowerElementwise(Lowering &l, mlir::Operation *op);
/// The elementwise ops of a graph whose roundings a decision hangs on: a comparison, a conversion to whole numbers, the
/// place of an extreme element. A sum that is off by a rounding is right; a decision is eager's or wrong.
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

/// In the body of an elementwise op: tensor[place], or `otherwise` where one of `bounds` (a dimension and its size)
/// says that the place, which may be negative, is outside. Never reads there.
mlir::Value extractInside(mlir::OpBuilder &b, mlir::Location at, mlir::Value tensor,
                          llvm::SmallVector<mlir::Value> place, llvm::ArrayRef<std::pair<unsigned, mlir::Value>> bounds,
                          mlir::Value otherwise);

/// A tensor surrounded by `value` (a stored constant); amounts may be symbolic, none may be negative. With `byRows`,
/// where the last dimension gets nothing, an elementwise op, which threads share; a tensor.pad runs on one of them, but
/// no window that reads it takes it into its kernel.
mlir::Value padded(Lowering &l, mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> sizes,
                   llvm::ArrayRef<mlir::OpFoldResult> low, llvm::ArrayRef<mlir::OpFoldResult> high,
                   llvm::ArrayRef<mlir::AffineExpr> paddedSizes, mlir::TypedAttr value, bool byRows = false);

} // namespace tilewright::structured

#endif

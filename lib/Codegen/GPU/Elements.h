//===- Elements.h - the value of one element of a tensor, as one thread computes it ----===//
//
// A tensor of a kernel is treated as a function of indices. For a requested element, this class emits the code that
// computes the element at the builder's insertion point. If this code needs elements of operands, the code for these
// elements is emitted recursively:
//
//   element(%r, [i, j])  with  %r = linalg.generic {exp(a - b)} ins(%x, %m)      (maps (i, j), (i))
//     ->  %a = load x[i * 512 + j] ;  %b = element(%m, [i]) ;  arith.subf, math.exp
//
// If an element has already been computed, and this computation dominates the new code, the element is not computed
// again. Indices are values of type index.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_ELEMENTS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_ELEMENTS_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::gpu {

class Elements {
public:
  using Source = std::function<mlir::Value(llvm::ArrayRef<mlir::Value> at)>;

  /// `sizes` are the values of the kernel's index arguments. Indices out of range are reported in `status`, which may
  /// be null. The builder must be at the end of the entry block of the new function. Code that depends only on `sizes`
  /// is inserted at this point, so the caller must insert the terminator after it.
  Elements(mlir::OpBuilder &builder, mlir::func::FuncOp kernel, llvm::ArrayRef<mlir::Value> sizes, mlir::Value status);

  /// Registers `source` as the provider of the elements of `tensor`.
  void provide(mlir::Value tensor, Source source) { provided[tensor] = std::move(source); }
  /// Registers the memory at `pointer`, which is dense and row-major, as the provider of the elements of `tensor`.
  void provideMemory(mlir::Value tensor, mlir::Value pointer);

  /// Returns the element of `tensor` at the indices `at`. If the element cannot be computed, emits an error at the
  /// tensor's op and returns 0.
  mlir::Value element(mlir::Value tensor, llvm::ArrayRef<mlir::Value> at);
  /// Emits the reductions and concatenations on which the elements of `tensor` at the indices `ats` depend, each with
  /// one loop or branch for all of these elements. Later calls of element() reuse the results. If loops do not index
  /// the result of a reduction directly, or if the elements are in different parts of a concatenation, element() emits
  /// the reduction or concatenation later.
  void computeTogether(mlir::Value tensor, llvm::ArrayRef<llvm::SmallVector<mlir::Value>> ats);
  /// Loads adjacent elements of `tensor` with vectors of up to 16 bytes if it is in memory and the first element is
  /// sufficiently aligned. Later calls of element() reuse the elements. `at` are the indices of the first element, and
  /// `lanes` the indices of all elements in the last dimension.
  void loadTogether(mlir::Value tensor, llvm::ArrayRef<mlir::Value> at, llvm::ArrayRef<mlir::Value> lanes);
  /// Stores adjacent elements, with vectors of up to 16 bytes if the first one is sufficiently aligned.
  void storeTogether(llvm::ArrayRef<mlir::Value> values, mlir::Value tensor, llvm::ArrayRef<mlir::Value> at,
                     llvm::ArrayRef<mlir::Value> lanes, mlir::Value pointer);
  void store(mlir::Value value, mlir::Value tensor, llvm::ArrayRef<mlir::Value> at, mlir::Value pointer);

  /// Declares that `index` is a multiple of `of`. LLVM merges accesses to adjacent elements only if it can prove that
  /// they are aligned.
  void assumeMultiple(mlir::Value index, int64_t of) { multiples[index] = of; }

  /// Returns the values that the loop body of `op` yields at the indices `loops` if its accumulators have the values
  /// `accumulated`.
  llvm::SmallVector<mlir::Value> yielded(mlir::linalg::LinalgOp op, llvm::ArrayRef<mlir::Value> loops,
                                         llvm::ArrayRef<mlir::Value> accumulated);

  /// Returns the condition that the source element at the loop indices `loops` is scattered to the indices `at` in the
  /// dimensions `searched`, or null if this is always true. Reports indices that are out of range.
  mlir::Value meets(tile::ScatterOp scatter, llvm::ArrayRef<mlir::Value> loops, llvm::ArrayRef<mlir::Value> at,
                    llvm::ArrayRef<unsigned> searched);

  /// Returns the condition that the source element at the loop indices `loops` is scattered to one of the `number` rows
  /// from the row `first`, or that an index is out of range. Rows have the linear indices of the dimensions `searched`.
  /// Reports no index.
  mlir::Value reachesRows(tile::ScatterOp scatter, llvm::ArrayRef<mlir::Value> loops, llvm::ArrayRef<unsigned> searched,
                          mlir::Value first, mlir::Value number);

  /// Calls `body`, which emits code in a separate region. Elements that this code computes are not reused outside of
  /// the region.
  void inScope(llvm::function_ref<void()> body);

  mlir::Value constant(int64_t value);
  /// Returns the size of dimension `dim` of `tensor`.
  mlir::Value size(mlir::Value tensor, int64_t dim);
  /// Returns the extent of a loop of `op`, which is the size of a dimension of an operand that only this loop indexes.
  /// Returns null if there is no such dimension.
  mlir::Value loopExtent(mlir::linalg::LinalgOp op, unsigned loop);
  /// Returns the number of elements of `tensor`.
  mlir::Value count(mlir::Value tensor);
  mlir::Value evaluate(mlir::AffineExpr expr, llvm::ArrayRef<mlir::Value> dims);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  /// Returns the indices of the element with the linear index `linear` in a row-major block of these extents.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear, llvm::ArrayRef<mlir::Value> extents);
  mlir::Value linearize(llvm::ArrayRef<mlir::Value> at, llvm::ArrayRef<mlir::Value> extents);
  llvm::SmallVector<mlir::Value> extents(mlir::Value tensor);

  bool failed() const { return broken; }

private:
  using Key = std::vector<const void *>;

  /// The address of an element of a dense tensor, and its alignment.
  struct Address {
    mlir::Value pointer;
    unsigned alignment; ///< alignment in bytes
  };
  Address address(mlir::Value pointer, mlir::Type stored, llvm::ArrayRef<mlir::Value> at,
                  llvm::ArrayRef<mlir::Value> extents);
  /// Returns the number of elements of the vectors in which `count` adjacent elements at the address are accessed; 1 if
  /// they are not sufficiently aligned.
  static int64_t vectorAt(const Address &first, mlir::Type stored, int64_t count);
  mlir::Value compute(mlir::OpResult result, llvm::ArrayRef<mlir::Value> at);
  mlir::Value structured(mlir::linalg::LinalgOp op, unsigned result, llvm::ArrayRef<mlir::Value> at);
  llvm::SmallVector<mlir::Value> structuredLanes(mlir::linalg::LinalgOp op, unsigned number,
                                                 llvm::ArrayRef<llvm::SmallVector<mlir::Value>> ats,
                                                 std::vector<llvm::SmallVector<mlir::Value>> lanes);
  void loadOperands(mlir::linalg::LinalgOp op, llvm::ArrayRef<llvm::SmallVector<mlir::Value>> lanes);
  llvm::SmallVector<mlir::Value> initialValues(mlir::linalg::LinalgOp op, llvm::ArrayRef<mlir::Value> loops);
  mlir::Value pad(mlir::tensor::PadOp op, llvm::ArrayRef<mlir::Value> at);
  mlir::Value insert(mlir::tensor::InsertSliceOp op, llvm::ArrayRef<mlir::Value> at);
  /// The position of an element of the result of an insertion in its source.
  struct Inserted {
    mlir::Value inside; ///< condition that the element is in the source; null: always
    llvm::SmallVector<mlir::Value> at;
  };
  Inserted positionInSource(mlir::tensor::InsertSliceOp op, llvm::ArrayRef<mlir::Value> at);
  /// Returns true if adjacent elements at the indices `ats` are all in the source of the insertion, or all outside.
  bool areInOnePart(mlir::tensor::InsertSliceOp op, llvm::ArrayRef<llvm::SmallVector<mlir::Value>> ats);
  void insertTogether(mlir::tensor::InsertSliceOp op, llvm::ArrayRef<llvm::SmallVector<mlir::Value>> ats);
  mlir::Value scan(mlir::Operation *op, llvm::ArrayRef<mlir::Value> at);
  mlir::Value scatter(mlir::Operation *op, llvm::ArrayRef<mlir::Value> at);
  mlir::Value sort(mlir::OpResult result, llvm::ArrayRef<mlir::Value> at);
  mlir::Value groupedConvolution(mlir::Operation *op, llvm::ArrayRef<mlir::Value> at);
  llvm::SmallVector<mlir::Value> depthwiseGradient(mlir::Operation *op,
                                                   llvm::ArrayRef<llvm::SmallVector<mlir::Value>> ats);
  /// Emits a loop over 0 ... extent - 1. `body` receives the index and the accumulator, and returns the new
  /// accumulator.
  mlir::Value inOrder(mlir::Value extent, mlir::Value initial,
                      llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> body);
  /// Returns the values that the index tensors of `scatter` contain at the loop indices `loops`.
  llvm::SmallVector<mlir::Value> indicesOf(tile::ScatterOp scatter, llvm::ArrayRef<mlir::Value> loops);
  mlir::Value fromStart(mlir::Value number, mlir::Value limit);
  mlir::Value indexOrNone(mlir::Value number, mlir::Value limit, bool fromEnd);
  mlir::Value reshape(mlir::Operation *op, llvm::ArrayRef<mlir::Value> at);
  mlir::Value choose(mlir::Value condition, mlir::Type type, llvm::function_ref<mlir::Value()> yes,
                     llvm::function_ref<mlir::Value()> no);
  mlir::Value checkedIndex(mlir::Value number, mlir::Value limit, bool fromEnd);
  void reportIndex(mlir::Value number, mlir::Value limit);
  void cloneBody(mlir::Block &body, mlir::IRMapping &mapping, llvm::ArrayRef<mlir::Value> loops);
  mlir::Value outer(mlir::OpFoldResult value);
  mlir::Value refuse(mlir::Operation *op, mlir::Type type);
  void remember(mlir::Value tensor, llvm::ArrayRef<mlir::Value> at, mlir::Value value);
  /// Returns true if the element has been computed, and the computation dominates the insertion point.
  bool isKnown(mlir::Value tensor, llvm::ArrayRef<mlir::Value> at) const;
  static Key keyOf(mlir::Value tensor, llvm::ArrayRef<mlir::Value> at);

  mlir::OpBuilder &builder;
  mlir::func::FuncOp kernel;
  llvm::SmallVector<mlir::Value> sizes;
  mlir::Value status;
  llvm::DenseMap<mlir::Value, Source> provided;
  llvm::DenseMap<mlir::Value, mlir::Value> memory; ///< pointers of the tensors that are in memory
  llvm::DenseMap<mlir::Value, int64_t> multiples;  ///< known divisors of indices
  std::vector<std::map<Key, mlir::Value>> scopes;
  /// For each scope, the tensors and the indices of their first element for which computeTogether() was called. The
  /// function visits a tensor once, even if many ops read it.
  std::vector<std::set<Key>> visited;
  mlir::Operation *anchor; ///< an op in the entry block; code that depends only on sizes is inserted before it
  std::map<int64_t, mlir::Value> constants;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> sizeValues;
  llvm::DenseMap<mlir::Value, mlir::Value> outers; ///< values in the new function for scalars of the kernel's body
  bool broken = false;
};

/// Returns the combination of `x` and the scattered value `y`.
mlir::Value combineScattered(mlir::OpBuilder &b, mlir::Location loc, tile::ScatterKind kind, mlir::Value x,
                             mlir::Value y);

/// Returns the type of a tensor's element in memory. A boolean takes one byte, so its type is i8. An 8-bit float is
/// also i8, because LLVM has no 8-bit float type.
mlir::Type memoryType(mlir::Type element);
/// toMemory() converts a value to its type in memory, and fromMemory() converts it back. `word` has the type
/// memoryType(element).
mlir::Value toMemory(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
mlir::Value fromMemory(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value word, mlir::Type element);

} // namespace tilewright::gpu

#endif

//===- Elements.h - the value of one element of a tensor, as one thread computes it ----===//
//
// A kernel's tensors are functions of places. Asked for an element, this writes the code that computes it where the
// builder stands, from the elements that it needs in turn:
//
//   element(%r, [i, j])  with  %r = linalg.generic {exp(a - b)} ins(%x, %m)      (maps (i, j), (i))
//     ->  %a = load x[i * 512 + j] ;  %b = element(%m, [i]) ;  arith.subf, math.exp
//
// An element that has been computed where the new code can see it is not computed again. Places are of type index.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_ELEMENTS_H
#define TILEWRIGHT_LIB_TARGET_CUDA_ELEMENTS_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::cuda {

class Elements {
public:
  using Source = std::function<mlir::Value(llvm::ArrayRef<mlir::Value> at)>;

  /// `sizes` are the values of the kernel's index arguments, `status` where indices out of range are told, or null.
  /// The builder stands at the end of the entry block of the new function, which has a terminator neither yet nor later
  /// above: what only depends on `sizes` is put there.
  Elements(mlir::OpBuilder &builder, mlir::func::FuncOp kernel, llvm::ArrayRef<mlir::Value> sizes, mlir::Value status);

  /// From now on elements of `tensor` are what `source` gives.
  void provide(mlir::Value tensor, Source source) { provided[tensor] = std::move(source); }
  /// Elements of `tensor` lie at `pointer`, dense and row-major.
  void provideMemory(mlir::Value tensor, mlir::Value pointer);

  /// The element of `tensor` at `at`. When there is no way to compute it, an error of its op and a zero.
  mlir::Value element(mlir::Value tensor, llvm::ArrayRef<mlir::Value> at);
  void store(mlir::Value value, mlir::Value tensor, llvm::ArrayRef<mlir::Value> at, mlir::Value pointer);

  /// The caller knows that `place` is a multiple of `of`: accesses there are merged, which takes that they are aligned.
  void assumeMultiple(mlir::Value place, int64_t of) { multiples[place] = of; }

  /// What the loop body of `op` yields at `loops`, where the results so far are `sofar`.
  llvm::SmallVector<mlir::Value> yielded(mlir::linalg::LinalgOp op, llvm::ArrayRef<mlir::Value> loops,
                                         llvm::ArrayRef<mlir::Value> sofar);

  /// Whether the source's element at `loops` goes to the places of `at` in the dimensions `searched`; null: to all. A
  /// number that is no place is told.
  mlir::Value meets(tile::ScatterOp scatter, llvm::ArrayRef<mlir::Value> loops, llvm::ArrayRef<mlir::Value> at,
                    llvm::ArrayRef<unsigned> searched);

  /// Computes what `body` asks for in a region of its own: the elements of it are forgotten behind it.
  void inScope(llvm::function_ref<void()> body);

  mlir::Value constant(int64_t value);
  /// Size `dim` of `tensor`.
  mlir::Value size(mlir::Value tensor, int64_t dim);
  /// How far a loop of `op` runs, told by an operand that it indexes alone; null where there is none.
  mlir::Value loopExtent(mlir::linalg::LinalgOp op, unsigned loop);
  /// The number of elements.
  mlir::Value count(mlir::Value tensor);
  mlir::Value evaluate(mlir::AffineExpr expr, llvm::ArrayRef<mlir::Value> dims);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  /// The place of the element `linear` of a row-major block of these extents.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear, llvm::ArrayRef<mlir::Value> extents);
  mlir::Value linearize(llvm::ArrayRef<mlir::Value> at, llvm::ArrayRef<mlir::Value> extents);
  llvm::SmallVector<mlir::Value> extents(mlir::Value tensor);

  bool failed() const { return broken; }

private:
  using Key = std::vector<const void *>;

  /// Where the element of a dense tensor at `pointer` lies.
  struct Address {
    mlir::Value pointer;
    unsigned alignment; ///< bytes
  };
  Address address(mlir::Value pointer, mlir::Type stored, llvm::ArrayRef<mlir::Value> at,
                  llvm::ArrayRef<mlir::Value> extents);
  mlir::Value compute(mlir::OpResult result, llvm::ArrayRef<mlir::Value> at);
  mlir::Value structured(mlir::linalg::LinalgOp op, unsigned result, llvm::ArrayRef<mlir::Value> at);
  mlir::Value pad(mlir::tensor::PadOp op, llvm::ArrayRef<mlir::Value> at);
  mlir::Value insert(mlir::tensor::InsertSliceOp op, llvm::ArrayRef<mlir::Value> at);
  mlir::Value scan(mlir::Operation *op, llvm::ArrayRef<mlir::Value> at);
  mlir::Value scatter(mlir::Operation *op, llvm::ArrayRef<mlir::Value> at);
  mlir::Value sort(mlir::OpResult result, llvm::ArrayRef<mlir::Value> at);
  mlir::Value groupedConvolution(mlir::Operation *op, llvm::ArrayRef<mlir::Value> at);
  mlir::Value depthwiseGradient(mlir::Operation *op, llvm::ArrayRef<mlir::Value> at);
  /// `body` for 0 ... extent - 1, given each and the value so far, which it returns anew.
  mlir::Value inOrder(mlir::Value extent, mlir::Value initial,
                      llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> body);
  mlir::Value placeOrNone(mlir::Value number, mlir::Value limit, bool fromEnd);
  mlir::Value reshape(mlir::Operation *op, llvm::ArrayRef<mlir::Value> at);
  mlir::Value choose(mlir::Value condition, mlir::Type type, llvm::function_ref<mlir::Value()> yes,
                     llvm::function_ref<mlir::Value()> no);
  mlir::Value place(mlir::Value number, mlir::Value limit, bool fromEnd);
  void tell(mlir::Value number, mlir::Value limit);
  void cloneBody(mlir::Block &body, mlir::IRMapping &mapping, llvm::ArrayRef<mlir::Value> loops);
  mlir::Value outer(mlir::OpFoldResult value);
  mlir::Value refuse(mlir::Operation *op, mlir::Type type);
  void remember(mlir::Value tensor, llvm::ArrayRef<mlir::Value> at, mlir::Value value);
  static Key keyOf(mlir::Value tensor, llvm::ArrayRef<mlir::Value> at);

  mlir::OpBuilder &builder;
  mlir::func::FuncOp kernel;
  llvm::SmallVector<mlir::Value> sizes;
  mlir::Value status;
  llvm::DenseMap<mlir::Value, Source> provided;
  llvm::DenseMap<mlir::Value, int64_t> multiples; ///< that places are known to be of
  std::vector<std::map<Key, mlir::Value>> scopes;
  mlir::Operation *anchor; ///< in the entry block: what only depends on sizes stands before it
  std::map<int64_t, mlir::Value> constants;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> sizeValues;
  llvm::DenseMap<mlir::Value, mlir::Value> outers; ///< scalars of the kernel's own body, in the new function
  bool broken = false;
};

/// `x` after a scatter's `y` has come to it.
mlir::Value combineScattered(mlir::OpBuilder &b, mlir::Location loc, tile::ScatterKind kind, mlir::Value x,
                             mlir::Value y);

/// A tensor's element as it lies in memory: a boolean is a byte, and so is a float of 8 bits, which llvm has not.
mlir::Type memoryType(mlir::Type element);
/// From a value to what lies in memory, and back: `word` is of memoryType(element).
mlir::Value toMemory(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
mlir::Value fromMemory(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value word, mlir::Type element);

} // namespace tilewright::cuda

#endif

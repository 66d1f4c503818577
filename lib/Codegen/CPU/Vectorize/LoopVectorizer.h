//===- LoopVectorizer.h - one structured op on buffers, as vectorized loops ----===//
//
// The op's loops become scf.for. One of them, selected by the memory layout of the operands, processes `lanes`
// elements per iteration with a masked tail. There are two forms of code:
//
//   parallel vector loop                         reduction vector loop
//   for parallel loops                           for parallel loops
//     for v step lanes                             acc = identity
//       acc = out[v]                               for other reduction loops, for v step lanes
//       for reduction loops: acc = body(acc)         acc = combine(acc, body)
//       out[v] = acc                               out = combine(out, horizontal(acc))
//
// If a result has an element for each iteration of the reduction loops, the element is stored in this iteration. If
// neither form can vectorize the op's body or its accesses, or scalar code is estimated to be faster, the op is
// executed element by element.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_LOOPVECTORIZER_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_LOOPVECTORIZER_H

#include "dialects/Graph/Decisions.h"
#include "dialects/Tile/Combiner.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright::vector_stage {

/// The addresses of an operand's elements in consecutive iterations of the vector loop: the same address, adjacent
/// addresses, or any other addresses.
enum class Access { Uniform, Contiguous, Scattered };

/// Returns the access of `operand` (a memref or scalar operand of `op`) along loop `loop`.
Access accessAlong(mlir::linalg::LinalgOp op, mlir::OpOperand &operand, unsigned loop);

/// Returns the stride, in elements, of a Scattered operand along `loop` if the stride is small, otherwise 0. For a
/// small stride, whole vectors are loaded, and shuffles select the elements of the operand (BodyEmitter.h).
int64_t smallStride(mlir::linalg::LinalgOp op, mlir::OpOperand &operand, unsigned loop);
inline bool isSmallStride(int64_t elements) { return elements >= 2 && elements <= 4; }

/// Returns the increment of `expr`, an index of `op`, per step of `loop`. Returns std::nullopt if it is not a constant.
std::optional<int64_t> stepAlong(mlir::linalg::LinalgOp op, mlir::AffineExpr expr, unsigned loop);

/// Returns the largest power of two, at most `lanes`, such that `size` elements fill more than half of a vector of this
/// length. Returns `lanes` if `size` is dynamic.
int64_t lanesFor(int64_t size, int64_t lanes);

/// The loop to vectorize.
struct VectorLoop {
  int64_t loop = -1; ///< -1: no loop is vectorized, and the op is executed element by element
  bool reduction = false;
  int64_t lanes = 1;
  llvm::StringLiteral reason = ""; ///< reason why no loop is vectorized
};

/// Returns true if all body ops have a vector form: elementwise ops, constants, indices, and loads at computed indices.
bool bodyHasVectorForm(mlir::linalg::LinalgOp op);

VectorLoop chooseVectorLoop(mlir::linalg::LinalgOp op, int64_t lanes);

/// Returns true if a reduction loop indexes output `number`. The elements of this output are stored inside the
/// reduction loops. --tw-merge-reductions produces such outputs.
bool isStoredInSteps(mlir::linalg::LinalgOp op, unsigned number);

/// Replaces `op` (on memrefs) by loops. Fails with a message at `op` if an operand is still a tensor. If `op` has many
/// iterations and no loop is vectorized, adds the reason to `decisions` (if not null).
llvm::LogicalResult emitLoops(mlir::linalg::LinalgOp op, int64_t lanes, graph::DecisionList *decisions = nullptr);

} // namespace tilewright::vector_stage

#endif

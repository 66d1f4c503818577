//===- LoopVectorizer.h - one structured op on buffers, as loops of vectors ----===//
//
// The op's loops become scf.for; one of them, chosen by how the operands lie in memory, runs `lanes` elements at a
// time with a masked tail. Two shapes of code:
//
//   parallel vector loop                         reduction vector loop
//   for parallel loops                           for parallel loops
//     for v step lanes                             acc = identity
//       acc = out[v]                               for other reduction loops, for v step lanes
//       for reduction loops: acc = body(acc)         acc = combine(acc, body)
//       out[v] = acc                               out = combine(out, horizontal(acc))
//
// A result that has an element for each step of the reductions is stored in the step (v or a reduction loop).
// An op whose body or accesses allow neither runs element by element.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_VECTOR_LOOPVECTORIZER_H
#define TILEWRIGHT_LIB_VECTOR_LOOPVECTORIZER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright::vector_stage {

/// How the elements that one operand gives to consecutive iterations of the vector loop lie in memory.
enum class Access { Uniform, Contiguous, Scattered };

/// Access of `operand` (a memref or scalar operand of `op`) along loop `loop`.
Access accessAlong(mlir::linalg::LinalgOp op, mlir::OpOperand &operand, unsigned loop);

/// How many elements apart in memory those lie that a vector along `loop` takes of a Scattered operand, if they are so
/// few that whole vectors are read and their elements picked (BodyEmitter.h); 0 otherwise.
int64_t fewApart(mlir::linalg::LinalgOp op, mlir::OpOperand &operand, unsigned loop);
inline bool isFewApart(int64_t elements) { return elements >= 2 && elements <= 4; }

/// What one step of `loop` adds to `expr`, an index of `op`; nothing where that is not a number.
std::optional<int64_t> stepAlong(mlir::linalg::LinalgOp op, mlir::AffineExpr expr, unsigned loop);

/// Of `lanes`, so many that `size` elements leave no half of them idle.
int64_t lanesFor(int64_t size, int64_t lanes);

/// The loop to vectorize.
struct VectorLoop {
  int64_t loop = -1; ///< -1: none, element by element
  bool reduction = false;
  int64_t lanes = 1;
};

/// Body ops that have a vector form: elementwise ones, indices, and reads at computed places.
bool bodyHasVectorForm(mlir::linalg::LinalgOp op);

VectorLoop chooseVectorLoop(mlir::linalg::LinalgOp op, int64_t lanes);

/// Whether output `number` has an element for each step of the reductions, too: it is stored step by step, as
/// --tw-merge-reductions has it.
bool isStoredInSteps(mlir::linalg::LinalgOp op, unsigned number);

/// The op that combines output `number` with a new value (acc = combine(acc, x)), or null.
mlir::Operation *combinerOf(mlir::linalg::LinalgOp op, unsigned number);

/// Replaces `op` (on memrefs) by loops. Fails with a message at `op` when its body holds what cannot be emitted.
llvm::LogicalResult emitLoops(mlir::linalg::LinalgOp op, int64_t lanes);

} // namespace tilewright::vector_stage

#endif

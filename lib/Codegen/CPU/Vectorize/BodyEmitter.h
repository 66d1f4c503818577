//===- BodyEmitter.h - the body of a structured op, on scalars or vectors --------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_BODYEMITTER_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_BODYEMITTER_H

#include "lib/Codegen/CPU/Vectorize/LoopVectorizer.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::vector_stage {

/// Emits the body of one op for `lanes` consecutive iterations of its vector loop. Values that do not change along the
/// vector loop remain scalars, and may be emitted once before the loop (emitUniform).
class BodyEmitter {
public:
  BodyEmitter(mlir::linalg::LinalgOp op, VectorLoop choice);

  /// The current values of the op's loop variables. The value for the vector loop is the value in the first lane.
  llvm::SmallVector<mlir::Value> ivs;

  /// Emits the reads and body ops that do not change along the vector loop and do not depend on an accumulator. Stores
  /// their results in `values`.
  void emitUniform(mlir::OpBuilder &builder, mlir::IRMapping &values);

  /// Emits one step with the given accumulators, and returns the yielded values. A yielded value is a scalar if no loop
  /// is vectorized or the value is uniform, otherwise a vector. `mask` is null for a full step. `values` maps values
  /// that need not be emitted, such as those of emitUniform(), to the values to use instead.
  llvm::SmallVector<mlir::Value> emitStep(mlir::OpBuilder &builder, mlir::IRMapping values,
                                          mlir::ValueRange accumulators, mlir::Value mask);

  /// True if the accumulators passed to emitStep() were initialized with the identity.
  bool fromIdentity = false;
  /// Returns the maximum or minimum of `x` and `best`, an accumulator that was initialized with the identity, as a
  /// comparison and a selection, for which x86 has a single instruction. This is correct for combiners that ignore NaN
  /// (arith.maxnumf, arith.minnumf), because their accumulator is never NaN. Returns null for other combiners.
  mlir::Value numberExtreme(mlir::OpBuilder &builder, mlir::Operation *combiner, mlir::Value x, mlir::Value best);

  mlir::Value sumOfProducts(mlir::OpBuilder &builder, mlir::Operation &combiner, const mlir::IRMapping &values);

  /// Emits one step at the current indices: reads of the outputs, the body, and stores. `combined` are the numbers of
  /// the outputs that are neither read nor stored, in ascending order. Their values are `accumulators`, and this
  /// function returns their new values as vectors.
  llvm::SmallVector<mlir::Value> emitElements(mlir::OpBuilder &builder, const mlir::IRMapping &values, mlir::Value mask,
                                              llvm::ArrayRef<unsigned> combined = {},
                                              mlir::ValueRange accumulators = {});

  /// Returns the operand's indices for the current loop values.
  llvm::SmallVector<mlir::Value> indicesOf(mlir::OpBuilder &builder, mlir::OpOperand &operand);
  /// Reads the operand at the current indices.
  mlir::Value read(mlir::OpBuilder &builder, mlir::OpOperand &operand, mlir::Value mask);
  /// Reads output `number` at the current indices. Returns null if the body does not use the output.
  mlir::Value readBefore(mlir::OpBuilder &builder, unsigned number, mlir::Value mask);
  /// Writes `value` to output `number` at the current indices.
  void write(mlir::OpBuilder &builder, mlir::Value value, unsigned number, mlir::Value mask);

  /// Returns the `count` consecutive elements of `memref` that start at `indices`, as a one-dimensional memref.
  mlir::Value lineAt(mlir::OpBuilder &builder, mlir::Value memref, llvm::ArrayRef<mlir::Value> indices, int64_t count);

  mlir::Value asVector(mlir::OpBuilder &builder, mlir::Value value);
  mlir::VectorType vectorOf(mlir::Type element) const { return mlir::VectorType::get({choice.lanes}, element); }

private:
  mlir::Value readLanes(mlir::OpBuilder &builder, mlir::Value memref, llvm::ArrayRef<mlir::Value> indices,
                        mlir::Value mask);
  mlir::Value readStrided(mlir::OpBuilder &builder, mlir::Value memref, llvm::ArrayRef<mlir::Value> indices,
                          int64_t stride);
  mlir::Value readOfLoad(mlir::OpBuilder &builder, mlir::memref::LoadOp load, llvm::ArrayRef<mlir::Value> indices,
                         mlir::Value mask);
  /// A load in the form select(there, load[..., select(there, index, 0)], other), in which the loaded value is used
  /// only if the condition `there` is true. It can be emitted as a masked load at `index`.
  struct Guard {
    mlir::Value index, there;
    explicit operator bool() const { return index != nullptr; }
  };
  Guard guardOf(mlir::memref::LoadOp load);
  bool isUniform(mlir::Value value);
  bool isUnitStride(mlir::Value value);
  void emitOp(mlir::OpBuilder &builder, mlir::Operation &inner, mlir::IRMapping &values, mlir::Value mask);

  mlir::linalg::LinalgOp op;
  VectorLoop choice;
  mlir::Location loc;
  llvm::DenseMap<mlir::Value, bool> uniformity;
};

} // namespace tilewright::vector_stage

#endif

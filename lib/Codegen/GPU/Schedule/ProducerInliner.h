//===- ProducerInliner.h - move kernels into the kernels that read their results ------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PRODUCERINLINER_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PRODUCERINLINER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace tilewright::gpu {

/// Moves the ops of kernels into the only kernel that reads their result. A kernel is moved only if all calls of its
/// reader read a result of this kernel in the same operand. Kernels that have a schedule are not changed. Values of
/// parameters, which computeOnce() computes once for each version of the parameters, are not moved into kernels that
/// also read other values.
class ProducerInliner {
public:
  explicit ProducerInliner(mlir::ModuleOp module);

  /// Moves each producer for which `isWanted` returns true. The parameters of `isWanted` are the reader, the number of
  /// its argument, and the producer, which has one result.
  void run(llvm::function_ref<bool(mlir::func::FuncOp, unsigned, mlir::func::FuncOp)> isWanted);

private:
  bool isOfParameters(mlir::Value value);
  mlir::func::FuncOp producerOfAll(llvm::ArrayRef<mlir::func::CallOp> calls, unsigned number);
  void moveInto(mlir::func::FuncOp kernel, unsigned number, mlir::func::FuncOp producer,
                llvm::ArrayRef<mlir::func::CallOp> calls);
  void mergeEqualArguments(mlir::func::FuncOp kernel, llvm::ArrayRef<mlir::func::CallOp> calls);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::StringMap<llvm::SmallVector<mlir::func::CallOp>> callsOf; ///< the calls of each kernel, by its name
  llvm::DenseMap<mlir::Operation *, bool> ofParameters;           ///< the known results of isOfParameters() for calls
};

} // namespace tilewright::gpu

#endif

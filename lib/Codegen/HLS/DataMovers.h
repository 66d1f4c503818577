//===- DataMovers.h - tasks that copy between ports and arrays --------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_DATAMOVERS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_DATAMOVERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tilewright::hls {

/// Number of ports of a bank, which is the number of accesses per cycle.
inline constexpr int64_t portsOfBank = 2;
/// Returns the number of elements of `type` in a word of 512 bits, which a port to memory outside of the chip can
/// transfer in one cycle. The number is at least 1.
int64_t elementsOfWord(mlir::MemRefType type);

/// Returns `type` without banks, and with the memory space of ports, which is memory outside of the chip.
mlir::MemRefType inDram(mlir::MemRefType type);

/// Creates a function @name(from, to...) that copies the elements of `from`, in row-major order, into every `to`.
/// Shapes may differ, but all have the same number of elements. The function copies one element per cycle until
/// widenMovers() runs.
mlir::func::FuncOp makeMover(mlir::ModuleOp module, llvm::StringRef name, mlir::Type from, mlir::TypeRange to,
                             mlir::Location loc);

/// Changes the tasks of `top` that copy data between ports and arrays, or between arrays, so that a task copies several
/// elements per cycle if possible. The number of elements per cycle divides the lengths of the rows of the arrays on
/// the chip. It is at most the number of ports of all banks along the last dimension, and at most the number of
/// elements in 512 bits.
void widenMovers(mlir::func::FuncOp top);

} // namespace tilewright::hls

#endif

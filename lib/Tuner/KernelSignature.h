//===- KernelSignature.h - how a record identifies its kernel -------------------------------===//
//
// The signature of a kernel is its IR after layouts are chosen, without name, locations, schedule and descriptive
// attributes. If two kernels have the same signature, the compiler generates the same code for the same schedule. The
// family is the same text with every number replaced by '#'. A digit after a letter or '%' is kept: "f32" becomes
// "f3#".
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_KERNELSIGNATURE_H
#define TILEWRIGHT_LIB_TUNER_KERNELSIGNATURE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace tilewright::tuner {

struct KernelSignature {
  std::string exact, family;  ///< hashes in hexadecimal digits
  std::vector<int64_t> sizes; ///< sizes of the arguments and results, in order; -1 for a symbolic size
};

KernelSignature signatureOf(mlir::func::FuncOp kernel);

/// Returns a hash of the compiler's sources that generate this kind of kernel for `target`.
std::string epochOf(llvm::StringRef target, mlir::func::FuncOp kernel);

} // namespace tilewright::tuner

#endif

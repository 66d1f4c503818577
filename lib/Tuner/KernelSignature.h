//===- KernelSignature.h - by what a record knows its kernel again --------------------------===//
//
// The text of a kernel after layouts were chosen, without its name, places, schedule and what is said of it for people:
// equal texts make equal code from equal schedules. Its family is the same text with every number replaced by '#'.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_KERNELSIGNATURE_H
#define TILEWRIGHT_LIB_TUNER_KERNELSIGNATURE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace tilewright::tuner {

struct KernelSignature {
  std::string exact, family;  ///< hashes, hexadecimal
  std::vector<int64_t> sizes; ///< of the arguments' and results' types, in order; -1 for symbolic ones
};

KernelSignature signatureOf(mlir::func::FuncOp kernel);

/// A hash of the sources that shape kernels such as `kernel` on `target`; another after one of them has changed.
std::string epochOf(llvm::StringRef target, mlir::func::FuncOp kernel);

} // namespace tilewright::tuner

#endif

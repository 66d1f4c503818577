//===- RandomCall.h - a call of a program with random inputs -------------------------------------===//
//
// A RandomCall has random inputs for a module at the end of the structured stage. Floats are uniform in [-1, 1).
// Integers and booleans are 0 or 1, which are valid indices for most dimensions. All programs that a RandomCall runs
// write their results to the same memory.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_WORKERS_RANDOMCALL_H
#define TILEWRIGHT_LIB_TUNER_WORKERS_RANDOMCALL_H

#include "tilewright/Compiler.h"

namespace tilewright {

class RandomCall {
public:
  /// `sizes` are the values of the symbolic sizes, in order. A missing value is 8, clamped to the range of the size.
  static llvm::Expected<RandomCall> make(mlir::ModuleOp module, llvm::ArrayRef<int64_t> sizes);

  /// Runs `program` once and returns its error.
  llvm::Error run(Program &program, int threads);

  llvm::ArrayRef<int64_t> symbolValues() const { return symbols; }

private:
  struct FreeMemory {
    void operator()(void *memory) const { ::operator delete(memory, std::align_val_t(64)); }
  };
  using Memory = std::unique_ptr<void, FreeMemory>;

  std::vector<int64_t> symbols;
  std::vector<Memory> memory;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
};

} // namespace tilewright

#endif

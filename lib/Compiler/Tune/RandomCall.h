//===- RandomCall.h - a call of a program with made-up inputs ------------------------------------===//
//
// Of a module at the end of the structured stage: floats uniform in [-1, 1), integers and booleans 0 or 1, which is
// within the range of any index. Results of all programs of one call go into the same memory.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_TUNE_RANDOMCALL_H
#define TILEWRIGHT_LIB_COMPILER_TUNE_RANDOMCALL_H

#include "tilewright/Compiler.h"

namespace tilewright {

class RandomCall {
public:
  /// `sizes`: of the symbolic sizes in order; those that are not given are 8 within their ranges.
  static llvm::Expected<RandomCall> make(mlir::ModuleOp module, llvm::ArrayRef<int64_t> sizes);

  /// Runs `program` once, and says what went wrong.
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

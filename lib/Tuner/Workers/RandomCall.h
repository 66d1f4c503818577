//===- RandomCall.h - a call of a program with random inputs -------------------------------------===//
//
// A RandomCall has random inputs for a module at the end of the structured or tiled stage (lowerToKernels). Floats are
// uniform in [-1, 1). Integers and booleans are 0 or 1, which are valid indices for most dimensions. All programs that
// a RandomCall runs write their results to the same memory. This memory is on the host, or on the device after
// useDeviceOf().
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

  /// If a device runs `program`, copies the inputs to this device. Later calls run there.
  llvm::Error useDeviceOf(Program &program);

  /// Runs `program` once and returns its error. On a device, the call may return before the device has finished.
  llvm::Error run(Program &program, int threads);
  /// Runs `program` `calls` times, one call after the other, and returns the mean time of a call in nanoseconds. On a
  /// device, the mean time is measured on the device, and the contents of the device's caches are replaced before each
  /// call.
  llvm::Expected<double> time(Program &program, int threads, int64_t calls = 1);

  llvm::ArrayRef<int64_t> symbolValues() const { return symbols; }

private:
  bool enqueue(Program &program, int threads, RunError &error);

  struct FreeMemory {
    void operator()(void *memory) const { ::operator delete(memory, std::align_val_t(64)); }
  };
  using Memory = std::unique_ptr<void, FreeMemory>;

  std::vector<int64_t> symbols;
  std::vector<Memory> memory;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  std::vector<int64_t> inputBytes, outputBytes;
  std::unique_ptr<DeviceTimer> timer; ///< timer of the device that has the memory of `inputs` and `outputs`
};

} // namespace tilewright

#endif

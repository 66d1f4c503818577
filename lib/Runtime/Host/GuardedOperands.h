//===- GuardedOperands.h - guard pages around every buffer of a call ----------------------===//
//
// With TILEWRIGHT_GUARD_PAGES=1 in the environment, each buffer that the steps of a call access (inputs, outputs,
// packed parameters, constants, arena) is copied into separate pages for the call, and back after the call. The page
// before the buffer's first page and the page after its last page are inaccessible: a kernel that accesses these pages
// fails with SIGSEGV. Writes to the bytes that precede the buffer in its first page, or to padding after its end, are
// reported as an error of the call. Inputs and outputs have no padding; the other buffers are padded to a multiple of
// 64 bytes.
//
// Guard pages make calls many times slower and are meant for tests (test/Unit/Runtime/Host/GuardedOperandsTest.cpp,
// test/Conformance/onnx_sizes).
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_GUARDEDOPERANDS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_GUARDEDOPERANDS_H

#include "lib/Runtime/Host/Frame.h"

namespace tilewright::runtime {

class GuardedOperands {
public:
  /// Returns true if the environment variable or a test has enabled guard pages. The environment is read once.
  static bool wanted() { return wish(); }
  static void want(bool on) { wish() = on; }

  /// Moves the memory of the operands [begin, end) of `frame` to separate pages. `pointers` has the addresses of these
  /// operands, and is updated.
  GuardedOperands(const Frame &frame, size_t begin, size_t end, void **pointers);
  ~GuardedOperands();
  GuardedOperands(const GuardedOperands &) = delete;
  GuardedOperands &operator=(const GuardedOperands &) = delete;

  /// Returns false with a reason in `error` if there is not enough memory.
  bool isReady(RunError &error) const;

  /// Copies modified buffers back. Returns false if a step has written bytes outside a buffer.
  bool finish(RunError &error) const;

private:
  /// One buffer, or several buffers that overlap.
  struct Region {
    uint8_t *original = nullptr, *pages = nullptr, *copy = nullptr;
    int64_t bytes = 0, mapped = 0;
    int32_t step = 0; ///< a step that accesses the region
  };
  static bool &wish();
  bool map(Region &region, bool aligned);

  std::vector<Region> regions; ///< sorted by the address of the original memory
  bool ready = true;
};

} // namespace tilewright::runtime

#endif

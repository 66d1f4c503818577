//===- GuardedOperands.h - guard pages after every buffer of a call ----------------------===//
//
// With TILEWRIGHT_GUARD_PAGES=1 in the environment, each buffer that the steps of a call access (inputs, outputs,
// packed parameters, constants, arena) is copied into separate pages for the call, and back afterwards. A page
// without access rights follows its end, and another precedes its first page: a kernel that reads or writes out of
// bounds fails there with SIGSEGV instead of accessing an adjacent buffer. Writes into the rest of the first page,
// or between the end and the next multiple of 64 bytes, are an error of the call.
//
// For tests (test/Unit/Runtime/Host/GuardedOperandsTest.cpp, test/Conformance/onnx): a call is many times as slow.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_GUARDEDOPERANDS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_GUARDEDOPERANDS_H

#include "lib/Runtime/Host/Frame.h"

namespace tilewright::runtime {

class GuardedOperands {
public:
  /// Returns true if guard pages are enabled, by the environment, which is read once, or by a test.
  static bool wanted() { return wish(); }
  static void want(bool on) { wish() = on; }

  /// Moves the memory of operands [begin, end) of `frame`, whose addresses are `pointers`, and updates the pointers.
  GuardedOperands(const Frame &frame, size_t begin, size_t end, void **pointers);
  ~GuardedOperands();
  GuardedOperands(const GuardedOperands &) = delete;
  GuardedOperands &operator=(const GuardedOperands &) = delete;

  /// Returns false with a reason in `error` if there is not enough memory.
  bool isReady(RunError &error) const;

  /// Copies written data back. Returns false if something was written outside a buffer.
  bool finish(RunError &error) const;

private:
  /// Memory that operands share: one buffer, or several overlapping ones.
  struct Region {
    uint8_t *original = nullptr, *pages = nullptr, *copy = nullptr;
    int64_t bytes = 0, mapped = 0;
    int32_t step = 0; ///< the first step that accesses it
  };
  static bool &wish();
  bool map(Region &region, bool aligned);

  std::vector<Region> regions; ///< sorted by address of the original
  bool ready = true;
};

} // namespace tilewright::runtime

#endif

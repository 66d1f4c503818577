//===- GuardedOperands.h - every buffer of a call ends at a page that nobody may touch ---===//
//
// With TILEWRIGHT_GUARD_PAGES=1 in the environment each buffer that the steps of a call touch (inputs, outputs, packed
// parameters, constants, arena) is copied into pages of its own for the walk, and back. Behind its end, and before its
// first page, lies a page without access: a kernel that reads or writes outside dies there with SIGSEGV, where it
// would have found a neighbour. What is written into the rest of the first page, or between an end and the next
// multiple of 64 bytes, is an error of the call.
//
// For tests (test/Unit/Host/GuardedOperandsTest.cpp, test/Conformance/onnx): a call is many times as slow.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_GUARDEDOPERANDS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_GUARDEDOPERANDS_H

#include "lib/Runtime/Host/Frame.h"

namespace tilewright::runtime {

class GuardedOperands {
public:
  /// Whether the process wants guard pages: the environment, read once, or what a test has set.
  static bool wanted() { return wish(); }
  static void want(bool on) { wish() = on; }

  /// Moves the memory behind operands [begin, end) of `frame`, to which `pointers` point, and sets these.
  GuardedOperands(const Frame &frame, size_t begin, size_t end, void **pointers);
  ~GuardedOperands();
  GuardedOperands(const GuardedOperands &) = delete;
  GuardedOperands &operator=(const GuardedOperands &) = delete;

  /// False with a reason in `error`: there is not enough memory.
  bool isReady(std::string &error) const;

  /// Copies what has been written back. False where something was written outside of a buffer.
  bool finish(std::string &error) const;

private:
  /// Memory that operands share: of one buffer, or of several that lie over each other.
  struct Region {
    uint8_t *original = nullptr, *pages = nullptr, *copy = nullptr;
    int64_t bytes = 0, mapped = 0;
    int32_t step = 0; ///< that touches it first
  };
  static bool &wish();
  bool map(Region &region, bool aligned);

  std::vector<Region> regions; ///< by the address of the original
  bool ready = true;
};

} // namespace tilewright::runtime

#endif

//===- Kernel.h - the functions that steps of a plan call -----------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_KERNEL_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_KERNEL_H

#include "lib/Interfaces/RuntimeABI.h"

#include <cstdint>
#include <string>

namespace tilewright::runtime {

/// A kernel's machine code.
struct Kernel {
  tilewright_kernel_fn function = nullptr;
  /// Hash of the code's IR and of the machine; executables with equal hashes share packed parameters.
  std::string identity;
};

/// A function of the host program that a plan calls by name. It returns null or an error text, which must stay valid
/// until the next call of the function. It runs on the thread that called run().
struct HostFunction {
  const char *(*call)(void *context, void *const *buffers, const int64_t *sizes) = nullptr;
  void *context = nullptr;
};

} // namespace tilewright::runtime

#endif

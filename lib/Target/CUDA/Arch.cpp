//===- Arch.cpp - the architectures that the target cuda knows -------------------------===//
//
// Shared memory is what a block may ask for: CUDA C++ Programming Guide, technical specifications per compute
// capability.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CUDA/Arch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <string>

namespace tilewright::cuda {

static constexpr Arch arches[] = {
    {"sm_80", 163 * 1024, ""},
    {"sm_86", 99 * 1024, ""},
    {"sm_89", 99 * 1024, ""},
    {"sm_90a", 227 * 1024, "kernels for sm_90a are those of sm_80 yet: no wgmma, no TMA, no clusters"},
};

llvm::Expected<Arch> findArch(llvm::StringRef name) {
  for (const Arch &arch : arches)
    if (arch.name == name)
      return arch;
  std::string known =
      llvm::join(llvm::map_range(arches, [](const Arch &arch) { return llvm::StringRef(arch.name); }), ", ");
  return llvm::createStringError("target cuda knows no arch '%s'; there are %s", name.str().c_str(), known.c_str());
}

} // namespace tilewright::cuda

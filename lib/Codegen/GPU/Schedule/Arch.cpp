//===- Arch.cpp - the architectures that the target cuda supports ----------------------===//
//
// The size of shared memory is the maximum that a block may request (CUDA C++ Programming Guide, technical
// specifications per compute capability). The rates are those of an A100 SXM 80 GB, A40, L40 and H200, from NVIDIA's
// data sheets. On the H200, mma.sync reaches about 5/8 of wgmma's rate, and the memory rate is that of a measured copy.
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <string>

namespace tilewright::gpu {

static constexpr Arch arches[] = {
    {"sm_80", 163 * 1024, "", 108, 1.41, 2048, 0, 2000, 40e6, false},
    {"sm_86", 99 * 1024, "", 84, 1.74, 1024, 0, 690, 6e6, false},
    {"sm_89", 99 * 1024, "", 142, 2.49, 1024, 0, 860, 96e6, true},
    {"sm_90a", 227 * 1024,
     "wgmma and TMA for attention and for products of bf16, f16, tf32, int8 and fp8, clusters for long rows, "
     "conversions of fp8; other code is the same as for sm_80",
     132, 1.7, 2560, 4096, 4300, 50e6, true},
};

llvm::Expected<Arch> findArch(llvm::StringRef name) {
  llvm::StringRef bare = name;
  const bool tf32 = bare.consume_back(tf32Suffix);
  for (Arch arch : arches)
    if (arch.name == bare) {
      arch.tf32 = tf32;
      return arch;
    }
  std::string known =
      llvm::join(llvm::map_range(arches, [](const Arch &arch) { return llvm::StringRef(arch.name); }), ", ");
  return llvm::createStringError(
      "target cuda has no arch '%s'; there are %s, each with the suffix '%s' if f32 products may use tf32",
      name.str().c_str(), known.c_str(), tf32Suffix.str().c_str());
}

bool runsOn(llvm::StringRef arch, int capability) {
  llvm::StringRef digits = arch.drop_front(3);
  const bool only = digits.consume_back("a"); // PTX for "sm_90a" runs only on this capability
  int of = 0;
  return !digits.getAsInteger(10, of) && (only ? of == capability : of <= capability);
}

llvm::StringRef archOfCapability(int capability) {
  llvm::StringRef best = defaultArch;
  for (const Arch &arch : arches)
    if (runsOn(arch.name, capability))
      best = arch.name;
  return best;
}

} // namespace tilewright::gpu

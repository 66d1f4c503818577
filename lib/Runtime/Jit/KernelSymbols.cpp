//===- KernelSymbols.cpp - library functions that kernels may call --------===//
#include "lib/Runtime/Host/HalfConversions.h"
#include "lib/Runtime/Jit/Jit.h"

#include <cmath>
#include <cstring>

namespace tilewright::runtime {
namespace {

template <typename F> void *addressOf(F *function) { return reinterpret_cast<void *>(function); }

} // namespace

llvm::ArrayRef<HostSymbol> kernelSymbols() {
  static const std::vector<HostSymbol> symbols{
      {"memcpy", addressOf(&::memcpy)},
      {"memmove", addressOf(&::memmove)},
      {"memset", addressOf(&::memset)},
      {"memcmp", addressOf(&::memcmp)},
      {"__truncsfbf2", addressOf(&truncSfBf2)},
      {"__truncdfbf2", addressOf(&truncDfBf2)},
      {"__truncdfhf2", addressOf(&truncDfHf2)},
#define TW_LIBM_UNARY(NAME)                                                                                            \
  {#NAME, addressOf(static_cast<double (*)(double)>(&::NAME))},                                                        \
      {#NAME "f", addressOf(static_cast<float (*)(float)>(&::NAME##f))},
#define TW_LIBM_BINARY(NAME)                                                                                           \
  {#NAME, addressOf(static_cast<double (*)(double, double)>(&::NAME))},                                                \
      {#NAME "f", addressOf(static_cast<float (*)(float, float)>(&::NAME##f))},
#include "dialects/Graph/ScalarFunctions.def"
      {"roundeven", addressOf(static_cast<double (*)(double)>(&::rint))},
      {"roundevenf", addressOf(static_cast<float (*)(float)>(&::rintf))},
      {"fma", addressOf(static_cast<double (*)(double, double, double)>(&::fma))},
      {"fmaf", addressOf(static_cast<float (*)(float, float, float)>(&::fmaf))},
      {"ldexp", addressOf(static_cast<double (*)(double, int)>(&::ldexp))},
      {"ldexpf", addressOf(static_cast<float (*)(float, int)>(&::ldexpf))},
  };
  return symbols;
}

} // namespace tilewright::runtime

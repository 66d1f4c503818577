//===- KernelSymbols.cpp - library functions that kernels may call --------===//
#include "lib/Runtime/Host/HalfConversions.h"
#include "lib/Runtime/Jit/Jit.h"

#include <cmath>
#include <cstring>

namespace tilewright::runtime {
namespace {

template <typename F> void *addressOf(F *function) { return reinterpret_cast<void *>(function); }

} // namespace

#define TW_MATH1(NAME)                                                                                                 \
  {#NAME, addressOf(static_cast<double (*)(double)>(&::NAME))}, {                                                      \
    #NAME "f", addressOf(static_cast<float (*)(float)>(&::NAME##f))                                                    \
  }
#define TW_MATH2(NAME)                                                                                                 \
  {#NAME, addressOf(static_cast<double (*)(double, double)>(&::NAME))}, {                                              \
    #NAME "f", addressOf(static_cast<float (*)(float, float)>(&::NAME##f))                                             \
  }

llvm::ArrayRef<HostSymbol> kernelSymbols() {
  static const std::vector<HostSymbol> symbols{
      {"memcpy", addressOf(&::memcpy)},
      {"memmove", addressOf(&::memmove)},
      {"memset", addressOf(&::memset)},
      {"memcmp", addressOf(&::memcmp)},
      {"__truncsfbf2", addressOf(&truncSfBf2)},
      {"__truncdfbf2", addressOf(&truncDfBf2)},
      {"__truncdfhf2", addressOf(&truncDfHf2)},
      TW_MATH1(exp),
      TW_MATH1(exp2),
      TW_MATH1(expm1),
      TW_MATH1(log),
      TW_MATH1(log2),
      TW_MATH1(log10),
      TW_MATH1(log1p),
      TW_MATH1(sin),
      TW_MATH1(cos),
      TW_MATH1(tan),
      TW_MATH1(asin),
      TW_MATH1(acos),
      TW_MATH1(atan),
      TW_MATH1(sinh),
      TW_MATH1(cosh),
      TW_MATH1(tanh),
      TW_MATH1(asinh),
      TW_MATH1(acosh),
      TW_MATH1(atanh),
      TW_MATH1(sqrt),
      TW_MATH1(cbrt),
      TW_MATH1(erf),
      TW_MATH1(erfc),
      TW_MATH1(lgamma),
      TW_MATH1(tgamma),
      TW_MATH1(floor),
      TW_MATH1(ceil),
      TW_MATH1(trunc),
      TW_MATH1(round),
      TW_MATH1(rint),
      TW_MATH1(nearbyint),
      TW_MATH1(fabs),
      TW_MATH2(pow),
      TW_MATH2(atan2),
      TW_MATH2(fmod),
      TW_MATH2(fmin),
      TW_MATH2(fmax),
      TW_MATH2(hypot),
      TW_MATH2(copysign),
      {"roundeven", addressOf(static_cast<double (*)(double)>(&::rint))},
      {"roundevenf", addressOf(static_cast<float (*)(float)>(&::rintf))},
      {"fma", addressOf(static_cast<double (*)(double, double, double)>(&::fma))},
      {"fmaf", addressOf(static_cast<float (*)(float, float, float)>(&::fmaf))},
      {"ldexp", addressOf(static_cast<double (*)(double, int)>(&::ldexp))},
      {"ldexpf", addressOf(static_cast<float (*)(float, int)>(&::ldexpf))},
  };
  return symbols;
}

#undef TW_MATH1
#undef TW_MATH2

} // namespace tilewright::runtime

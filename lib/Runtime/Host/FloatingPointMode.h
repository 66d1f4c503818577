//===- FloatingPointMode.h - kernels raise no exception of their host's ------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_FLOATINGPOINTMODE_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_FLOATINGPOINTMODE_H

#include <xmmintrin.h>

namespace tilewright::runtime {

/// In its scope no floating-point exception traps on this thread, nor on workers of a job that it starts; at its end the
/// thread's MXCSR is what it was, flags and all. Kernels compute in lanes that nobody reads, so that their exceptions
/// say nothing about the caller's numbers. Rounding and denormals stay the caller's. Costs some cycles.
class NoFloatingPointTraps {
public:
  NoFloatingPointTraps() : before(_mm_getcsr()) {
    if ((before & _MM_MASK_MASK) != _MM_MASK_MASK)
      _mm_setcsr((before | _MM_MASK_MASK) & ~unsigned(_MM_EXCEPT_MASK));
  }
  ~NoFloatingPointTraps() {
    if (_mm_getcsr() != before)
      _mm_setcsr(before);
  }
  NoFloatingPointTraps(const NoFloatingPointTraps &) = delete;

private:
  const unsigned before;
};

} // namespace tilewright::runtime

#endif

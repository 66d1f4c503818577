//===- FloatingPointMode.h - mask floating-point traps in kernels ------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_FLOATINGPOINTMODE_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_FLOATINGPOINTMODE_H

#include <xmmintrin.h>

namespace tilewright::runtime {

/// During its lifetime, an object masks floating-point exceptions on this thread, and on the workers of jobs that the
/// thread starts. The destructor restores the thread's MXCSR, including flags. The exceptions must be masked because
/// kernels compute in unused lanes, whose exceptions are unrelated to the caller's data. The caller's rounding mode and
/// handling of denormals stay in effect.
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

/* What LLVM's archives refer to and a wheel does not have (TilewrightStatic.cmake). */
#define _DEFAULT_SOURCE /* getentropy */
#include <unistd.h>

/* glibc has it since 2.36, and a wheel shall run on older ones; LLVM draws the names of temporary files with it. */
unsigned arc4random(void) {
  unsigned value;
  if (getentropy(&value, sizeof value) != 0)
    __builtin_trap();
  return value;
}

/* getPollyPluginInfo(), of LLVM's link-time optimization: lld brings it along, and is given no bitcode. */
void _Z18getPollyPluginInfov(void) { __builtin_trap(); }

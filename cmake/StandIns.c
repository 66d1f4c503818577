/* Definitions of functions that LLVM's archives reference and that a wheel does not link (TilewrightStatic.cmake). */
#define _DEFAULT_SOURCE /* getentropy */
#include <unistd.h>

/* glibc has arc4random() since version 2.36, but a wheel must also run with older versions. LLVM calls the function to
   generate random names of temporary files. */
unsigned arc4random(void) {
  unsigned value;
  if (getentropy(&value, sizeof value) != 0)
    __builtin_trap();
  return value;
}

/* getPollyPluginInfo(): LLVM's link-time optimization, which is linked as a part of lld, references this function.
   It is never called, because lld gets no bitcode. */
void _Z18getPollyPluginInfov(void) { __builtin_trap(); }

//===- CrashNet.h - a crash of the compiler ends the compile, not the process --------===//
//
//   std::string crash;
//   if (!runCaught([&] { ... the compiler ... }, crash))
//     // it crashed: "signal 11 (segmentation fault)"; its data must be leaked, since stopped threads still use it
//
// The work runs on a separate thread. A fatal signal, a fatal error of LLVM or a failed allocation on that thread, or
// on a thread with a CrashScope of the same catcher, stops that thread forever without releasing its locks and memory,
// and wakes the caller. The stack of the crashed thread is not unwound. A std::exception that leaves the work has the
// same effect after unwinding. Signals of other threads are passed to the previous handlers.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_JIT_CRASHNET_H
#define TILEWRIGHT_LIB_RUNTIME_JIT_CRASHNET_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace tilewright::runtime {

struct CrashCatcher;

/// Returns the catcher of the calling thread, or null if there is none.
CrashCatcher *currentCatcher();

/// During the lifetime of the object, crashes of this thread, such as a helper thread of the compiler, are attributed
/// to `catcher`.
class CrashScope {
public:
  explicit CrashScope(CrashCatcher *catcher);
  ~CrashScope();
  CrashScope(const CrashScope &) = delete;

private:
  CrashCatcher *outer;
};

/// Runs `work` and returns true, or returns false with a description in `crash` if it crashed. In a nested call, `work`
/// runs on the calling thread. If no thread can be created, `work` runs on the calling thread, and crashes are not
/// caught.
bool runCaught(llvm::function_ref<void()> work, std::string &crash);

} // namespace tilewright::runtime

#endif

//===- CrashNet.h - a crash of the compiler ends the compile, not the process --------===//
//
//   std::string crash;
//   if (!runCaught([&] { ... the compiler ... }, crash))
//     // it crashed: "signal 11 (Segmentation fault)"; what it worked on must be leaked, since its threads stand still
//
// The work runs on a thread of its own. A fatal signal, a fatal error of LLVM or a lack of memory on that thread, or on
// one that carries the same CrashScope, stops that thread for good, with whatever locks and memory it holds, and wakes
// the caller. Nothing is unwound or jumped over. Signals of other threads go to whoever handled them before.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_JIT_CRASHNET_H
#define TILEWRIGHT_LIB_RUNTIME_JIT_CRASHNET_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace tilewright::runtime {

struct CrashCatcher;

/// The catcher of the calling thread, null where there is none.
CrashCatcher *currentCatcher();

/// In its scope crashes of this thread, a helper of the compiler, are those of `catcher`.
class CrashScope {
public:
  explicit CrashScope(CrashCatcher *catcher);
  ~CrashScope();
  CrashScope(const CrashScope &) = delete;

private:
  CrashCatcher *outer;
};

/// Runs `work` and returns true; false when it crashed, with what happened in `crash`. Inside of other caught work it
/// runs in place.
bool runCaught(llvm::function_ref<void()> work, std::string &crash);

} // namespace tilewright::runtime

#endif

//===- CaughtThreads.h - catch crashes of the compiler (lib/Runtime/Jit/CrashNet.h) -----===//
#ifndef TILEWRIGHT_LIB_DRIVER_CAUGHTTHREADS_H
#define TILEWRIGHT_LIB_DRIVER_CAUGHTTHREADS_H

#include "lib/Runtime/Jit/CrashNet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ThreadPool.h"
#include <optional>

namespace tilewright {

/// The thread pool of an MLIR context. A crash in a task becomes an error of the compilation that started the task.
class CaughtThreads : public llvm::ThreadPoolInterface {
public:
  void wait() override { pool.wait(); }
  void wait(llvm::ThreadPoolTaskGroup &group) override { pool.wait(group); }
  unsigned getMaxConcurrency() const override { return pool.getMaxConcurrency(); }

private:
  void asyncEnqueue(llvm::unique_function<void()> task, llvm::ThreadPoolTaskGroup *group) override;

  llvm::DefaultThreadPool pool;
};

/// Sets the stage that the compiler is about to run, for the message of a crash. For tests, the environment variable
/// TILEWRIGHT_PLANT_CRASH=<stage>:<kind> causes a crash in that stage. The kinds are signal, abort, fatal, memory,
/// stack, division, and thread (a signal in a helper thread).
void enterStage(llvm::StringRef stage);

/// Returns an error if an earlier compilation of this process has crashed. The process then compiles nothing more.
llvm::Error earlierCrash();
/// Records a crash, passes it to the handler of onCompilerCrash, and returns a CompilerCrash error.
llvm::Error noteCrash(const std::string &crash);

/// Runs `work` and returns its result. If it crashes, sets `crashed` and returns a CompilerCrash error. The caller must
/// then leak the objects that `work` uses: the crashed thread is stopped without releasing its locks, and other threads
/// of the compilation may still use these objects. After an earlier crash in this process, returns the earlier error
/// and does not run `work`.
template <typename Result, typename Work> Result caught(bool &crashed, Work work) {
  if (llvm::Error earlier = earlierCrash())
    return std::move(earlier);
  std::optional<Result> result;
  std::string crash;
  if (runtime::runCaught([&] { result.emplace(work()); }, crash))
    return std::move(*result);
  crashed = true;
  return noteCrash(crash);
}

} // namespace tilewright

#endif

//===- CaughtThreads.h - catch crashes of the compiler (lib/Runtime/Jit/CrashNet.h) -----===//
#ifndef TILEWRIGHT_LIB_DRIVER_CAUGHTTHREADS_H
#define TILEWRIGHT_LIB_DRIVER_CAUGHTTHREADS_H

#include "lib/Runtime/Jit/CrashNet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ThreadPool.h"
#include <optional>

namespace tilewright {

/// The thread pool of an MLIR context: a crash in a task is attributed to the compile that started the task.
class CaughtThreads : public llvm::ThreadPoolInterface {
public:
  void wait() override { pool.wait(); }
  void wait(llvm::ThreadPoolTaskGroup &group) override { pool.wait(group); }
  unsigned getMaxConcurrency() const override { return pool.getMaxConcurrency(); }

private:
  void asyncEnqueue(llvm::unique_function<void()> task, llvm::ThreadPoolTaskGroup *group) override;

  llvm::DefaultThreadPool pool;
};

/// Sets the stage that the compiler is about to run, for the message of a crash. For tests,
/// TILEWRIGHT_PLANT_CRASH=<stage>:<kind> makes it crash there: signal, abort, fatal, memory, stack, division, or
/// thread (a signal in a helper thread).
void enterStage(llvm::StringRef stage);

/// Returns an error if a compiler of this process has crashed, after which nothing is compiled.
llvm::Error earlierCrash();
/// Records a crash, passes it to the handler of onCompilerCrash, and returns its error.
llvm::Error noteCrash(const std::string &crash);

/// Returns the result of `work`, or a CompilerCrash. Sets `crashed` in that case: what `work` uses must be leaked.
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

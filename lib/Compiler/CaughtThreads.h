//===- CaughtThreads.h - the compiler behind the net of lib/Runtime/Jit/CrashNet.h ------===//
#ifndef TILEWRIGHT_LIB_COMPILER_CAUGHTTHREADS_H
#define TILEWRIGHT_LIB_COMPILER_CAUGHTTHREADS_H

#include "lib/Runtime/Jit/CrashNet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ThreadPool.h"
#include <optional>

namespace tilewright {

/// The threads of an MLIR context: a crash in a task is one of the compile that has started it.
class CaughtThreads : public llvm::ThreadPoolInterface {
public:
  void wait() override { pool.wait(); }
  void wait(llvm::ThreadPoolTaskGroup &group) override { pool.wait(group); }
  unsigned getMaxConcurrency() const override { return pool.getMaxConcurrency(); }

private:
  void asyncEnqueue(llvm::unique_function<void()> task, llvm::ThreadPoolTaskGroup *group) override;

  llvm::DefaultThreadPool pool;
};

/// What the compiler is about to do, for the message of a crash. For tests, TILEWRIGHT_PLANT_CRASH=<stage>:<kind> lets
/// it crash there: signal, abort, fatal, memory, stack, division, or thread (a signal in a helper thread).
void enterStage(llvm::StringRef stage);

/// Why nothing is compiled any more; success where no compiler of this process has crashed.
llvm::Error earlierCrash();
/// The error of a crash, which is remembered and told to the handler of onCompilerCrash.
llvm::Error noteCrash(const std::string &crash);

/// The result of `work`, or a CompilerCrash. `crashed` is set then: what `work` refers to must be leaked.
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

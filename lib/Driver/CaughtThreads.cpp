//===- CaughtThreads.cpp - catch crashes of the compiler (lib/Runtime/Jit/CrashNet.h) ---===//
//
// Test: test/Python/test_crashes.py
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/CaughtThreads.h"
#include "tilewright/Compiler.h"
#include "llvm/Support/ErrorHandling.h"
#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

namespace tilewright {

char CompilerCrash::ID;
void CompilerCrash::log(llvm::raw_ostream &os) const {
  os << "the compiler crashed: " << what << "; this is a bug in Tilewright, and this process cannot compile any more";
}

namespace {
struct Crashes {
  std::mutex mutex;
  std::atomic<bool> any{false};
  std::string first;
  std::string stage; ///< the last stage that a compiler has entered; with concurrent compiles, the stage of any of them
  std::function<void(const std::string &)> handler;
};
Crashes &crashes() {
  static auto *made = new Crashes;
  return *made;
}
} // namespace

bool compilerHasCrashed() { return crashes().any.load(std::memory_order_acquire); }

void onCompilerCrash(std::function<void(const std::string &)> handler) {
  std::lock_guard<std::mutex> lock(crashes().mutex);
  crashes().handler = std::move(handler);
}

llvm::Error earlierCrash() {
  if (!compilerHasCrashed())
    return llvm::Error::success();
  std::lock_guard<std::mutex> lock(crashes().mutex);
  return llvm::make_error<CompilerCrash>(crashes().first);
}

llvm::Error noteCrash(const std::string &crash) {
  std::string what = crash;
  std::function<void(const std::string &)> handler;
  {
    std::lock_guard<std::mutex> lock(crashes().mutex);
    if (!crashes().stage.empty())
      what += " in stage " + crashes().stage;
    if (crashes().first.empty())
      crashes().first = what;
    crashes().any.store(true, std::memory_order_release);
    handler = crashes().handler;
  }
  auto error = llvm::make_error<CompilerCrash>(what);
  if (handler) {
    std::string text = llvm::toString(std::move(error));
    handler(text);
    error = llvm::make_error<CompilerCrash>(what);
  }
  return error;
}

int runCaughtProgram(llvm::function_ref<int()> work) {
  int status = 1;
  std::string crash;
  if (!runtime::runCaught([&] { status = work(); }, crash))
    llvm::consumeError(noteCrash(crash));
  return status;
}

void CaughtThreads::asyncEnqueue(llvm::unique_function<void()> task, llvm::ThreadPoolTaskGroup *group) {
  auto inside = [catcher = runtime::currentCatcher(), task = std::move(task)]() mutable {
    runtime::CrashScope scope(catcher);
    task();
  };
  if (group)
    pool.async(*group, std::move(inside));
  else
    pool.async(std::move(inside));
}

//===----------------------------------------------------------------------===//
// Crashes for tests
//===----------------------------------------------------------------------===//

[[gnu::noinline]] static int useStack(volatile char *outer) {
  volatile char frame[4096];
  frame[0] = outer ? outer[0] : 1;
  return useStack(frame) + frame[0];
}

static void crash(llvm::StringRef kind) {
  if (kind == "signal")
    raise(SIGSEGV);
  else if (kind == "division")
    raise(SIGFPE);
  else if (kind == "abort")
    abort();
  else if (kind == "fatal")
    llvm::report_fatal_error("planted");
  else if (kind == "memory")
    (void)::operator new(size_t(1) << 60);
  else if (kind == "stack")
    useStack(nullptr);
  else if (kind == "thread")
    std::thread([catcher = runtime::currentCatcher()] {
      runtime::CrashScope scope(catcher);
      raise(SIGSEGV);
    }).join();
}

void enterStage(llvm::StringRef stage) {
  {
    std::lock_guard<std::mutex> lock(crashes().mutex);
    crashes().stage = stage.str();
  }
  static const char *planted = getenv("TILEWRIGHT_PLANT_CRASH");
  if (!planted)
    return;
  auto [where, kind] = llvm::StringRef(planted).split(':');
  if (where == stage)
    crash(kind);
}

} // namespace tilewright

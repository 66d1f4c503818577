//===- CrashNet.cpp - a crash of the compiler ends the compile, not the process ------===//
//
// Test: test/Python/test_crashes.py
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Jit/CrashNet.h"

#include "llvm/Support/ErrorHandling.h"
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include <xmmintrin.h>

namespace tilewright::runtime {

/// The state of one call of runCaught(). It is leaked after a crash, because the stopped threads still refer to it.
struct CrashCatcher {
  llvm::function_ref<void()> work;
  sem_t ended;
  std::atomic<bool> crashed{false};
  std::atomic<bool> complete{false}; ///< `text` is complete
  char text[512] = "";
};

namespace {

// This variable is in the static TLS block, because signal handlers read it and must not allocate memory.
[[gnu::tls_model("initial-exec")]] thread_local CrashCatcher *current = nullptr;

constexpr int fatalSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int numSignals = std::size(fatalSignals);
constexpr size_t stackBytes = size_t(64) << 20; ///< reserved address space, not committed
constexpr size_t signalStackBytes = size_t(64) << 10;

struct sigaction before[numSignals];
std::new_handler newHandlerBefore = nullptr;

/// Wakes the caller of runCaught() if this is the first crash of `catcher`, and stops this thread forever.
[[noreturn]] void standStill(CrashCatcher *catcher) {
  if (!catcher->crashed.exchange(true)) {
    catcher->complete.store(true, std::memory_order_release);
    sem_post(&catcher->ended);
  }
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (;;)
    pause();
}

void describe(CrashCatcher *catcher, const char *text) {
  if (catcher->crashed.load())
    return;
  strncpy(catcher->text, text, sizeof catcher->text - 1);
}

const char *nameOf(int number) {
  switch (number) {
  case SIGSEGV:
    return "signal 11 (segmentation fault)";
  case SIGBUS:
    return "signal 7 (bus error)";
  case SIGILL:
    return "signal 4 (illegal instruction)";
  case SIGFPE:
    return "signal 8 (arithmetic error)";
  default:
    return "signal 6 (abort: an assertion or a fatal error)";
  }
}

void onSignal(int number, siginfo_t *info, void *context) {
  if (CrashCatcher *catcher = current) {
    describe(catcher, nameOf(number));
    standStill(catcher);
  }
  // The signal was raised in a thread without a catcher. Call the handler that was installed before.
  for (int i = 0; i < numSignals; ++i) {
    if (fatalSignals[i] != number)
      continue;
    if (before[i].sa_flags & SA_SIGINFO)
      return before[i].sa_sigaction(number, info, context);
    if (before[i].sa_handler != SIG_DFL && before[i].sa_handler != SIG_IGN)
      return before[i].sa_handler(number);
    sigaction(number, &before[i], nullptr);
    if (info->si_code <= 0) // the signal was sent by a process, so returning from the handler would not raise it again
      raise(number);
  }
}

void onFatalError(void *, const char *reason, bool) {
  if (CrashCatcher *catcher = current) {
    char text[sizeof catcher->text] = "fatal error: "; // allocates nothing: there may be no memory left
    strncat(text, reason, sizeof text - strlen(text) - 1);
    describe(catcher, text);
    standStill(catcher);
  }
}

void onNoMemory() {
  if (CrashCatcher *catcher = current) {
    describe(catcher, "out of memory");
    standStill(catcher);
  }
  if (newHandlerBefore)
    return newHandlerBefore();
  throw std::bad_alloc();
}

/// Installs the handlers while compilers run. After a crash they stay installed, because other threads of the crashed
/// compiler may crash later.
class Handlers {
public:
  void install() {
    std::lock_guard<std::mutex> lock(mutex);
    if (users++ > 0)
      return;
    struct sigaction action = {};
    action.sa_sigaction = onSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < numSignals; ++i)
      sigaction(fatalSignals[i], &action, &before[i]);
    newHandlerBefore = std::set_new_handler(onNoMemory);
    llvm::install_fatal_error_handler(onFatalError);
  }
  void restore() {
    std::lock_guard<std::mutex> lock(mutex);
    if (--users > 0)
      return;
    for (int i = 0; i < numSignals; ++i) {
      struct sigaction now;
      sigaction(fatalSignals[i], nullptr, &now);
      if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == onSignal) // otherwise, another handler has been installed
        sigaction(fatalSignals[i], &before[i], nullptr);
    }
    if (std::get_new_handler() == onNoMemory)
      std::set_new_handler(newHandlerBefore);
    llvm::remove_fatal_error_handler();
  }

private:
  std::mutex mutex;
  int users = 0;
};
Handlers &handlers() {
  static auto *made = new Handlers;
  return *made;
}

/// A separate stack for the signal handlers of this thread, because its normal stack may be exhausted.
class SignalStack {
public:
  SignalStack() {
    stack_t old;
    if (sigaltstack(nullptr, &old) != 0 || !(old.ss_flags & SS_DISABLE))
      return;
    memory = malloc(signalStackBytes);
    stack_t own = {};
    own.ss_sp = memory;
    own.ss_size = signalStackBytes;
    if (memory)
      sigaltstack(&own, nullptr);
  }
  ~SignalStack() {
    if (!memory)
      return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    free(memory);
  }

private:
  void *memory = nullptr;
};

void *runWork(void *argument) {
  auto *catcher = static_cast<CrashCatcher *>(argument);
  _mm_setcsr(_MM_MASK_MASK); // mask floating-point exceptions, because constant folding may divide by 0
  {
    CrashScope scope(catcher);
    try {
      catcher->work();
    } catch (const std::exception &error) {
      describe(catcher, error.what());
      standStill(catcher);
    }
  }
  sem_post(&catcher->ended);
  return nullptr;
}

} // namespace

CrashCatcher *currentCatcher() { return current; }

CrashScope::CrashScope(CrashCatcher *catcher) : outer(current) {
  static thread_local SignalStack stack;
  current = catcher;
}
CrashScope::~CrashScope() { current = outer; }

bool runCaught(llvm::function_ref<void()> work, std::string &crash) {
  if (current) {
    work();
    return true;
  }
  auto *catcher = new CrashCatcher;
  catcher->work = work;
  sem_init(&catcher->ended, 0, 0);
  handlers().install();
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stackBytes);
  const bool started = pthread_create(&thread, &attributes, runWork, catcher) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) // no thread can be created, so run `work` on this thread without catching crashes
    work();
  else
    while (sem_wait(&catcher->ended) != 0) {
    }
  if (catcher->crashed.load()) {
    pthread_detach(thread);
    crash = catcher->text;
    return false;
  }
  if (started)
    pthread_join(thread, nullptr);
  handlers().restore();
  sem_destroy(&catcher->ended);
  delete catcher;
  return true;
}

} // namespace tilewright::runtime

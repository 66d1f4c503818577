//===- ProcessWide.h - a pool or cache that all executables of a process share ---------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_PROCESSWIDE_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_PROCESSWIDE_H

#include <mutex>
#include <pthread.h>

namespace tilewright::runtime {

/// Returns the process's single instance of T. It is never destroyed, because a thread may still run during static
/// destruction. Its `mutex` is held during fork(), so that the child process has a consistent object and an unlocked
/// mutex.
template <typename T, std::mutex T::*mutex> T &processWide() {
  static T *one = [] {
    auto *fresh = new T;
    pthread_atfork([] { (processWide<T, mutex>().*mutex).lock(); }, [] { (processWide<T, mutex>().*mutex).unlock(); },
                   [] { (processWide<T, mutex>().*mutex).unlock(); });
    return fresh;
  }();
  return *one;
}

} // namespace tilewright::runtime

#endif

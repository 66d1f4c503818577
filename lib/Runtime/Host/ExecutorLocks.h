//===- ExecutorLocks.h - the two locks of an executable ---------------------===//
//
// If another thread held a lock when this process was forked, the child process resets the data that the lock guards.
// For StateLock, the child then computes frames and packs parameters again.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_EXECUTORLOCKS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_EXECUTORLOCKS_H

#include "lib/Runtime/Host/Executor.h"

namespace tilewright::runtime {

/// Guards the frames and the snapshot.
class Executable::StateLock {
public:
  explicit StateLock(Executable &executable) : executable(executable) {
    if (!executable.stateMutex.lock())
      return;
    new (&executable.frames) std::vector<FramePointer>;
    new (&executable.snapshot) SnapshotPointer(executable.emptySnapshot());
  }
  ~StateLock() { executable.stateMutex.unlock(); }
  StateLock(const StateLock &) = delete;
  StateLock &operator=(const StateLock &) = delete;

private:
  Executable &executable;
};

/// Guards the pack histories. refreshPacks() also holds this lock while it packs parameters for this and later calls.
class Executable::PackLock {
public:
  explicit PackLock(Executable &executable) : executable(executable) {
    if (executable.packMutex.lock())
      new (&executable.histories) std::vector<PackHistory>(executable.groups.size());
  }
  ~PackLock() { executable.packMutex.unlock(); }
  PackLock(const PackLock &) = delete;
  PackLock &operator=(const PackLock &) = delete;

private:
  Executable &executable;
};

} // namespace tilewright::runtime

#endif

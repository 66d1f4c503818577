//===- ForkGeneration.cpp - distinguish a process from its parent -------------===//
//
// This implementation of forkGeneration(), for ahead-of-time libraries, registers no pthread_atfork handler, because
// POSIX provides no way to remove a handler before the library is unloaded.
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/ForkGeneration.h"

#include <unistd.h>

namespace tilewright::runtime {

uint64_t forkGeneration() { return uint64_t(getpid()); }

} // namespace tilewright::runtime

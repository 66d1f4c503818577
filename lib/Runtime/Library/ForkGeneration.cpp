//===- ForkGeneration.cpp - tells a process from the one it was forked from ---===//
//
// A handler of pthread_atfork would stay behind when the library is unloaded.
//
//===----------------------------------------------------------------------===//
#include "tilewright/ForkGeneration.h"

#include <unistd.h>

namespace tilewright::runtime {

uint64_t forkGeneration() { return uint64_t(getpid()); }

} // namespace tilewright::runtime

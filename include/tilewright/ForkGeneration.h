//===- ForkGeneration.h - distinguishes a process from the one it was forked from -===//
#ifndef TILEWRIGHT_FORKGENERATION_H
#define TILEWRIGHT_FORKGENERATION_H

#include <cstdint>

namespace tilewright::runtime {

/// Returns a number below 2^63 that differs in the child after fork(). libTilewright counts forks (ProcessTeam.cpp);
/// an ahead-of-time library, which has no global state and may be unloaded, derives the number from the process
/// (lib/Runtime/Library).
uint64_t forkGeneration();

} // namespace tilewright::runtime

#endif

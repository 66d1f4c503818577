//===- ForkGeneration.h - tells a process from the one it was forked from ---===//
#ifndef TILEWRIGHT_FORKGENERATION_H
#define TILEWRIGHT_FORKGENERATION_H

#include <cstdint>

namespace tilewright::runtime {

/// A number below 2^63 that fork() changes in the child. libTilewright counts forks (ProcessTeam.cpp); an ahead-of-time
/// library, which keeps no state of its own and may be unloaded, asks for the process (lib/Runtime/Library).
uint64_t forkGeneration();

} // namespace tilewright::runtime

#endif

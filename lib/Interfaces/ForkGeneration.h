//===- ForkGeneration.h - distinguishes a forked process from its parent -===//
#ifndef TILEWRIGHT_LIB_INTERFACES_FORKGENERATION_H
#define TILEWRIGHT_LIB_INTERFACES_FORKGENERATION_H

#include <cstdint>

namespace tilewright::runtime {

/// Returns a number below 2^63 that differs between a process and its forked child. libTilewright counts forks
/// (ProcessTeam.cpp). An ahead-of-time library, which has no global state and may be unloaded, uses the process ID
/// (lib/Runtime/Library).
uint64_t forkGeneration();

} // namespace tilewright::runtime

#endif

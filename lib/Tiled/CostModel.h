//===- CostModel.h - how long a kernel takes with a schedule -------------------===//
//
// Plain arithmetic over the machine's rates (MachineRates.h): what a task computes, what it reads of the second-level
// cache and of what lies behind it, what taking it costs, and how even the tasks come out over the threads. Good to
// some 5% between schedules of one kernel, which is what it is for; the time itself is an estimate.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TILED_COSTMODEL_H
#define TILEWRIGHT_LIB_TILED_COSTMODEL_H

#include "tilewright/MachineRates.h"

#include <cstdint>
#include <string>

namespace tilewright::tiled {

struct CostMachine {
  MachineRates rates;
  int64_t threads = 2;
  int64_t cacheBytes = 1 << 20;   ///< second-level cache of one core
  int64_t sharedBytes = 32 << 20; ///< the cache behind it; 0: none
};

/// What takes most of the time.
enum class Bound { Compute, L2, L3, Dram, Tasks };

struct Cost {
  double nanoseconds = 0;
  Bound bound = Bound::Compute;
};

/// "352 us, L3": what a schedule says of itself.
std::string describeCost(const Cost &cost);

/// A product of A (m x k, `batches` times) with B in panels, as the micro-kernels compute it: block of k by block of k,
/// panel by panel, in blocks of rows (lib/Target/CPU/MicroKernel.h, TileKernel.h).
struct ProductShape {
  int64_t batches = 1, m = 1, panels = 1, k = 1;
  int64_t panelColumns = 48;
  int64_t bytes = 4;     ///< of an element of A and of B
  double rate = 1;       ///< operations per nanosecond of a thread
  bool tiles = false;    ///< on a tile unit, which reads A from the second-level cache
  bool prepared = false; ///< each task widens or splits its operands first
};

struct ProductTiles {
  int64_t rows = 1, panels = 1; ///< of a task
};

Cost costOfProduct(const ProductShape &shape, ProductTiles tiles, const CostMachine &machine);

/// The cheapest of even row tiles of `leastRows` to `mostRows` rows and of 1, 2, 3, 4, 6, 8, ... panels.
ProductTiles chooseProductTiles(const ProductShape &shape, int64_t leastRows, int64_t mostRows,
                                const CostMachine &machine);

/// The same where the number of rows is not known: those that lose least over numbers from 16 to 512.
/// Rows from 128 up, powers of two: whole blocks of the micro-kernels.
ProductTiles chooseTilesForAnyRows(const ProductShape &shape, int64_t mostRows, const CostMachine &machine);

/// Elements per task, at most `most`, of a kernel that reads and writes `bytesPerElement` for each of `elements`.
int64_t chooseGrain(int64_t elements, double bytesPerElement, int64_t most, const CostMachine &machine);

Cost costOfElements(int64_t elements, double bytesPerElement, int64_t grain, const CostMachine &machine);

} // namespace tilewright::tiled

#endif

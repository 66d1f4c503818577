//===- CostModel.h - predicts the time of a kernel with a schedule -------------===//
//
// The model computes a kernel's time from the machine's rates (MachineRates.h). The time consists of the computation of
// the tasks, the memory traffic from the L2 cache, the L3 cache and DRAM, and the overhead of tasks. It also depends on
// the load balance of the threads. The purpose of the model is to compare schedules of one kernel, for which it is
// accurate to about 5% (docs/decisions/0017). The absolute time is only an estimate.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_COSTMODEL_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_COSTMODEL_H

#include "dialects/Schedule/Schedule.h"
#include "tilewright/MachineRates.h"

#include <cstdint>

namespace tilewright::tiled {

/// The L1 data cache of a core.
struct FirstCache {
  int64_t bytes = 32 << 10;
  int64_t ways = 8; ///< number of lines per set
  int64_t lineBytes = 64;

  /// Returns the distance in bytes between consecutive cache lines that map to the same set.
  int64_t setsBytes() const { return bytes / ways; }
};

struct CostMachine {
  MachineRates rates;
  int64_t threads = 2;
  int64_t cacheBytes = 1 << 20;   ///< L2 cache of one core
  int64_t sharedBytes = 32 << 20; ///< size of the cache after the L2 cache; 0: there is none
  FirstCache first;
};

using schedule::Bound; ///< the resource that limits a kernel's speed

struct Cost {
  double nanoseconds = 0;
  Bound bound = Bound::Compute;
};

/// A product of A (m x k, `batches` times) and B in panels, in the loop order of the micro-kernels: K-block by K-block,
/// panel by panel, in blocks of rows (lib/Codegen/CPU/MicroKernels/MicroKernel.h, TileKernel.h).
struct ProductShape {
  int64_t batches = 1, m = 1, panels = 1, k = 1;
  int64_t panelColumns = 48;
  int64_t bytes = 4;     ///< bytes per element of A and of B
  double rate = 1;       ///< operations per nanosecond of a thread
  bool tiles = false;    ///< true: a tile unit, which reads A from the L2 cache, computes the product
  bool prepared = false; ///< true: each task first widens, splits or transposes its operands
};

struct ProductTiles {
  int64_t rows = 1, panels = 1; ///< rows and panels per task
};

Cost costOfProduct(const ProductShape &shape, ProductTiles tiles, const CostMachine &machine);

/// Returns tiles with the lowest predicted cost, to within 1%. Candidates divide the rows into tiles of nearly equal
/// size. A tile has about `leastRows` to `mostRows` rows, or all rows if there are fewer than `leastRows`, and 1, 2, 3,
/// 4, 6, 8, ... panels.
ProductTiles chooseProductTiles(const ProductShape &shape, int64_t leastRows, int64_t mostRows,
                                const CostMachine &machine);

/// Returns tiles for an unknown number of rows. For five numbers of rows from 16 to 512, the predicted time of these
/// tiles is divided by that of the best tiles for this number of rows. The returned tiles have the smallest average
/// ratio, to within 1%. The number of rows of a tile is a power of two of at least 128, and therefore a multiple of the
/// micro-kernels' blocks.
ProductTiles chooseTilesForAnyRows(const ProductShape &shape, int64_t mostRows, const CostMachine &machine);

/// Returns the number of elements per task, at most `most`, of a kernel with `elements` elements that reads and writes
/// `bytesPerElement` bytes for each of them.
int64_t chooseGrain(int64_t elements, double bytesPerElement, int64_t most, const CostMachine &machine);

Cost costOfElements(int64_t elements, double bytesPerElement, int64_t grain, const CostMachine &machine);

} // namespace tilewright::tiled

#endif

//===- CostModel.cpp - predicts the time of a kernel with a schedule -----------===//
//
// The constants below determine which fraction of the time of each kind of memory traffic is added to a kernel's time.
// They were fitted to the times of 400 schedules of the shapes of `tilewright bench gemm` in f32 and bf16, on two
// threads of an Intel Xeon with AMX (docs/decisions/0017).
//
// Test: test/Unit/Codegen/CPU/CostModelTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/CPU/Schedule/CostModel.h"
#include "llvm/Support/MathExtras.h"

#include <bit>
#include <cstdio>
#include <vector>

namespace tilewright::tiled {
namespace {

/// The fraction that is added to a task's time because all threads wait for the slowest thread.
constexpr double heldUp = 0.02;

/// The efficiency of a product's computation, and the fractions of its memory traffic that do not overlap with the
/// computation.
struct Visible {
  double efficiency;        ///< fraction of the peak rate that is reached with operands in registers
  double weights;           ///< traffic of B, once per task: the start of each panel waits for its first cache lines
  double rows, rowsAgain;   ///< traffic of A: from far memory, and again from the L2 cache for each further panel
  double sumsFar, sumsNear; ///< traffic of C, which is read and written again for each further K-block
};

constexpr Visible vectorProduct{0.95, 0.27, 0.6, 0.1, 0.16, 0.12}, tileProduct{0.55, 0.34, 0.44, 0.56, 0.1, 0.2};

using llvm::divideCeilSigned;

/// Returns the rate, in bytes per nanosecond, of reads from the L3 cache or from DRAM. `bytes` is the total size of the
/// data.
double farRate(int64_t bytes, const CostMachine &machine) {
  return bytes <= machine.sharedBytes / 2 ? machine.rates.l3 : machine.rates.dram;
}

Bound farBound(int64_t bytes, const CostMachine &machine) {
  return bytes <= machine.sharedBytes / 2 ? Bound::L3 : Bound::Dram;
}

/// The parts of a task's time in nanoseconds: computation (compute), traffic from the L2 cache (near), and traffic from
/// the L3 cache or DRAM (far). Each part is the time that it would take without the others. Most of the traffic
/// overlaps with the computation. `shown` is the time of the traffic that does not overlap.
struct Parts {
  double compute = 0, near = 0, far = 0, shown = 0;

  void read(double &from, double nanoseconds, double share) {
    from += nanoseconds;
    shown += share * nanoseconds;
  }
  double total() const { return std::max({compute + shown, near, far}); }
};

class ProductModel {
public:
  ProductModel(const ProductShape &shape, ProductTiles tiles, const CostMachine &machine)
      : shape(shape), machine(machine), tiles(tiles), groups(divideCeilSigned(shape.panels, tiles.panels)),
        rowTiles(divideCeilSigned(shape.m, tiles.rows)),
        operandBytes((shape.m + shape.panels * shape.panelColumns) * shape.k * shape.bytes) {}

  Parts task(int64_t rows, int64_t panels) const {
    const double l2 = 1 / machine.rates.l2, l3 = 1 / farRate(operandBytes, machine);
    const int64_t depth = shape.tiles ? 256 : 128;
    const double columns = double(panels) * double(shape.panelColumns), k = double(shape.k);
    const Visible &visible = shape.tiles ? tileProduct : vectorProduct;
    Parts parts;
    parts.compute = 2 * double(wholeBlocks(rows)) * columns * k / (shape.rate * visible.efficiency);
    // The assumed rate at which a task converts, splits or transposes its operands (elements per nanosecond).
    constexpr double preparedElementsPerNanosecond = 8;
    if (shape.prepared)
      parts.compute += (double(rows) + columns) * k / preparedElementsPerNanosecond;

    const double bytesB = columns * k * double(shape.bytes);
    const int64_t allOfB = shape.panels * shape.panelColumns * shape.k * shape.bytes,
                  rowsOfA = tiles.rows * shape.k * shape.bytes;
    const bool isNear = allOfB + rowsOfA <= machine.cacheBytes / 2;
    parts.read(isNear ? parts.near : parts.far, bytesB * (isNear ? l2 : l3), visible.weights);

    // Tasks with the same rows of A are consecutive. If the rows stay in the L2 cache while panels are streamed through
    // it, only the first of these tasks reads the rows from the L3 cache or DRAM.
    const double bytesA = double(rows) * k * double(shape.bytes);
    const bool stays =
        rowsOfA + tiles.panels * shape.panelColumns * shape.k * shape.bytes <= machine.cacheBytes / 20 * 13;
    parts.read(parts.far, bytesA * l3 / (stays ? double(groups) : 1), visible.rows);
    parts.read(parts.near, bytesA * l2 * (double(panels - 1) + (stays ? 1 - 1 / double(groups) : 0)),
               visible.rowsAgain);

    const double bytesC = double(rows) * columns * 4, rounds = 2 * double(divideCeilSigned(shape.k, depth) - 1);
    if (bytesC > double(machine.cacheBytes) / 8)
      parts.read(parts.far, rounds * bytesC * l3, visible.sumsFar);
    else if (bytesC > double(machine.first.bytes) / 2) // otherwise C stays in the L1 cache
      parts.read(parts.near, rounds * bytesC * l2, visible.sumsNear);
    return parts;
  }

  /// Returns the number of rows in whole blocks that take as long as `rows` rows in whole and incomplete blocks. On
  /// tile units, blocks have 16 rows. Otherwise they have 8 rows, and the remaining rows are in smaller blocks.
  int64_t wholeBlocks(int64_t rows) const {
    if (shape.tiles)
      return divideCeilSigned(rows, 16) * 16;
    int64_t rest = rows % 8;
    // The remaining rows have too few independent FMAs to hide the latency of FMAs. One or two rows take as long as
    // twice as many rows. More rows take as long as a whole block.
    return rows - rest + (rest == 0 ? 0 : rest <= 2 ? 2 * rest : 8);
  }

  Cost cost() const {
    // Tasks have up to four sizes, because the last tile of rows and the last group of panels may be smaller than the
    // others.
    const int64_t lastRows = shape.m - (rowTiles - 1) * tiles.rows,
                  lastPanels = shape.panels - (groups - 1) * tiles.panels;
    const double whole = task(tiles.rows, tiles.panels).total(), short_ = task(tiles.rows, lastPanels).total(),
                 low = task(lastRows, tiles.panels).total(), corner = task(lastRows, lastPanels).total();
    const int64_t tasks = shape.batches * rowTiles * groups;
    double longest = 0, sum = 0;
    auto timeOf = [&](int64_t number) {
      bool lastOfRow = number % groups == groups - 1, lastRow = number / groups % rowTiles == rowTiles - 1;
      return (lastRow ? lastOfRow ? corner : low : lastOfRow ? short_ : whole) + machine.rates.task;
    };
    // If a thread has more than `manyTasks` tasks, the times at which the threads finish differ by less than 1/64 of
    // the total time.
    constexpr int64_t manyTasks = 64;
    if (tasks > manyTasks * machine.threads) {
      int64_t lastColumn = shape.batches * (rowTiles - 1), bottom = shape.batches * (groups - 1);
      sum = double(shape.batches * (rowTiles - 1) * (groups - 1)) * whole + double(lastColumn) * short_ +
            double(bottom) * low + double(shape.batches) * corner + double(tasks) * machine.rates.task;
      longest = sum / double(machine.threads);
    } else {
      // The thread that becomes idle first executes the next task.
      std::vector<double> busy(size_t(machine.threads), 0.0);
      for (int64_t number = 0; number < tasks; ++number) {
        double time = timeOf(number);
        *std::min_element(busy.begin(), busy.end()) += time;
        sum += time;
      }
      longest = *std::max_element(busy.begin(), busy.end());
    }
    const double held = tasks > 1 ? heldUp * whole : 0, even = sum / double(machine.threads);
    Parts parts = task(tiles.rows, tiles.panels);
    Cost cost{longest + held + machine.rates.kernel, Bound::Compute};
    if (longest + held + machine.rates.kernel - even > even)
      cost.bound = Bound::Tasks;
    else if (parts.far >= std::max(parts.compute, parts.near))
      cost.bound = farBound(operandBytes, machine);
    else if (parts.near >= parts.compute)
      cost.bound = Bound::L2;
    return cost;
  }

private:
  const ProductShape &shape;
  const CostMachine &machine;
  ProductTiles tiles;
  int64_t groups, rowTiles, operandBytes;
};

double nanosecondsPerElement(int64_t elements, double bytesPerElement, const CostMachine &machine) {
  double bytes = double(elements) * bytesPerElement;
  double rate =
      bytes <= double(machine.cacheBytes * machine.threads) / 2 ? machine.rates.l2 : farRate(int64_t(bytes), machine);
  return std::max(bytesPerElement / rate, 1e-3);
}
} // namespace

Cost costOfProduct(const ProductShape &shape, ProductTiles tiles, const CostMachine &machine) {
  return ProductModel(shape, tiles, machine).cost();
}

/// Returns the successor of `panels` in 1, 2, 3, 4, 6, 8, 12, ...
static int64_t nextOfLadder(int64_t panels) {
  return panels < 4 ? panels + 1 : panels % 3 ? panels * 3 / 2 : panels * 4 / 3;
}

ProductTiles chooseProductTiles(const ProductShape &shape, int64_t leastRows, int64_t mostRows,
                                const CostMachine &machine) {
  const int64_t unit = shape.tiles ? 32 : 8, m = shape.m;
  const int64_t leastCount = divideCeilSigned(m, mostRows), mostCount = std::max(leastCount, m / leastRows);
  ProductTiles best;
  double bestTime = -1;
  for (int64_t count = leastCount; count <= mostCount; count = std::max(count + 1, count * 5 / 4)) {
    int64_t rows = count == 1 ? m : divideCeilSigned(divideCeilSigned(m, count), unit) * unit;
    for (int64_t panels = 1; panels <= shape.panels; panels = nextOfLadder(panels)) {
      double time = costOfProduct(shape, {rows, panels}, machine).nanoseconds;
      // If predicted times differ by less than 1%, the earlier candidate is selected. Candidates with the most rows and
      // the fewest panels come first.
      if (bestTime < 0 || time < 0.99 * bestTime) {
        best = {rows, panels};
        bestTime = time;
      }
    }
  }
  return best;
}

ProductTiles chooseTilesForAnyRows(const ProductShape &shape, int64_t mostRows, const CostMachine &machine) {
  constexpr int64_t tried[] = {16, 64, 128, 200, 512};
  constexpr int64_t least = 128;
  ProductTiles best;
  double bestLoss = -1;
  for (int64_t rows = std::bit_floor(uint64_t(std::max(least, mostRows))); rows >= least; rows /= 2)
    for (int64_t panels = 1; panels <= shape.panels; panels = nextOfLadder(panels)) {
      double loss = 0;
      for (int64_t m : tried) {
        ProductShape of = shape;
        of.m = m;
        double time = costOfProduct(of, {std::min(rows, m), panels}, machine).nanoseconds;
        loss += time / costOfProduct(of, chooseProductTiles(of, 32, mostRows, machine), machine).nanoseconds;
      }
      if (bestLoss < 0 || loss < 0.99 * bestLoss) {
        best = {rows, panels};
        bestLoss = loss;
      }
    }
  return best;
}

Cost costOfElements(int64_t elements, double bytesPerElement, int64_t grain, const CostMachine &machine) {
  const double each = nanosecondsPerElement(elements, bytesPerElement, machine);
  const int64_t tasks = std::max<int64_t>(1, divideCeilSigned(elements, grain)),
                ofSlowest = divideCeilSigned(tasks, machine.threads);
  const double task = std::min(double(grain), double(elements)) * each;
  double memory = double(elements) * each / double(std::min(tasks, machine.threads));
  double longest = double(ofSlowest) * (task + machine.rates.task) + (tasks > 1 ? heldUp * task : 0);
  Cost cost{std::min(longest, double(elements) * each + machine.rates.task) + machine.rates.kernel, Bound::L2};
  int64_t bytes = int64_t(double(elements) * bytesPerElement);
  if (cost.nanoseconds > 2 * memory)
    cost.bound = Bound::Tasks;
  else if (bytes > machine.cacheBytes * machine.threads / 2)
    cost.bound = farBound(bytes, machine);
  return cost;
}

int64_t chooseGrain(int64_t elements, double bytesPerElement, int64_t most, const CostMachine &machine) {
  constexpr int64_t least = 1024; // minimum number of elements per task
  // If the work takes less time than this number of kernel launches, tasks have the largest grain. The time of a launch
  // includes a barrier of threads that are awake, but waking a sleeping thread takes several times as long.
  constexpr double leastLaunches = 10;
  if (double(elements) * nanosecondsPerElement(elements, bytesPerElement, machine) <
      leastLaunches * machine.rates.kernel)
    return most;
  int64_t best = most;
  for (int64_t grain = most / 2; grain >= least; grain /= 2)
    if (costOfElements(elements, bytesPerElement, grain, machine).nanoseconds <
        0.97 * costOfElements(elements, bytesPerElement, best, machine).nanoseconds)
      best = grain;
  return best;
}

} // namespace tilewright::tiled

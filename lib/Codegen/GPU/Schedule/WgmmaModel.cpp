//===- WgmmaModel.cpp - cost model of a product by warp groups ------------------------------===//
//
// A multiprocessor executes as many blocks at the same time as its shared memory and registers allow. Blocks are
// executed in waves, and the last wave may be partial. The time of a step over k is the smoothMaximum() of five times:
//   - the products on the tensor cores;
//   - the accesses of shared memory: each wgmma reads A and B, and TMA writes the tiles;
//   - the transfer of the tiles from the L2 cache;
//   - the time from the request for a tile until its last bytes have arrived, divided by the number of stages;
//     this is the sum of a latency, which grows with the share of the bytes that come from the card's memory, and twice
//     the time to transfer the tile;
//   - if a tile has more rows than the product, a time that grows with the number of blocks that request the same rows.
//     The cause of this effect, which was measured, is not known. The model assumes the same effect for columns.
//
// The blocks of a cluster that share a tile (`split_k`) store their sums to shared memory after the last step, wait for
// each other, and read the sums of a part of the tile. After the last step of a tile, each warp group converts and
// stores its results. The total time is the square root of the sum of the squares of two times, the time of all waves
// and the time to transfer operands and results from and to the card's memory, plus the time of the launch.
//
// Tests: test/Python/test_gpu_model.py, test/Codegen/NVPTX/wgmma.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/WgmmaModel.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupProduct.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

namespace tilewright::gpu {
namespace {

/// Returns the eighth root of the sum of the eighth powers. It is slightly above the maximum if several times are
/// nearly as large, because the parts of a step then do not overlap completely.
double smoothMaximum(std::initializer_list<double> times) {
  const double largest = std::max(times);
  double sum = 0;
  for (double time : times) {
    const double square = (time / largest) * (time / largest), fourth = square * square;
    sum += fourth * fourth;
  }
  return largest * std::sqrt(std::sqrt(std::sqrt(sum)));
}

class WgmmaEstimate {
public:
  WgmmaEstimate(const Schedule &schedule, const ProductSizes &sizes, const Arch &arch, const WgmmaRates &rates)
      : schedule(schedule), sizes(sizes), arch(arch), rates(rates),
        tileRows(double(llvm::divideCeil(sizes.m, schedule.m * schedule.cluster) * uint64_t(schedule.cluster))),
        tileColumns(double(llvm::divideCeil(sizes.n, schedule.n))),
        steps(double(sizes.taps) *
              double(llvm::divideCeil(llvm::divideCeil(llvm::divideCeil(sizes.k, sizes.taps), schedule.k),
                                      schedule.splitK))) {}

  double nanoseconds() const {
    const auto tiles = int64_t(tileRows * tileColumns) * sizes.batches;
    const auto blocks = int64_t(llvm::divideCeil(tiles, schedule.tilesPerBlock)) * schedule.splitK;
    const int64_t together = blocksTogether(), wave = together * arch.multiprocessors, fullWaves = blocks / wave;
    double cycles = double(fullWaves) * cyclesOf(together, wave);
    if (const int64_t left = blocks % wave)
      cycles += cyclesOf(int64_t(llvm::divideCeil(left, arch.multiprocessors)), left);
    const double computing = cycles / arch.gigahertz,
                 moving = bytesMoved(sizes, schedule, wave, arch) / arch.deviceRate;
    return std::sqrt(computing * computing + moving * moving) + rates.launch;
  }

private:
  /// Returns the number of blocks that a multiprocessor executes at the same time.
  int64_t blocksTogether() const {
    constexpr int64_t registerFile = 65536, reserved = 1024, threads = 2048, mostRegisters = 255, unit = 8;
    // ptxas assigns 22 to 34 registers in addition to the sums, and up to 44 more if the epilogue computes math
    // functions. Three warp groups are launched with almost all registers of the multiprocessor.
    const int64_t sums = sizes.sets * schedule.m / schedule.consumers * schedule.n / warpGroupSize;
    const int64_t used = std::min(mostRegisters, sums + (sizes.math ? 72 : 28));
    const int64_t registers =
        schedule.consumers > 1 ? registerFile : int64_t(llvm::alignTo(used, unit)) * schedule.threads;
    return std::max<int64_t>(1, std::min({(arch.sharedBytes + reserved) / (bytesOfRing(schedule) + reserved),
                                          registerFile / registers, threads / schedule.threads}));
  }

  /// Returns the cycles that one multiprocessor needs for `there` blocks, from start to end, while the card executes
  /// `together` blocks at the same time.
  double cyclesOf(int64_t there, int64_t together) const {
    constexpr double sharedRate = 128; // bytes per cycle of shared memory, as the hardware documentation states
    const double blocks = double(there), rows = double(std::min(schedule.m, sizes.m)),
                 columns = double(std::min(schedule.n, sizes.n));
    // Each block of a cluster reads only a part of B's tile from the L2 cache.
    const double line = double(schedule.k * sizes.bytes);
    const double tile = double(schedule.m + schedule.n) * line;
    const double asked = (rows + columns / double(schedule.cluster)) * line;
    const double multiply =
        2 * double(schedule.m * schedule.n * schedule.k) * blocks / (arch.groupFlops * 2 / double(sizes.bytes));
    const int64_t groups = schedule.m / groupRows;
    const double read = double(groups) * double(groupRows + schedule.n) * line;
    const double shared = (read + tile) * blocks / sharedRate;
    const double transfer = asked * blocks / rates.cacheRate;
    // The share of the requested bytes that come from the card's memory.
    const double allSteps = tileRows * tileColumns * steps * double(schedule.splitK);
    const double share = std::min(1.0, sizes.operands() / (allSteps * asked));
    const double arrival = rates.latency + rates.memoryLatency * std::sqrt(share) + 2 * transfer;
    const double readers = std::min(
        double(together), std::max(schedule.m > sizes.m ? tileColumns : 0, schedule.n > sizes.n ? tileRows : 0));
    double step =
        smoothMaximum({multiply, shared, transfer, arrival / double(schedule.stages), rates.fewRows * readers});
    const double elements = double(schedule.m * schedule.n);
    if (sizes.sets > 1)
      step += rates.promotion * blocks * elements / (128 * 128);
    const double written = elements / double(owners()); // by one block
    const double stored = written * double(sizes.resultBytes);
    const double convert = (stored + (sizes.math ? 2 * written * rates.mathFunction : 0)) /
                           (rates.epilogueRate * double(schedule.consumers));
    const double results = convert + stored * blocks / rates.storeRate;
    return double(schedule.tilesPerBlock) * (steps * step + results) + cyclesOfExchange(blocks) + rates.block;
  }

  /// Returns the cycles in which the `blocks` blocks of one multiprocessor exchange and add sums within their clusters.
  double cyclesOfExchange(double blocks) const {
    // These two numbers are assumptions that have not been measured. `clusterRate` is the number of bytes that a
    // multiprocessor receives per cycle from the shared memory of other multiprocessors. `barriers` is the number of
    // cycles of two barriers of a cluster, one of which is a fence.
    constexpr double clusterRate = 32, barriers = 1500, bytesOfSum = 4;
    if (schedule.splitK == 1)
      return 0;
    const double read = double(schedule.m * schedule.n * schedule.splitK) * bytesOfSum / double(owners());
    return barriers + blocks * read / clusterRate;
  }

  /// Returns the number of blocks that write a part of a tile.
  int64_t owners() const { return schedule.n / columnsOfBlock(schedule); }

  const Schedule &schedule;
  const ProductSizes &sizes;
  const Arch &arch;
  const WgmmaRates &rates;
  const double tileRows, tileColumns, steps; ///< numbers for one product of the batch
};

} // namespace

llvm::ArrayRef<WgmmaRate> wgmmaRates() {
  static constexpr WgmmaRate rates[] = {{"cacheRate", &WgmmaRates::cacheRate, 30, 90},
                                        {"latency", &WgmmaRates::latency, 200, 2000},
                                        {"memoryLatency", &WgmmaRates::memoryLatency, 50, 4000},
                                        {"fewRows", &WgmmaRates::fewRows, 0.1, 20},
                                        {"promotion", &WgmmaRates::promotion, 1, 300},
                                        {"epilogueRate", &WgmmaRates::epilogueRate, 3, 500},
                                        {"mathFunction", &WgmmaRates::mathFunction, 0.1, 30},
                                        {"storeRate", &WgmmaRates::storeRate, 10, 500},
                                        {"block", &WgmmaRates::block, 1, 5000},
                                        {"launch", &WgmmaRates::launch, 1500, 6000}};
  return rates;
}

double nanosecondsOfWgmma(const Schedule &schedule, const ProductSizes &sizes, const Arch &arch,
                          const WgmmaRates &rates) {
  return WgmmaEstimate(schedule, sizes, arch, rates).nanoseconds();
}

} // namespace tilewright::gpu

//===- ProductSpace.cpp - search space and cost model of a product on tensor cores -------===//
//
// This file defines the search space and the cost model of the schedule `mma`. A multiprocessor executes as many blocks
// at a time as its shared memory and registers allow. The time of one step over k of these blocks is the maximum of
// four times: the products on the tensor cores; ldmatrix and the writes to shared memory; the transfer of the tiles
// from the L2 cache; and the latency of this transfer, divided by the number of stages that hide it. Blocks are
// executed in waves, and the last wave may be partial. The total time is at least the time to transfer operands and
// results from and to the card's memory.
//
// Tests: test/Codegen/GPU/Schedule/product-space.mlir, test/Python/test_cuda.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/ProductSpace.h"
#include "lib/Codegen/GPU/Schedule/SharedTile.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// The numbers of the knobs in the search space.
struct MmaKnob {
  enum : size_t { warpM, warpN, warpsM, warpsN, depth, stages, tileRowsPerBand };
};

/// Returns the powers of two from `first` to `last`, and the value `also`.
std::vector<int64_t> powers(int64_t first, int64_t last, int64_t also) {
  std::vector<int64_t> values;
  for (int64_t value = first; value <= last; value *= 2)
    values.push_back(value);
  return sortedWith(std::move(values), also);
}

/// Returns the largest useful size of a tile: `size` rounded up to a power of two, at least `least` and at most `most`.
int64_t mostOf(int64_t size, int64_t least, int64_t most) {
  return std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(size, 1)))), least, most);
}

class MmaEstimate {
public:
  MmaEstimate(const Schedule &schedule, const ProductSizes &sizes, const Arch &arch)
      : schedule(schedule), arch(arch), sizes(sizes), m(sizes.m), n(sizes.n), k(sizes.k), batches(sizes.batches),
        bytes(sizes.bytes), resultBytes(sizes.resultBytes) {}

  double nanoseconds() const {
    const int64_t blocks =
        int64_t(llvm::divideCeil(m, schedule.m)) * int64_t(llvm::divideCeil(n, schedule.n)) * batches;
    return nanosecondsOfWaves(
        blocks, blocksTogether(), [this](int64_t together) { return cyclesOf(together); }, sizes, schedule, arch);
  }

private:
  int64_t warps() const { return schedule.warpsM * schedule.warpsN; }

  /// Returns the number of blocks that a multiprocessor executes at the same time.
  int64_t blocksTogether() const {
    constexpr int64_t registerFile = 65536, residentThreads = 1536, mostBlocks = 16, reserved = 1024;
    const int64_t shared = (schedule.m + schedule.n) * schedule.k * bytes * schedule.stages + reserved;
    return std::max<int64_t>(1, std::min({(arch.sharedBytes + reserved) / shared,
                                          registerFile / (registersOf(schedule, sizes.sets) * schedule.threads),
                                          residentThreads / schedule.threads, mostBlocks}));
  }

  /// Returns the cycles of `blocks` blocks on one multiprocessor, from start to end.
  double cyclesOf(int64_t blocks) const {
    // sharedRate, cacheRate: bytes per cycle and multiprocessor that shared memory and the L2 cache transfer.
    // latency: cycles of an access to the L2 cache. aside: cycles to start and end a block. cores: tensor cores per
    // multiprocessor, each used by one warp at a time. barrier: cycles of the barrier of a step.
    constexpr double sharedRate = 128, cacheRate = 48, latency = 700, aside = 1500, cores = 4, barrier = 80;
    const double there = double(blocks), tile = double((schedule.m + schedule.n) * schedule.k * bytes);
    const double rate = arch.halfFlops * 2 / double(bytes) * std::min(1.0, there * double(warps()) / cores);
    const double multiply = 2 * double(schedule.m * schedule.n * schedule.k) * there / rate;
    const int64_t warpRows = schedule.m / schedule.warpsM, warpColumns = schedule.n / schedule.warpsN;
    const double fragments = double((warpRows + warpColumns) * warps() * schedule.k * bytes);
    const double shared = (fragments + tile) * there / sharedRate;
    const double step = std::max({multiply, shared, tile * there / cacheRate, latency / double(schedule.stages - 1)});
    const double results = double(schedule.m * schedule.n * resultBytes) * there / cacheRate;
    return double(llvm::divideCeil(k, schedule.k)) * (step + barrier / there) + results + latency + aside;
  }

  const Schedule &schedule;
  const Arch &arch;
  const ProductSizes &sizes;
  const int64_t m, n, k, batches, bytes, resultBytes;
};
} // namespace

double bytesMoved(const ProductSizes &sizes, const Schedule &schedule, int64_t together, const Arch &arch) {
  const int64_t m = sizes.m, n = sizes.n, batches = sizes.batches;
  const double results = double(batches) * double(sizes.resultBytes) * double(m) * double(n);
  const double once = double(batches) * sizes.operands();
  if (sizes.operands() <= arch.cacheBytes)
    return once + results;
  const auto rows = double(llvm::divideCeil(m, schedule.m)), columns = double(llvm::divideCeil(n, schedule.n));
  const double tiles = rows * columns, wave = std::min(double(together), tiles);
  double tall, wide; // the numbers of tiles of a wave along rows and columns
  if (schedule.tileRowsPerBand > 1) {
    tall = std::min(double(schedule.tileRowsPerBand), rows);
    wide = std::min(std::ceil(wave / tall), columns);
  } else {
    wide = std::min(wave, columns);
    tall = std::ceil(wave / wide);
  }
  const double ofWave = sizes.bytesOf(tall * double(schedule.m), wide * double(schedule.n));
  return std::max(once, double(batches) * ofWave * tiles / wave) + results;
}

double nanosecondsOfWaves(int64_t blocks, int64_t together, llvm::function_ref<double(int64_t)> cyclesOf,
                          const ProductSizes &sizes, const Schedule &schedule, const Arch &arch) {
  const int64_t wave = together * arch.multiprocessors, fullWaves = blocks / wave, left = blocks % wave;
  double cycles = double(fullWaves) * cyclesOf(together);
  if (left > 0)
    cycles += cyclesOf(int64_t(llvm::divideCeil(left, arch.multiprocessors)));
  const double moving = bytesMoved(sizes, schedule, wave, arch) / arch.deviceRate;
  // If operands are large, add a fraction of the transfer time. Among schedules that take the same time, the schedule
  // that transfers fewer bytes is then preferred.
  constexpr double aside = 0.05;
  return std::max(cycles / arch.gigahertz, moving) + (sizes.operands() > arch.cacheBytes ? aside * moving : 0) +
         kernelLaunch;
}

std::vector<int64_t> sortedWith(std::vector<int64_t> values, int64_t also) {
  values.push_back(also);
  llvm::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

Constraint sumAtMost(int64_t limit, std::vector<Constraint::Term> terms, std::string why) {
  Constraint constraint;
  constraint.kind = Constraint::Kind::SumAtMost;
  constraint.terms = std::move(terms);
  constraint.limit = limit;
  constraint.why = std::move(why);
  return constraint;
}

Constraint onlyBelow(size_t knob, int64_t value, size_t other, int64_t limit, std::string why) {
  Constraint constraint;
  constraint.kind = Constraint::Kind::Together;
  constraint.knobs = {knob, other};
  constraint.sizes = {0, limit};
  constraint.value = value;
  constraint.why = std::move(why);
  return constraint;
}

Schedule fastestOf(const ScheduleSpace &space, Schedule initial,
                   llvm::function_ref<Schedule(const SchedulePoint &)> scheduleAt,
                   llvm::function_ref<double(const Schedule &)> nanoseconds) {
  Schedule best = initial;
  double least = nanoseconds(best);
  for (const SchedulePoint &point : space.points()) {
    const Schedule schedule = scheduleAt(point);
    const double time = nanoseconds(schedule);
    // Among schedules with equal times, prefer more stages, because loads then have more time to complete.
    if (time >= least * 0.999 && !(time <= least && schedule.stages > best.stages))
      continue;
    least = time;
    best = schedule;
  }
  return best;
}

std::vector<int64_t> bandHeightsFor(const ProductSizes &sizes, const Arch &arch) {
  if (sizes.operands() <= arch.cacheBytes)
    return {1};
  return {1, 8};
}

ProductSizes sizesOf(Contraction product, int64_t parts) {
  const Type sum = getElementTypeOrSelf(product.op->getResult(0).getType());
  int64_t written = bytesOf(sum);
  bool math = false;
  auto kernel = product.op->getParentOfType<func::FuncOp>();
  if (parts == 1 && kernel) {
    written = 0;
    const size_t loops = product.batches.size() + product.rows.size() + product.columns.size();
    for (auto [type, indices] : llvm::zip(kernel.getResultTypes(), product.results))
      if (indices.size() == loops)
        written += bytesOf(getElementTypeOrSelf(type));
    // joinRows() compares one kernel that also reduces rows with two kernels. The model does not include the time of
    // math functions in the second kernel, so it must not include this time in the joined kernel, either.
    math = product.rowSums.empty() && kernel
                                          .walk([](Operation *op) {
                                            const bool function =
                                                op->getDialect() && isa<math::MathDialect>(op->getDialect());
                                            return function ? WalkResult::interrupt() : WalkResult::advance();
                                          })
                                          .wasInterrupted();
  }
  // In the model, a pair of products is one product with twice as many columns, which stores half of the bytes per
  // column.
  return {product.likelySizeOf(product.rows),
          product.likelySizeOf(product.columns) * product.numProducts(),
          product.likelySizeOf(product.depth) / parts,
          product.likelySizeOf(product.batches) * parts,
          bytesOf(elementOf(product)),
          std::max<int64_t>(1, written / product.numProducts()),
          setsOfSums(product),
          math};
}

ScheduleSpace spaceOfMma(Contraction product, const Arch &arch, const Schedule &initial) {
  constexpr int64_t unit = 16, most = 256, mostWarps = 16;
  const int64_t step = stepOf(elementOf(product)), bytes = bytesOf(elementOf(product));
  const bool wholeRows = !product.rowSums.empty(); // if rows are reduced, the tile of a warp must have whole rows
  const int64_t m = mostOf(product.likelySizeOf(product.rows), unit, most),
                n = mostOf(product.likelySizeOf(product.columns), unit, most);
  // Loads are in flight for all slots except one, so at most one slot more than the number of tiles is useful.
  const int64_t tiles = int64_t(llvm::divideCeil(product.likelySizeOf(product.depth), 2 * step));
  std::vector<int64_t> slots{2, 3, 4, 5};
  llvm::erase_if(slots, [&](int64_t number) { return number > std::max<int64_t>(initial.stages, tiles + 1); });
  const int64_t warpColumns = initial.n / initial.warpsN;
  ScheduleSpace space;
  space.knobs = {{"warp_m", powers(unit, 64, initial.m / initial.warpsM), initial.m / initial.warpsM},
                 {"warp_n", wholeRows ? std::vector<int64_t>{initial.n} : powers(unit, 128, warpColumns), warpColumns},
                 {"warps_m", powers(1, 8, initial.warpsM), initial.warpsM},
                 {"warps_n", wholeRows ? std::vector<int64_t>{1} : powers(1, 8, initial.warpsN), initial.warpsN},
                 {"k", powers(2 * step, 4 * step, initial.k), initial.k, /*reorders=*/addsTiles(product)},
                 {"stages", sortedWith(slots, initial.stages), initial.stages}};
  space.knobs.push_back(
      {"tile_rows_per_band", bandHeightsFor(sizesOf(product, /*parts=*/1), arch), initial.tileRowsPerBand});
  auto atMost = [&](int64_t limit, std::vector<Constraint::Term> terms, std::string why) {
    space.constraints.push_back(sumAtMost(limit, std::move(terms), std::move(why)));
  };
  atMost(m, {{1, {MmaKnob::warpM, MmaKnob::warpsM}}}, "a tile does not have many more rows than the product");
  atMost(n, {{1, {MmaKnob::warpN, MmaKnob::warpsN}}}, "a tile does not have many more columns than the product");
  atMost(mostWarps, {{1, {MmaKnob::warpsM, MmaKnob::warpsN}}}, "a block has at most 512 threads");
  // This is the limit on registersOf(), multiplied by the number of threads of a warp.
  atMost((mostRegisters - aroundRegisters) * warpSize,
         {{setsOfSums(product), {MmaKnob::warpM, MmaKnob::warpN}},
          {warpSize / 4, {MmaKnob::warpM}},
          {warpSize / 4, {MmaKnob::warpN}}},
         "sums and fragments fit a thread's registers");
  atMost(std::min(arch.sharedBytes, mostStaticShared),
         {{bytes, {MmaKnob::warpM, MmaKnob::warpsM, MmaKnob::depth, MmaKnob::stages}},
          {bytes, {MmaKnob::warpN, MmaKnob::warpsN, MmaKnob::depth, MmaKnob::stages}}},
         "the stages fit a block's shared memory");
  return space;
}

Schedule scheduleOf(const SchedulePoint &point) {
  Schedule schedule;
  schedule.kind = Schedule::Kind::Mma;
  schedule.warpsM = point[MmaKnob::warpsM];
  schedule.warpsN = point[MmaKnob::warpsN];
  schedule.m = point[MmaKnob::warpM] * schedule.warpsM;
  schedule.n = point[MmaKnob::warpN] * schedule.warpsN;
  schedule.k = point[MmaKnob::depth];
  schedule.stages = point[MmaKnob::stages];
  schedule.tileRowsPerBand = point[MmaKnob::tileRowsPerBand];
  schedule.threads = schedule.warpsM * schedule.warpsN * warpSize;
  return schedule;
}

double nanosecondsOfMma(const Schedule &schedule, Contraction product, const Arch &arch, int64_t parts) {
  return MmaEstimate(schedule, sizesOf(product, parts), arch).nanoseconds();
}

Schedule chooseMma(Contraction product, const Arch &arch, int64_t parts) {
  const int64_t step = stepOf(elementOf(product));
  const ProductSizes sizes = sizesOf(product, parts);
  const int64_t width = product.rowSums.empty() ? 16 : product.likelySizeOf(product.columns);
  const Schedule initial = scheduleOf({16, width, 1, 1, 2 * step, 2, 1});
  return fastestOf(
      spaceOfMma(product, arch, initial), initial, [&](const SchedulePoint &point) { return scheduleOf(point); },
      [&](const Schedule &schedule) { return MmaEstimate(schedule, sizes, arch).nanoseconds(); });
}

} // namespace tilewright::gpu

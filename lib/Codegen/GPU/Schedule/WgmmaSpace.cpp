//===- WgmmaSpace.cpp - search space of a product by warp groups -------------------------===//
//
// This file defines the search space of the schedule `wgmma`, and selects the schedule with the least time that the
// cost model (WgmmaModel.h) predicts.
//
// Tests: test/Codegen/NVPTX/wgmma.mlir, test/Python/test_cuda_wgmma.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"
#include "lib/Codegen/GPU/Schedule/ProductSpace.h"
#include "lib/Codegen/GPU/Schedule/SharedTile.h"
#include "lib/Codegen/GPU/Schedule/WgmmaModel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// The numbers of the knobs in the search space.
struct WgmmaKnob {
  enum : size_t { consumerRows, consumers, columns, stages, tileRowsPerBand, tilesPerBlock, cluster, splitK };
};

/// Returns the sizes of `product` in the cost model. The sum of a convolution consists of whole steps for each tap.
ProductSizes sizesOfWgmma(Contraction product, int64_t parts) {
  ProductSizes sizes = sizesOf(product, parts);
  for (unsigned tap : tapsOf(product))
    sizes.taps *= product.likelySizeOf({tap});
  for (OpOperand *operand : {product.lhs(), product.rhs()})
    if (std::optional<Patches> patches = matchPatches(operand->get()))
      for (const WindowDimension &window : patches->windows)
        (operand == product.lhs() ? sizes.readsOfA : sizes.readsOfB) *=
            std::max(1.0, double(window.taps) / double(window.step));
  if (hasWindows(product, product.lhs()) || hasWindows(product, product.rhs())) {
    const int64_t line = lineElements(elementOf(product));
    sizes.k = stepsOf(product, line) * line / parts;
    (hasWindows(product, product.lhs()) ? sizes.readsOfA : sizes.readsOfB) = timesRead(product);
  }
  return sizes;
}

/// Returns the number of tiles of the product if a tile has 128 x 128 elements.
int64_t usualTilesOf(Contraction product) {
  constexpr int64_t usual = 128;
  const ProductSizes sizes = sizesOfWgmma(product, /*parts=*/1);
  return int64_t(llvm::divideCeil(sizes.m, usual) * llvm::divideCeil(sizes.n, usual)) * sizes.batches;
}

/// Returns the candidates for the number of tiles per block. The candidates are 1 and larger numbers, up to the maximum
/// number of tiles per multiprocessor. This maximum is computed for tiles of 128 x 128.
std::vector<int64_t> turnsFor(Contraction product, const Arch &arch) {
  const int64_t tiles = usualTilesOf(product);
  std::vector<int64_t> turns;
  for (int64_t number : {1, 2, 3, 4, 6, 8, 12, 16})
    if (number == 1 || (number - 1) * arch.multiprocessors < tiles)
      turns.push_back(number);
  return turns;
}

/// Returns the candidates for the number of blocks that share a tile. The candidates are 1 and larger numbers. They are
/// larger only if tiles of 128 x 128 do not occupy all multiprocessors, and each block has at least one step of each
/// tap.
std::vector<int64_t> splitsFor(Contraction product, const Arch &arch) {
  std::vector<int64_t> splits{1};
  if (!product.rowSums.empty() || product.second)
    return splits;
  const int64_t tiles = usualTilesOf(product), terms = product.sizeOf(depthOf(product));
  const auto steps = int64_t(llvm::divideCeil(terms, lineElements(elementOf(product))));
  if (!ShapedType::isDynamic(terms))
    for (int64_t number : {2, 4, 8})
      if (number <= steps && number / 2 * tiles < arch.multiprocessors)
        splits.push_back(number);
  return splits;
}

} // namespace

ScheduleSpace spaceOfWgmma(Contraction product, const Arch &arch, const Schedule &initial) {
  std::string reason;
  std::optional<MappedOperand> b = mapOperand(product, product.rhs(), product.columns, reason);
  std::vector<int64_t> widths{64, 128, 192, 256};
  if (b && b->alongK)
    widths.insert(widths.begin(), {8, 16, 32});
  if (!product.rowSums.empty())
    widths = {initial.n};
  llvm::erase_if(widths, [&](int64_t width) { return !whyNotColumns(product, width).empty(); });
  const int64_t least = widths.front(), rows = initial.m / initial.consumers;
  // More slots than tiles along k are not useful, but whyNotWgmma() requires at least two slots.
  const int64_t tiles = stepsOf(product, lineElements(elementOf(product)));
  std::vector<int64_t> slots{2, 3, 4, 5, 6, 8, 12, 16};
  llvm::erase_if(slots, [&](int64_t number) { return number > std::max<int64_t>(2, tiles); });
  ScheduleSpace space;
  space.knobs = {{"consumer_rows", sortedWith({groupRows, 2 * groupRows}, rows), rows},
                 {"consumers", {1, 2}, initial.consumers},
                 {"n", sortedWith(widths, initial.n), initial.n},
                 {"stages", sortedWith(slots, initial.stages), initial.stages}};
  space.knobs.push_back(
      {"tile_rows_per_band", bandHeightsFor(sizesOfWgmma(product, /*parts=*/1), arch), initial.tileRowsPerBand});
  space.knobs.push_back(
      {"tiles_per_block", sortedWith(turnsFor(product, arch), initial.tilesPerBlock), initial.tilesPerBlock});
  // The two blocks of a cluster compute two tiles in the same column of tiles, so there must be at least two rows of
  // tiles.
  std::vector<int64_t> clusters{1};
  if (product.likelySizeOf(product.rows) > groupRows && !product.second)
    clusters.push_back(2);
  space.knobs.push_back({"cluster", sortedWith(clusters, initial.cluster), initial.cluster});
  space.knobs.push_back(
      {"split_k", sortedWith(splitsFor(product, arch), initial.splitK), initial.splitK, /*reorders=*/true});
  for (int64_t number : space.knobs[WgmmaKnob::splitK].values)
    if (number > 1)
      for (size_t other : {WgmmaKnob::cluster, WgmmaKnob::tilesPerBlock})
        space.constraints.push_back(
            onlyBelow(WgmmaKnob::splitK, number, other, 2, "the blocks of a cluster compute one tile"));
  auto atMost = [&](int64_t limit, std::vector<Constraint::Term> terms, std::string why) {
    space.constraints.push_back(sumAtMost(limit, std::move(terms), std::move(why)));
  };
  // This is the condition in whyNotWgmma() on the parts of B's tile that the blocks of a cluster load.
  const int64_t unit = 2 * (b && !b->alongK ? lineElements(elementOf(product)) : 8);
  for (int64_t width : space.knobs[WgmmaKnob::columns].values)
    if (width % unit != 0)
      space.constraints.push_back(
          onlyBelow(WgmmaKnob::columns, width, WgmmaKnob::cluster, 2, "blocks of a cluster load whole boxes"));
  auto mostOf = [](int64_t size, int64_t atLeast) {
    return std::max<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(size, 1)))), atLeast);
  };
  atMost(mostOf(product.likelySizeOf(product.rows), groupRows), {{1, {WgmmaKnob::consumerRows, WgmmaKnob::consumers}}},
         "a tile does not have many more rows than the product");
  atMost(mostOf(product.likelySizeOf(product.columns) * product.numProducts(), least), {{1, {WgmmaKnob::columns}}},
         "a tile does not have many more columns than the product");
  // These are the limits that registersOfConsumer() and bytesOfRing() compute.
  atMost((consumerRegisters - otherRegisters) * warpGroupSize,
         {{setsOfSums(product), {WgmmaKnob::consumerRows, WgmmaKnob::columns}}}, "sums fit a thread's registers");
  atMost(arch.sharedBytes,
         {{lineBytes, {WgmmaKnob::consumerRows, WgmmaKnob::consumers, WgmmaKnob::stages}},
          {lineBytes, {WgmmaKnob::columns, WgmmaKnob::stages}},
          {16, {WgmmaKnob::stages}}},
         "the stages fit a block's shared memory");
  return space;
}

Schedule wgmmaAt(Contraction product, const SchedulePoint &point) {
  Schedule schedule;
  schedule.kind = Schedule::Kind::Wgmma;
  schedule.consumers = point[WgmmaKnob::consumers];
  schedule.m = point[WgmmaKnob::consumerRows] * schedule.consumers;
  schedule.n = point[WgmmaKnob::columns];
  schedule.k = lineElements(elementOf(product));
  schedule.stages = point[WgmmaKnob::stages];
  schedule.tileRowsPerBand = point[WgmmaKnob::tileRowsPerBand];
  schedule.tilesPerBlock = point[WgmmaKnob::tilesPerBlock];
  schedule.cluster = point[WgmmaKnob::cluster];
  schedule.splitK = point[WgmmaKnob::splitK];
  schedule.swapped = product.swapped;
  schedule.threads = (schedule.consumers + 1) * warpGroupSize;
  return schedule;
}

double nanosecondsOfWgmma(const Schedule &schedule, Contraction product, const Arch &arch, int64_t parts) {
  return nanosecondsOfWgmma(schedule, sizesOfWgmma(inOrderOf(schedule, product), parts), arch);
}

/// Returns the schedule with the least time in nanoseconds of the space of `product`, for its order of operands.
static Schedule chooseInOrder(Contraction product, const Arch &arch, int64_t parts,
                              llvm::function_ref<double(const Schedule &)> nanoseconds) {
  const int64_t width = product.rowSums.empty() ? 64 * product.numProducts() : product.likelySizeOf(product.columns);
  const Schedule initial = wgmmaAt(product, {groupRows, 1, width, 2, 1, 1, 1, 1});
  // Only the tuner selects clusters, because they have not been measured without a fence in each step (decision 0030).
  ScheduleSpace space = spaceOfWgmma(product, arch, initial);
  space.knobs[WgmmaKnob::cluster].values = {1};
  if (parts > 1) // SplitSums.h has already split the sum
    space.knobs[WgmmaKnob::splitK].values = {1};
  return fastestOf(space, initial, [&](const SchedulePoint &point) { return wgmmaAt(product, point); }, nanoseconds);
}

/// Returns the schedule of the space of `product` with the least predicted time.
static Schedule chooseInOrder(Contraction product, const Arch &arch, int64_t parts) {
  const ProductSizes sizes = sizesOfWgmma(product, parts);
  return chooseInOrder(product, arch, parts,
                       [&](const Schedule &schedule) { return nanosecondsOfWgmma(schedule, sizes, arch); });
}

Schedule chooseWgmma(Contraction product, const Arch &arch, int64_t parts) {
  Schedule schedule = chooseInOrder(product, arch, parts);
  // A tile has at least 64 rows, but may have 8 columns.
  if (!product.rowSums.empty() || product.second || product.likelySizeOf(product.rows) >= groupRows)
    return schedule;
  Schedule swapped = chooseInOrder(product.transposed(), arch, parts);
  const bool faster =
      nanosecondsOfWgmma(swapped, product, arch, parts) < nanosecondsOfWgmma(schedule, product, arch, parts);
  return faster ? swapped : schedule;
}

namespace {

/// The sizes of products that one kernel computes, which have the same order of operands.
class JoinedSizes {
public:
  explicit JoinedSizes(ArrayRef<Contraction> products) : swapped(products.front().swapped) {
    for (const Contraction &product : products)
      each.push_back(sizesOfWgmma(product, /*parts=*/1));
  }

  /// Returns the sizes of a product that has the columns of all products. The columns of each product are rounded up to
  /// whole tiles, because no tile has columns of two products.
  ProductSizes forTilesOf(const Schedule &schedule) const {
    ProductSizes all = each.front();
    int64_t &columns = swapped ? all.m : all.n;
    columns = 0;
    for (const ProductSizes &sizes : each) {
      columns += swapped ? int64_t(llvm::alignTo(sizes.m, schedule.m)) : int64_t(llvm::alignTo(sizes.n, schedule.n));
      all.math |= sizes.math;
    }
    return all;
  }

private:
  SmallVector<ProductSizes, 1> each;
  bool swapped;
};

} // namespace

Contraction mostRestricted(ArrayRef<Contraction> products) {
  for (Contraction product : products) {
    std::string reason;
    if (std::optional<MappedOperand> b = mapOperand(product, product.rhs(), product.columns, reason); b && !b->alongK)
      return product;
  }
  return products.front();
}

double nanosecondsOfWgmmaForAll(const Schedule &schedule, ArrayRef<Contraction> products, const Arch &arch) {
  SmallVector<Contraction, 1> ordered =
      llvm::map_to_vector<1>(products, [&](const Contraction &product) { return inOrderOf(schedule, product); });
  return nanosecondsOfWgmma(schedule, JoinedSizes(ordered).forTilesOf(schedule), arch);
}

std::optional<TimedSchedule> chooseWgmmaForAll(ArrayRef<Contraction> products, const Arch &arch) {
  std::optional<TimedSchedule> best;
  auto consider = [&](ArrayRef<Contraction> ordered) {
    const JoinedSizes sizes(ordered);
    auto nanoseconds = [&](const Schedule &schedule) {
      return nanosecondsOfWgmma(schedule, sizes.forTilesOf(schedule), arch);
    };
    const Schedule schedule = chooseInOrder(mostRestricted(ordered), arch, /*parts=*/1, nanoseconds);
    const bool possible = llvm::all_of(
        ordered, [&](const Contraction &product) { return whyNotWgmma(schedule, product, arch.sharedBytes).empty(); });
    const double time = nanoseconds(schedule);
    if (possible && (!best || time < best->nanoseconds))
      best = TimedSchedule{schedule, time};
  };
  consider(products);
  Contraction first = products.front();
  if (first.likelySizeOf(first.rows) < groupRows)
    consider(llvm::map_to_vector<1>(products, [](const Contraction &product) { return product.transposed(); }));
  return best;
}

std::optional<Schedule> wgmmaFor(Contraction product, const Arch &arch) {
  if (arch.groupFlops == 0 || !whyNotOnWarpGroups(product, arch.formats()).empty())
    return std::nullopt;
  Schedule schedule = chooseWgmma(product, arch);
  return whyNotWgmma(schedule, product, arch.sharedBytes).empty() ? std::optional(schedule) : std::nullopt;
}

std::optional<Schedule> wgmmaFor(func::FuncOp kernel, const Arch &arch) {
  std::string reason;
  const std::optional<Contraction> product = matchContraction(kernel, reason);
  return product ? wgmmaFor(*product, arch) : std::nullopt;
}

} // namespace tilewright::gpu

//===- ThreadSpaces.cpp - search spaces of elements, scatter, rows and windows ----------------===//
//
//   spaces of a softmax of 1024 rows (rows) and of an addition (elements):
//     group: 32 64 128 (default 32, changes the order of sums)          threads: 64 128 256 512 1024 (default 256)
//     rows_per_block: 1 2 4 8 (default 4)                               vector: 2 4 8 (default 8)
//     vector: 2 4 8 (default 8, changes the order of sums)
//     cluster: 1 (default 1, changes the order of sums)
//
// Tests: test/Codegen/GPU/Schedule/spaces.mlir, test/Python/test_cuda_spaces.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/KernelSpace.h"
#include "lib/Codegen/GPU/Schedule/ProductSpace.h"
#include "lib/Codegen/GPU/Schedule/Windows.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Returns the powers of two that are at least `least`, at most `most`, and at most a factor `factor` from `value`.
std::vector<int64_t> powersNear(int64_t value, int64_t factor, int64_t least, int64_t most) {
  std::vector<int64_t> values;
  for (int64_t power = 1; power <= most; power *= 2)
    if (power >= least && power * factor >= value && power <= value * factor)
      values.push_back(power);
  return values;
}

/// Returns the powers of two from a quarter of the initial vector to the initial vector. The vector may not be larger
/// (Selection::vectorOf).
std::vector<int64_t> vectorsFor(const Schedule &initial) {
  return powersNear(initial.vector, /*factor=*/4, /*least=*/1, /*most=*/initial.vector);
}

std::vector<int64_t> threadsFor(const Schedule &initial) {
  return powersNear(initial.threads, /*factor=*/4, /*least=*/2 * warpSize, mostThreads);
}

/// Returns the reason why a schedule of these kinds cannot be emitted, or an empty string if it can. The reason is a
/// vector that is not allowed, `other` (the reason of the caller), or a violated constraint of GpuSchedule.td.
std::string whyNotThreads(const Schedule &schedule, const Schedule &initial, std::string other = "") {
  if (initial.vector % schedule.vector != 0)
    return "vector must be a divisor of " + std::to_string(initial.vector);
  return other.empty() ? schedule::whyInvalid(schedule) : other;
}

} // namespace

KernelSpace spaceOfElements(const Schedule &initial) {
  KernelSpace made;
  made.initial = initial;
  made.addKnob(threadsFor(initial));
  made.addKnob(vectorsFor(initial));
  made.whyNot = [initial](const Schedule &schedule) { return whyNotThreads(schedule, initial); };
  return made;
}

KernelSpace spaceOfRows(const Schedule &initial) {
  enum : size_t { group, rowsPerBlock, vector, cluster };
  KernelSpace made;
  made.initial = initial;
  made.whyNot = [initial](const Schedule &schedule) {
    const bool cannotShare = schedule.cluster > 1 && initial.cluster == 1;
    return whyNotThreads(schedule, initial, cannotShare ? "a cluster cannot share a row of this kernel" : "");
  };
  if (initial.rowsAcrossLanes) {
    made.addKnob(powersNear(initial.group, /*factor=*/4, /*least=*/2, warpSize), /*reorders=*/true);
    made.addKnob(initial.cluster > 1 ? std::vector<int64_t>{1, 2, 4, 8} : std::vector<int64_t>{1}, /*reorders=*/true);
    return made;
  }
  if (initial.group < warpSize) { // a group is a part of a warp; a larger group would have idle lanes
    made.addKnob({initial.group}, /*reorders=*/true);
    made.addKnob(powersNear(initial.threads / initial.group, /*factor=*/4, warpSize / initial.group, mostThreads));
    made.addKnob(vectorsFor(initial), /*reorders=*/true);
    made.addKnob({1}, /*reorders=*/true);
    return made;
  }
  // If a group has more threads than a warp, all threads of a block belong to one group. The same holds in a cluster.
  const int64_t mostRows = initial.group <= 4 * warpSize ? 8 : 1; // the space has groups of a warp
  made.addKnob(powersNear(initial.group, /*factor=*/4, warpSize, mostThreads), /*reorders=*/true);
  made.addKnob(powersNear(1, mostRows, 1, mostRows));
  made.addKnob(vectorsFor(initial), /*reorders=*/true);
  made.addKnob(initial.cluster > 1 ? std::vector<int64_t>{1, 2, 4, 8} : std::vector<int64_t>{1}, /*reorders=*/true);
  for (int64_t threads : made.space.knobs[group].values)
    if (threads > warpSize && mostRows > 1)
      made.space.constraints.push_back(
          onlyBelow(group, threads, rowsPerBlock, 2, "the threads of a block share one row"));
  for (int64_t blocks : made.space.knobs[cluster].values)
    if (blocks > 1 && mostRows > 1)
      made.space.constraints.push_back(
          onlyBelow(cluster, blocks, rowsPerBlock, 2, "the blocks of a cluster share one row"));
  return made;
}

std::optional<KernelSpace> spaceOfWindows(func::FuncOp kernel, const Schedule &initial) {
  enum : size_t { threads, vector, lines, pixels };
  tile::GroupedConvolutionOp op = matchWindows(kernel);
  if (!op)
    return std::nullopt;
  KernelSpace made;
  made.initial = initial;
  made.whyNot = [=](const Schedule &schedule) { return whyNotThreads(schedule, initial, whyNotWindows(schedule, op)); };
  made.addKnob(powersNear(initial.threads, /*factor=*/2, 2 * warpSize, mostThreads));
  made.addKnob(vectorsFor(initial));
  made.addKnob(WindowSizes(op).unrollsWindow() ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1});
  made.addKnob({1, 2, 3, 4, 6, 8});
  made.addLimit(mostSumsOfWindows, {{1, {vector, lines, pixels}}}, "the sums of a thread fit its registers");
  return made;
}

} // namespace tilewright::gpu

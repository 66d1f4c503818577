//===- ChooseTogether.cpp - one schedule per nest under a common budget ---------------------===//
//
// Dynamic programming over the number of multipliers finds the schedules with the smallest weighted sum of cycles. Such
// a sum does not model that launches run in parallel. The search therefore runs in rounds with different weights. After
// each round, the weights of the nests of a launch are multiplied by a ratio: the cycles of the longest path through
// the launch, divided by the cycles of the critical path. The next round then assigns more multipliers to launches on
// the critical path. The round with the shortest critical path is selected. The caller can then call
// removeMultipliers(). This function selects schedules with fewer multipliers as long as the product of the number of
// multipliers and the cycles of the critical path decreases, and neither the critical path nor the slowest launch
// becomes more than 5% longer.
//
// Test: test/Codegen/HLS/choose-together.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/ChooseTogether.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>
#include <vector>

namespace tilewright::hls {
namespace {

using Picked = llvm::SmallVector<size_t>;

/// Returns the choices with the least sum of cycles x launches x weight within the budget, or an empty list if all
/// choices exceed the budget.
Picked leastSum(llvm::ArrayRef<NestCosts> nests, llvm::ArrayRef<double> weights, int64_t budget) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<double> least(budget + 1, 0);
  std::vector<std::vector<uint16_t>> taken;
  for (auto [nest, weight] : llvm::zip(nests, weights)) {
    std::vector<double> next(budget + 1, never);
    std::vector<uint16_t> choices(budget + 1, 0);
    for (auto [number, choice] : llvm::enumerate(nest.choices)) {
      const int64_t dsp = choice.dsp * nest.launches;
      const double cycles = double(choice.cycles) * double(nest.launches) * weight;
      for (int64_t have = dsp; have <= budget; ++have)
        if (least[have - dsp] + cycles < next[have]) {
          next[have] = least[have - dsp] + cycles;
          choices[have] = uint16_t(number);
        }
    }
    least = std::move(next);
    taken.push_back(std::move(choices));
  }
  if (least[budget] == never)
    return {};
  Picked picked(nests.size());
  for (size_t index = nests.size(); index-- > 0;) {
    picked[index] = taken[index][budget];
    budget -= nests[index].choices[picked[index]].dsp * nests[index].launches;
  }
  return picked;
}

/// The cycles of the critical path, of the slowest launch, and of the longest path through each launch.
struct Times {
  int64_t latency = 0, slowest = 0;
  std::vector<int64_t> through; ///< cycles of the longest path through each launch

  Times(llvm::ArrayRef<NestCosts> nests, llvm::ArrayRef<LaunchStep> steps, llvm::ArrayRef<size_t> picked) {
    std::vector<int64_t> cycles(steps.size()), end(steps.size()), tail(steps.size());
    for (auto [number, step] : llvm::enumerate(steps)) {
      for (size_t nest : step.nests)
        cycles[number] += nests[nest].choices[picked[nest]].cycles;
      for (size_t before : step.after)
        end[number] = std::max(end[number], end[before]);
      end[number] += cycles[number];
      latency = std::max(latency, end[number]);
      slowest = std::max(slowest, cycles[number]);
    }
    for (size_t number = steps.size(); number-- > 0;)
      for (size_t before : steps[number].after)
        tail[before] = std::max(tail[before], tail[number] + cycles[number]);
    for (size_t number = 0; number < steps.size(); ++number)
      through.push_back(end[number] + tail[number]);
  }
};

} // namespace

void removeMultipliers(llvm::ArrayRef<NestCosts> nests, llvm::ArrayRef<LaunchStep> steps, Picked &picked) {
  const Times before(nests, steps, picked);
  constexpr int64_t mostLost = 20; // the slowdown is limited to 1/20, which is 5%
  const int64_t latency = before.latency + before.latency / mostLost,
                slowest = before.slowest + before.slowest / mostLost;
  auto dspOf = [&](size_t nest) { return nests[nest].choices[picked[nest]].dsp * nests[nest].launches; };
  int64_t dsp = 0;
  for (size_t nest = 0; nest < nests.size(); ++nest)
    dsp += dspOf(nest);
  double product = double(before.latency) * double(dsp);
  while (true) {
    double best = product;
    size_t bestNest = nests.size(), choice = 0;
    for (size_t nest = 0; nest < nests.size(); ++nest) {
      const size_t had = picked[nest];
      const int64_t others = dsp - dspOf(nest);
      while (picked[nest] > 0) {
        --picked[nest];
        const Times now(nests, steps, picked);
        if (now.latency > latency || now.slowest > slowest)
          break;
        if (const double its = double(now.latency) * double(others + dspOf(nest)); its < best) {
          best = its;
          bestNest = nest;
          choice = picked[nest];
        }
      }
      picked[nest] = had;
    }
    if (bestNest == nests.size())
      return;
    dsp -= dspOf(bestNest);
    picked[bestNest] = choice;
    dsp += dspOf(bestNest);
    product = best;
  }
}

Picked chooseTogether(llvm::ArrayRef<NestCosts> nests, llvm::ArrayRef<LaunchStep> steps, int64_t budget) {
  constexpr int rounds = 12;
  std::vector<double> weights(nests.size(), 1);
  Picked best = leastSum(nests, weights, budget);
  if (best.empty() || steps.empty())
    return best;
  int64_t shortest = Times(nests, steps, best).latency;
  Picked picked = best;
  for (int round = 0; round < rounds; ++round) {
    const Times times(nests, steps, picked);
    std::vector<double> share(nests.size(), 0);
    for (auto [number, step] : llvm::enumerate(steps))
      for (size_t nest : step.nests)
        share[nest] =
            std::max(share[nest], double(times.through[number]) / double(std::max<int64_t>(1, times.latency)));
    for (auto [weight, its] : llvm::zip(weights, share))
      weight = std::max(weight * its, 1e-6);
    picked = leastSum(nests, weights, budget);
    if (int64_t latency = Times(nests, steps, picked).latency; latency < shortest) {
      shortest = latency;
      best = picked;
    }
  }
  return best;
}

int64_t latencyOf(llvm::ArrayRef<NestCosts> nests, llvm::ArrayRef<LaunchStep> steps, llvm::ArrayRef<size_t> picked) {
  return Times(nests, steps, picked).latency;
}

} // namespace tilewright::hls

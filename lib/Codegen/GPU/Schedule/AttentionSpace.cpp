//===- AttentionSpace.cpp - search spaces of attention and of its gradient --------------------===//
//
//   wgmma:     consumers: 1 2 (default 2)    n: 64 128 (default 128)       stages: 2 3 4 (default 3)
//   gradient:  consumers: 1 2 (default 2)    n: 16 32 64 (default 64)      stages: 2 3 4 (default 3)
//   mma.sync:  warps: 1 2 4 8 (default 4)    n: 16 32 64 (default 64)      stages: 2 3 (default 2)
//
// Tests: test/Codegen/GPU/Schedule/spaces.mlir, test/Python/test_cuda_spaces.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/AttentionGradient.h"
#include "lib/Codegen/GPU/Schedule/KernelSpace.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupGradient.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

enum : size_t { parts, keys, stages }; ///< the knobs: warps or consumers, n, stages

/// Adds the knobs with the values that whyNot() accepts if the other knobs have their initial values. The order of sums
/// depends on the number of keys per step. The caller adds limits on values that are too large together.
void addKnobs(KernelSpace &made, std::vector<int64_t> ofParts, std::vector<int64_t> ofKeys,
              std::vector<int64_t> ofStages) {
  auto initial = schedule::knobsOf(made.initial);
  auto accepted = [&](size_t knob, std::vector<int64_t> values) {
    llvm::erase_if(values, [&](int64_t value) {
      auto changed = schedule::withKnobs(made.initial, {{initial[knob].first.str(), value}});
      return !changed || !made.whyNot(*changed).empty();
    });
    return values;
  };
  made.addKnob(accepted(parts, std::move(ofParts)));
  made.addKnob(accepted(keys, std::move(ofKeys)), /*reorders=*/true);
  made.addKnob(accepted(stages, std::move(ofStages)));
}

/// Adds the limit on shared memory. `ofPart`: the bytes for each warp or consumer; `ofKey`: the bytes of a slot for
/// each key; `ofSlot`: other bytes of a slot.
void limitShared(KernelSpace &made, int64_t limit, int64_t ofPart, int64_t ofKey, int64_t ofSlot) {
  std::vector<Constraint::Term> terms{{ofKey, {keys, stages}}};
  if (ofPart > 0)
    terms.push_back({ofPart, {parts}});
  if (ofSlot > 0)
    terms.push_back({ofSlot, {stages}});
  made.addLimit(limit, std::move(terms), "the tiles fit a block's shared memory");
}

} // namespace

std::optional<KernelSpace> spaceOfAttention(func::FuncOp kernel, const Schedule &initial, const Arch &arch) {
  constexpr int64_t barrier = 8;
  std::string reason;
  KernelSpace made;
  made.initial = initial;
  const int64_t sharedBytes = arch.sharedBytes;
  if (std::optional<AttentionGradient> gradient = matchAttentionGradient(kernel, reason)) {
    if (initial.consumers > 0) {
      made.whyNot = [gradient, sharedBytes](const Schedule &schedule) {
        return whyNotWarpGroupGradient(schedule, *gradient, sharedBytes);
      };
      addKnobs(made, {1, 2}, {16, 32, 64}, {2, 3, 4});
      constexpr int64_t slotAlignment = 1024;
      const WarpGroupGradientTiles tiles(initial, *gradient);
      limitShared(made, sharedBytes, tiles.slots / initial.consumers, tiles.slotBytes / initial.n,
                  2 * barrier + slotAlignment);
      return made;
    }
    made.whyNot = [gradient](const Schedule &schedule) { return whyNotAttentionGradient(schedule, *gradient); };
    addKnobs(made, {2, 4, 8}, {16, 32, 64}, {2, 3});
    const GradientTiles tiles(initial, *gradient);
    limitShared(made, mostShared, tiles.slots / (initial.m / rowsOfWarp), tiles.slotBytes / initial.n, /*ofSlot=*/0);
    return made;
  }
  std::optional<Attention> attention = matchAttention(kernel, reason);
  if (!attention)
    return std::nullopt;
  if (initial.consumers > 0) {
    made.whyNot = [attention, sharedBytes](const Schedule &schedule) {
      return whyNotWarpGroupAttention(schedule, *attention, sharedBytes);
    };
    const int64_t rows = attention->sizeOf(Attention::Query, 2);
    const bool few = !ShapedType::isDynamic(rows) && rows <= groupRows;
    addKnobs(made, few ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2}, {64, 96, 128, 160, 192}, {2, 3, 4});
    const int64_t ofKeys = tileOfHead(initial, *attention, Attention::Key).bytes() +
                           tileOfHead(initial, *attention, Attention::Value).bytes();
    limitShared(made, sharedBytes - barrier,
                tileOfHead(initial, *attention, Attention::Query).bytes() / initial.consumers, ofKeys / initial.n,
                4 * barrier);
    return made;
  }
  made.whyNot = [attention](const Schedule &schedule) { return whyNotAttention(schedule, *attention); };
  addKnobs(made, {1, 2, 4, 8}, {16, 32, 64, 128}, {2, 3});
  const int64_t ofKeys = tileOfKeys(initial, *attention).bytes() + tileOfValues(initial, *attention).bytes();
  limitShared(
      made, mostShared,
      attention->keepsQueriesShared() ? tileOfQueries(initial, *attention).bytes() / (initial.threads / warpSize) : 0,
      ofKeys / initial.n, /*ofSlot=*/0);
  return made;
}

} // namespace tilewright::gpu

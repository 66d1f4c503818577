//===- SelectSchedules.cpp - loop orders and unroll factors under a budget ===//
//
// Before:
//   linalg.contract ins(%a, %b) outs(%c : memref<8x12xf32>)
// After (with a budget of 20 multipliers):
//   linalg.contract {tw_hls.schedule = #tw_hls.schedule<order = [2, 0, 1], unroll = [1, 4, 1], ii = 1>} ...
//
// If an array is filled with a constant, and the next op that uses the array accumulates into it (for example a sum or
// a maximum), the attribute `tw_hls.initial` of this op replaces the fill. NestChoices.h determines the possible
// schedules of a nest. The schedules of all nests are selected together (ChooseTogether.h), first without groups. A
// group consists of nests that can pass their results to each other in blocks (BlockGroups.h), so that they run in
// parallel. Groups are tried with several block sizes, and the selection treats a group as one nest. The pass selects
// the group that reduces the design's latency most. It repeats this with the remaining groups until no group reduces
// the latency by more than 1%, or until the limit on the number of tried selections is reached. Schedules that together
// need more banks of an array than HLS tools allow are removed (BankLimits.h).
//
// Tests: test/Codegen/HLS/select-schedules.mlir, test/Codegen/HLS/select-blocks.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/BankLimits.h"
#include "lib/Codegen/HLS/BlockGroups.h"
#include "lib/Codegen/HLS/Cost.h"
#include "lib/Codegen/HLS/InitialValues.h"
#include "lib/Codegen/HLS/NestChoices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "tilewright/BudgetError.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_HLSSELECTSCHEDULES
#include "tilewright/Passes.h.inc"
} // namespace tilewright

namespace tilewright::hls {
namespace {

struct Nest {
  linalg::LinalgOp op;
  int64_t launches = 1;
  SmallVector<Choice> choices; ///< choices with increasing multipliers and decreasing cycles
};

/// Returns, for each launch of the plan in order, the nests of its kernel and the launches that compute its operands.
SmallVector<LaunchStep> stepsOf(ModuleOp module, ArrayRef<Nest> nests) {
  SmallVector<LaunchStep> steps;
  llvm::DenseMap<int64_t, size_t> writerOf;
  module.walk([&](plan::LaunchOp launch) {
    LaunchStep step;
    for (auto [number, nest] : llvm::enumerate(nests))
      if (Operation *op = nest.op; op->getParentOfType<func::FuncOp>().getName() == launch.getKernel())
        step.nests.push_back(number);
    for (int64_t buffer : launch.getBuffers())
      if (auto found = writerOf.find(buffer); found != writerOf.end())
        step.after.push_back(found->second);
    for (auto [argument, buffer] : llvm::enumerate(launch.getBuffers()))
      if (launch.mayWrite(argument))
        writerOf[buffer] = steps.size();
    steps.push_back(std::move(step));
  });
  return steps;
}

/// A group of nests with a block size, and its possible schedules.
struct Blocked {
  BlockGroup group;
  int64_t size = 0;
  std::vector<SmallVector<Choice>> members; ///< choices of each member, in the order of the group's nests
  std::vector<GroupChoice> choices;
};

/// The selected schedules of all nests, and the groups of nests that run in blocks.
struct Selection {
  std::vector<Blocked> groups;
  SmallVector<size_t> picked; ///< for each nest, an index in Nest::choices or, in a group, in its part of `members`
  int64_t latency = 0;        ///< latency before multipliers are removed
};

class Selector {
public:
  Selector(ModuleOp module, ArrayRef<Nest> nests, int64_t budget)
      : nests(nests), steps(stepsOf(module, nests)), budget(budget) {
    for (auto [launch, step] : llvm::enumerate(steps)) {
      const bool alone = step.nests.size() == 1 && nests[step.nests[0]].launches == 1;
      if (alone && isWhole(nests[step.nests[0]].op))
        blockNests.push_back({step.nests[0], launch, nests[step.nests[0]].op});
    }
    candidates = blockGroups(module, blockNests);
  }

  /// Selects schedules and, if `blocks` is true, also groups of nests that run in blocks. Returns std::nullopt if even
  /// the schedules with the fewest multipliers exceed the budget.
  std::optional<Selection> select(bool blocks) {
    std::optional<Selection> best = choose({});
    if (!best || !blocks)
      return best;
    int tries = mostTries;
    while (true) {
      std::optional<Selection> next;
      for (const BlockGroup &group : candidates) {
        if (overlaps(group, best->groups))
          continue;
        for (Blocked &blocked : sizesOf(group, *best)) {
          if (tries-- <= 0)
            break;
          std::vector<Blocked> groups = best->groups;
          groups.push_back(std::move(blocked));
          std::optional<Selection> tried = choose(std::move(groups));
          if (tried && tried->latency < (next ? next->latency : best->latency * 99 / 100))
            next = std::move(tried);
        }
      }
      if (!next)
        return best;
      best = std::move(next);
    }
  }

private:
  /// The maximum number of calls of choose() with groups, to limit the compile time.
  static constexpr int mostTries = 48;
  /// The maximum number of block sizes that are tried for a group.
  static constexpr size_t mostSizes = 4;
  static constexpr int64_t mostBlocks = 128;

  /// Returns true if the kernel of `op` contains only `op`, constants and the return.
  static bool isWhole(linalg::LinalgOp op) {
    return llvm::all_of(*op->getBlock(), [&](Operation &other) {
      return &other == op || isa<func::ReturnOp>(other) || other.hasTrait<OpTrait::ConstantLike>();
    });
  }

  static bool overlaps(const BlockGroup &group, ArrayRef<Blocked> others) {
    return llvm::any_of(others, [&](const Blocked &other) {
      return llvm::any_of(group.loops, [&](auto &entry) { return other.group.loops.count(entry.first) > 0; });
    });
  }

  /// Returns, for each member of a group, the members for which it waits, as indices in the group.
  SmallVector<SmallVector<size_t>> orderOf(const BlockGroup &group) const {
    llvm::DenseMap<size_t, size_t> positionOfLaunch;
    for (const BlockNest &nest : blockNests)
      if (auto found = group.loops.find(nest.nest); found != group.loops.end())
        positionOfLaunch[nest.launch] = std::distance(group.loops.begin(), found);
    SmallVector<SmallVector<size_t>> after(group.loops.size());
    for (auto [launch, position] : positionOfLaunch)
      for (size_t before : steps[launch].after)
        if (auto found = positionOfLaunch.find(before); found != positionOfLaunch.end())
          after[position].push_back(found->second);
    return after;
  }

  /// Returns `group` with up to `mostSizes` block sizes. These are the sizes with the fewest cycles if the group may
  /// use as many multipliers as its nests use in `now`.
  SmallVector<Blocked> sizesOf(const BlockGroup &group, const Selection &now) const {
    int64_t dsp = 0;
    for (auto [nest, loop] : group.loops)
      dsp += nests[nest].choices[now.picked[nest]].dsp;
    std::vector<std::pair<int64_t, Blocked>> all;
    for (int64_t size = group.extent - 1; size >= 1; --size) {
      if (group.extent % size != 0 || group.extent / size > mostBlocks)
        continue;
      Blocked blocked{group, size, {}, {}};
      for (auto [nest, loop] : group.loops)
        blocked.members.push_back(choicesOf(nests[nest].op, /*shares=*/true, BlockLoop{loop, size}));
      if (llvm::any_of(blocked.members, [](ArrayRef<Choice> its) { return its.empty(); }))
        continue;
      blocked.choices = groupChoices(blocked.members, orderOf(group), group.extent / size);
      int64_t quickest = -1;
      for (const GroupChoice &choice : blocked.choices)
        if (choice.dsp <= dsp)
          quickest = choice.cycles;
      if (quickest >= 0)
        all.push_back({quickest, std::move(blocked)});
    }
    llvm::stable_sort(all, [](auto &a, auto &b) { return a.first < b.first; });
    SmallVector<Blocked> best;
    for (auto &[cycles, blocked] : all)
      if (best.size() < mostSizes)
        best.push_back(std::move(blocked));
    return best;
  }

  /// Returns the best selection in which `groups` run in blocks. Returns std::nullopt if a group would wait for itself,
  /// or if the budget does not suffice.
  std::optional<Selection> choose(std::vector<Blocked> groups) const {
    // `costs` has the nests outside of groups, followed by the groups.
    SmallVector<NestCosts> costs;
    std::vector<int64_t> costOf(nests.size(), -1);
    std::vector<size_t> unitOf(steps.size());
    for (auto [number, nest] : llvm::enumerate(nests)) {
      if (llvm::any_of(groups, [&, n = number](const Blocked &its) { return its.group.loops.count(n) > 0; }))
        continue;
      costOf[number] = costs.size();
      NestCosts &its = costs.emplace_back();
      its.launches = nest.launches;
      for (const Choice &choice : nest.choices)
        its.choices.push_back({choice.cycles, choice.dsp});
    }
    const size_t firstGroup = costs.size();
    for (const Blocked &blocked : groups) {
      NestCosts &its = costs.emplace_back();
      for (const GroupChoice &choice : blocked.choices)
        its.choices.push_back({choice.cycles, choice.dsp});
    }
    // A unit consists of the launches of a group, or of a single launch outside of all groups. inOrder() sorts the
    // units so that each unit comes after the units for which it waits.
    std::vector<LaunchStep> units(groups.size());
    for (auto [number, blocked] : llvm::enumerate(groups))
      units[number].nests.push_back(firstGroup + number);
    for (auto [launch, step] : llvm::enumerate(steps)) {
      auto in = llvm::find_if(groups, [&](const Blocked &its) {
        return step.nests.size() == 1 && its.group.loops.count(step.nests[0]) > 0;
      });
      if (in != groups.end()) {
        unitOf[launch] = in - groups.begin();
        continue;
      }
      unitOf[launch] = units.size();
      LaunchStep &unit = units.emplace_back();
      for (size_t nest : step.nests)
        unit.nests.push_back(costOf[nest]);
    }
    for (auto [launch, step] : llvm::enumerate(steps))
      for (size_t before : step.after)
        if (unitOf[before] != unitOf[launch])
          units[unitOf[launch]].after.push_back(unitOf[before]);
    std::optional<SmallVector<LaunchStep>> ordered = inOrder(units);
    if (!ordered)
      return std::nullopt;
    SmallVector<size_t> chosen = chooseTogether(costs, *ordered, budget);
    if (chosen.size() != costs.size())
      return std::nullopt;
    Selection selection;
    selection.latency = latencyOf(costs, *ordered, chosen);
    removeMultipliers(costs, *ordered, chosen);
    selection.picked.resize(nests.size());
    for (auto [nest, cost] : llvm::enumerate(costOf))
      if (cost >= 0)
        selection.picked[nest] = chosen[cost];
    for (auto [number, blocked] : llvm::enumerate(groups))
      for (auto [entry, member] : llvm::zip(blocked.group.loops, blocked.choices[chosen[firstGroup + number]].picked))
        selection.picked[entry.first] = member;
    selection.groups = std::move(groups);
    return selection;
  }

  /// Sorts units so that each comes after the units for which it waits. Returns std::nullopt if there is a cycle.
  static std::optional<SmallVector<LaunchStep>> inOrder(ArrayRef<LaunchStep> units) {
    SmallVector<LaunchStep> ordered;
    std::vector<int64_t> positions(units.size(), -1);
    while (ordered.size() < units.size()) {
      const size_t before = ordered.size();
      for (auto [number, unit] : llvm::enumerate(units)) {
        if (positions[number] >= 0 || llvm::any_of(unit.after, [&](size_t other) { return positions[other] < 0; }))
          continue;
        positions[number] = ordered.size();
        LaunchStep &step = ordered.emplace_back(unit);
        for (size_t &other : step.after)
          other = positions[other];
      }
      if (ordered.size() == before)
        return std::nullopt;
    }
    return ordered;
  }

  ArrayRef<Nest> nests;
  SmallVector<LaunchStep> steps;
  int64_t budget;
  std::vector<BlockNest> blockNests;
  std::vector<BlockGroup> candidates;
};

struct HlsSelectSchedules : impl::HlsSelectSchedulesBase<HlsSelectSchedules> {
  using HlsSelectSchedulesBase::HlsSelectSchedulesBase;

  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    llvm::Expected<const Part *> device = findPart(part);
    llvm::Expected<Resources> resources = device ? readBudget(budget, **device) : device.takeError();
    if (!resources) {
      emitError(UnknownLoc::get(&getContext())) << llvm::toString(resources.takeError());
      return signalPassFailure();
    }
    llvm::StringMap<int64_t> launches;
    getOperation().walk([&](plan::LaunchOp launch) { ++launches[launch.getKernel()]; });
    SmallVector<Nest> nests;
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      absorbFills(kernel);
      kernel.walk([&](linalg::LinalgOp op) {
        if (op->getNumOperands() == 0 || !op.hasPureBufferSemantics() ||
            llvm::any_of(op.getStaticLoopRanges(), ShapedType::isDynamic) || op.getNumLoops() == 0)
          return;
        setFabric(op, fabric);
        Nest nest{op, std::max<int64_t>(1, launches.lookup(kernel.getName())), choicesOf(op, shares)};
        nests.push_back(std::move(nest));
      });
    }
    if (nests.empty())
      return;
    std::optional<Selection> selection = selectWithin(nests, resources->dsp);
    // Additions in lookup tables need no DSP slices. If all operators of the selected schedules take more than half of
    // the lookup tables, use DSP slices for all additions.
    if (fabric && selection && tablesOf(nests, *selection) > (*device)->lut / 2) {
      for (Nest &nest : nests) {
        setFabric(nest.op, false);
        nest.choices = choicesOf(nest.op, shares);
      }
      selection = selectWithin(nests, resources->dsp);
    }
    if (!selection) {
      int64_t least = 0;
      for (const Nest &nest : nests)
        least += nest.choices.front().dsp * nest.launches;
      InFlightDiagnostic error = emitError(UnknownLoc::get(&getContext()));
      error << "the budget cannot be met: this model needs dsp=" << least << " with one copy of every operator, and "
            << "the budget has dsp=" << resources->dsp << "; the smallest sufficient budget is --budget dsp=" << least;
      addNeededDsp(error, least);
      return signalPassFailure();
    }
    for (auto [nest, choice] : llvm::zip(nests, pickedBy(nests, *selection)))
      setSchedule(nest.op, *choice, {});
    for (const Blocked &blocked : selection->groups)
      for (auto [entry, choices] : llvm::zip(blocked.group.loops, blocked.members))
        setSchedule(nests[entry.first].op, choices[selection->picked[entry.first]], {entry.second, blocked.size});
  }

private:
  /// Returns the best selection in which no array needs more banks than HLS tools allow. While an array needs more
  /// banks, the schedules that need them are removed from one of the nests that access the array: from the nest whose
  /// time increases by the smallest factor. If no schedule can be removed, the pass selects again without groups. If
  /// this also fails, returns a selection in which an array needs too many banks, for which --tw-hls-build-design emits
  /// an error. Returns std::nullopt if the schedules with the fewest multipliers exceed `dsp`.
  std::optional<Selection> selectWithin(MutableArrayRef<Nest> nests, int64_t dsp) {
    SmallVector<linalg::LinalgOp> ops;
    for (const Nest &nest : nests)
      ops.push_back(nest.op);
    const BankDemand demand(getOperation(), ops);
    bool inBlocks = blocks;
    while (true) {
      std::optional<Selection> selection = Selector(getOperation(), nests, dsp).select(inBlocks);
      if (!selection)
        return selection;
      SmallVector<const Choice *> picked = pickedBy(nests, *selection);
      SmallVector<ArrayRef<int64_t>> unrolls;
      for (const Choice *choice : picked)
        unrolls.push_back(choice->unroll);
      std::optional<size_t> array = demand.overfull(unrolls);
      if (!array)
        return selection;
      auto isOverfull = [&](size_t nest, const Choice &choice) {
        return demand.isOverfull(*array, unrolls, nest, choice.unroll);
      };
      std::optional<size_t> loser;
      double least = 0;
      for (size_t nest : demand.nestsOf(*array)) {
        std::optional<int64_t> cycles; // cycles of the nest's fastest schedule within the limit
        for (const Choice &choice : nests[nest].choices)
          if (!isOverfull(nest, choice))
            cycles = std::min(cycles.value_or(choice.cycles), choice.cycles);
        const double loss = cycles ? double(*cycles) / double(picked[nest]->cycles) : 0;
        if (cycles && (!loser || loss < least)) {
          loser = nest;
          least = loss;
        }
      }
      size_t struck = 0;
      if (loser) {
        SmallVector<Choice> &choices = nests[*loser].choices;
        struck = choices.size();
        llvm::erase_if(choices, [&](const Choice &choice) { return isOverfull(*loser, choice); });
        struck -= choices.size();
      }
      if (struck == 0 && !std::exchange(inBlocks, false))
        return selection; // --tw-hls-build-design reports the array as an error
    }
  }

  /// Returns the selected schedule of each nest.
  static SmallVector<const Choice *> pickedBy(ArrayRef<Nest> nests, const Selection &selection) {
    SmallVector<const Choice *> choices;
    for (auto [number, nest] : llvm::enumerate(nests))
      choices.push_back(&nest.choices[std::min(selection.picked[number], nest.choices.size() - 1)]);
    for (const Blocked &blocked : selection.groups)
      for (auto [entry, its] : llvm::zip(blocked.group.loops, blocked.members))
        choices[entry.first] = &its[selection.picked[entry.first]];
    return choices;
  }

  /// If `fabric` is true, marks the nest `op` if it has float products and f32 additions or subtractions. If `fabric`
  /// is false, removes the mark. The f32 additions and subtractions of a marked nest are implemented in lookup tables
  /// instead of DSP slices, with the cost of quickAddition() (Estimate/Operators.h). Nests without products are not
  /// marked, because without DSP slices, the budget would not limit the number of their adders.
  static void setFabric(linalg::LinalgOp op, bool fabric) {
    Block &body = *op.getBlock();
    const bool adds = llvm::any_of(body, [](Operation &inner) { return mayBeInFabric(&inner); });
    if (!fabric)
      op->removeAttr(fabricAttrName);
    else if (adds && !body.getOps<arith::MulFOp>().empty())
      op->setAttr(fabricAttrName, UnitAttr::get(op->getContext()));
  }

  /// Returns the number of lookup tables of all operators of the selected schedules.
  static int64_t tablesOf(ArrayRef<Nest> nests, const Selection &selection) {
    int64_t tables = 0;
    for (auto [nest, choice] : llvm::zip(nests, pickedBy(nests, selection))) {
      linalg::LinalgOp op = nest.op;
      int64_t copies = nest.launches;
      for (int64_t by : choice->unroll)
        copies *= by;
      tables += copies * bodyCost(*op.getBlock()).lut / choice->ii;
    }
    return tables;
  }

  static void setSchedule(linalg::LinalgOp op, const Choice &choice, ArrayRef<int64_t> block) {
    op->setAttr(scheduleAttrName, ScheduleAttr::get(op->getContext(), choice.order, choice.unroll, choice.ii, block));
  }
};

} // namespace
} // namespace tilewright::hls

//===- BlockGroups.cpp - nests that could pass results in blocks ----------===//
//
//   tmp[i][j] += a[i][k] * b[k][j];   y[i][j] += tmp[i][k] * c[k][j];
//
// In this example, the second nest reads tmp by rows, and the first nest can compute tmp by rows. If loop i is the
// outermost loop of the two nests, the second nest processes some rows while the first nest computes the next rows. The
// outermost loop may also be a reduction loop: if k is the outermost loop of z[i][j] += e[i][k] * f[k][j], the nest
// reads e by columns and f by rows, and the order of additions does not change. The search for groups starts once from
// each loop that can be the outermost loop of its nest. For an array that connects two nests, the index of the array
// determines which loop of one nest corresponds to the outermost loop of the other nest.
//
// Test: test/Codegen/HLS/select-blocks.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/BlockGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

/// An array that one nest writes and another nest reads. `written` and `read` have, for each dimension of the array,
/// the loop of the respective nest that indexes it, or -1.
struct BlockChannel {
  size_t from, to;
  SmallVector<int64_t> written, read;
};

/// Returns, for each result of `map`, the loop whose counter is this result. The entry is -1 if the result is not a
/// loop counter, or if another result depends on the same counter.
SmallVector<int64_t> loopsOf(AffineMap map) {
  SmallVector<int64_t> loops;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    const bool once = dim && llvm::count_if(map.getResults(), [&](AffineExpr other) {
                               return other.isFunctionOfDim(dim.getPosition());
                             }) == 1;
    loops.push_back(once ? int64_t(dim.getPosition()) : -1);
  }
  return loops;
}

/// Returns the operand of `op` that is `array`. Returns null unless the op and its body use the array exactly once.
OpOperand *onlyOperand(linalg::LinalgOp op, Value array) {
  OpOperand *found = nullptr;
  int uses = 0;
  op->walk([&](Operation *inner) { uses += llvm::count(inner->getOperands(), array); });
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get() == array)
      found = &operand;
  return uses == 1 ? found : nullptr;
}

bool isParallel(linalg::LinalgOp op, int64_t loop) {
  return op.getIteratorTypesArray()[loop] == utils::IteratorType::parallel;
}

/// Returns true if the loop can be the outermost loop without changing the order of additions.
bool mayBeOutermost(linalg::LinalgOp op, int64_t loop) {
  for (int64_t before = 0; before < loop; ++before)
    if (!isParallel(op, loop) && !isParallel(op, before))
      return false;
  return true;
}

std::vector<BlockChannel> channelsOf(ModuleOp module, ArrayRef<BlockNest> nests) {
  struct Use {
    size_t launch, argument;
  };
  std::map<int64_t, std::vector<Use>> writers, readers;
  llvm::DenseSet<int64_t> inside; // arena buffers of the plan that are not copied to other buffers
  module.walk([&](plan::BufferOp buffer) {
    if (buffer.getKind() == plan::BufferKind::Arena)
      inside.insert(buffer.getNumber());
  });
  size_t number = 0;
  module.walk([&](plan::LaunchOp launch) {
    for (auto [argument, buffer] : llvm::enumerate(launch.getBuffers()))
      (launch.mayWrite(argument) ? writers : readers)[buffer].push_back({number, argument});
    ++number;
  });
  module.walk([&](plan::CopyOp copy) { inside.erase(copy.getFrom()); });
  auto nestOf = [&](size_t launch) {
    return llvm::find_if(nests, [&](const BlockNest &nest) { return nest.launch == launch; });
  };
  std::vector<BlockChannel> channels;
  for (auto &[buffer, its] : writers) {
    auto &others = readers[buffer];
    if (!inside.contains(buffer) || its.size() != 1 || others.size() != 1)
      continue;
    auto from = nestOf(its[0].launch), to = nestOf(others[0].launch);
    if (from == nests.end() || to == nests.end())
      continue;
    linalg::LinalgOp writer = from->op, reader = to->op;
    Value written = writer->getParentOfType<func::FuncOp>().getArgument(its[0].argument);
    Value read = reader->getParentOfType<func::FuncOp>().getArgument(others[0].argument);
    OpOperand *store = onlyOperand(writer, written), *load = onlyOperand(reader, read);
    if (!store || !load || written.getType() != read.getType() || !writer.isDpsInit(store) || reader.isDpsInit(load))
      continue;
    channels.push_back({from->nest, to->nest, loopsOf(writer.getMatchingIndexingMap(store)),
                        loopsOf(reader.getMatchingIndexingMap(load))});
  }
  return channels;
}

} // namespace

std::vector<BlockGroup> blockGroups(ModuleOp module, ArrayRef<BlockNest> nests) {
  std::vector<BlockChannel> channels = channelsOf(module, nests);
  auto opOf = [&](size_t nest) {
    return llvm::find_if(nests, [&](const BlockNest &its) { return its.nest == nest; })->op;
  };
  std::vector<BlockGroup> groups;
  for (const BlockNest &first : nests)
    for (linalg::LinalgOp op = first.op; int64_t seed : llvm::seq<int64_t>(0, int64_t(op.getNumLoops()))) {
      if (!mayBeOutermost(op, seed))
        continue;
      BlockGroup group;
      group.extent = op.getStaticLoopRanges()[seed];
      group.loops[first.nest] = seed;
      SmallVector<size_t> open{first.nest};
      bool fits = true;
      while (!open.empty()) {
        const size_t nest = open.pop_back_val();
        const int64_t loop = group.loops[nest];
        for (const BlockChannel &channel : channels) {
          if (channel.from != nest && channel.to != nest)
            continue;
          ArrayRef<int64_t> mine = channel.from == nest ? channel.written : channel.read;
          ArrayRef<int64_t> others = channel.from == nest ? channel.read : channel.written;
          const size_t other = channel.from == nest ? channel.to : channel.from;
          const auto *at = llvm::find(mine, loop);
          const int64_t follows = at == mine.end() ? -1 : others[at - mine.begin()];
          const bool may = follows >= 0 && mayBeOutermost(opOf(other), follows);
          auto known = group.loops.find(other);
          if (known != group.loops.end())
            fits &= may && known->second == follows; // otherwise `other` would wait for the whole array
          else if (may) {
            group.loops[other] = follows;
            open.push_back(other);
          }
        }
      }
      const bool isNew = llvm::none_of(groups, [&](const BlockGroup &known) { return known.loops == group.loops; });
      if (fits && isNew && group.loops.size() > 1 && group.extent > 1)
        groups.push_back(std::move(group));
    }
  return groups;
}

std::vector<GroupChoice> groupChoices(ArrayRef<SmallVector<Choice>> members, ArrayRef<SmallVector<size_t>> after,
                                      int64_t blocks) {
  std::vector<int64_t> limits; // upper bounds to try for the cycles that a block of the slowest member takes
  for (ArrayRef<Choice> choices : members)
    for (const Choice &choice : choices)
      limits.push_back(choice.blockCycles);
  llvm::sort(limits);
  limits.erase(llvm::unique(limits), limits.end());
  std::vector<GroupChoice> all;
  for (int64_t limit : limits)
    // If a member needs few multipliers, its blocks may be computed faster than those of the slowest member by this
    // factor, so that the first block is available earlier.
    for (int64_t hurry : {1, 2, 4, 8, 16}) {
      GroupChoice group;
      int64_t slowest = 0, path = 0;
      std::vector<int64_t> end(members.size(), 0);
      for (auto [number, choices] : llvm::enumerate(members)) {
        auto within = [&](int64_t most) {
          return llvm::find_if(choices, [&](const Choice &its) { return its.blockCycles <= most; });
        };
        const Choice *one = within(limit), *quick = within(limit / hurry);
        if (one == choices.end())
          break;
        constexpr int64_t smallDsp = 64;
        if (quick != choices.end() && quick->dsp <= smallDsp)
          one = quick;
        group.picked.push_back(one - choices.begin());
        group.dsp += one->dsp;
        slowest = std::max(slowest, one->blockCycles);
        for (size_t before : after[number])
          end[number] = std::max(end[number], end[before]);
        end[number] += one->blockCycles;
        path = std::max(path, end[number]);
      }
      if (group.picked.size() != members.size())
        continue;
      group.cycles = path + (blocks - 1) * slowest + 2;
      all.push_back(std::move(group));
    }
  llvm::sort(all, [](const GroupChoice &a, const GroupChoice &b) {
    return std::tie(a.dsp, a.cycles, a.picked) < std::tie(b.dsp, b.cycles, b.picked);
  });
  std::vector<GroupChoice> best;
  for (GroupChoice &choice : all)
    if (best.empty() || choice.cycles < best.back().cycles)
      best.push_back(std::move(choice));
  return best;
}

} // namespace tilewright::hls

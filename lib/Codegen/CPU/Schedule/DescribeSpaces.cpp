//===- DescribeSpaces.cpp - the schedule space of kernels for the target cpu ------------------===//
//
// Before:  func @kernel_0(...) attributes {tw.schedule = #tw_cpu.schedule<tiles = [64, 96]>} { a product of 512 rows }
// After:   func @kernel_0(...) attributes {tw.schedule = ..., tw.space = "{\"knobs\": [{\"name\": \"tile0\", ...",
//            tw.predicted = array<f64: 412000.0, ...>}
//
// This file is the only declaration of the schedule space of the target cpu, and is in the folder of the passes that
// select and apply schedules. include/tilewright/ScheduleSpace.h describes knobs and constraints. The knobs `tile0`,
// `tile1`, ... are the elements of `tiles` in tw.schedule. Other knobs are parameters of the schedule
// (dialects/Schedule/CpuSchedule.td). The attribute tw.predicted contains the predicted time of each point of the
// space, in nanoseconds and in the order of the points. Kernels without a prediction do not have this attribute.
//
// The attribute tw.wide_space contains all schedules of tw.space, and also schedules that are known to be slow, such as
// tiles of one row, few rows in registers, short K-blocks, and too many tasks. `tilewright tune --record-tables`
// measures the schedules of the two spaces, so that the tuner's choice can be compared with the best of all schedules.
//
// Test: test/Codegen/CPU/Schedule/describe-spaces.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/CpuSchedule.h"
#include "dialects/Tile/Blocks.h"
#include "dialects/Tile/Flops.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/CPU/Schedule/KernelShapes.h"
#include "lib/Interfaces/SpaceText.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_DESCRIBESPACES
#include "tilewright/Passes.h.inc"
namespace tiled {
using namespace tile;
namespace {

/// Returns tile sizes for `size` elements in ascending order: unit * 1, 2, 4, ..., and `size` divided by 1, 2, 4, ...,
/// rounded up to multiples of `unit`. The sizes are at least `least`, except `chosen` and the rounded `size`, which are
/// always included.
std::vector<int64_t> ladder(int64_t size, int64_t unit, int64_t least, int64_t chosen) {
  const int64_t units = llvm::divideCeil(size, unit);
  std::vector<int64_t> values{chosen, units * unit};
  for (int64_t step = 1; step < units; step *= 2)
    for (int64_t value : {step * unit, int64_t(llvm::divideCeil(units, step)) * unit})
      if (value >= least)
        values.push_back(value);
  llvm::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

class SpaceOfKernel {
public:
  SpaceOfKernel(func::FuncOp kernel, schedule::CpuScheduleAttr selected, const CostMachine &machine,
                const ProductMachine &products, bool wide)
      : kernel(kernel), machine(machine), products(products), wide(wide), members(membersOf(kernel)) {
    tiles = llvm::to_vector(selected.getTiles().asArrayRef());
  }

  /// Sets `space` and `predict`. Returns false if the space has only one schedule, or if the tuner does not support the
  /// kernel (for example, a grouped convolution).
  bool run() {
    if (members.empty() || tiles.empty() || isa<PackOp, AttentionGradientOp>(members.back()))
      return false;
    if (isa<AttentionOp>(members.back()))
      return attention();
    std::string reason;
    rows = computeRows(members, reason);
    if (!rows || members.back()->getNumResults() == 0)
      return false;
    for (Operation *member : members) {
      if (isa<GroupedConvolutionOp, DepthwiseGradientOp>(member))
        return false;
      if (isa<MatmulOp, ConvolutionOp>(member))
        return product(member);
    }
    return plain();
  }

  ScheduleSpace space;
  std::function<double(const SchedulePoint &)> predict; ///< null: the times are unknown

private:
  /// Adds the knob for the tile size of row `row`, and returns the index of the knob. Returns std::nullopt if the row
  /// is not tiled or has only one tile size.
  std::optional<size_t> tileKnob(int64_t row, int64_t size, int64_t unit, int64_t least) {
    if (row < 0 || row >= int64_t(tiles.size()) || tiles[row] == 0)
      return std::nullopt;
    std::vector<int64_t> values = ladder(std::max<int64_t>(size, 1), unit, wide ? unit : least, tiles[row]);
    if (values.size() < 2)
      return std::nullopt;
    space.knobs.push_back({"tile" + std::to_string(row), values, tiles[row]});
    return space.knobs.size() - 1;
  }

  void plainKnob(StringRef name, std::vector<int64_t> values, int64_t initial, bool reorders) {
    if (!llvm::is_contained(values, initial))
      values.push_back(initial);
    llvm::sort(values);
    if (values.size() > 1)
      space.knobs.push_back({name.str(), values, initial, reorders});
  }

  /// Adds constraints on the number of tasks, unless the space is wide. `cut` contains, for each tiled dimension, the
  /// index of its knob and its size. `others` is the number of tasks along the other dimensions. An upper bound limits
  /// the overhead of tasks. If the default schedule has at least one task per thread, the lower bound is the number of
  /// threads.
  void limitTasks(ArrayRef<std::pair<size_t, int64_t>> cut, int64_t others) {
    Constraint most{
        Constraint::Kind::TasksAtMost, {}, {}, 1, 0, 0, "there are few enough tasks that their overhead is small", {}};
    int64_t own = 1;
    for (auto [knob, size] : cut) {
      most.knobs.push_back(knob);
      most.sizes.push_back(size);
      own *= llvm::divideCeil(size, std::max<int64_t>(space.knobs[knob].initial, 1));
    }
    if (cut.empty() || wide)
      return;
    constexpr int64_t mostTasks = 1024; // maximum number of tasks per thread
    most.limit = std::max<int64_t>(1, mostTasks * machine.threads / std::max<int64_t>(others, 1));
    Constraint least = most;
    least.kind = Constraint::Kind::TasksAtLeast;
    least.why = "every thread has a task";
    least.limit = llvm::divideCeil(machine.threads, std::max<int64_t>(others, 1));
    space.constraints.push_back(most);
    if (own >= least.limit && least.limit > 1)
      space.constraints.push_back(least);
  }

  bool product(Operation *member) {
    SmallVector<AffineExpr> own = tile::sizesOf(member->getResult(0));
    ArrayRef<int64_t> rowOfLoop = rows->rowOfLoop[member];
    auto matmul = dyn_cast<MatmulOp>(member);
    auto convolution = dyn_cast<ConvolutionOp>(member);
    const int64_t rank = own.size(), panel = matmul ? matmul.getPanel() : convolution.getPanel();
    const int64_t rowLoop = matmul ? rank - 2 : 1, columnLoop = rank - 1;
    const int64_t m = estimate(own[rowLoop]), n = estimate(own[columnLoop]);
    std::optional<size_t> ofRows = tileKnob(rowOfLoop[rowLoop], m, 1, matmul ? std::min<int64_t>(m, 8) : 1),
                          ofColumns = tileKnob(rowOfLoop[columnLoop], n, panel, panel);
    int64_t others = 1;
    for (int64_t loop = 0; loop + 1 < rank; ++loop)
      if (loop != rowLoop && loop != columnLoop && (matmul || loop == 0))
        others *= std::max<int64_t>(1, estimate(own[loop]));
    SmallVector<std::pair<size_t, int64_t>> cut;
    if (ofRows)
      cut.push_back({*ofRows, m});
    if (ofColumns)
      cut.push_back({*ofColumns, n});
    limitTasks(cut, others);
    if (ofRows && ofColumns && !wide)
      space.constraints.push_back({Constraint::Kind::ProductAtMost,
                                   {*ofRows, *ofColumns},
                                   {},
                                   4 * (matmul ? 1 : std::max<int64_t>(1, estimate(own[2]))),
                                   machine.cacheBytes,
                                   0,
                                   "the results of a task fit into the L2 cache",
                                   {}});
    if (ofRows && ofColumns) {
      plainKnob("order", {0, 1}, 0, /*reorders=*/false);
      space.constraints.push_back({Constraint::Kind::Together,
                                   {space.knobs.size() - 1, *ofRows, *ofColumns},
                                   {0, m, n},
                                   1,
                                   0,
                                   1,
                                   "there are tasks in both directions",
                                   {}});
    }
    Value weight = member->getOperand(1);
    const bool tiled = products.tileUnit && (matmul ? matmul.getGroup() : convolution.getGroup()) > 1;
    Type element = cast<ShapedType>(weight.getType()).getElementType();
    if (!tiled && !element.isF16()) { // vector instructions (lib/Codegen/CPU/MicroKernels/MicroKernel.h)
      const int64_t kBlock = schedule::knobOr(kernel, &schedule::CpuScheduleAttr::getKBlock, schedule::defaultKBlock);
      const int64_t group = matmul ? matmul.getGroup() : convolution.getGroup();
      AffineExpr size = matmul ? tile::sizeOf(matmul.getInputs()[0], matmul.getLhsPermutation().back())
                               : tile::sizeOf(convolution.getInputs()[0], 3);
      const int64_t steps = llvm::divideCeil(estimate(size), group);
      std::vector<int64_t> kBlocks;
      // A K-block other than the default is offered if there are more than `fewSteps` groups of k and at least two
      // thirds as many as the K-block has. A wide space also contains all K-blocks shorter than the default.
      constexpr int64_t fewSteps = 96; // number of groups of k that are always one K-block, unless the space is wide
      for (int64_t value : {32, 128, 256, 512})
        if (value == kBlock || (2 * value <= 3 * steps && steps > fewSteps) || (wide && value < kBlock))
          kBlocks.push_back(value);
      plainKnob("k_block", kBlocks, kBlock, /*reorders=*/element.isFloat());
      plainKnob("block", wide ? std::vector<int64_t>{1, 3, 6} : std::vector<int64_t>{6}, schedule::wholeBlocks,
                /*reorders=*/false);
    }
    if (matmul && ofRows && ofColumns) {
      ProductShape shape = productShapeOf(matmul, own, products);
      const double count = double(llvm::count_if(members, [](Operation *other) { return isa<MatmulOp>(other); }));
      const size_t rowKnob = *ofRows, columnKnob = *ofColumns;
      predict = [this, shape, count, rowKnob, columnKnob](const SchedulePoint &point) {
        ProductTiles chosen{std::min(point[rowKnob], shape.m),
                            std::min<int64_t>(llvm::divideCeil(point[columnKnob], shape.panelColumns), shape.panels)};
        return count * costOfProduct(shape, chosen, machine).nanoseconds;
      };
    }
    return !space.knobs.empty();
  }

  bool attention() {
    Value sums = members.back()->getResult(1);
    const int64_t length = estimate(tile::sizeOf(sums, 2)),
                  heads = estimate(tile::sizeOf(sums, 1)) * estimate(tile::sizeOf(sums, 0));
    constexpr int64_t unit = 16, mostRows = 512, leastKeys = 64; // the last two bound the number of schedules
    if (std::optional<size_t> knob = tileKnob(2, length, unit, std::min<int64_t>(length, unit))) {
      std::vector<int64_t> &values = space.knobs[*knob].values;
      for (int64_t rows = unit; rows < std::min<int64_t>(length, mostRows); rows += unit)
        values.push_back(rows);
      llvm::sort(values);
      values.erase(std::unique(values.begin(), values.end()), values.end());
      limitTasks({{*knob, length}}, heads);
    }
    const int64_t keys = estimate(keysOf(cast<AttentionOp>(members.back())));
    std::vector<int64_t> blocks;
    for (int64_t block : {16, 32, 64, 128, 256})
      if (block < keys && (wide || block >= leastKeys))
        blocks.push_back(block);
    plainKnob("keys", blocks, tile::attentionKeys, /*reorders=*/true);
    if (length > 8)
      plainKnob("scores", wide ? std::vector<int64_t>{2, 6, 16, 64} : std::vector<int64_t>{16, 64}, tile::attentionRows,
                /*reorders=*/false);
    return !space.knobs.empty();
  }

  /// Adds the knobs of elementwise kernels and reductions: the tile sizes of the two innermost rows with more than one
  /// element, `unroll`, and `accumulators` for reductions.
  bool plain() {
    SmallVector<AffineExpr> sizes = tile::sizesOf(members.back()->getResult(0));
    SmallVector<std::pair<size_t, int64_t>> cut;
    // For each row: the index of its knob or -1, and the size of its tile.
    std::vector<std::pair<int64_t, int64_t>> whole;
    int64_t others = 1, left = 2;
    for (int64_t row = 0; row < rows->numRows; ++row)
      left -= estimate(sizes[row]) > 1;
    for (int64_t row = 0; row < rows->numRows; ++row) {
      const int64_t size = std::max<int64_t>(1, estimate(sizes[row]));
      std::optional<size_t> knob;
      if (size > 1 && ++left > 0) {
        const bool contiguous = row + 1 == int64_t(sizes.size());
        constexpr int64_t lanes = 16; // f32 elements of an AVX-512 vector
        knob = tileKnob(row, size, contiguous && size >= lanes ? lanes : 1, 1);
      }
      if (knob)
        cut.push_back({*knob, size});
      else if (row < int64_t(tiles.size()) && tiles[row] > 0)
        others *= llvm::divideCeil(size, tiles[row]);
      whole.push_back({knob ? int64_t(*knob) : -1, std::min(size, tiles[row] > 0 ? tiles[row] : size)});
    }
    limitTasks(cut, others);
    const bool sums = llvm::any_of(members, [](Operation *member) {
      auto generic = dyn_cast<linalg::GenericOp>(member);
      return generic && generic.getNumReductionLoops() > 0;
    });
    if (sums)
      plainKnob("accumulators", {1, 2, 4, 8}, 4, /*reorders=*/true);
    plainKnob("unroll", {1, 16}, 4, /*reorders=*/false);
    const RowsShape shape = rowsShapeOf(members, *rows);
    predict = [this, shape, whole](const SchedulePoint &point) {
      int64_t grain = shape.inside;
      for (auto [knob, tile] : whole)
        grain *= knob < 0 ? tile : point[size_t(knob)];
      return costOfElements(shape.elements, shape.bytesPerElement, std::min(grain, shape.elements), machine)
          .nanoseconds;
    };
    return !space.knobs.empty();
  }

  func::FuncOp kernel;
  const CostMachine &machine;
  const ProductMachine &products;
  const bool wide; ///< true: the space includes schedules that are known to be slow
  SmallVector<Operation *> members;
  SmallVector<int64_t> tiles;
  std::optional<RowMap> rows;
};

struct DescribeSpaces : impl::DescribeSpacesBase<DescribeSpaces> {
  using DescribeSpacesBase::DescribeSpacesBase;

  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Tensors, getArgument())))
      return signalPassFailure();
    func::FuncOp kernel = getOperation();
    auto selected = kernel->getAttrOfType<schedule::CpuScheduleAttr>(scheduleAttrName);
    if (!kernel->hasAttr(kernelAttrName) || !selected)
      return;
    FailureOr<CostMachine> machine =
        costMachineOf(kernel, threads, cacheBytes, sharedBytes, {l1Bytes, l1Ways, lineBytes}, rates);
    if (failed(machine))
      return signalPassFailure();
    ProductMachine products{tileUnit, splitF16, machine->rates};
    SpaceOfKernel of(kernel, selected, *machine, products, /*wide=*/false),
        all(kernel, selected, *machine, products, /*wide=*/true);
    if (!of.run() || !all.run())
      return;
    Builder builder(&getContext());
    kernel->setAttr(spaceAttrName, builder.getStringAttr(spaceToText(of.space)));
    kernel->setAttr(wideSpaceAttrName, builder.getStringAttr(spaceToText(all.space)));
    if (!of.predict)
      return;
    SmallVector<double> predicted;
    for (const SchedulePoint &point : of.space.points())
      predicted.push_back(of.predict(point));
    kernel->setAttr(predictedAttrName, DenseF64ArrayAttr::get(&getContext(), predicted));
  }
};
} // namespace
} // namespace tiled
} // namespace tilewright

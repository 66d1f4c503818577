//===- SelectCudaSchedule.cpp - --tw-cuda-select-schedule -----------------------------------===//
//
// This pass assigns a schedule (Schedule.h) to each kernel, according to its sizes and the architecture. Before this,
// it changes kernels in this order:
//
//   - It decomposes attention that tensor cores do not support.
//   - It places the ops of a product's kernel that do not compute its operands after the product (ProductsFirst.h).
//   - It splits kernels that reduce the results of another reduction (SplitChains.h).
//   - It moves copies into the windowed kernels that read them (InlineCopies.h).
//   - It moves concatenations into the elementwise kernels that read them (InlineConcats.h).
//   - It transposes weights of convolutions for wgmma (TransposeFilters.h).
//   - It splits long reductions (SplitSums.h), and scatters to a small number of rows (SplitScatters.h).
//   - It fuses norms with the products before them (JoinRows.h), and convolutions with the padding of their images
//     (JoinPadding.h).
//   - It aligns rows of operands (AlignRows.h), and divides operands of f32 products into bf16 parts (SplitF32.h).
//   - It combines the two products of a SwiGLU (PairProducts.h).
//   - It joins products that read the same operand (JoinProducts.h).
//
// If the target does not support an op, the pass reports an error with the op, its type, the reason and the user's
// source line. The pass reports all such ops of the module, not only the first.
//
// Tests: test/Codegen/GPU/Schedule/select-schedule.mlir, test/Codegen/NVPTX/refusals.mlir,
// test/Codegen/NVPTX/product.mlir, test/Codegen/NVPTX/softmax.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Flops.h"
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/MathWithCode.h"
#include "lib/Codegen/GPU/ScatterRows.h"
#include "lib/Codegen/GPU/Schedule/AlignRows.h"
#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "lib/Codegen/GPU/Schedule/Attention.h"
#include "lib/Codegen/GPU/Schedule/AttentionGradient.h"
#include "lib/Codegen/GPU/Schedule/ComputeOnce.h"
#include "lib/Codegen/GPU/Schedule/InlineConcats.h"
#include "lib/Codegen/GPU/Schedule/InlineCopies.h"
#include "lib/Codegen/GPU/Schedule/JoinPadding.h"
#include "lib/Codegen/GPU/Schedule/JoinProducts.h"
#include "lib/Codegen/GPU/Schedule/JoinRows.h"
#include "lib/Codegen/GPU/Schedule/PairProducts.h"
#include "lib/Codegen/GPU/Schedule/ProductSpace.h"
#include "lib/Codegen/GPU/Schedule/ProductsFirst.h"
#include "lib/Codegen/GPU/Schedule/RowSchedule.h"
#include "lib/Codegen/GPU/Schedule/SplitChains.h"
#include "lib/Codegen/GPU/Schedule/SplitF32.h"
#include "lib/Codegen/GPU/Schedule/SplitScatters.h"
#include "lib/Codegen/GPU/Schedule/SplitSums.h"
#include "lib/Codegen/GPU/Schedule/TransposeFilters.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupAttention.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupGradient.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"
#include "lib/Codegen/GPU/Schedule/Windows.h"
#include "lib/Codegen/GPU/ThreadKernel.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_SELECTCUDASCHEDULE
#include "tilewright/Passes.h.inc"
namespace gpu {
namespace {

/// Returns the reason why `op`, an op of a kernel's body, cannot be emitted, or an empty string if it can.
std::string whyNot(Operation *op) {
  if (isa<linalg::LinalgOp>(op)) {
    std::string reason;
    op->walk([&](Operation *inner) {
      if (inner == op || !reason.empty())
        return;
      if (inner->getNumRegions() > 0)
        reason = "its body has control flow";
      else if (isa<tile::ReportOp>(inner))
        reason = "it writes at computed indices";
      else if (isa<arith::RemFOp>(inner)) // LLVM's expansion x - trunc(x / y) * y is wrong for large quotients
        reason = "the remainder of floats has no exact implementation";
      else if (isa<math::MathDialect>(inner->getDialect()) && inner->getOperand(0).getType().isF64() &&
               !hasCodeOfItsOwn(inner))
        reason = (inner->getName().stripDialect() + " of float64 has no implementation").str();
    });
    return reason;
  }
  if (isa<tensor::EmptyOp, tensor::PadOp, tensor::InsertSliceOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp,
          tensor::CollapseShapeOp, tensor::CastOp, affine::AffineApplyOp, func::ReturnOp, tensor::YieldOp, tile::ScanOp,
          tile::ScatterOp, tile::SortOp, tile::GroupedConvolutionOp, tile::DepthwiseGradientOp, tile::AttentionOp,
          tile::AttentionGradientOp>(op)) // attention ops that are not decomposed have a schedule
    return "";
  if (auto number = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<ElementsAttr>(number.getValue());
    return !dense || dense.isSplat() ? "" : "a table of constants inside a kernel is not supported";
  }
  if (isa<arith::ArithDialect>(op->getDialect()))
    return "";
  return "the target has no schedule for it";
}

/// Returns, for example, "softmax of tensor<7x512xf64>".
std::string describeWithType(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << tile::describe(op);
  for (Type type : op->getOperandTypes())
    if (isa<RankedTensorType>(type)) {
      stream << " of " << type;
      break;
    }
  return text;
}

/// Emits an error for every op in the kernel that cannot be emitted.
LogicalResult refuseOps(func::FuncOp kernel) {
  bool possible = true;
  for (Operation &op : kernel.getBody().front())
    if (std::string reason = whyNot(&op); !reason.empty()) {
      emitError(op.getLoc()) << "target cuda: " << describeWithType(&op) << ": " << reason
                             << "; target cpu computes it";
      possible = false;
    }
  return success(possible);
}

class Selection {
public:
  Selection(func::FuncOp kernel, const Arch &arch) : kernel(kernel), arch(arch), members(structuredOpsOf(kernel)) {}

  Schedule choose() {
    Schedule schedule;
    std::string reason;
    if (std::optional<Contraction> contraction = matchContraction(kernel, reason)) {
      if (isDotProducts(*contraction))
        if (std::optional<Schedule> rows = chooseRows())
          return *rows;
      if (std::optional<Schedule> wgmma = wgmmaFor(*contraction, arch))
        return *wgmma;
      if (whyNotOnTensorCores(*contraction, arch.formats()).empty())
        if (Schedule mma = chooseMma(*contraction, arch); whyNotMma(mma, *contraction, arch.sharedBytes).empty())
          return mma;
      if (std::optional<Schedule> fma = chooseFma(*contraction); fma && whyNotFma(*fma, *contraction).empty())
        return *fma;
    }
    const bool reduces = hasReductions();
    if (reduces)
      if (std::optional<Schedule> rows = chooseRows())
        return *rows;
    schedule.kind = Schedule::Kind::Elements;
    schedule.threads = 256;
    if (std::optional<ScatterRows> rows = matchScatterRows(kernel, reason)) {
      schedule.kind = Schedule::Kind::Scatter;
      const bool along = llvm::is_contained(rows->direct, cast<ShapedType>(kernel.getResultTypes()[0]).getRank() - 1);
      schedule.vector = along ? vectorOf(kernel, lastSizes(kernel)) : 1;
      return schedule;
    }
    if (tile::GroupedConvolutionOp grouped = matchWindows(kernel)) {
      Schedule windows = chooseWindows(grouped, vectorOf(kernel, lastSizes(kernel)), arch);
      if (whyNotWindows(windows, grouped).empty())
        return windows;
    }
    bool loops = false, weights = false; // `weights`: gradients of the weights of a depthwise convolution
    for (Operation &op : kernel.getOps()) {
      auto gradient = dyn_cast<tile::DepthwiseGradientOp>(op);
      const bool inVectors = gradient && cast<ShapedType>(gradient.getInputs()[0].getType()).hasStaticShape();
      weights |= inVectors;
      loops |=
          isa<tile::ScanOp, tile::ScatterOp, tile::SortOp, tile::GroupedConvolutionOp>(op) || (gradient && !inVectors);
    }
    schedule.vector = loops || (reduces && !reducesVectors()) ? 1 : vectorOf(kernel, lastSizesOfParts());
    if (reduces || weights)
      schedule.threads = threadsOfReduction(schedule.vector);
    return schedule;
  }

  /// Returns a schedule in which a cluster of blocks computes each row, or 32 adjacent rows. Returns std::nullopt if no
  /// cluster should share a row, or if the kernel is a contraction. A row whose elements are adjacent in memory is
  /// shared only if the kernel reads it again after it has reduced it.
  std::optional<Schedule> chooseCluster() {
    std::string reason;
    if (arch.groupFlops == 0 || !hasReductions() || matchContraction(kernel, reason))
      return std::nullopt;
    std::optional<tile::RowMap> map = tile::computeRows(members, reason);
    if (!map)
      return std::nullopt;
    RowSchedule rows(kernel, arch, members, *map);
    std::optional<Schedule> schedule = rows.choose();
    const bool isChosen = schedule && schedule->cluster > 1 && (schedule->rowsAcrossLanes || rows.readsAgain());
    return isChosen ? schedule : std::nullopt;
  }

private:
  /// Returns the schedule `rows`, or std::nullopt if another schedule is better.
  std::optional<Schedule> chooseRows() {
    std::string reason;
    std::optional<tile::RowMap> map = tile::computeRows(members, reason);
    return map ? RowSchedule(kernel, arch, members, *map).choose() : std::nullopt;
  }

  bool hasReductions() const {
    return llvm::any_of(members, [](Operation *op) { return cast<linalg::LinalgOp>(op).getNumReductionLoops() > 0; });
  }

  /// Returns true if all reductions of the kernel read vectors of operands for vectors of results, as in pooling of
  /// channels-last images and in sums over columns.
  bool reducesVectors() const {
    for (Operation *member : members) {
      auto op = cast<linalg::LinalgOp>(member);
      if (op.getNumReductionLoops() == 0)
        continue;
      SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
      const auto adjacent = [&](OpOperand *input) {
        AffineMap map = op.getMatchingIndexingMap(input);
        auto last = dyn_cast_or_null<AffineDimExpr>(map.getNumResults() ? map.getResults().back() : AffineExpr());
        return !op.payloadUsesValueFromOperand(input) ||
               (last && kinds[last.getPosition()] == utils::IteratorType::parallel);
      };
      if (!llvm::all_of(op.getDpsInputOperands(), adjacent))
        return false;
    }
    return true;
  }

  /// Returns the threads per block for a kernel of the kind `elements` that has reductions. If there are few threads,
  /// blocks are smaller, so that each multiprocessor has a block.
  int64_t threadsOfReduction(int64_t vector) {
    constexpr int64_t most = 256, least = 64, blocksPerMultiprocessor = 4;
    int64_t elements = 0;
    for (Type type : kernel.getResultTypes())
      if (auto shaped = cast<ShapedType>(type); shaped.hasStaticShape())
        elements = std::max(elements, shaped.getNumElements());
    int64_t threads = most;
    while (elements > 0 && threads > least &&
           elements / vector / threads < blocksPerMultiprocessor * arch.multiprocessors)
      threads /= 2;
    return threads;
  }

  /// Returns lastSizes(), and the offsets and sizes of the parts of concatenations in their last dimension. If no part
  /// begins or ends within a vector, the elements of the vector are loaded together.
  SmallVector<int64_t> lastSizesOfParts() {
    SmallVector<int64_t> sizes = lastSizes(kernel);
    for (auto insertion : kernel.getOps<tensor::InsertSliceOp>()) {
      if (insertion.getType().getRank() == 0)
        continue;
      for (OpFoldResult value : {insertion.getMixedOffsets().back(), insertion.getMixedSizes().back()})
        sizes.push_back(getConstantIntValue(value).value_or(ShapedType::kDynamic));
    }
    return sizes;
  }

  func::FuncOp kernel;
  const Arch &arch;
  SmallVector<Operation *> members;
};

/// Sets a schedule on tensor cores if the kernel is an attention or the gradient of one, has no schedule yet, and
/// tensor cores support it. Returns true if matchAttention() or matchAttentionGradient() accepts the kernel and the
/// kernel has a schedule afterwards.
bool takesTensorCores(func::FuncOp kernel, const Arch &arch) {
  std::string reason;
  std::optional<Schedule> schedule;
  if (std::optional<Attention> attention = matchAttention(kernel, reason)) {
    if (arch.groupFlops > 0) {
      schedule = chooseWarpGroupAttention(*attention, arch.sharedBytes);
      reason = whyNotWarpGroupAttention(*schedule, *attention, arch.sharedBytes);
    }
    if (!schedule || !reason.empty()) {
      schedule = chooseAttention(*attention);
      reason = whyNotAttention(*schedule, *attention);
    }
  } else if (std::optional<AttentionGradient> gradient = matchAttentionGradient(kernel, reason)) {
    if (arch.groupFlops > 0) {
      schedule = chooseWarpGroupGradient(*gradient, arch.sharedBytes);
      reason = whyNotWarpGroupGradient(*schedule, *gradient, arch.sharedBytes);
    }
    if (!schedule || !reason.empty()) {
      schedule = chooseAttentionGradient(*gradient);
      reason = whyNotAttentionGradient(*schedule, *gradient);
    }
  }
  if (!schedule)
    return false;
  if (kernel->hasAttr(scheduleAttrName))
    return true;
  if (reason.empty())
    setSchedule(kernel, *schedule);
  return reason.empty();
}

struct SelectCudaSchedule : impl::SelectCudaScheduleBase<SelectCudaSchedule> {
  using Base::Base;
  void runOnOperation() override {
    llvm::Expected<Arch> known = findArch(arch);
    if (!known) {
      getOperation().emitError() << llvm::toString(known.takeError());
      return signalPassFailure();
    }
    // If tensor cores do not support an attention, it is decomposed into products and a softmax of rows between them.
    OpPassManager decompose(func::FuncOp::getOperationName());
    decompose.addPass(createDecomposeTile());
    decompose.addPass(createCanonicalizerPass());
    decompose.addPass(createCSEPass());
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      auto isAttention = [](Operation *op) { return isa<tile::AttentionOp, tile::AttentionGradientOp>(op); };
      if (llvm::none_of(kernel.getOps(), [&](Operation &op) { return isAttention(&op); }))
        continue;
      if (takesTensorCores(kernel, *known))
        continue;
      if (failed(runPipeline(decompose, kernel)))
        return signalPassFailure();
    }
    bool possible = true;
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName))
        possible &= succeeded(refuseOps(kernel));
    if (!possible)
      return signalPassFailure();
    placeProductsFirst(getOperation());
    auto computesElements = [&](func::FuncOp kernel) {
      return Selection(kernel, *known).choose().kind == Schedule::Kind::Elements;
    };
    splitChains(getOperation(), computesElements);
    // Select clusters before splitSums() runs: a cluster that holds a row in its registers reads the row once, but the
    // kernels that splitSums() creates would read the row once per reduction.
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName) && !kernel->hasAttr(scheduleAttrName))
        if (std::optional<Schedule> cluster = Selection(kernel, *known).chooseCluster())
          setSchedule(kernel, *cluster);
    inlineCopies(getOperation(), computesElements);
    inlineConcats(getOperation(), computesElements);
    transposeFilters(getOperation(), *known);
    splitSums(getOperation(), *known);
    splitScatters(getOperation(), *known);
    joinRows(getOperation(), *known);
    joinPadding(getOperation(), *known);
    alignRows(getOperation(), *known);
    if (!f32Fma)
      splitF32(getOperation(), *known);
    computeOnce(getOperation());
    pairProducts(getOperation(), *known);
    joinProducts(getOperation(), *known);
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName))
        tile::setFlops(kernel);
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName) && !kernel->hasAttr(scheduleAttrName))
        setSchedule(kernel, Selection(kernel, *known).choose());
  }
};

} // namespace
} // namespace gpu
} // namespace tilewright

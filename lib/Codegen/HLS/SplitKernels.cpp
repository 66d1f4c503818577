//===- SplitKernels.cpp - --tw-hls-split-kernels: split a kernel of several nests ---------------===//
//
// Before:
//   func @kernel_0(%a, %b, %c) {
//     %sum = alloc; linalg.contract ins(%a, %b) outs(%sum); linalg.generic ins(%sum) outs(%c) }
//   tw_plan.launch @kernel_0 [0, 1, 2]
// After:
//   func @kernel_0_0(%a, %b, %sum) { linalg.contract ins(%a, %b) outs(%sum) }
//   func @kernel_0_1(%sum, %c) { linalg.generic ins(%sum) outs(%c) }
//   tw_plan.launch @kernel_0_0 [0, 1, 3] ; tw_plan.launch @kernel_0_1 [3, 2]
//
// The nests of a kernel run one after another, while kernels become tasks, which run in parallel. A kernel is split if
// its nests can become separate kernels without copies of arrays. This is the case if each local array is written by
// one nest and read by one later nest, and if only one nest uses each argument, either to read or to write. Kernels
// that are launched more than once, or that contain loops, views or copies of arrays, are not split. Kernels without a
// reduction are not split either, because their time depends only on the sizes of their arrays.
//
// Test: test/Codegen/HLS/split-kernels.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/HLS/HLS.h"
#include "dialects/Plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_HLSSPLITKERNELS
#include "tilewright/Passes.h.inc"
} // namespace tilewright

namespace tilewright::hls {
namespace {

/// A nest, and the linalg.fill ops that initialize its accumulators.
struct Stage {
  SmallVector<Operation *> ops; ///< the last op is the nest
  llvm::SetVector<Value> reads, writes;
};

/// Adds the arrays that `op` and its body use to the reads and writes of `stage`.
void addArrays(Operation *op, Stage &stage) {
  auto nest = cast<linalg::LinalgOp>(op);
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      if (!isa<MemRefType>(operand.getType()))
        continue;
      const bool written = inner == op && llvm::is_contained(nest.getDpsInits(), operand);
      (written ? stage.writes : stage.reads).insert(operand);
    }
  });
}

/// Returns the nests of a kernel, in order. Returns an empty list if the kernel cannot be split.
SmallVector<Stage> stagesOf(func::FuncOp kernel) {
  SmallVector<Stage> stages;
  SmallVector<Operation *> fills;
  bool reduces = false;
  for (Operation &op : kernel.getBody().front()) {
    if (isa<memref::AllocOp, memref::DeallocOp, func::ReturnOp>(op) || op.hasTrait<OpTrait::ConstantLike>())
      continue;
    if (isa<linalg::FillOp>(op)) {
      fills.push_back(&op);
      continue;
    }
    auto nest = dyn_cast<linalg::LinalgOp>(op);
    if (!nest || !nest.hasPureBufferSemantics() || isa<linalg::CopyOp>(op))
      return {};
    reduces |= nest.getNumReductionLoops() > 0;
    Stage &stage = stages.emplace_back();
    addArrays(&op, stage);
    for (Operation *&fill : fills)
      if (fill && stage.writes.contains(cast<linalg::FillOp>(fill).getOutputs()[0]))
        stage.ops.push_back(std::exchange(fill, nullptr));
    stage.ops.push_back(&op);
  }
  const bool allFilled = llvm::all_of(fills, [](Operation *fill) { return fill == nullptr; });
  if (stages.size() < 2 || !reduces || !allFilled)
    return {};
  // A local array must be written by one nest and read by another. An argument must be only read or only written, by
  // one nest.
  llvm::MapVector<Value, SmallVector<std::pair<size_t, bool>>> uses;
  for (auto [number, stage] : llvm::enumerate(stages)) {
    for (Value array : stage.writes)
      uses[array].push_back({number, true});
    for (Value array : stage.reads)
      uses[array].push_back({number, false});
  }
  for (auto &[array, its] : uses) {
    if (isa<BlockArgument>(array) ? its.size() == 1 : its.size() == 2 && its[0].second && !its[1].second)
      continue;
    return {};
  }
  return stages;
}

/// Returns the mask `writes` of a launch whose first `reads` arguments are read and whose other arguments are written.
int64_t maskOf(size_t reads, size_t arguments) {
  int64_t mask = 0;
  for (size_t argument = reads; argument < std::min<size_t>(arguments, 64); ++argument)
    mask |= int64_t(1) << argument;
  return mask;
}

class Splitter {
public:
  Splitter(plan::ProgramOp program, func::FuncOp kernel, plan::LaunchOp launch)
      : program(program), kernel(kernel), launch(launch), builder(program.getContext()) {}

  void split(ArrayRef<Stage> stages) {
    for (auto [argument, buffer] : llvm::zip(kernel.getArguments(), launch.getBuffers()))
      bufferOf[argument] = buffer;
    for (auto alloc : kernel.getOps<memref::AllocOp>())
      addBuffer(alloc);
    for (auto [number, stage] : llvm::enumerate(stages))
      addKernel(stage, (kernel.getName() + "_" + Twine(number)).str());
    launch.erase();
    kernel.erase();
  }

private:
  /// Adds a buffer to the plan. The buffer replaces a local array of the kernel.
  void addBuffer(memref::AllocOp alloc) {
    int64_t number = 0, index = 0;
    plan::BufferOp last;
    for (auto buffer : program.getBody().getOps<plan::BufferOp>()) {
      ++number;
      index += buffer.getKind() == plan::BufferKind::Arena;
      last = buffer;
    }
    builder.setInsertionPointAfter(last);
    auto type = alloc.getType();
    const int64_t bytes = type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    plan::BufferOp::create(builder, alloc.getLoc(), number, plan::BufferKind::Arena, index,
                           AffineMap::get(0, 0, builder.getAffineConstantExpr(bytes)), ElementsAttr(), false);
    bufferOf[alloc.getMemref()] = number;
  }

  void addKernel(const Stage &stage, StringRef name) {
    SmallVector<Value> arrays(stage.reads.begin(), stage.reads.end());
    llvm::append_range(arrays, stage.writes);
    builder.setInsertionPoint(kernel);
    SmallVector<Type> types;
    for (Value array : arrays)
      types.push_back(array.getType());
    Operation *nest = stage.ops.back();
    auto made = func::FuncOp::create(builder, nest->getLoc(), name, builder.getFunctionType(types, {}));
    made->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
    made.setPrivate();
    if (auto op = nest->getAttr(opAttrName))
      made->setAttr(opsAttrName, op);
    Block *entry = made.addEntryBlock();
    IRMapping mapping;
    SmallVector<int64_t> buffers;
    for (auto [array, argument] : llvm::zip(arrays, entry->getArguments())) {
      mapping.map(array, argument);
      buffers.push_back(bufferOf.lookup(array));
      if (auto old = dyn_cast<BlockArgument>(array))
        made.setArgAttrs(argument.getArgNumber(), kernel.getArgAttrDict(old.getArgNumber()));
    }
    builder.setInsertionPointToStart(entry);
    for (Operation &op : kernel.getBody().front())
      if (op.hasTrait<OpTrait::ConstantLike>())
        builder.clone(op, mapping);
    for (Operation *op : stage.ops)
      builder.clone(*op, mapping);
    func::ReturnOp::create(builder, nest->getLoc());
    builder.setInsertionPoint(launch);
    auto started = cast<plan::LaunchOp>(builder.clone(*launch));
    started.setKernel(name);
    started.setBuffers(buffers);
    started.setWrites(maskOf(stage.reads.size(), arrays.size()));
    if (auto op = nest->getAttr(opAttrName))
      started->setAttr(opsAttrName, op);
  }

  plan::ProgramOp program;
  func::FuncOp kernel;
  plan::LaunchOp launch;
  OpBuilder builder;
  llvm::DenseMap<Value, int64_t> bufferOf;
};

struct HlsSplitKernels : impl::HlsSplitKernelsBase<HlsSplitKernels> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    ModuleOp module = getOperation();
    llvm::StringMap<SmallVector<plan::LaunchOp>> launches;
    module.walk([&](plan::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
    for (auto kernel : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      auto found = launches.find(kernel.getName());
      if (kernel.isDeclaration() || found == launches.end() || found->second.size() != 1)
        continue;
      plan::LaunchOp launch = found->second.front();
      if (SmallVector<Stage> stages = stagesOf(kernel); !stages.empty())
        Splitter(launch->getParentOfType<plan::ProgramOp>(), kernel, launch).split(stages);
    }
  }
};

} // namespace
} // namespace tilewright::hls

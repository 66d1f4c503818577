//===- LowerToThreads.cpp - --tw-cuda-lower-to-threads: code of one thread of a grid ----------===//
//
// Before:
//   func @kernel_0(%x: tensor<128x96xf32>, %y: tensor<128x96xf32>) -> tensor<128x96xf32>
//       attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 256, vector = 4>} {
//     %0 = linalg.generic {exp} ins(%x) outs(%y) ; return %0 }
// After:
//   func @kernel_0(%x: !llvm.ptr<1> {llvm.align = 16, llvm.noalias, llvm.readonly},
//                  %y: !llvm.ptr<1> {llvm.align = 16, llvm.noalias})
//       attributes {tw_cuda.threads = 256, tw.grid = affine_map<() -> (12)>, ...} {
//     %g = block * 256 + thread
//     scf.if %g < 3072 { %i, %j = delinearize %g into (128, 24) ; loads, exp and stores of four elements } }
//
// The function has these parameters: one pointer per tensor, which is aligned to 16 bytes; the sizes as i64; the status
// if indices are checked; and the tensor maps by value (include/tilewright/DeviceCode.h). The kernel's schedule
// (Schedule.h) determines how the kernel is mapped to the grid. This file emits the parameters.
// lib/Codegen/GPU/EmitElements.cpp emits the schedule `elements`, EmitMma.cpp emits `mma`, and so on.
//
// Test: test/Codegen/NVPTX/lower-to-threads.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/Exponentials.h"
#include "lib/Codegen/GPU/KernelName.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupGradient.h"
#include "lib/Codegen/GPU/ThreadKernel.h"
#include "lib/Codegen/NVPTX/EmitTensorCores.h"
#include "lib/Codegen/NVPTX/IndexWidth.h"
#include "lib/Codegen/NVPTX/NameEntries.h"
#include "lib/Codegen/NVPTX/NvvmThreadOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/TensorMapRecipe.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_LOWERTOTHREADS
#include "tilewright/Passes.h.inc"
namespace cuda {
using namespace tilewright::gpu;

namespace {

/// Returns, for each kernel, the numbers of the tensor arguments that have the same memory as another argument in at
/// least one launch.
llvm::StringMap<llvm::SmallDenseSet<unsigned>> sharedArguments(ModuleOp module) {
  llvm::StringMap<llvm::SmallDenseSet<unsigned>> shared;
  module.walk([&](plan::LaunchOp launch) {
    for (auto [i, a] : llvm::enumerate(launch.getBuffers()))
      for (auto [j, b] : llvm::enumerate(launch.getBuffers()))
        if (i != j && a == b)
          shared[launch.getKernel()].insert(i);
  });
  return shared;
}

/// Checks the signature, because a kernel may be from a file that a user has written.
LogicalResult checkSignature(func::FuncOp kernel) {
  auto wrong = [&] {
    return kernel.emitOpError(
        "is not a kernel of the target cuda: expected one block whose arguments are ranked tensors and sizes of type "
        "index, followed by one tensor of the same type for each result");
  };
  unsigned results = kernel.getNumResults(), arguments = kernel.getNumArguments();
  if (!kernel.getBody().hasOneBlock() || results == 0 || results > arguments ||
      !isa<func::ReturnOp>(kernel.getBody().front().back()))
    return wrong();
  for (Type type : kernel.getArgumentTypes())
    if (!isa<RankedTensorType, IndexType>(type))
      return wrong();
  if (kernel.getArgumentTypes().take_back(results) != kernel.getResultTypes())
    return wrong();
  return success();
}

/// Returns the number of tensor maps of a kernel, which is the number of operands that TMA loads: two for each product
/// with the schedule `wgmma`, three for a pair of products and for `attention` with consumers, four for its
/// gradient, and zero otherwise.
unsigned mapsOf(func::FuncOp kernel, const Schedule &schedule) {
  if (schedule.kind == Schedule::Kind::Attention && schedule.consumers > 0)
    return kernel.getOps<tile::AttentionGradientOp>().empty() ? 3 : std::size(gradientMaps);
  if (schedule.kind != Schedule::Kind::Wgmma)
    return 0;
  std::string reason;
  unsigned maps = 0;
  for (const Contraction &product : matchContractions(kernel, reason))
    maps += 1 + unsigned(product.numProducts());
  return maps;
}

LogicalResult emitKernel(func::FuncOp from, const llvm::SmallDenseSet<unsigned> &shared) {
  if (failed(checkSignature(from)))
    return failure();
  std::optional<Schedule> schedule = getSchedule(from);
  if (!schedule)
    return failure();
  MLIRContext *context = from.getContext();
  OpBuilder builder(from);
  Location loc = from.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(context, globalSpace);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  unsigned firstResult = from.getNumArguments() - from.getNumResults();
  for (BlockArgument argument : from.getArguments())
    if (isa<RankedTensorType>(argument.getType())) {
      NamedAttrList attrs;
      attrs.append("llvm.align", builder.getI64IntegerAttr(16));
      if (!shared.contains(types.size())) {
        attrs.append("llvm.noalias", builder.getUnitAttr());
        if (argument.getArgNumber() < firstResult)
          attrs.append("llvm.readonly", builder.getUnitAttr());
      }
      types.push_back(pointer);
      attributes.push_back(attrs.getDictionary(context));
    }
  const bool checks =
      from.walk([](Operation *op) {
            return isa<tile::PlaceOp, tile::ScatterOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  for (size_t i = tile::indexArguments(from).size(); i > 0; --i)
    types.push_back(builder.getI64Type());
  if (checks)
    types.push_back(pointer);
  attributes.resize(types.size(), builder.getDictionaryAttr({}));
  const unsigned firstMap = types.size(), numMaps = mapsOf(from, *schedule);
  for (unsigned i = 0; i < numMaps; ++i) {
    NamedAttrList attrs;
    attrs.append("llvm.byval", TypeAttr::get(LLVM::LLVMArrayType::get(builder.getI8Type(), uint64_t(kTensorMapBytes))));
    attrs.append("llvm.align", builder.getI64IntegerAttr(kTensorMapAlignment));
    types.push_back(LLVM::LLVMPointerType::get(context));
    attributes.push_back(attrs.getDictionary(context));
  }
  auto to = func::FuncOp::create(builder, loc, from.getName(), builder.getFunctionType(types, {}));
  to.setAllArgAttrs(attributes);
  for (StringRef name : {kernelAttrName, opsAttrName, scheduleAttrName, flopsAttrName, sizesBetweenAttrName})
    if (Attribute attr = from->getAttr(name))
      to->setAttr(name, attr);
  if (checks)
    to->setAttr(checksAttrName, builder.getUnitAttr());
  to->setAttr(entryAttrName, builder.getStringAttr(speakingName(from)));
  to->setAttr("tw_cuda.threads", builder.getI64IntegerAttr(schedule->threads));
  if (const int64_t blocks = schedule->blocksOfCluster(); blocks > 1)
    to->setAttr("tw_cuda.cluster", builder.getI64IntegerAttr(blocks));
  if (schedule->kind == Schedule::Kind::Mma || schedule->kind == Schedule::Kind::Wgmma ||
      schedule->kind == Schedule::Kind::Fma || schedule->kind == Schedule::Kind::Attention ||
      schedule->kind == Schedule::Kind::Windows)
    to->setAttr("tw_cuda.many_registers", builder.getUnitAttr());
  to->setAttr(scratchAttrName, AffineMapAttr::get(AffineMap::get(0, tile::indexArguments(from).size(),
                                                                 getAffineConstantExpr(0, context))));
  to->setAttr("tw_cuda.index", builder.getI64IntegerAttr(fitsInt32(from) ? 32 : 64));

  Block *body = to.addEntryBlock();
  builder.setInsertionPointToStart(body);
  size_t tensors = llvm::count_if(from.getArgumentTypes(), [](Type type) { return isa<RankedTensorType>(type); });
  SmallVector<Value> sizes;
  for (size_t i = 0; i < tile::indexArguments(from).size(); ++i)
    sizes.push_back(arith::IndexCastOp::create(builder, loc, builder.getIndexType(), body->getArgument(tensors + i)));
  Elements elements(builder, from, sizes, checks ? body->getArgument(firstMap - 1) : Value());
  const NvvmThreadOps threads;
  ThreadKernel kernel(from, to, *schedule, builder, elements, threads);
  unsigned number = 0;
  for (BlockArgument argument : from.getArguments())
    if (isa<RankedTensorType>(argument.getType())) {
      kernel.pointers[argument] = body->getArgument(number++);
      if (argument.getArgNumber() < firstResult)
        elements.provideMemory(argument, kernel.pointers[argument]);
    }
  for (unsigned i = 0; i < numMaps; ++i)
    kernel.maps.push_back(body->getArgument(firstMap + i));
  auto special = [&](auto op) {
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), op.getResult()).getResult();
  };
  kernel.block = special(NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type()));
  kernel.thread = special(NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type()));
  auto emit = [&] {
    switch (schedule->kind) {
    case Schedule::Kind::Elements:
      return emitElements(kernel);
    case Schedule::Kind::Rows:
      return emitRows(kernel);
    case Schedule::Kind::Scatter:
      return emitScatter(kernel);
    case Schedule::Kind::Windows:
      return emitWindows(kernel);
    case Schedule::Kind::Mma:
      return emitMma(kernel);
    case Schedule::Kind::Wgmma:
      return emitWgmma(kernel);
    case Schedule::Kind::Fma:
      return emitFma(kernel);
    case Schedule::Kind::Attention:
      return schedule->consumers > 0 ? emitWarpGroupAttention(kernel) : emitAttention(kernel);
    }
    return failure();
  };
  LogicalResult made = emit();
  builder.setInsertionPointToEnd(body);
  func::ReturnOp::create(builder, loc);
  if (failed(made) || elements.failed())
    return failure();
  expandExponentials(to);
  if (kernel.sharedBytes > mostStaticShared)
    return from.emitOpError("its schedule needs ")
           << kernel.sharedBytes << " bytes of shared memory, and a block has " << mostStaticShared;
  if (kernel.sharedBytes > 0) {
    builder.setInsertionPoint(to);
    LLVM::GlobalOp::create(builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), kernel.sharedBytes),
                           /*isConstant=*/false, LLVM::Linkage::Internal, (from.getName() + "_shared").str(),
                           Attribute(), /*alignment=*/16, sharedSpace);
  }
  if (kernel.dynamicBytes > 0) {
    to->setAttr("tw_cuda.shared", builder.getI64IntegerAttr(kernel.dynamicBytes));
    builder.setInsertionPoint(to);
    LLVM::GlobalOp::create(builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), 0), /*isConstant=*/false,
                           LLVM::Linkage::External, (from.getName() + "_dynamic").str(), Attribute(),
                           /*alignment=*/1024, sharedSpace);
  }
  from.erase();
  return success();
}

struct LowerToThreads : impl::LowerToThreadsBase<LowerToThreads> {
  void runOnOperation() override {
    auto shared = sharedArguments(getOperation());
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (function->hasAttr(kernelAttrName) && !function->hasAttr(gridAttrName))
        if (failed(emitKernel(function, shared[function.getName()])))
          return signalPassFailure();
  }
};

} // namespace
} // namespace cuda
} // namespace tilewright

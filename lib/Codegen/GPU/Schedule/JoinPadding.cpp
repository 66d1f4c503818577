//===- JoinPadding.cpp - convolutions that read images without padding in memory -----------===//
//
// Before:
//   %p = call @kernel_0(%x, %padded)             // zeros around x
//   %y = call @kernel_1(%p, %w, %into)           // a convolution of p
// After:
//   %y = call @kernel_1_padded(%x, %w, %into)    // the same linalg ops in one kernel
//
// The same is done with kernels that store the patches of an image (PaddedImage.h), for the gradient of a weight:
//
//   %p = call @kernel_2(%x, %patches)            // 2 x 14 x 14 windows of 3 x 3 pixels of 64 channels
//   %m = tensor.collapse_shape %p                // a matrix of 392 x 576
//   %d = call @kernel_3(%m, %g, %into)           // m' g
//   ->  %d = call @kernel_3_padded(%x, %g, %into)
//
// TMA loads zeros outside of an image, so the schedule `wgmma` needs no padding in memory (PaddedImage.h,
// WindowOperand.h). No other schedule can compute the new kernel on tensor cores, so the kernels are fused only if
// `wgmma` can. A padded image that several convolutions read is fused with each of them.
//
// Tests: test/Codegen/GPU/Schedule/join-padding.mlir, test/Python/test_cuda_convolution_wgmma.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/JoinPadding.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "lib/Codegen/GPU/Schedule/PaddedImage.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "tilewright/AttributeNames.h"
#include <map>

using namespace mlir;

namespace tilewright::gpu {
namespace {

class PaddingJoiner {
public:
  PaddingJoiner(ModuleOp module, const Arch &arch) : module(module), symbols(module), arch(arch) {}

  void run() {
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      if (function->hasAttr(kernelAttrName) || function.isExternal())
        continue;
      for (auto convolution : llvm::to_vector(function.getOps<func::CallOp>()))
        for (unsigned number = 0; number < convolution.getNumOperands(); ++number)
          if (join(convolution, number))
            break;
    }
    eraseUnused();
  }

private:
  /// Replaces the call `convolution` by a call that reads the image instead of operand `number`, a padded image or
  /// patches. Returns false if this is impossible. The call that computes the operand remains.
  bool join(func::CallOp convolution, unsigned number) {
    SmallVector<Operation *> views; // the last comes first
    Value operand = convolution.getOperand(number);
    while (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(operand.getDefiningOp())) {
      views.push_back(operand.getDefiningOp());
      operand = views.back()->getOperand(0);
    }
    auto padding = operand.getDefiningOp<func::CallOp>();
    auto pads = padding ? symbols.lookup<func::FuncOp>(padding.getCallee()) : func::FuncOp(),
         convolves = symbols.lookup<func::FuncOp>(convolution.getCallee());
    // Kernels that pad have a schedule only if this pass has run before, and has not fused them.
    if (!pads || !convolves || !pads->hasAttr(kernelAttrName) || !convolves->hasAttr(kernelAttrName) ||
        pads->hasAttr(scheduleAttrName))
      return false;
    std::string key = (pads.getName() + " " + convolves.getName() + " " + Twine(number)).str();
    for (Operation *view : views)
      llvm::raw_string_ostream(key) << " " << view->getResult(0).getType();
    auto [known, isNew] = kernels.try_emplace(key);
    if (isNew)
      known->second = kernelOf(pads, views, convolves, number);
    if (!known->second)
      return false;
    OpBuilder builder(convolution);
    SmallVector<Value> operands(convolution.getOperands());
    operands[number] = padding.getOperand(imageArgument(pads)->getArgNumber());
    auto call = func::CallOp::create(builder, convolution.getLoc(), known->second, operands);
    call->setAttr(opsAttrName, known->second->getAttr(opsAttrName));
    convolution->replaceAllUsesWith(call.getResults());
    convolution.erase();
    for (Operation *view : views)
      if (view->use_empty())
        view->erase();
    replaced.insert(padding);
    unused.insert(convolves.getSymNameAttr());
    unused.insert(pads.getSymNameAttr());
    return true;
  }

  /// Returns the argument with the image, if the only access of the kernel `pads` to its operands is a linalg.generic
  /// that reads an image.
  static std::optional<BlockArgument> imageArgument(func::FuncOp pads) {
    if (pads.getNumArguments() != 2 || pads.getNumResults() != 1 || !sizesAreKnown(pads))
      return std::nullopt;
    auto op = pads.getBody().front().getTerminator()->getOperand(0).getDefiningOp<linalg::GenericOp>();
    if (!op || op.getNumDpsInputs() != 0 || !isa<BlockArgument>(op.getDpsInits()[0]))
      return std::nullopt;
    return pads.getArgument(1 - cast<BlockArgument>(op.getDpsInits()[0]).getArgNumber());
  }

  /// Returns the fused kernel with its schedule. This kernel pads the image itself. Returns null if fusion is
  /// impossible.
  func::FuncOp kernelOf(func::FuncOp pads, ArrayRef<Operation *> views, func::FuncOp convolves, unsigned number) {
    if (hasScheduleExcept(convolves, Schedule::Kind::Wgmma))
      return {};
    std::optional<BlockArgument> image = imageArgument(pads);
    std::string reason;
    std::optional<Contraction> product = matchContraction(convolves, reason);
    BlockArgument padded = convolves.getArgument(number);
    if (!image || !product || !padded.hasOneUse() || !sizesAreKnown(convolves) || *padded.user_begin() != product->op)
      return {};
    func::FuncOp made = make(pads, *image, views, convolves, padded);
    if (std::optional<Schedule> schedule = wgmmaFor(made, arch)) {
      setSchedule(made, *schedule);
      return made;
    }
    symbols.erase(made);
    return {};
  }

  func::FuncOp make(func::FuncOp pads, BlockArgument image, ArrayRef<Operation *> views, func::FuncOp convolves,
                    BlockArgument padded) {
    OpBuilder builder(convolves);
    const unsigned number = padded.getArgNumber();
    SmallVector<Type> types(convolves.getArgumentTypes());
    types[number] = image.getType();
    func::FuncOp made =
        makeKernel(builder, convolves, "_padded", types, convolves.getResultTypes(), convolves->getAttr(opsAttrName));
    IRMapping mapping;
    mapping.map(convolves.getArguments(), made.getArguments());
    // The padded image is computed from the new argument, and has no memory.
    BlockArgument destination = pads.getArgument(1 - image.getArgNumber());
    auto type = cast<RankedTensorType>(destination.getType());
    mapping.map(image, made.getArgument(number));
    mapping.map(destination,
                tensor::EmptyOp::create(builder, made.getLoc(), type.getShape(), type.getElementType()).getResult());
    Value operand = cloneBody(builder, pads, mapping)[0];
    for (Operation *view : llvm::reverse(views)) {
      IRMapping source;
      source.map(view->getOperand(0), operand);
      operand = builder.clone(*view, source)->getResult(0);
    }
    mapping.map(padded, operand);
    for (Operation &op : convolves.getBody().front())
      builder.clone(op, mapping);
    symbols.insert(made);
    return made;
  }

  void eraseUnused() {
    for (Operation *padding : replaced)
      if (padding->use_empty()) {
        SmallVector<Value> operands(padding->getOperands());
        padding->erase();
        for (Value operand : operands)
          if (auto destination = operand.getDefiningOp<tensor::EmptyOp>(); destination && destination->use_empty())
            destination->erase();
      }
    eraseUncalled(module, symbols, unused.getArrayRef());
  }

  ModuleOp module;
  SymbolTable symbols;
  const Arch &arch;
  std::map<std::string, func::FuncOp> kernels; ///< the new kernels
  llvm::SetVector<Operation *> replaced;       ///< calls of padding kernels whose result may have no uses left
  llvm::SetVector<StringAttr> unused;          ///< names of kernels that may have no calls left
};

} // namespace

void joinPadding(ModuleOp module, const Arch &arch) {
  if (arch.groupFlops > 0)
    PaddingJoiner(module, arch).run();
}

} // namespace tilewright::gpu

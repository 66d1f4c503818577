//===- DescribeCudaSpaces.cpp - the search spaces of the kernels of the target cuda -------===//
//
// Before:  func @kernel_0(...) attributes {tw.schedule = #tw_gpu.schedule<kind = mma, block = [64, 64, 32], ...>}
// After:   func @kernel_0(...) attributes {tw.schedule = ..., tw.space = "{\"knobs\": [{\"name\": \"warp_m\", ...",
//            tw.predicted = array<f64: 5120.0, ...>}
//
// Only products on tensor cores (ProductSpace.h, WgmmaSpace.h) have a space. Other kernels, including attention, and
// kernels that splitSums() or joinRows() have made, have no space, so the tuner does not change their schedules.
//
// Tests: test/Codegen/GPU/Schedule/select-schedule.mlir, test/Codegen/GPU/Schedule/product-space.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/KernelSpace.h"
#include "lib/Interfaces/SpaceText.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_DESCRIBECUDASPACES
#include "tilewright/Passes.h.inc"
namespace gpu {
namespace {

struct DescribeCudaSpaces : impl::DescribeCudaSpacesBase<DescribeCudaSpaces> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(kernelAttrName) || kernel->hasAttr(madeInStageAttrName))
      return;
    llvm::Expected<Arch> known = findArch(arch);
    if (!known) {
      kernel.emitError() << llvm::toString(known.takeError());
      return signalPassFailure();
    }
    std::optional<Schedule> schedule = getSchedule(kernel);
    if (!schedule)
      return signalPassFailure();
    std::optional<KernelSpace> found = KernelSpace::of(kernel, *schedule, *known);
    if (!found)
      return;
    const std::vector<SchedulePoint> points = found->space.points();
    if (points.size() < 2)
      return;
    SmallVector<double> predicted;
    for (const SchedulePoint &point : points)
      predicted.push_back(found->nanosecondsOf(found->at(point)));
    kernel->setAttr(spaceAttrName, StringAttr::get(&getContext(), spaceToText(found->space)));
    kernel->setAttr(predictedAttrName, DenseF64ArrayAttr::get(&getContext(), predicted));
  }
};
} // namespace
} // namespace gpu
} // namespace tilewright

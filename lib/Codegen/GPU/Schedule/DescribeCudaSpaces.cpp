//===- DescribeCudaSpaces.cpp - the search spaces of the kernels of the target cuda -------===//
//
// Before:  func @kernel_0(...) attributes {tw.schedule = #tw_gpu.schedule<kind = mma, block = [64, 64, 32], ...>}
// After:   func @kernel_0(...) attributes {tw.schedule = ..., tw.space = "{\"knobs\": [{\"name\": \"warp_m\", ...",
//            tw.predicted = array<f64: 5120.0, ...>}
//
// Every kind of schedule has a space (KernelSpace.h). Only products on tensor cores have a cost model. Kernels that run
// once for each version of the parameters have no space.
//
// Tests: test/Codegen/GPU/Schedule/select-schedule.mlir, test/Codegen/GPU/Schedule/product-space.mlir,
// test/Codegen/GPU/Schedule/spaces.mlir
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
    if (!kernel->hasAttr(kernelAttrName) || kernel->hasAttr(onceKernelAttrName))
      return;
    llvm::Expected<Arch> known = findArch(arch);
    if (!known) {
      kernel.emitError() << llvm::toString(known.takeError());
      return signalPassFailure();
    }
    std::optional<Schedule> schedule = getSchedule(kernel);
    if (!schedule)
      return signalPassFailure();
    std::optional<KernelSpace> found = spaceOf(kernel, *schedule, *known);
    if (!found)
      return;
    const std::vector<SchedulePoint> points = found->space.points();
    if (points.size() < 2)
      return;
    assert(llvm::all_of(points,
                        [&](const SchedulePoint &point) {
                          return point == found->space.initial() || found->whyNot(found->at(point)).empty();
                        }) &&
           "a schedule of the space cannot be emitted");
    kernel->setAttr(spaceAttrName, StringAttr::get(&getContext(), spaceToText(found->space)));
    if (!found->nanoseconds)
      return;
    SmallVector<double> predicted;
    for (const SchedulePoint &point : points)
      predicted.push_back(found->nanoseconds(found->at(point)));
    kernel->setAttr(predictedAttrName, DenseF64ArrayAttr::get(&getContext(), predicted));
  }
};
} // namespace
} // namespace gpu
} // namespace tilewright

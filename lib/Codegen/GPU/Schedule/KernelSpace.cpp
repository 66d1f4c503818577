//===- KernelSpace.cpp - the search space of a kernel, by the kind of its schedule ------------===//
#include "lib/Codegen/GPU/Schedule/KernelSpace.h"
#include "lib/Codegen/GPU/Schedule/ProductSpace.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupProduct.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"

using namespace mlir;

namespace tilewright::gpu {

std::optional<KernelSpace> KernelSpace::of(func::FuncOp kernel, const Schedule &initial, const Arch &arch) {
  std::string reason;
  std::optional<Contraction> product = matchContraction(kernel, reason);
  bool isWgmma = initial.kind == Schedule::Kind::Wgmma;
  if ((initial.kind != Schedule::Kind::Mma && !isWgmma) || !product)
    return std::nullopt;
  KernelSpace made(inOrderOf(initial, *product), initial.kind, arch);
  made.space = isWgmma ? spaceOfWgmma(made.product, arch, initial) : spaceOfMma(made.product, arch, initial);
  return made;
}

Schedule KernelSpace::at(const SchedulePoint &point) const {
  return kind == Schedule::Kind::Wgmma ? wgmmaAt(product, point) : scheduleOf(point);
}

double KernelSpace::nanosecondsOf(const Schedule &schedule) const {
  return kind == Schedule::Kind::Wgmma ? nanosecondsOfWgmma(schedule, product, arch)
                                       : nanosecondsOfMma(schedule, product, arch);
}

std::string KernelSpace::whyNot(const Schedule &schedule) const {
  return kind == Schedule::Kind::Wgmma ? whyNotWgmma(schedule, product, arch.sharedBytes)
                                       : whyNotMma(schedule, product, arch.sharedBytes);
}

} // namespace tilewright::gpu

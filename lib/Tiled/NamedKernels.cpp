//===- NamedKernels.cpp - the kernels that a user's file of schedules names -----===//
//
// Tests: test/Tiled/override-schedules.mlir, test/Tiled/apply-scripts.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Tiled/NamedKernels.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;

namespace tilewright::tiled {

bool isPattern(StringRef key) { return key.find_first_of("*?[{") != StringRef::npos; }

StringRef opsOf(func::FuncOp kernel) {
  auto ops = kernel->getAttrOfType<StringAttr>("tw.ops");
  return ops ? ops.getValue() : "";
}

NamedKernels::NamedKernels(ModuleOp module) {
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel->hasAttr("tw.schedule"))
      kernels.push_back(kernel);
}

llvm::Expected<SmallVector<func::FuncOp>> NamedKernels::find(StringRef key) const {
  llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(key);
  if (!pattern)
    return pattern.takeError();
  SmallVector<func::FuncOp> found;
  for (func::FuncOp kernel : kernels)
    if (kernel.getName() == key || opsOf(kernel) == key || (isPattern(key) && pattern->match(opsOf(kernel))))
      found.push_back(kernel);
  return found;
}

std::string NamedKernels::list() const {
  std::string known;
  for (func::FuncOp kernel : kernels)
    known += (known.empty() ? "" : ", ") + kernel.getName().str() + " (" + opsOf(kernel).str() + ")";
  return known;
}

} // namespace tilewright::tiled

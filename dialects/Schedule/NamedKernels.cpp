//===- NamedKernels.cpp - kernels that a user's schedule file names -------------===//
//
// Tests: test/Codegen/CPU/Schedule/override-schedules.mlir, test/Codegen/CPU/Schedule/apply-scripts.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/NamedKernels.h"
#include "dialects/Schedule/KnobNames.h"
#include "lib/Interfaces/JsonText.h"
#include "tilewright/AttributeNames.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace tilewright::schedule {

bool isPattern(StringRef key) { return key.find_first_of("*?[{") != StringRef::npos; }

/// Returns the entry of a schedule file with the current names of its knobs.
static llvm::json::Value withPresentKnobs(const llvm::json::Value &entry) {
  const llvm::json::Object *knobs = entry.getAsObject();
  if (!knobs)
    return entry;
  llvm::json::Object renamed;
  for (const auto &[name, value] : *knobs)
    renamed[presentKnobName(name).str()] = value;
  return renamed;
}

llvm::Expected<std::vector<std::pair<std::string, llvm::json::Value>>> readScheduleFile(StringRef file) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return llvm::createStringError("cannot be read: " + buffer.getError().message());
  llvm::Expected<llvm::json::Value> value = parseJson((*buffer)->getBuffer());
  if (!value)
    return llvm::createStringError("is not JSON: " + llvm::toString(value.takeError()));
  auto *object = value->getAsObject();
  if (!object)
    return llvm::createStringError("must contain an object, such as {\"matmul_add_0\": {\"tiles\": [64, 48]}}");
  std::vector<std::pair<std::string, llvm::json::Value>> entries;
  for (bool patterns : {true, false})
    for (auto &[key, entry] : *object)
      if (isPattern(key) == patterns)
        entries.emplace_back(key.str(), withPresentKnobs(entry));
  return entries;
}

StringRef opsOf(func::FuncOp kernel) {
  auto ops = kernel->getAttrOfType<StringAttr>(opsAttrName);
  return ops ? ops.getValue() : "";
}

NamedKernels::NamedKernels(ModuleOp module) {
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel->hasAttr(scheduleAttrName))
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

} // namespace tilewright::schedule

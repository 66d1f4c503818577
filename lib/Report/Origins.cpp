//===- Origins.cpp - map lines of every stage to the model's operations --------------===//
//
// Test: test/Python/test_explain_html.py
//
//===----------------------------------------------------------------------===//
#include "lib/Report/Origins.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace tilewright::explain {
namespace {

constexpr llvm::StringLiteral prefix = "tw.origin ";

Origin originOf(Operation *op) {
  Origin origin;
  origin.operation = op->getName().getStringRef().str();
  op->getLoc()->walk([&](Location inner) {
    if (auto name = dyn_cast<NameLoc>(inner); name && origin.label.empty())
      origin.label = name.getName().str();
    if (auto file = dyn_cast<FileLineColLoc>(inner)) {
      origin.file = file.getFilename().str();
      origin.line = file.getLine();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return origin;
}

} // namespace

Origins::Origins(ModuleOp module) {
  MLIRContext *context = module.getContext();
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ModuleOp, FunctionOpInterface>(op) || op->hasTrait<OpTrait::IsTerminator>())
      return;
    const std::string number = (prefix + Twine(origins.size())).str();
    origins.push_back(originOf(op));
    op->setLoc(NameLoc::get(StringAttr::get(context, number), op->getLoc()));
  });
}

int Origins::setOf(Location loc) {
  auto [entry, isNew] = setByLocation.try_emplace(loc, -1);
  if (!isNew)
    return entry->second;
  std::vector<int> set;
  loc->walk([&](Location inner) {
    auto name = dyn_cast<NameLoc>(inner);
    StringRef text = name ? name.getName().strref() : "";
    int number;
    if (!text.consume_front(prefix) || text.getAsInteger(10, number) || number < 0 || size_t(number) >= origins.size())
      return WalkResult::advance();
    set.push_back(number);
    return WalkResult::advance();
  });
  if (set.empty())
    return -1;
  llvm::sort(set);
  set.erase(llvm::unique(set), set.end());
  auto [known, isFirst] = numberOfSet.try_emplace(set, int(allSets.size()));
  if (isFirst)
    allSets.push_back(std::move(set));
  return entry->second = known->second;
}

} // namespace tilewright::explain

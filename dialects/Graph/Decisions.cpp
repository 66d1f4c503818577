//===- Decisions.cpp - decisions of passes, for the user's report ----------===//
#include "dialects/Graph/Decisions.h"
#include "dialects/Graph/Graph.h"
#include "mlir/IR/Remarks.h"
#include "tilewright/SourceLine.h"

using namespace mlir;

namespace tilewright::graph {

void DecisionList::add(Location loc, const PassDecision &decision) {
  const auto options = remark::RemarkOpts::name(decision.pass).category(decision.kind);
  if (decision.done)
    remark::passed(loc, options) << decision.subject;
  else
    remark::missed(loc, options) << decision.subject << remark::reason("{0}", decision.reason);
  Builder b(loc.getContext());
  list.push_back(b.getDictionaryAttr({b.getNamedAttr("kind", b.getStringAttr(decision.kind)),
                                      b.getNamedAttr("done", b.getBoolAttr(decision.done)),
                                      b.getNamedAttr("subject", b.getStringAttr(decision.subject)),
                                      b.getNamedAttr("reason", b.getStringAttr(decision.reason)),
                                      b.getNamedAttr("where", b.getStringAttr(sourceLine(loc)))}));
}

void DecisionList::store(Operation *holder) const {
  if (list.empty())
    return;
  SmallVector<Attribute> all;
  if (auto earlier = holder->getAttrOfType<ArrayAttr>(decisionsAttrName))
    all.assign(earlier.begin(), earlier.end());
  llvm::append_range(all, list);
  holder->setAttr(decisionsAttrName, ArrayAttr::get(holder->getContext(), all));
}

SmallVector<DictionaryAttr> takeDecisions(Operation *module) {
  SmallVector<DictionaryAttr> taken;
  auto take = [&](Operation *holder) {
    if (auto decisions = dyn_cast_or_null<ArrayAttr>(holder->removeAttr(decisionsAttrName)))
      llvm::append_range(taken, decisions.getAsRange<DictionaryAttr>());
  };
  take(module);
  for (Region &region : module->getRegions())
    for (Operation &op : region.getOps())
      take(&op);
  return taken;
}

} // namespace tilewright::graph

//===- Decisions.cpp - decisions of passes, for the user's report ----------===//
#include "dialects/Graph/Decisions.h"

using namespace mlir;

namespace tilewright::graph {

std::string sourceLine(Location loc) {
  std::string line;
  loc->walk([&](Location inner) {
    if (auto file = dyn_cast<FileLineColLoc>(inner)) {
      line = (file.getFilename().getValue() + ":" + Twine(file.getLine())).str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return line;
}

Attribute decisionAttr(Builder &builder, bool fused, StringRef subject, StringRef reason, Location loc) {
  return builder.getDictionaryAttr({builder.getNamedAttr("fused", builder.getBoolAttr(fused)),
                                    builder.getNamedAttr("subject", builder.getStringAttr(subject)),
                                    builder.getNamedAttr("reason", builder.getStringAttr(reason)),
                                    builder.getNamedAttr("where", builder.getStringAttr(sourceLine(loc)))});
}

} // namespace tilewright::graph

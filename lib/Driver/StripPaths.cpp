//===- StripPaths.cpp - remove folders from the locations of a model ----------------===//
//
//   tw.take ... loc("/models/net.py":9:0)
//
// becomes
//
//   tw.take ... loc("net.py":9:0)
//
// Test: test/Tools/strip-paths.test
//
//===----------------------------------------------------------------------===//
#include "tilewright/StripPaths.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tilewright {

/// Returns the paths with folders in the locations of `module`. Longer paths come first, because a path may be part of
/// a longer one.
static SmallVector<StringRef> pathsIn(ModuleOp module) {
  llvm::SetVector<StringRef> found;
  AttrTypeWalker walker;
  walker.addWalk([&](FileLineColRange location) {
    if (StringRef path = location.getFilename(); path.contains('/'))
      found.insert(path);
  });
  module->walk([&](Operation *op) {
    walker.walk<WalkOrder::PreOrder>(op->getLoc());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          walker.walk<WalkOrder::PreOrder>(argument.getLoc());
  });
  SmallVector<StringRef> paths = found.takeVector();
  llvm::sort(paths, [](StringRef a, StringRef b) { return std::pair(b.size(), a) < std::pair(a.size(), b); });
  return paths;
}

void stripPaths(ModuleOp module) {
  SmallVector<StringRef> paths = pathsIn(module);
  if (paths.empty())
    return;
  AttrTypeReplacer replacer;
  // AttrTypeReplacer does not replace the file name inside a FileLineColRange, so replace the whole location.
  replacer.addReplacement([&](FileLineColRange location) -> std::optional<Attribute> {
    auto file = StringAttr::get(location.getContext(), llvm::sys::path::filename(location.getFilename()));
    if (isa<FileLineColLoc>(location))
      return FileLineColRange::get(file, location.getStartLine(), location.getStartColumn());
    return FileLineColRange::get(file, location.getStartLine(), location.getStartColumn(), location.getEndLine(),
                                 location.getEndColumn());
  });
  replacer.addReplacement([&](StringAttr text) -> std::optional<Attribute> {
    std::string stripped = text.str();
    for (StringRef path : paths)
      for (size_t at; (at = stripped.find(path)) != std::string::npos;)
        stripped.replace(at, path.size(), llvm::sys::path::filename(path));
    return stripped == text.getValue() ? Attribute(text) : StringAttr::get(text.getContext(), stripped);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/true);
}

} // namespace tilewright

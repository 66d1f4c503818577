//===- SourceLine.h - the user's file and line of a location, as text --------------------===//
#ifndef TILEWRIGHT_SOURCELINE_H
#define TILEWRIGHT_SOURCELINE_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/Twine.h"
#include <string>

namespace tilewright {

/// Returns "model.py:12" for the first file in `loc`, or an empty string if there is none.
inline std::string sourceLine(mlir::Location loc) {
  auto file = loc->findInstanceOf<mlir::FileLineColLoc>();
  return file ? (file.getFilename().getValue() + ":" + llvm::Twine(file.getLine())).str() : "";
}

/// Returns "model.py:12: " for the beginning of a message, or an empty string.
inline std::string sourceLineBefore(mlir::Location loc) {
  const std::string line = sourceLine(loc);
  return line.empty() ? "" : line + ": ";
}

/// Returns " (model.py:12)" for the end of a message, or an empty string.
inline std::string sourceLineAfter(mlir::Location loc) {
  const std::string line = sourceLine(loc);
  return line.empty() ? "" : " (" + line + ")";
}

} // namespace tilewright

#endif

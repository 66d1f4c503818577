//===- StageText.h - a stage as text, each line with its origins ---------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_EXPLAIN_STAGETEXT_H
#define TILEWRIGHT_LIB_COMPILER_EXPLAIN_STAGETEXT_H

#include "lib/Compiler/Explain/Origins.h"

namespace tilewright::explain {

struct StageText {
  struct Function {
    std::string name;
    size_t first = 0, last = 0; ///< lines, counted from 0
  };
  std::string name;
  std::vector<std::string> lines;
  std::vector<int> sets; ///< per line, of Origins; -1: none
  std::vector<Function> functions;
};

/// `module` as it is printed, constants of more than 64 elements left out.
StageText printStage(llvm::StringRef name, mlir::ModuleOp module, Origins &origins);

/// From now on the locations of `module` are its lines in `text`, which printStage() has just made of it.
void locateInText(mlir::ModuleOp module);

/// Assembly of a module that locateInText() has marked, and `lowered` is the text of. Its lines come from those that
/// `.loc` directives name; these and what else is for debuggers are left out.
StageText readAssembly(llvm::StringRef assembly, const StageText &lowered);

} // namespace tilewright::explain

#endif

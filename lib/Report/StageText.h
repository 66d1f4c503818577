//===- StageText.h - a stage as text, each line with its origins ---------------------===//
#ifndef TILEWRIGHT_LIB_REPORT_STAGETEXT_H
#define TILEWRIGHT_LIB_REPORT_STAGETEXT_H

#include "lib/Report/Origins.h"

namespace tilewright::explain {

struct StageText {
  struct Function {
    std::string name;
    size_t first = 0, last = 0; ///< indices of lines, from 0
  };
  std::string name;
  std::vector<std::string> lines;
  std::vector<int> sets; ///< one index into Origins::sets() per line; -1 for none
  std::vector<Function> functions;
};

/// Returns the text of `module` with the origins of each line. The elements of constants with more than 64 elements are
/// omitted.
StageText printStage(llvm::StringRef name, mlir::ModuleOp module, Origins &origins);

/// Sets the locations of the operations of `module` to their lines in the text that printStage() returns for it.
void locateInText(mlir::ModuleOp module);

/// Reads the assembly of a module that locateInText() has processed and whose text is `lowered`. The `.loc` directives
/// of the assembly map its lines to lines of `lowered`. The result contains no debug directives.
StageText readAssembly(llvm::StringRef assembly, const StageText &lowered);

} // namespace tilewright::explain

#endif

//===- PythonPart.h - commands whose work is done in the Python package --------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_PYTHONPART_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_PYTHONPART_H

#include "llvm/Support/Error.h"
#include <string>

namespace tilewright::driver {

/// The interpreter that TILEWRIGHT_PYTHON names, or python3; an error where there is none. In a build tree the package
/// beside this program comes first on its path from now on (PYTHONPATH of this process).
llvm::Expected<std::string> findPython();

} // namespace tilewright::driver

#endif

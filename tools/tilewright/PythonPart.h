//===- PythonPart.h - find Python for commands of the Python package -----------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_PYTHONPART_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_PYTHONPART_H

#include "llvm/Support/Error.h"
#include <string>

namespace tilewright::driver {

/// Returns the path of the Python interpreter that TILEWRIGHT_PYTHON names, or of python3. Fails if there is no
/// interpreter. If this program is in a build tree, prepends the folder of the build tree's package to PYTHONPATH.
llvm::Expected<std::string> findPython();

} // namespace tilewright::driver

#endif

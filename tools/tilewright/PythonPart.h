//===- PythonPart.h - find Python for commands of the Python package -----------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_PYTHONPART_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_PYTHONPART_H

#include "llvm/Support/Error.h"
#include <string>

namespace tilewright::driver {

/// Returns the interpreter that TILEWRIGHT_PYTHON names, or python3. Fails if there is none. In a build tree, inserts
/// the package next to this program as the first entry of PYTHONPATH of this process.
llvm::Expected<std::string> findPython();

} // namespace tilewright::driver

#endif

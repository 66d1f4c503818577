//===- PythonPart.cpp - find Python for commands of the Python package ---------------------------===//
//
// Test: test/Tools/bench.test, test/Tuner/report.test
//
//===----------------------------------------------------------------------===//
#include "PythonPart.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cstdlib>

namespace tilewright::driver {

llvm::Expected<std::string> findPython() {
  const char *chosen = std::getenv("TILEWRIGHT_PYTHON");
  std::string name = chosen && *chosen ? chosen : "python3";
  llvm::ErrorOr<std::string> python = llvm::sys::findProgramByName(name);
  if (!python)
    return llvm::createStringError("cannot find the program '" + name +
                                   "'; set TILEWRIGHT_PYTHON to a Python interpreter for which torch is installed");
  llvm::SmallString<256> package(llvm::sys::fs::getMainExecutable(nullptr, nullptr));
  llvm::sys::path::remove_filename(package); // bin
  llvm::sys::path::remove_filename(package);
  llvm::sys::path::append(package, "python");
  if (llvm::sys::fs::is_directory(package + "/tilewright")) {
    const char *before = std::getenv("PYTHONPATH");
    std::string path = package.str().str() + (before && *before ? std::string(":") + before : "");
    setenv("PYTHONPATH", path.c_str(), /*overwrite=*/1);
  }
  return *python;
}

} // namespace tilewright::driver

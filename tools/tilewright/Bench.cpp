//===- Bench.cpp - tilewright bench: the Python package's benchmark --------------------===//
//
// Its peers are Python programs, so that this command hands over to `python3 -m tilewright.bench`. TILEWRIGHT_PYTHON
// names another interpreter, the one torch is installed for; in a build tree the package beside this program is used.
//
// Test: test/Tools/bench.test
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <unistd.h>
#include <vector>

namespace tilewright::driver {

int runBench(int argc, const char *const *argv) {
  const char *chosen = std::getenv("TILEWRIGHT_PYTHON");
  std::string name = chosen && *chosen ? chosen : "python3";
  llvm::ErrorOr<std::string> python = llvm::sys::findProgramByName(name);
  if (!python) {
    llvm::errs() << "tilewright bench: cannot find '" << name
                 << "'; TILEWRIGHT_PYTHON names the Python that torch is installed for\n";
    return 1;
  }
  llvm::SmallString<256> package(llvm::sys::fs::getMainExecutable(nullptr, nullptr));
  llvm::sys::path::remove_filename(package); // bin
  llvm::sys::path::remove_filename(package);
  llvm::sys::path::append(package, "python");
  if (llvm::sys::fs::is_directory(package + "/tilewright")) {
    const char *before = std::getenv("PYTHONPATH");
    std::string path = package.str().str() + (before && *before ? std::string(":") + before : "");
    setenv("PYTHONPATH", path.c_str(), /*overwrite=*/1);
  }
  std::vector<const char *> arguments{python->c_str(), "-m", "tilewright.bench"};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  arguments.push_back(nullptr);
  execv(python->c_str(), const_cast<char *const *>(arguments.data()));
  llvm::errs() << "tilewright bench: cannot start '" << *python << "'\n";
  return 1;
}

} // namespace tilewright::driver

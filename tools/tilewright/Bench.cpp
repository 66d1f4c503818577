//===- Bench.cpp - tilewright bench: the Python package's benchmark --------------------===//
//
// This command executes `python3 -m tilewright.bench`, because the compilers with which Tilewright is compared are
// Python packages. TILEWRIGHT_PYTHON selects another interpreter, for which torch must be installed. In a build tree,
// the command uses the package tilewright of the same build tree.
//
// Test: test/Tools/bench.test
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "PythonPart.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>
#include <vector>

namespace tilewright::driver {

int runBench(int argc, const char *const *argv) {
  llvm::Expected<std::string> python = findPython();
  if (!python) {
    llvm::errs() << "tilewright bench: " << llvm::toString(python.takeError()) << "\n";
    return 1;
  }
  std::vector<const char *> arguments{python->c_str(), "-m", "tilewright.bench"};
  // For --help, run the file arguments.py of the package without importing the package, so that --help works without
  // torch.
  if (argc == 2 && (llvm::StringRef(argv[1]) == "--help" || llvm::StringRef(argv[1]) == "-h"))
    arguments = {python->c_str(), "-c",
                 "import importlib.util, runpy, sys\n"
                 "package = importlib.util.find_spec('tilewright')\n"
                 "if package is None: sys.exit('tilewright bench: this Python interpreter has no package tilewright; "
                 "set TILEWRIGHT_PYTHON to an interpreter that has it')\n"
                 "runpy.run_path(package.submodule_search_locations[0] + '/bench/arguments.py', run_name='__main__')"};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  arguments.push_back(nullptr);
  execv(python->c_str(), const_cast<char *const *>(arguments.data()));
  llvm::errs() << "tilewright bench: cannot start '" << *python << "'\n";
  return 1;
}

} // namespace tilewright::driver

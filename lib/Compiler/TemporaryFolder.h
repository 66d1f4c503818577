//===- TemporaryFolder.h - a folder that does not outlive its process for long ---------===//
//
// A process that is killed removes nothing. Its folders hold a file that it has locked as long as it lives: the next
// that makes such a folder removes those whose lock is free.
//
// Test: test/Unit/Compiler/TemporaryFolderTest.cpp
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_TEMPORARYFOLDER_H
#define TILEWRIGHT_LIB_COMPILER_TEMPORARYFOLDER_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace tilewright {

class TemporaryFolder {
public:
  /// A new folder "<prefix>-<random>" in `parent`; empty: in the system's folder for temporary files.
  static llvm::Expected<std::unique_ptr<TemporaryFolder>> make(const std::string &prefix,
                                                               const std::string &parent = "");
  /// Removes it with all that is in it.
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string &path() const { return folder; }
  std::string file(const llvm::Twine &name) const;

private:
  TemporaryFolder() = default;
  std::string folder;
  int lock = -1;
};

} // namespace tilewright

#endif

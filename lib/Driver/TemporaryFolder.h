//===- TemporaryFolder.h - a temporary folder that is removed even after a crash -------===//
//
// A killed process does not remove its folders. Each folder therefore contains a file that the process locks as long as
// the folder exists. The next process that creates a folder with the same prefix in the same parent folder removes the
// user's folders of this prefix that are older than a minute and whose lock is free or missing.
//
// Test: test/Unit/Driver/TemporaryFolderTest.cpp
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_TEMPORARYFOLDER_H
#define TILEWRIGHT_LIB_DRIVER_TEMPORARYFOLDER_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace tilewright {

class TemporaryFolder {
public:
  /// Creates a folder "<prefix>-<random>" in `parent`, or in the system's temporary folder if `parent` is empty.
  static llvm::Expected<std::unique_ptr<TemporaryFolder>> make(const std::string &prefix,
                                                               const std::string &parent = "");
  /// Removes the folder and its contents.
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

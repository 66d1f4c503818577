//===- TemporaryFolder.cpp - a temporary folder that is removed even after a crash -----===//
#include "lib/Driver/TemporaryFolder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace fs = llvm::sys::fs;

namespace tilewright {
namespace {

constexpr llvm::StringLiteral lockName = "owner";
/// Minimum age, in seconds, of folders to remove. A younger folder may not have its lock file yet.
constexpr time_t leastAge = 60;

std::string joined(const std::string &folder, const llvm::Twine &name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// Returns true if the folder belongs to this user, has the minimum age, and no process holds its lock.
bool isAbandoned(const std::string &folder) {
  struct stat status;
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
      time(nullptr) - status.st_mtime < leastAge)
    return false;
  const int lock = open(joined(folder, lockName).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (lock < 0)
    return errno == ENOENT;
  const bool free = flock(lock, LOCK_EX | LOCK_NB) == 0;
  close(lock);
  return free;
}

void removeAbandoned(const std::string &parent, const std::string &prefix) {
  std::vector<std::string> found;
  std::error_code code;
  for (fs::directory_iterator it(parent, code, /*follow_symlinks=*/false), end; it != end && !code; it.increment(code))
    if (llvm::sys::path::filename(it->path()).starts_with(prefix + "-") && isAbandoned(it->path()))
      found.push_back(it->path());
  for (const std::string &path : found)
    (void)fs::remove_directories(path);
}

} // namespace

llvm::Expected<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make(const std::string &prefix,
                                                                       const std::string &parent) {
  llvm::SmallString<128> in(parent), made;
  if (parent.empty())
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, in);
  if (std::error_code code = fs::make_absolute(in)) // createUniqueDirectory() prepends /tmp otherwise
    return llvm::createStringError(code, "cannot find the folder '%s'", in.c_str());
  removeAbandoned(in.str().str(), prefix);
  if (std::error_code code = fs::createUniqueDirectory(llvm::Twine(joined(in.str().str(), prefix)), made))
    return llvm::createStringError(code, "cannot make a folder for temporary files in '%s': %s", in.c_str(),
                                   code.message().c_str());
  std::unique_ptr<TemporaryFolder> folder(new TemporaryFolder);
  folder->folder = made.str().str();
  folder->lock = open(folder->file(lockName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (folder->lock >= 0)
    flock(folder->lock, LOCK_EX | LOCK_NB);
  return folder;
}

TemporaryFolder::~TemporaryFolder() {
  (void)fs::remove_directories(folder);
  if (lock >= 0)
    close(lock);
}

std::string TemporaryFolder::file(const llvm::Twine &name) const { return joined(folder, name); }

} // namespace tilewright

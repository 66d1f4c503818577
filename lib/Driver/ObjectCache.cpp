//===- ObjectCache.cpp - disk cache of compiled code ----------------------===//
#include "lib/Driver/ObjectCache.h"
#include "lib/Driver/CacheFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tilewright {

namespace fs = llvm::sys::fs;

//===----------------------------------------------------------------------===//
// CacheKey
//===----------------------------------------------------------------------===//

CacheKey::CacheKey() {
  add("tilewright", TILEWRIGHT_VERSION_STRING);
  add("llvm", LLVM_VERSION_STRING);
}

CacheKey &CacheKey::add(llvm::StringRef name, llvm::StringRef value) {
  for (llvm::StringRef part : {name, value}) {
    uint64_t size = part.size();
    hash.update(llvm::StringRef(reinterpret_cast<const char *>(&size), sizeof size));
    hash.update(part);
  }
  return *this;
}

CacheKey &CacheKey::add(llvm::StringRef name, uint64_t value) {
  return add(name, llvm::StringRef(reinterpret_cast<const char *>(&value), sizeof value));
}

std::string CacheKey::hex() { return llvm::toHex(hash.result<32>(), /*LowerCase=*/true); }

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

std::string defaultCacheFolder(std::string &error) {
  auto variable = [](const char *name) {
    const char *value = getenv(name);
    return std::string(value ? value : "");
  };
  std::string folder = variable("TILEWRIGHT_CACHE_DIR");
  if (!folder.empty())
    return folder;
  // The XDG specification requires that relative paths are ignored.
  folder = variable("XDG_CACHE_HOME");
  if (folder.empty() || folder.front() != '/') {
    if (variable("HOME").empty()) {
      error = "there is no home directory (HOME is not set); set TILEWRIGHT_CACHE_DIR";
      return "";
    }
    folder = variable("HOME") + "/.cache";
  }
  return folder + "/tilewright";
}

/// Returns the reason why code must not be loaded from `folder`, or an empty string.
static std::string refuseFolder(const std::string &folder) {
  if (std::error_code code = fs::create_directories(folder, /*IgnoreExisting=*/true, fs::perms::owner_all))
    return "the cache folder " + folder + " cannot be created (" + code.message() +
           "); set TILEWRIGHT_CACHE_DIR to a writable folder";
  struct stat status;
  if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return "the cache folder " + folder + " is not a folder; set TILEWRIGHT_CACHE_DIR to a folder";
  if (status.st_uid != geteuid())
    return "the cache folder " + folder + " belongs to user " + std::to_string(status.st_uid) +
           ", and code is loaded from it; set TILEWRIGHT_CACHE_DIR to a folder of your own";
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return "the cache folder " + folder + " can be written by others, and code is loaded from it; run chmod go-w " +
           folder;
  if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0)
    return "the cache folder " + folder + " cannot be written (" + strerror(errno) +
           "); set TILEWRIGHT_CACHE_DIR to a writable folder";
  return "";
}

ObjectCache::ObjectCache(Options given) : options(std::move(given)) {
  directory = options.folder.empty() ? defaultCacheFolder(disabled) : options.folder;
  while (directory.size() > 1 && directory.back() == '/')
    directory.pop_back();
  if (disabled.empty())
    disabled = refuseFolder(directory);
  if (!disabled.empty())
    warnOnce("disabled", "compiled code is not cached: " + disabled);
}

void ObjectCache::warnOnce(const std::string &kind, const std::string &text) {
  if (!seen.lock()->warned.try_emplace(kind, true).second)
    return;
  if (options.warn)
    options.warn(text);
  else
    llvm::errs() << "tilewright: warning: " << text << "\n";
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Returns true if `key` consists of 16 to 128 hexadecimal digits. Other keys are rejected, because keys are used in
/// paths.
static bool isKey(llvm::StringRef key) {
  return key.size() >= 16 && key.size() <= 128 && llvm::all_of(key, [](char c) { return llvm::isHexDigit(c); });
}

std::string ObjectCache::entryPath(llvm::StringRef key) const {
  return directory + "/" + key.take_front(2).str() + "/" + key.str();
}

/// Moves a damaged entry to the quarantine folder, where users can inspect it. The next compilation writes a new entry.
void ObjectCache::quarantine(const std::string &path, llvm::StringRef key, const std::string &reason) {
  std::string folder = directory + "/quarantine";
  (void)fs::create_directory(folder, /*IgnoreExisting=*/true, fs::perms::owner_all);
  if (fs::rename(path, folder + "/" + key.str()))
    (void)fs::remove(path);
  seen.lock()->notes[key.str()] = "its entry was " + reason + " and is in " + folder;
  warnOnce("quarantine", "a cached object was " + reason + " and is compiled again; it was moved to " + folder);
}

std::unique_ptr<llvm::MemoryBuffer> ObjectCache::load(llvm::StringRef key) {
  if (!enabled() || !isKey(key))
    return nullptr;
  std::string path = entryPath(key), reason;
  std::unique_ptr<llvm::MemoryBuffer> bytes;
  CacheFileState state = readCacheFile(path, key, bytes, reason);
  if (state == CacheFileState::Damaged)
    quarantine(path, key, reason);
  if (state != CacheFileState::Valid)
    return nullptr;
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // mark as recently used; this has no effect in a read-only folder
  return bytes;
}

bool ObjectCache::store(llvm::StringRef key, llvm::StringRef bytes) {
  if (!enabled() || !isKey(key))
    return false;
  std::string path = entryPath(key), reason;
  (void)fs::create_directory(llvm::sys::path::parent_path(path), /*IgnoreExisting=*/true, fs::perms::owner_all);
  if (!writeCacheFile(path, key, bytes, reason)) {
    warnOnce("store", "compiled code is not cached: " + reason);
    return false;
  }
  bool full = false;
  {
    // Visiting all entries is slow. Prune after the first store, and then whenever a sixteenth of the limit has been
    // written.
    auto state = seen.lock();
    state->notes.erase(key.str());
    full = state->bytesSincePrune == 0 || state->bytesSincePrune > options.maxBytes / 16;
    state->bytesSincePrune = full ? 1 : state->bytesSincePrune + int64_t(bytes.size());
  }
  if (full)
    prune(options.maxBytes);
  return true;
}

void ObjectCache::discard(llvm::StringRef key, const std::string &reason) {
  if (enabled() && isKey(key))
    quarantine(entryPath(key), key, reason);
}

std::string ObjectCache::explain(llvm::StringRef key) {
  if (!enabled())
    return "miss: " + disabled;
  if (!isKey(key))
    return "miss: '" + key.str() + "' is not a key, which consists of hexadecimal digits";
  std::string reason;
  std::unique_ptr<llvm::MemoryBuffer> bytes;
  switch (readCacheFile(entryPath(key), key, bytes, reason)) {
  case CacheFileState::Valid:
    return "hit: " + std::to_string(bytes->getBufferSize()) + " bytes in " + entryPath(key);
  case CacheFileState::Damaged:
    return "miss: " + entryPath(key) + " is " + reason;
  case CacheFileState::Absent:
    break;
  }
  auto state = seen.lock();
  auto note = state->notes.find(key.str());
  if (note != state->notes.end())
    return "miss: " + note->second;
  return "miss: " + (reason.empty() ? "there is no entry " + entryPath(key) +
                                          "; the IR, the CPU's features or a version differs from earlier "
                                          "compilations, or the entry was pruned"
                                    : reason);
}

/// Calls `visit` for every entry. Deletes other files that are older than an hour, such as the temporary files of
/// killed processes.
static void visitEntries(const std::string &directory, llvm::function_ref<void(ObjectCacheEntry)> visit) {
  std::error_code code;
  for (fs::directory_iterator folder(directory, code), end; folder != end && !code; folder.increment(code)) {
    if (llvm::sys::path::filename(folder->path()).size() != 2)
      continue;
    std::error_code inner;
    for (fs::directory_iterator file(folder->path(), inner); file != end && !inner; file.increment(inner)) {
      struct stat status;
      if (lstat(file->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        continue;
      if (isKey(llvm::sys::path::filename(file->path())))
        visit({llvm::sys::path::filename(file->path()).str(), file->path(), int64_t(status.st_size), status.st_mtime});
      else if (time(nullptr) - status.st_mtime > 3600)
        unlink(file->path().c_str());
    }
  }
}

int64_t ObjectCache::prune(int64_t bytes) {
  if (!enabled())
    return 0;
  std::vector<ObjectCacheEntry> entries;
  int64_t total = 0, freed = 0;
  visitEntries(directory, [&](ObjectCacheEntry entry) {
    total += entry.bytes;
    entries.push_back(std::move(entry));
  });
  if (total <= bytes)
    return 0;
  std::sort(entries.begin(), entries.end(),
            [](const ObjectCacheEntry &a, const ObjectCacheEntry &b) { return a.used < b.used; });
  for (const ObjectCacheEntry &entry : entries) {
    if (total - freed <= bytes)
      break;
    if (unlink(entry.path.c_str()) == 0 || errno == ENOENT)
      freed += entry.bytes;
  }
  return freed;
}

void ObjectCache::visit(llvm::function_ref<void(const ObjectCacheEntry &)> visitor) const {
  if (enabled())
    visitEntries(directory, visitor);
}

void ObjectCache::measure(int64_t &bytes, int64_t &entries) const {
  bytes = entries = 0;
  if (!enabled())
    return;
  visitEntries(directory, [&](const ObjectCacheEntry &entry) {
    bytes += entry.bytes;
    ++entries;
  });
}

} // namespace tilewright

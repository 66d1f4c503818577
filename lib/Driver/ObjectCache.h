//===- ObjectCache.h - disk cache of compiled code ------------------------===//
//
//   CacheKey key;
//   key.add("ir", bitcode); key.add("cpu", machine.llvmCpu + machine.features);
//   if (auto object = cache.load(key.hex())) ... else { compile; cache.store(key.hex(), object); }
//
// An entry is a file <folder>/<key[0..1]>/<key> that ends in a trailer of length and hash. A file without a valid
// trailer (truncated, altered, or not an entry) is a miss, and is moved to <folder>/quarantine. Entries are written to
// a temporary file, synced and renamed. Readers therefore never see a partial entry, and several processes may share a
// folder. Values are plain bytes, and reading a value runs no code.
//
// The folder is TILEWRIGHT_CACHE_DIR, or $XDG_CACHE_HOME/tilewright, or ~/.cache/tilewright. Code is loaded from this
// folder, so it must belong to the current user and be writable by no other user. Otherwise the cache disables itself
// and reports the reason.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_OBJECTCACHE_H
#define TILEWRIGHT_LIB_DRIVER_OBJECTCACHE_H

#include "lib/Interfaces/ForkMutex.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/MemoryBuffer.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace tilewright {

/// Builds a key from named parts. Every key also contains the versions of LLVM and Tilewright. The key depends on the
/// order of the parts. The hash includes the name and length of each part, so that different lists of parts are never
/// hashed as the same bytes.
class CacheKey {
public:
  CacheKey();
  CacheKey &add(llvm::StringRef name, llvm::StringRef value);
  CacheKey &add(llvm::StringRef name, uint64_t value);
  /// Returns the key as 64 lower-case hexadecimal digits.
  std::string hex();

private:
  llvm::BLAKE3 hash;
};

struct ObjectCacheOptions {
  std::string folder;                            ///< empty: the default folder, see above
  int64_t maxBytes = int64_t(1) << 30;           ///< above this, the least recently used entries are deleted
  std::function<void(const std::string &)> warn; ///< called once per kind of problem; null writes to stderr
};

/// A file of the cache. Its contents are not verified.
struct ObjectCacheEntry {
  std::string key, path;
  int64_t bytes;
  time_t used;
};

class ObjectCache {
public:
  using Options = ObjectCacheOptions;

  /// Opens the folder, and creates it if necessary. Never fails: without a usable folder, every load() is a miss and
  /// every store() does nothing.
  explicit ObjectCache(Options options = {});

  /// Returns true if there is a usable folder; otherwise whyDisabled() returns the reason.
  bool enabled() const { return disabled.empty(); }
  const std::string &whyDisabled() const { return disabled; }
  const std::string &folder() const { return directory; }

  /// Returns the bytes that are stored under `key` (hexadecimal digits), or null on a miss. A hit updates the time of
  /// the entry's last use.
  std::unique_ptr<llvm::MemoryBuffer> load(llvm::StringRef key);

  /// Stores bytes under `key` and replaces an existing entry. Returns false on failure. Also warns if the entry cannot
  /// be written, but only the first time.
  bool store(llvm::StringRef key, llvm::StringRef bytes);

  /// Moves the entry of `key` to the quarantine folder, for `reason`. The trailer of the entry is valid, but the caller
  /// cannot use its contents.
  void discard(llvm::StringRef key, const std::string &reason);

  /// Returns a text that states whether `key` is a hit, or why it is a miss: absent, truncated, altered, cache
  /// disabled.
  std::string explain(llvm::StringRef key);

  /// Deletes the least recently used entries until at most `bytes` remain. Returns the bytes freed.
  int64_t prune(int64_t bytes);

  /// Calls `visitor` for every entry, in unspecified order.
  void visit(llvm::function_ref<void(const ObjectCacheEntry &)> visitor) const;

  /// Computes the total size in bytes and the number of all entries.
  void measure(int64_t &bytes, int64_t &entries) const;

private:
  std::string entryPath(llvm::StringRef key) const;
  void warnOnce(const std::string &kind, const std::string &text);
  void quarantine(const std::string &path, llvm::StringRef key, const std::string &reason);

  Options options;
  std::string directory;
  std::string disabled;
  struct Seen {
    std::map<std::string, bool> warned;       ///< kinds of problems already reported
    std::map<std::string, std::string> notes; ///< for each key: the events of its entry in this process
    int64_t bytesSincePrune = 0;
  };
  runtime::ForkSafe<Seen> seen;
};

/// Returns the default folder, from the environment; empty with a reason in `error` if there is no home.
std::string defaultCacheFolder(std::string &error);

} // namespace tilewright

#endif

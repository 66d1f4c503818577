//===- ObjectCache.h - disk cache of compiled code ------------------------===//
//
//   CacheKey key;
//   key.add("ir", bitcode); key.add("cpu", machine.llvmCpu + machine.features);
//   if (auto object = cache.load(key.hex())) ... else { compile; cache.store(key.hex(), object); }
//
// An entry is a file <folder>/<key[0..1]>/<key> that ends in a trailer of length and hash. A file without a valid
// trailer (truncated, altered or foreign) counts as a miss and is moved to <folder>/quarantine. Entries are written
// to a temporary file, synced and renamed, so that readers never see a partial entry, and several processes may share
// a folder. Values are plain bytes; reading one runs no code.
//
// The folder is TILEWRIGHT_CACHE_DIR, or $XDG_CACHE_HOME/tilewright, or ~/.cache/tilewright. Code is loaded from it,
// so it must belong to this user and be writable by no one else; otherwise the cache disables itself and reports why.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_OBJECTCACHE_H
#define TILEWRIGHT_LIB_DRIVER_OBJECTCACHE_H

#include "tilewright/ForkMutex.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/MemoryBuffer.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace tilewright {

/// Builds a key from named parts. It always contains the LLVM version and the Tilewright version. The order of parts
/// matters. A part's name and length are hashed with it, so that different parts never hash as the same bytes.
class CacheKey {
public:
  CacheKey();
  CacheKey &add(llvm::StringRef name, llvm::StringRef value);
  CacheKey &add(llvm::StringRef name, uint64_t value);
  /// 64 lower-case hexadecimal digits.
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

  /// Returns true if there is a usable folder; otherwise whyDisabled() says what to do.
  bool enabled() const { return disabled.empty(); }
  const std::string &whyDisabled() const { return disabled; }
  const std::string &folder() const { return directory; }

  /// Returns the bytes stored under `key` (hexadecimal digits), or null on a miss. A hit counts as a use.
  std::unique_ptr<llvm::MemoryBuffer> load(llvm::StringRef key);

  /// Stores bytes under `key` and replaces an existing entry. Returns false, after one warning, on failure.
  bool store(llvm::StringRef key, llvm::StringRef bytes);

  /// Quarantines the entry of `key` with `reason`: its bytes are intact, but the reader cannot use them.
  void discard(llvm::StringRef key, const std::string &reason);

  /// Explains whether `key` hits, or why not: absent, truncated, altered, cache disabled.
  std::string explain(llvm::StringRef key);

  /// Deletes the least recently used entries until at most `bytes` remain. Returns the bytes freed.
  int64_t prune(int64_t bytes);

  /// Calls `visitor` for every entry, in unspecified order.
  void visit(llvm::function_ref<void(const ObjectCacheEntry &)> visitor) const;

  /// Computes the bytes and number of the entries.
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
    std::map<std::string, std::string> notes; ///< by key: events of its entry in this process
    int64_t bytesSincePrune = 0;
  };
  runtime::ForkSafe<Seen> seen;
};

/// Returns the default folder, from the environment; empty with a reason in `error` if there is no home.
std::string defaultCacheFolder(std::string &error);

} // namespace tilewright

#endif

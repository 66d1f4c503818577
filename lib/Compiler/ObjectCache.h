//===- ObjectCache.h - compiled code kept on disk -------------------------===//
//
//   CacheKey key;
//   key.add("ir", bitcode); key.add("cpu", machine.llvmCpu + machine.features);
//   if (auto object = cache.load(key.hex())) ... else { compile; cache.store(key.hex(), object); }
//
// An entry is a file <folder>/<key[0..1]>/<key> that ends in a trailer of length and hash, and is not believed
// without it: a truncated, altered or foreign file is a miss, and is moved to <folder>/quarantine. Entries are written
// to a temporary file, synced, and renamed, so that readers see all or nothing, and any number of processes may share a
// folder. Values are plain bytes; reading one runs no code.
//
// The folder is TILEWRIGHT_CACHE_DIR, or $XDG_CACHE_HOME/tilewright, or ~/.cache/tilewright. Code is loaded from it,
// so it must belong to this user and be writable by nobody else; otherwise the cache turns itself off and says why.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_OBJECTCACHE_H
#define TILEWRIGHT_LIB_COMPILER_OBJECTCACHE_H

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

/// Builds a key from named parts. The LLVM version and the Tilewright version are always in it. The order of parts
/// counts; a part's name and length are hashed with it, so that two parts never run into each other.
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
  int64_t maxBytes = int64_t(1) << 30;           ///< beyond this the least recently used entries go
  std::function<void(const std::string &)> warn; ///< called once per kind of trouble; null writes to stderr
};

/// A file of the cache; whether it is whole is not looked at.
struct ObjectCacheEntry {
  std::string key, path;
  int64_t bytes;
  time_t used;
};

class ObjectCache {
public:
  using Options = ObjectCacheOptions;

  /// Opens, and if need be makes, the folder. Never fails: without a usable folder every load() is a miss and every
  /// store() does nothing.
  explicit ObjectCache(Options options = {});

  /// Whether there is a usable folder; if not, whyDisabled() tells what to do.
  bool enabled() const { return disabled.empty(); }
  const std::string &whyDisabled() const { return disabled; }
  const std::string &folder() const { return directory; }

  /// The bytes stored under `key` (hexadecimal digits), or null on a miss. A hit counts as a use.
  std::unique_ptr<llvm::MemoryBuffer> load(llvm::StringRef key);

  /// Stores bytes under `key`; an entry that is there is replaced. False, after one warning, when it cannot.
  bool store(llvm::StringRef key, llvm::StringRef bytes);

  /// Puts the entry of `key` aside, which was "`reason`": its bytes are whole, but the reader cannot use them.
  void discard(llvm::StringRef key, const std::string &reason);

  /// Whether `key` hits now, and why not if not: absent, truncated, altered, cache disabled. For people.
  std::string explain(llvm::StringRef key);

  /// Deletes the least recently used entries until at most `bytes` remain. Returns the bytes freed.
  int64_t prune(int64_t bytes);

  /// Calls `visitor` for every entry, in no order.
  void visit(llvm::function_ref<void(const ObjectCacheEntry &)> visitor) const;

  /// Bytes and number of the entries.
  void measure(int64_t &bytes, int64_t &entries) const;

private:
  std::string entryPath(llvm::StringRef key) const;
  void warnOnce(const std::string &kind, const std::string &text);
  void quarantine(const std::string &path, llvm::StringRef key, const std::string &reason);

  Options options;
  std::string directory;
  std::string disabled;
  struct Seen {
    std::map<std::string, bool> warned;       ///< kinds of trouble already told
    std::map<std::string, std::string> notes; ///< by key: what happened to its entry in this process
    int64_t bytesSincePrune = 0;
  };
  runtime::ForkSafe<Seen> seen;
};

/// The default folder, from the environment; empty with a reason in `error` when there is no home.
std::string defaultCacheFolder(std::string &error);

} // namespace tilewright

#endif

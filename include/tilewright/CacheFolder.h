//===- CacheFolder.h - lists, explains and prunes the object cache -----------===//
//
// The folder is TILEWRIGHT_CACHE_DIR, or $XDG_CACHE_HOME/tilewright, or ~/.cache/tilewright
// (lib/Driver/ObjectCache.h).
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_CACHEFOLDER_H
#define TILEWRIGHT_CACHEFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

namespace tilewright {

/// An entry of the object cache: the result of one compilation, or the machine code of one PTX module.
struct CacheEntry {
  std::string key;
  int64_t bytes = 0;
  time_t used = 0;     ///< time of the last load or store, in seconds since 1970
  std::string problem; ///< the reason why the entry cannot be read; the fields below are then empty
  int64_t operations = 0, kernels = 0;
  std::vector<std::pair<std::string, std::string>> parts; ///< components of the key, in order; long ones as digests
};

/// Returns the entries of the object cache, the most recently used first, and sets `folder` to the path of the cache.
/// Returns an error if the folder cannot be used.
llvm::Expected<std::vector<CacheEntry>> listCache(std::string &folder);

/// Returns a text about the entry with the key `key`, or about the only entry whose key starts with `key`. The text
/// lists the components of the key, and the components that differ in the most similar entry of the same module. These
/// differences are the reason why that entry was not reused. If no other entry has the same module, the text says so.
llvm::Expected<std::string> explainCache(llvm::StringRef key);

/// Deletes the least recently used entries until at most `bytes` remain. With `everything`, also deletes the entries
/// in the folder `quarantine`, which were damaged or unusable. Returns the number of bytes freed.
llvm::Expected<int64_t> pruneCache(int64_t bytes, bool everything);

} // namespace tilewright

#endif

//===- CacheFolder.h - what is in the object cache, for people ---------------===//
//
// The folder is TILEWRIGHT_CACHE_DIR, or $XDG_CACHE_HOME/tilewright, or ~/.cache/tilewright
// (lib/Compiler/ObjectCache.h).
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

/// One compilation that is kept.
struct CacheEntry {
  std::string key;
  int64_t bytes = 0;
  time_t used = 0;     ///< when it was last loaded or stored, in seconds since 1970
  std::string problem; ///< why it cannot be read; then what follows is empty
  int64_t operations = 0, kernels = 0;
  std::vector<std::pair<std::string, std::string>> parts; ///< what its key was made of, in order; long ones as a digest
};

/// The entries, the last used first. An error where there is no usable folder.
llvm::Expected<std::vector<CacheEntry>> listCache(std::string &folder);

/// Says in lines whether `key`, or the one key that starts with it, is there, what it was made of, and in which parts
/// the entry nearest to it is another: why that one did not serve.
llvm::Expected<std::string> explainCache(llvm::StringRef key);

/// Deletes the least recently used entries until at most `bytes` remain; with `everything` also what is set aside in
/// quarantine. Returns the bytes freed.
llvm::Expected<int64_t> pruneCache(int64_t bytes, bool everything);

} // namespace tilewright

#endif

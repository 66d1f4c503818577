//===- CacheFile.h - one entry of the object cache ------------------------===//
//
//   value bytes ... | "TWOBJ\r\n\0" | u64 length of the value | BLAKE3 of key and value (32 bytes)
//
// The magic number, the length and the hash are a trailer at the end of the file, so that a truncated file is invalid.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_CACHEFILE_H
#define TILEWRIGHT_LIB_DRIVER_CACHEFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace tilewright {

enum class CacheFileState { Valid, Absent, Damaged };

/// Reads the entry of `key` at `path`. If the result is Damaged, `reason` completes the sentence "the file is ...". If
/// the result is Absent and the file exists but cannot be read, `reason` has the cause.
CacheFileState readCacheFile(const std::string &path, llvm::StringRef key, std::unique_ptr<llvm::MemoryBuffer> &bytes,
                             std::string &reason);

/// Writes the entry of `key` at `path` atomically: writes a temporary file in the same folder, syncs and renames it.
/// Returns false with a full sentence in `reason`; no temporary file remains in that case.
bool writeCacheFile(const std::string &path, llvm::StringRef key, llvm::StringRef bytes, std::string &reason);

} // namespace tilewright

#endif

//===- Manifest.h - description of a library as JSON ---------------------------------===//
#ifndef TILEWRIGHT_LIB_AOT_MANIFEST_H
#define TILEWRIGHT_LIB_AOT_MANIFEST_H

#include "lib/AOT/Describe.h"

namespace tilewright::library {

/// The format version of writeManifest() and readManifest().
inline constexpr int64_t manifestFormat = 3;

/// A file of the library, identified by its name in the library's folder.
struct ManifestFile {
  std::string role, name; ///< the role is "library", "header" or "weights"
  uint64_t bytes = 0;
  std::string blake3; ///< hash of the file's bytes, 64 hexadecimal digits
};

/// Returns the text of the manifest. `module` is the hash of the compiled graph, and `threads` is the number of threads
/// for which the plan was made, as in Options::threads.
std::string writeManifest(const Interface &interface, const Contents &contents, llvm::ArrayRef<ManifestFile> files,
                          llvm::StringRef target, llvm::StringRef module, int threads);

/// Returns the BLAKE3 hash of `bytes`, 32 bytes.
std::vector<uint8_t> hashOf(llvm::ArrayRef<uint8_t> bytes);

} // namespace tilewright::library

#endif

//===- Manifest.h - what a library is, as JSON ---------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_LIBRARY_MANIFEST_H
#define TILEWRIGHT_LIB_COMPILER_LIBRARY_MANIFEST_H

#include "lib/Compiler/Library/Describe.h"

namespace tilewright::library {

/// What writeManifest() writes and readManifest() reads.
inline constexpr int64_t manifestFormat = 3;

/// A file of the library, by its name in its folder.
struct ManifestFile {
  std::string role, name; ///< "library", "header", "weights"
  uint64_t bytes = 0;
  std::string blake3; ///< of its bytes, 64 hexadecimal digits
};

/// The text of <model>.json. `module` is the hash of the graph that was compiled, `threads` what it was planned for.
std::string writeManifest(const Interface &interface, const Contents &contents, llvm::ArrayRef<ManifestFile> files,
                          llvm::StringRef target, llvm::StringRef module, int threads);

/// BLAKE3 of `bytes`, 32 bytes.
std::vector<uint8_t> hashOf(llvm::ArrayRef<uint8_t> bytes);

} // namespace tilewright::library

#endif

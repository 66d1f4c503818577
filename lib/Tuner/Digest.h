//===- Digest.h - hashes in names and keys -------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_DIGEST_H
#define TILEWRIGHT_LIB_TUNER_DIGEST_H

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

namespace tilewright::tuner {

/// Returns a hash of `text` as 32 hexadecimal digits.
inline std::string digest(llvm::StringRef text) {
  llvm::BLAKE3 hash;
  hash.update(text);
  auto bytes = hash.final<16>();
  return llvm::toHex(llvm::ArrayRef<uint8_t>(bytes), /*LowerCase=*/true);
}

} // namespace tilewright::tuner

#endif

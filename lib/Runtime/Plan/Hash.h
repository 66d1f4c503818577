//===- Hash.h - fast 64-bit hash of bytes ---------------------------------===//
//
// The hash function detects damaged plan images and changed parameters. It is not a cryptographic hash: collisions can
// be constructed.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_PLAN_HASH_H
#define TILEWRIGHT_LIB_RUNTIME_PLAN_HASH_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tilewright::plan {

/// Folds one 64-bit word into a running hash. The function is bijective in `hash` for a fixed word and in the word
/// for a fixed hash, so that changing one word always changes the result.
inline uint64_t mixHash(uint64_t hash, uint64_t word) {
  hash ^= word;
  hash *= 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 32);
}

/// Returns the hash of `size` bytes at `data`, which is the same on every machine.
inline uint64_t hashBytes(const void *data, size_t size, uint64_t seed = 0) {
  const auto *bytes = static_cast<const unsigned char *>(data);
  uint64_t hash = mixHash(seed ^ 0xA0761D6478BD642Full, size);
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    hash = mixHash(hash, word);
  }
  uint64_t word = 0;
  if (size != 0)
    memcpy(&word, bytes, size);
  return mixHash(hash, word);
}

} // namespace tilewright::plan

#endif

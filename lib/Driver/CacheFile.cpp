//===- CacheFile.cpp - one entry of the object cache ----------------------===//
#include "lib/Driver/CacheFile.h"

#include "llvm/Support/BLAKE3.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright {
namespace {

constexpr char cacheFileMagic[8] = {'T', 'W', 'O', 'B', 'J', '\r', '\n', '\0'};

struct CacheFileTrailer {
  char magic[8];
  uint64_t length;
  uint8_t hash[32];
};
static_assert(sizeof(CacheFileTrailer) == 48);

CacheFileTrailer makeTrailer(llvm::StringRef key, llvm::StringRef bytes) {
  CacheFileTrailer trailer;
  memcpy(trailer.magic, cacheFileMagic, sizeof trailer.magic);
  trailer.length = bytes.size();
  llvm::BLAKE3 hash;
  uint64_t keySize = key.size();
  hash.update(llvm::StringRef(reinterpret_cast<const char *>(&keySize), sizeof keySize));
  hash.update(key);
  hash.update(bytes);
  auto result = hash.final<32>();
  memcpy(trailer.hash, result.data(), sizeof trailer.hash);
  return trailer;
}

/// A file descriptor that the destructor closes.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0)
      close(number);
  }
};

bool writeAll(int file, const void *data, size_t size) {
  const auto *next = static_cast<const char *>(data);
  while (size != 0) {
    ssize_t written = write(file, next, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    next += written;
    size -= size_t(written);
  }
  return true;
}

bool readAll(int file, char *data, size_t size) {
  while (size != 0) {
    ssize_t got = read(file, data, size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    data += got;
    size -= size_t(got);
  }
  return true;
}

} // namespace

CacheFileState readCacheFile(const std::string &path, llvm::StringRef key, std::unique_ptr<llvm::MemoryBuffer> &bytes,
                             std::string &reason) {
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (file.number < 0) {
    if (errno == ELOOP) {
      reason = "a symbolic link";
      return CacheFileState::Damaged;
    }
    if (errno != ENOENT)
      reason = path + " cannot be read: " + strerror(errno);
    return CacheFileState::Absent;
  }
  struct stat status;
  if (fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode)) {
    reason = "not a regular file";
    return CacheFileState::Damaged;
  }
  if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH))) {
    reason = "writable by another user";
    return CacheFileState::Damaged;
  }
  // Read the file instead of mapping it. If another process truncated a mapped file, accesses would crash this process.
  auto size = size_t(status.st_size);
  if (size < sizeof(CacheFileTrailer)) {
    reason = "truncated or foreign (no trailer)";
    return CacheFileState::Damaged;
  }
  size_t length = size - sizeof(CacheFileTrailer);
  auto buffer = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(length, key);
  CacheFileTrailer trailer;
  if (!buffer || !readAll(file.number, buffer->getBufferStart(), length) ||
      !readAll(file.number, reinterpret_cast<char *>(&trailer), sizeof trailer)) {
    reason = path + " cannot be read: " + strerror(errno);
    return CacheFileState::Absent;
  }
  if (memcmp(trailer.magic, cacheFileMagic, sizeof trailer.magic) != 0 || trailer.length != length) {
    reason = "truncated or foreign (no trailer)";
    return CacheFileState::Damaged;
  }
  CacheFileTrailer expected = makeTrailer(key, llvm::StringRef(buffer->getBufferStart(), length));
  if (memcmp(&trailer, &expected, sizeof trailer) != 0) {
    reason = "altered (its hash differs)";
    return CacheFileState::Damaged;
  }
  bytes = std::move(buffer);
  return CacheFileState::Valid;
}

bool writeCacheFile(const std::string &path, llvm::StringRef key, llvm::StringRef bytes, std::string &reason) {
  static std::atomic<unsigned> counter{0};
  std::string temporary =
      path + ".tmp" + std::to_string(getpid()) + "." + std::to_string(counter.fetch_add(1, std::memory_order_relaxed));
  auto fail = [&](const char *what) {
    reason = temporary + " cannot be " + what + ": " + strerror(errno);
    unlink(temporary.c_str());
    return false;
  };
  CacheFileTrailer trailer = makeTrailer(key, bytes);
  {
    Descriptor file{open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (file.number < 0)
      return fail("made");
    if (!writeAll(file.number, bytes.data(), bytes.size()) || !writeAll(file.number, &trailer, sizeof trailer))
      return fail("written");
    if (fsync(file.number) != 0)
      return fail("synced");
  }
  if (rename(temporary.c_str(), path.c_str()) != 0)
    return fail("renamed");
  return true;
}

} // namespace tilewright

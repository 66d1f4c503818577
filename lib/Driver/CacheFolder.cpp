//===- CacheFolder.cpp - explain the contents of the object cache ------------===//
//
// Test: test/Tools/cache.test
//
//===----------------------------------------------------------------------===//
#include "tilewright/CacheFolder.h"
#include "lib/Driver/AssemblePtx.h"
#include "lib/Driver/CacheFile.h"
#include "lib/Driver/CompileCache.h"
#include "lib/Driver/ObjectCache.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

namespace tilewright {

static llvm::Expected<std::unique_ptr<ObjectCache>> openCache() {
  ObjectCacheOptions options;
  options.warn = [](const std::string &) {};
  auto cache = std::make_unique<ObjectCache>(std::move(options));
  if (!cache->enabled())
    return llvm::createStringError(cache->whyDisabled());
  return cache;
}

static std::vector<CacheEntry> entriesOf(const ObjectCache &cache) {
  std::vector<CacheEntry> entries;
  cache.visit([&](const ObjectCacheEntry &found) {
    CacheEntry entry;
    entry.key = found.key;
    entry.bytes = found.bytes;
    entry.used = found.used;
    std::unique_ptr<llvm::MemoryBuffer> bytes;
    switch (readCacheFile(found.path, found.key, bytes, entry.problem)) {
    case CacheFileState::Absent:
      if (entry.problem.empty())
        return; // another process has deleted the file
      break;
    case CacheFileState::Damaged:
      break;
    case CacheFileState::Valid:
      if (!CompileCache::describe(bytes->getBuffer(), entry) && !describeCubin(bytes->getBuffer(), entry))
        entry.problem = "in another format";
    }
    entries.push_back(std::move(entry));
  });
  llvm::stable_sort(entries, [](const CacheEntry &a, const CacheEntry &b) { return a.used > b.used; });
  return entries;
}

llvm::Expected<std::vector<CacheEntry>> listCache(std::string &folder) {
  auto cache = openCache();
  if (!cache)
    return cache.takeError();
  folder = (*cache)->folder();
  return entriesOf(**cache);
}

/// Returns the names of the key parts that differ between two cache entries.
static std::vector<std::string> differences(const CacheEntry &a, const CacheEntry &b) {
  std::vector<std::string> names;
  for (const auto &[name, value] : a.parts) {
    auto other = llvm::find_if(b.parts, [&, &n = name](const auto &part) { return part.first == n; });
    if (other == b.parts.end() || other->second != value)
      names.push_back(name);
  }
  for (const auto &[name, value] : b.parts)
    if (llvm::none_of(a.parts, [&, &n = name](const auto &part) { return part.first == n; }))
      names.push_back(name);
  return names;
}

llvm::Expected<std::string> explainCache(llvm::StringRef key) {
  auto cache = openCache();
  if (!cache)
    return cache.takeError();
  std::vector<CacheEntry> entries = entriesOf(**cache);
  std::vector<const CacheEntry *> named;
  for (const CacheEntry &entry : entries)
    if (!key.empty() && llvm::StringRef(entry.key).starts_with(key))
      named.push_back(&entry);
  if (named.size() > 1)
    return llvm::createStringError(std::to_string(named.size()) + " keys start with " + key.str() +
                                   "; specify a longer prefix");
  if (named.empty())
    return (*cache)->explain(key) + "\n";
  const CacheEntry &entry = *named.front();
  if (!entry.problem.empty())
    return entry.key + ": the entry is " + entry.problem + ", and will be compiled again when it is needed\n";
  std::string text = entry.key + ": " + std::to_string(entry.bytes) + " bytes, " + std::to_string(entry.operations) +
                     " operations, " + std::to_string(entry.kernels) + " kernels\n";
  for (const auto &[name, value] : entry.parts)
    text += "  " + name + ": " + value + "\n";
  const CacheEntry *nearest = nullptr;
  std::vector<std::string> fewest;
  for (const CacheEntry &other : entries) {
    if (&other == &entry || !other.problem.empty())
      continue;
    std::vector<std::string> names = differences(entry, other);
    if (llvm::is_contained(names, "module") || (nearest && names.size() >= fewest.size()))
      continue;
    nearest = &other;
    fewest = std::move(names);
  }
  if (!nearest)
    return text + "no other entry has this module\n";
  text += "the most similar entry, " + nearest->key +
          ", has the same module, but was not reused because of these differences:\n";
  for (const std::string &name : fewest) {
    auto part = llvm::find_if(nearest->parts, [&](const auto &each) { return each.first == name; });
    text += "  " + name + ": " + (part == nearest->parts.end() ? "not part of its key" : part->second) + "\n";
  }
  return text;
}

llvm::Expected<int64_t> pruneCache(int64_t bytes, bool everything) {
  auto cache = openCache();
  if (!cache)
    return cache.takeError();
  int64_t freed = (*cache)->prune(bytes);
  if (!everything)
    return freed;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator file((*cache)->folder() + "/quarantine", code), end; file != end && !code;
       file.increment(code)) {
    llvm::sys::fs::file_status status;
    if (!llvm::sys::fs::status(file->path(), status) && !llvm::sys::fs::remove(file->path()))
      freed += int64_t(status.getSize());
  }
  return freed;
}

} // namespace tilewright

//===- Cache.cpp - tilewright cache ------------------------------------------------===//
//
//   tilewright cache list | explain KEY | prune [BYTES] | clear
//
// Test: test/Tools/cache.test
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "lib/Interfaces/NumberText.h"
#include "tilewright/CacheFolder.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright::driver {

static int fail(llvm::Error error) {
  llvm::errs() << "tilewright cache: " << llvm::toString(std::move(error)) << "\n";
  return 1;
}

static constexpr char usage[] =
    "usage: tilewright cache list            lists the entries, the most recently used first\n"
    "       tilewright cache explain KEY     explains which inputs KEY was computed from, and why a similar entry was\n"
    "                                        not reused; a unique prefix of the key is enough\n"
    "       tilewright cache prune [BYTES]   removes the least recently used entries until at most BYTES are left;\n"
    "                                        the suffixes K, M and G are allowed (default: 1G)\n"
    "       tilewright cache clear           removes all entries\n"
    "The environment variable TILEWRIGHT_CACHE_DIR selects the folder of the cache.\n";

static int list() {
  std::string folder;
  llvm::Expected<std::vector<CacheEntry>> entries = listCache(folder);
  if (!entries)
    return fail(entries.takeError());
  int64_t bytes = 0;
  for (const CacheEntry &entry : *entries) {
    bytes += entry.bytes;
    char used[32] = "";
    if (tm parts; localtime_r(&entry.used, &parts))
      strftime(used, sizeof(used), "%Y-%m-%d %H:%M:%S", &parts);
    llvm::outs() << entry.key << "  " << used << numberText("%10lld", (long long)entry.bytes) << "  ";
    if (entry.problem.empty())
      llvm::outs() << entry.operations << " operations, " << entry.kernels << " kernels\n";
    else
      llvm::outs() << entry.problem << "\n";
  }
  llvm::outs() << entries->size() << " entries, " << bytes << " bytes in " << folder << "\n";
  return 0;
}

/// Returns the number of bytes in a text such as "64M"; -1 if it is not a number.
static int64_t bytesFrom(llvm::StringRef text) {
  int64_t unit = 1;
  for (auto [suffix, size] :
       {std::pair("K", int64_t(1) << 10), std::pair("M", int64_t(1) << 20), std::pair("G", int64_t(1) << 30)})
    if (text.consume_back(suffix))
      unit = size;
  int64_t number;
  return text.getAsInteger(10, number) || number < 0 || number > INT64_MAX / unit ? -1 : number * unit;
}

static int prune(int64_t bytes, bool everything) {
  llvm::Expected<int64_t> freed = pruneCache(bytes, everything);
  if (!freed)
    return fail(freed.takeError());
  llvm::outs() << *freed << " bytes freed\n";
  return 0;
}

int runCache(int argc, const char *const *argv) {
  llvm::StringRef command = argc > 1 ? argv[1] : "", argument = argc > 2 ? argv[2] : "";
  if (command == "list" && argc == 2)
    return list();
  if (command == "explain" && argc == 3) {
    llvm::Expected<std::string> text = explainCache(argument);
    if (!text)
      return fail(text.takeError());
    llvm::outs() << *text;
    return 0;
  }
  if (command == "prune" && argc <= 3) {
    int64_t bytes = bytesFrom(argc == 3 ? argument : "1G");
    return bytes < 0 ? printUsage(argc, argv, usage) : prune(bytes, /*everything=*/false);
  }
  if (command == "clear" && argc == 2)
    return prune(0, /*everything=*/true);
  return printUsage(argc, argv, usage);
}

} // namespace tilewright::driver

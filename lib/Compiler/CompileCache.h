//===- CompileCache.h - whole compilations in the object cache --------------===//
//
//   CompileCache cache(module, options, *target);      // takes the key while the module is still the imported one
//   if (auto program = cache.load(*target, options)) return program;
//   ... compile ...
//   cache.store(report, artifact);
//
// The key is the imported module without its locations, every option that changes code, the machine, and the builds of
// Tilewright, LLVM and the target's library. Two sources that differ in their line numbers only are one entry: the
// stored decisions name ops by their number in the module, and their lines are looked up in the module at hand.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_COMPILECACHE_H
#define TILEWRIGHT_LIB_COMPILER_COMPILECACHE_H

#include "tilewright/CacheFolder.h"
#include "tilewright/Target.h"

namespace tilewright {

class ObjectCache;
class ProcessCache;

/// This process's cache in the default folder; null where there is none to be used.
ObjectCache *processCache();

/// What loading `program` has told of itself goes to `report`, which becomes the program's. Returns the milliseconds of
/// the stages told.
double takeLoading(Program &program, CompileReport &report);

/// BLAKE3 of the module without its locations, 32 bytes.
std::string hashOfGraph(mlir::ModuleOp module);

class CompileCache {
public:
  CompileCache(mlir::ModuleOp module, const Options &options, Target &target);

  /// The program of this key with its report, or null on a miss. An entry that the target does not load is put aside;
  /// where that is the device's fault (DeviceError) it stays, and that is the error.
  llvm::Expected<std::shared_ptr<Program>> load(Target &target, const Options &options);

  /// Stores what was compiled; where it cannot, the report gets a warning. Also tells hit or miss in `report`.
  void store(CompileReport &report, llvm::StringRef artifact);

  /// Reads what `bytes` of an entry tell about it besides its code; false where they are none of an entry.
  static bool describe(llvm::StringRef bytes, CacheEntry &entry);

  /// Milliseconds spent on the key.
  double keyMilliseconds = 0;

private:
  std::string encode(const CompileReport &report, llvm::StringRef artifact) const;
  bool decode(llvm::StringRef bytes, CompileReport &report, llvm::StringRef &artifact) const;

  ProcessCache *cache = nullptr; ///< null: the cache is off, and `why` says so
  std::string key, why;
  std::vector<std::pair<std::string, std::string>> parts; ///< of the key, for people
  std::vector<std::string> lines;                         ///< of the module's ops, in order of a walk
};

} // namespace tilewright

#endif

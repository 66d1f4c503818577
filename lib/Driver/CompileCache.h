//===- CompileCache.h - whole compilations in the object cache --------------===//
//
//   CompileCache cache(module, options, *target);  // computes the key; no pass may have changed the module
//   auto program = cache.load(*target, options);   // null on a miss
//   ... compile ...
//   cache.store(report, artifact);
//
// The key consists of the imported module without locations, every option that changes code, the contents of schedule
// files and tuning records, the machine, and the builds of Tilewright, LLVM, MLIR and the target's library. Two sources
// that differ only in line numbers share an entry: the stored decisions refer to ops by their index in the module, and
// the lines of the ops come from the current module.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_COMPILECACHE_H
#define TILEWRIGHT_LIB_DRIVER_COMPILECACHE_H

#include "tilewright/CacheFolder.h"
#include "tilewright/Target.h"

namespace tilewright {

class ObjectCache;
class ProcessCache;

/// Returns this process's cache in the default folder, or null if the cache is not usable.
ObjectCache *processCache();

/// Appends the stages and warnings that loading recorded in `program` to `report`, which the caller then assigns to the
/// program. Returns the total milliseconds of these stages.
double takeLoading(Program &program, CompileReport &report);

/// Returns the BLAKE3 hash of the module without its locations, 32 bytes.
std::string hashOfGraph(mlir::ModuleOp module);

class CompileCache {
public:
  CompileCache(mlir::ModuleOp module, const Options &options, Target &target);

  /// Returns the program of this key with its report, or null on a miss. An entry that the target cannot load is
  /// quarantined; if the device is the cause (DeviceError), the entry stays, and the error is returned.
  llvm::Expected<std::shared_ptr<Program>> load(Target &target, const Options &options);

  /// Stores the compiled artifact; on failure, the report gets a warning. Also stores in `report` why load() returned
  /// no program.
  void store(CompileReport &report, llvm::StringRef artifact);

  /// Reads the description in an entry's `bytes`, without its code; returns false if they are not an entry.
  static bool describe(llvm::StringRef bytes, CacheEntry &entry);

  /// Milliseconds that the computation of the key took.
  double keyMilliseconds = 0;

private:
  std::string encode(const CompileReport &report, llvm::StringRef artifact) const;
  bool decode(llvm::StringRef bytes, CompileReport &report, llvm::StringRef &artifact) const;

  ProcessCache *cache = nullptr; ///< null: the cache is off, and `why` has the reason
  std::string key, why;
  std::vector<std::pair<std::string, std::string>> parts; ///< named parts of the key, for explanations
  std::vector<std::string> lines;                         ///< source lines of the module's ops, in the order of a walk
};

} // namespace tilewright

#endif

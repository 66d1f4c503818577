//===- Records.h - what was measured, kept in files -----------------------------------------===//
//
// A record is one JSON file, "<hash of its key>.json", written whole or not at all. Its key is all that decides whether
// it still holds: the kernel's signature (its IR after layouts were chosen, without names and places), the target, the
// machine and the epoch of the code generator (a hash of the sources that shape this kind of kernel, Epochs.h). What is
// read is checked by a checksum; a damaged file is a miss with a reason, never used.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_RECORDS_H
#define TILEWRIGHT_LIB_TUNER_RECORDS_H

#include "tilewright/ScheduleSpace.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::tuner {

struct RecordKey {
  std::string signature; ///< a hash, hexadecimal
  std::string target, machine, epoch;

  std::string hash() const; ///< 32 digits
  bool operator==(const RecordKey &) const = default;
};

struct KernelRecord {
  RecordKey key;
  std::string rates;                     ///< Target::ratesKey(): `initial` is the default where they are the same
  std::string family;                    ///< the signature's, with all sizes left open
  std::vector<int64_t> sizes;            ///< those left open, in order
  std::string operations;                ///< for people
  std::string initial;                   ///< the default schedule
  std::string chosen;                    ///< the one to use; equal to `initial` where nothing was better
  std::string initialClass, chosenClass; ///< orders of sums (ScheduleSpace::numericsClass)
  std::string tier, verdict;
  int64_t measurements = 0;
  double initialNanoseconds = 0, noise = 0;
  std::vector<SeenSchedule> seen; ///< the fastest first, at most `mostSeen`
  std::vector<std::pair<std::string, std::string>> failures;

  static constexpr size_t mostSeen = 8;
};

llvm::json::Value toJson(const KernelRecord &record);
/// Nothing, with the reason in `why`, for what is not a record of this format, or is damaged.
std::optional<KernelRecord> fromJson(llvm::StringRef text, std::string &why);

/// A folder of records. Several processes may use it at once.
class RecordStore {
public:
  explicit RecordStore(std::string folder) : folder(std::move(folder)) {}

  /// The record of `key`; nothing with the reason in `why`: none, damaged, of another key.
  std::optional<KernelRecord> find(const RecordKey &key, std::string &why) const;

  /// Keeps `record`: one that is there already and was measured more often stays, what each has seen is put together.
  /// `replace`: the new one decides.
  llvm::Error store(const KernelRecord &record, bool replace) const;

  /// All that can be read; the names of damaged files with the reason go to `damaged`.
  std::vector<KernelRecord> all(std::vector<std::string> *damaged = nullptr) const;

  /// nearestRecords() of all().
  std::vector<KernelRecord> neighbours(const KernelRecord &of, size_t most) const;

  std::string path(const RecordKey &key) const;

private:
  std::string folder;
};

/// Why what was measured on `measured` does not hold on `here`, two different keys of machines.
std::string otherMachine(llvm::StringRef measured, llvm::StringRef here);

/// Of `records` those of the same family, target and machine as `of`, the nearest sizes first, at most `most`; sizes
/// are compared by their logarithms.
std::vector<KernelRecord> nearestRecords(llvm::ArrayRef<KernelRecord> records, const KernelRecord &of, size_t most);

} // namespace tilewright::tuner

#endif

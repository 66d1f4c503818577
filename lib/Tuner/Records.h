//===- Records.h - measured schedules, stored in files --------------------------------------===//
//
// A record is one JSON file, "<hash of its key>.json", written atomically. Its key contains everything that decides
// whether the record is still valid: the kernel's signature (its IR after layouts are chosen, without names and
// locations), the target, the machine and the epoch of the code generator (a hash of the sources that generate this
// kind of kernel, Epochs.h). A checksum detects damaged contents. A damaged file is never used. find() handles it as a
// missing record, and returns the reason.
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
  std::string signature; ///< hash of the kernel's signature, in hexadecimal digits
  std::string target, machine, epoch;

  std::string hash() const; ///< 32 digits
  bool operator==(const RecordKey &) const = default;
};

struct KernelRecord {
  RecordKey key;
  std::string rates;                     ///< Target::ratesKey(): with equal rates, `initial` is the default schedule
  std::string family;                    ///< the signature's family, without sizes
  std::vector<int64_t> sizes;            ///< the sizes that `family` lacks, in order
  std::string operations;                ///< names of the kernel's operations, for people to read
  std::string initial;                   ///< the default schedule
  std::string chosen;                    ///< the schedule to use; equal to `initial` if none was better
  std::string initialClass, chosenClass; ///< orders of summation (ScheduleSpace::numericsClass)
  std::string tier, verdict;
  int64_t measurements = 0;
  double initialNanoseconds = 0, noise = 0;
  std::vector<SeenSchedule> seen; ///< measured schedules, the fastest first, at most `mostSeen`
  std::vector<std::pair<std::string, std::string>> failures;

  static constexpr size_t mostSeen = 8;

  /// Returns the measured time of `chosen` divided by that of `initial`, or 1 if `seen` does not contain it.
  double chosenRatio() const;
};

llvm::json::Value toJson(const KernelRecord &record);
/// Parses a record. Returns nullopt, with the reason in `why`, if the text is damaged or not a record in this format.
std::optional<KernelRecord> fromJson(llvm::StringRef text, std::string &why);

/// A folder of records. Several processes may use it at the same time.
class RecordStore {
public:
  explicit RecordStore(std::string folder) : folder(std::move(folder)) {}

  /// Returns the record of `key`. Returns nullopt, with the reason in `why`, if the record is missing, damaged, or has
  /// another key.
  std::optional<KernelRecord> find(const RecordKey &key, std::string &why) const;

  /// Stores `record`. If the folder has a record of the same key with more measurements, that record's choice stays,
  /// and the measured schedules of both records are merged. With `replace`, the new record's choice is used.
  llvm::Error store(const KernelRecord &record, bool replace) const;

  /// Returns all readable records; appends the names of damaged files with the reasons to `damaged`.
  std::vector<KernelRecord> all(std::vector<std::string> *damaged = nullptr) const;

  /// Returns the records of the folder that are most similar to `of`, at most `most` (nearestRecords()).
  std::vector<KernelRecord> similar(const KernelRecord &of, size_t most) const;

  std::string path(const RecordKey &key) const;

private:
  std::string folder;
};

/// Returns the reason why measurements on the machine with the key `measured` do not apply to the machine with the key
/// `here`. The keys must differ.
std::string otherMachine(llvm::StringRef measured, llvm::StringRef here);

/// Returns at most `most` of the `records` that have the same family, target and machine as `of` but another key,
/// sorted by the distance of their sizes from the sizes of `of`. The distance is computed from the logarithms of the
/// sizes.
std::vector<KernelRecord> nearestRecords(llvm::ArrayRef<KernelRecord> records, const KernelRecord &of, size_t most);

} // namespace tilewright::tuner

#endif

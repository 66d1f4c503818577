//===- RecordTexts.cpp - records as text for users --------------------------------------------------------===//
//
// Test: test/Tuner/tune.test
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/NumberText.h"
#include "lib/Tuner/Digest.h"
#include "lib/Tuner/Records.h"
#include "tilewright/Target.h"
#include "tilewright/Tuner.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

namespace tilewright {

using tuner::KernelRecord;
using tuner::RecordStore;

std::string recordsDigest(llvm::StringRef folder) {
  if (folder.empty())
    return "";
  std::vector<std::string> files;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(folder, code), end; it != end && !code; it.increment(code)) {
    if (llvm::sys::path::extension(it->path()) != ".json")
      continue;
    llvm::ErrorOr<llvm::sys::fs::basic_file_status> status = it->status();
    if (status)
      files.push_back(it->path() + " " + std::to_string(status->getSize()) + " " +
                      std::to_string(status->getLastModificationTime().time_since_epoch().count()));
  }
  if (files.empty())
    return "";
  llvm::sort(files);
  return tuner::digest(llvm::join(files, ""));
}

/// Returns the median milliseconds of looking up one of `records`; 0 if there are none.
static double lookUpTime(const RecordStore &store, llvm::ArrayRef<KernelRecord> records) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  std::string why;
  for (const KernelRecord &record : records) {
    const Clock::time_point start = Clock::now();
    if (store.find(record.key, why))
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  llvm::sort(times);
  return times.empty() ? 0 : times[times.size() / 2];
}

llvm::Expected<std::string> explainRecords(llvm::StringRef folder, llvm::StringRef key, const Options &given) {
  Options options = given;
  llvm::Expected<Target *> target = configuredTarget(options);
  if (!target)
    return target.takeError();
  const std::string machine = (*target)->recordKey(options);
  std::vector<std::string> damaged;
  std::string text;
  llvm::raw_string_ostream out(text);
  RecordStore store(folder.str());
  int64_t shown = 0;
  const std::vector<KernelRecord> records = store.all(&damaged);
  for (const KernelRecord &record : records) {
    const std::string hash = record.key.hash();
    if (!llvm::StringRef(hash).starts_with(key))
      continue;
    ++shown;
    const bool changed = record.chosen != record.initial;
    out << hash.substr(0, 12) << "  " << record.operations << "  "
        << (changed ? record.chosen : "default (" + record.initial + ")");
    if (changed && !record.seen.empty())
      out << "  " << numberText("%.3f", record.chosenRatio()) << " of the default's time";
    out << "\n";
    if (key.empty())
      continue;
    out << "  signature  " << record.key.signature << "\n  target     " << record.key.target << "\n  machine    "
        << record.key.machine << "\n  epoch      " << record.key.epoch << "\n  tier       " << record.tier << ", "
        << record.measurements << " schedules measured, noise " << numberText("%.1f%%", 100 * record.noise)
        << "\n  default    " << record.initial << ", " << numberText("%.1f us", record.initialNanoseconds / 1000)
        << "\n  verdict    " << record.verdict << "\n";
    for (const SeenSchedule &seen : record.seen)
      out << "  seen       " << seen.schedule << "  "
          << numberText("%.3f [%.3f, %.3f]", seen.ratio, seen.low, seen.high) << "\n";
    for (const auto &[schedule, reason] : record.failures)
      out << "  failed     " << schedule << "  " << reason << "\n";
    if (record.key.target != options.target)
      out << "  not used here: it is for target " << record.key.target << "\n";
    else if (record.key.machine != machine)
      out << "  not used here: " << tuner::otherMachine(record.key.machine, machine) << "\n";
    else
      out << "  used here for kernels of this signature, as long as the compiler's epoch is " << record.key.epoch
          << "\n";
  }
  for (const std::string &file : damaged)
    out << "damaged, not used: " << file << "\n";
  if (shown == 0 && !key.empty())
    return llvm::createStringError(
        "no record in '" + folder + "' has a key that begins with '" + key +
        "'; kernels with such a key use the default schedule. `tilewright tune --list MODEL` "
        "prints the keys of a model");
  out << shown << (shown == 1 ? " record" : " records") << " in " << folder;
  if (shown > 0)
    out << numberText("; a compile finds one in %.3f ms (median)", lookUpTime(store, records));
  out << "\n";
  return text;
}

llvm::Expected<int64_t> mergeRecords(llvm::StringRef from, llvm::StringRef to, std::vector<std::string> &warnings) {
  if (!llvm::sys::fs::is_directory(from))
    return llvm::createStringError("there is no folder '" + from + "'");
  RecordStore source(from.str()), target(to.str());
  int64_t copied = 0;
  for (const KernelRecord &record : source.all(&warnings)) {
    std::string why;
    std::optional<KernelRecord> there = target.find(record.key, why);
    if (there && there->measurements >= record.measurements)
      continue;
    if (llvm::Error failed = target.store(record, /*replace=*/false))
      return std::move(failed);
    ++copied;
  }
  return copied;
}

} // namespace tilewright

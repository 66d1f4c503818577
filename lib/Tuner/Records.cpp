//===- Records.cpp - measured schedules, stored in files --------------------------------------===//
//
// Test: test/Unit/Tuner/RecordsTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Records.h"
#include "dialects/Schedule/KnobNames.h"
#include "lib/Interfaces/JsonText.h"
#include "lib/Tuner/Digest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace json = llvm::json;

namespace tilewright::tuner {
namespace {

constexpr int64_t recordFormat = 1;

std::string printed(const json::Value &value) { return jsonText(value, 2); }

json::Array pair(llvm::StringRef a, llvm::StringRef b) {
  return json::Array{json::Value(a.str()), json::Value(b.str())};
}

/// Waits for the folder's lock and holds it during the object's lifetime.
class FolderLock {
public:
  explicit FolderLock(llvm::StringRef folder) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "lock");
    file = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (file >= 0)
      flock(file, LOCK_EX);
  }
  ~FolderLock() {
    if (file >= 0)
      close(file);
  }
  FolderLock(const FolderLock &) = delete;

private:
  int file = -1;
};

llvm::Error writeWhole(const std::string &path, llvm::StringRef text) {
  llvm::SmallString<128> temporary;
  int file = -1;
  if (std::error_code code = llvm::sys::fs::createUniqueFile(path + ".%%%%%%", file, temporary))
    return llvm::createStringError(code, "cannot write '%s'", path.c_str());
  std::error_code problem;
  {
    llvm::raw_fd_ostream out(file, /*shouldClose=*/false);
    out << text;
    out.flush();
    problem = out.error();
    out.clear_error();
  }
  if (!problem && fsync(file) != 0)
    problem = std::error_code(errno, std::generic_category());
  close(file);
  if (!problem)
    problem = llvm::sys::fs::rename(temporary, path);
  if (!problem)
    return llvm::Error::success();
  (void)llvm::sys::fs::remove(temporary);
  return llvm::createStringError(problem, "cannot write the record '%s'", path.c_str());
}

/// Merges the measured schedules of `second` into `first`. If both have measured a schedule, the entry of `first` is
/// kept.
void unite(KernelRecord &first, const KernelRecord &second) {
  for (const SeenSchedule &seen : second.seen)
    if (llvm::none_of(first.seen, [&](auto &other) { return other.schedule == seen.schedule; }))
      first.seen.push_back(seen);
  llvm::stable_sort(first.seen, [](auto &a, auto &b) { return a.ratio < b.ratio; });
  if (first.seen.size() > KernelRecord::mostSeen)
    first.seen.resize(KernelRecord::mostSeen);
  for (const auto &failure : second.failures)
    if (llvm::none_of(first.failures, [&](auto &other) { return other.first == failure.first; }))
      first.failures.push_back(failure);
}
} // namespace

std::string RecordKey::hash() const { return digest(signature + "\n" + target + "\n" + machine + "\n" + epoch); }

json::Value toJson(const KernelRecord &record) {
  json::Array sizes, seen, failures;
  for (int64_t size : record.sizes)
    sizes.push_back(size);
  for (const SeenSchedule &entry : record.seen)
    seen.push_back(
        json::Object{{"schedule", entry.schedule}, {"ratio", entry.ratio}, {"low", entry.low}, {"high", entry.high}});
  for (const auto &[schedule, reason] : record.failures)
    failures.push_back(pair(schedule, reason));
  json::Object object{{"format", recordFormat},
                      {"signature", record.key.signature},
                      {"target", record.key.target},
                      {"machine", record.key.machine},
                      {"epoch", record.key.epoch},
                      {"rates", record.rates},
                      {"family", record.family},
                      {"sizes", std::move(sizes)},
                      {"operations", record.operations},
                      {"initial", record.initial},
                      {"chosen", record.chosen},
                      {"initial_class", record.initialClass},
                      {"chosen_class", record.chosenClass},
                      {"tier", record.tier},
                      {"verdict", record.verdict},
                      {"measurements", record.measurements},
                      {"initial_nanoseconds", std::round(record.initialNanoseconds)},
                      {"noise", record.noise},
                      {"seen", std::move(seen)},
                      {"failures", std::move(failures)}};
  std::string text = printed(json::Object(object));
  object["checksum"] = digest(text);
  return object;
}

std::optional<KernelRecord> fromJson(llvm::StringRef text, std::string &why) {
  auto refuse = [&](const llvm::Twine &reason) {
    why = reason.str();
    return std::nullopt;
  };
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value)
    return refuse("it is not JSON: " + llvm::toString(value.takeError()));
  json::Object *object = value->getAsObject();
  if (!object)
    return refuse("it is not an object");
  if (object->getInteger("format") != recordFormat)
    return refuse("its format is not " + llvm::Twine(recordFormat));
  std::optional<llvm::StringRef> sum = object->getString("checksum");
  if (!sum)
    return refuse("it has no checksum");
  const std::string expected = sum->str();
  object->erase("checksum");
  if (digest(printed(json::Object(*object))) != expected)
    return refuse("its checksum is wrong: the file was damaged or edited");
  KernelRecord record;
  bool complete = true;
  auto string = [&](llvm::StringRef name) {
    std::optional<llvm::StringRef> found = object->getString(name);
    complete &= found.has_value();
    return found.value_or("").str();
  };
  auto number = [&](const json::Object &from, llvm::StringRef name) {
    std::optional<double> found = from.getNumber(name);
    complete &= found.has_value();
    return found.value_or(0);
  };
  record.key = {string("signature"), string("target"), string("machine"), string("epoch")};
  record.rates = object->getString("rates").value_or("").str();
  record.family = string("family");
  record.operations = string("operations");
  record.initial = schedule::withPresentKnobNames(string("initial"));
  record.chosen = schedule::withPresentKnobNames(string("chosen"));
  record.initialClass = schedule::withPresentKnobNames(string("initial_class"));
  record.chosenClass = schedule::withPresentKnobNames(string("chosen_class"));
  record.tier = string("tier");
  record.verdict = string("verdict");
  record.measurements = int64_t(number(*object, "measurements"));
  record.initialNanoseconds = number(*object, "initial_nanoseconds");
  record.noise = number(*object, "noise");
  for (const char *name : {"sizes", "seen", "failures"})
    complete &= object->getArray(name) != nullptr;
  if (!complete)
    return refuse("fields are missing");
  for (const json::Value &size : *object->getArray("sizes"))
    record.sizes.push_back(size.getAsInteger().value_or(0));
  for (const json::Value &entry : *object->getArray("seen"))
    if (const json::Object *seen = entry.getAsObject())
      record.seen.push_back({schedule::withPresentKnobNames(seen->getString("schedule").value_or("")),
                             number(*seen, "ratio"), number(*seen, "low"), number(*seen, "high")});
  for (const json::Value &entry : *object->getArray("failures"))
    if (const json::Array *both = entry.getAsArray(); both && both->size() == 2)
      record.failures.emplace_back(schedule::withPresentKnobNames((*both)[0].getAsString().value_or("")),
                                   (*both)[1].getAsString().value_or("").str());
  if (!complete)
    return refuse("fields are missing");
  return record;
}

std::string RecordStore::path(const RecordKey &key) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, key.hash() + ".json");
  return path.str().str();
}

std::optional<KernelRecord> RecordStore::find(const RecordKey &key, std::string &why) const {
  auto buffer = llvm::MemoryBuffer::getFile(path(key));
  if (!buffer) {
    why = "there is no record";
    return std::nullopt;
  }
  std::optional<KernelRecord> record = fromJson((*buffer)->getBuffer(), why);
  if (record && !(record->key == key)) {
    why = "the file is the record of another kernel";
    return std::nullopt;
  }
  return record;
}

llvm::Error RecordStore::store(const KernelRecord &given, bool replace) const {
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(code, "cannot make the folder of records '%s'", folder.c_str());
  FolderLock lock(folder);
  KernelRecord record = given;
  std::string why;
  if (std::optional<KernelRecord> there = find(given.key, why)) {
    if (!replace && there->measurements > given.measurements) {
      record = *there;
      unite(record, given);
    } else {
      unite(record, *there);
    }
  }
  return writeWhole(path(record.key), printed(toJson(record)) + "\n");
}

std::vector<KernelRecord> RecordStore::all(std::vector<std::string> *damaged) const {
  std::vector<KernelRecord> records;
  std::vector<std::string> files;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(folder, code), end; it != end && !code; it.increment(code))
    if (llvm::sys::path::extension(it->path()) == ".json")
      files.push_back(it->path());
  llvm::sort(files);
  for (const std::string &file : files) {
    std::string why = "it cannot be read";
    auto buffer = llvm::MemoryBuffer::getFile(file);
    std::optional<KernelRecord> record;
    if (buffer)
      record = fromJson((*buffer)->getBuffer(), why);
    if (record && path(record->key) != file &&
        llvm::sys::path::filename(path(record->key)) != llvm::sys::path::filename(file)) {
      record.reset();
      why = "its name does not match its key";
    }
    if (record)
      records.push_back(std::move(*record));
    else if (damaged)
      damaged->push_back(llvm::sys::path::filename(file).str() + ": " + why);
  }
  return records;
}

std::vector<KernelRecord> RecordStore::similar(const KernelRecord &of, size_t most) const {
  return nearestRecords(all(), of, most);
}

double KernelRecord::chosenRatio() const {
  for (const SeenSchedule &each : seen)
    if (each.schedule == chosen)
      return each.ratio;
  return 1;
}

std::string otherMachine(llvm::StringRef measured, llvm::StringRef here) {
  auto [machine, threads] = measured.rsplit('|');
  auto [thisMachine, theseThreads] = here.rsplit('|');
  if (machine == thisMachine && !threads.empty() && !theseThreads.empty())
    return ("it was measured with " + threads + " threads, but the number of threads here is " + theseThreads +
            " (--threads, options={\"threads\": ...}, torch.set_num_threads())")
        .str();
  return ("it was measured on another machine (" + measured + "); this one is " + here).str();
}

std::vector<KernelRecord> nearestRecords(llvm::ArrayRef<KernelRecord> records, const KernelRecord &of, size_t most) {
  std::vector<std::pair<double, const KernelRecord *>> near;
  for (const KernelRecord &record : records) {
    if (record.family != of.family || record.key.target != of.key.target || record.key.machine != of.key.machine ||
        record.sizes.size() != of.sizes.size() || record.key == of.key)
      continue;
    double distance = 0;
    for (auto [a, b] : llvm::zip_equal(record.sizes, of.sizes))
      distance += std::abs(std::log2(double(std::max<int64_t>(a, 1))) - std::log2(double(std::max<int64_t>(b, 1))));
    near.emplace_back(distance, &record);
  }
  llvm::stable_sort(near, [](auto &a, auto &b) { return a.first < b.first; });
  std::vector<KernelRecord> nearest;
  for (auto [distance, record] : near)
    if (nearest.size() < most)
      nearest.push_back(*record);
  return nearest;
}

} // namespace tilewright::tuner

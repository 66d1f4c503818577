//===- Table.cpp - recorded times of every schedule of a kernel --------------------------------------===//
//
// Test: test/Unit/Tuner/TableTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Table.h"
#include "lib/Interfaces/JsonText.h"
#include "lib/Interfaces/SpaceText.h"
#include "lib/Tuner/WriteFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace json = llvm::json;

namespace tilewright::tuner {
namespace {

/// Returns a valid file name such as "matmul_add-512-768-768-768-0a1b2c": operations, sizes, and the beginning of the
/// hash of the family.
std::string fileName(const Table &table) {
  std::string name;
  for (char c : table.operations)
    name += llvm::isAlnum(c) ? c : '_';
  if (name.size() > 40)
    name.resize(40);
  for (int64_t size : table.sizes)
    name += "-" + std::to_string(size);
  if (name.size() > 90)
    name.resize(90);
  return name + "-" + table.family.substr(0, 6);
}

json::Array rounded(const std::vector<double> &values) {
  json::Array array;
  for (double value : values)
    array.push_back(int64_t(std::llround(value)));
  return array;
}

bool readTimes(const json::Array *array, std::vector<double> &into) {
  for (const json::Value &value : array ? *array : json::Array())
    into.push_back(value.getAsNumber().value_or(0));
  return array != nullptr;
}

class SimulatedBench final : public Bench {
public:
  SimulatedBench(const Table &table, const Disturbance &disturbance, uint64_t seed)
      : table(table), disturbance(disturbance), random(seed) {
    // The same schedules fail in all runs of this simulated device.
    std::uniform_real_distribution<double> uniform;
    for (size_t i = 0; i < table.searched.points.size(); ++i) {
      number[table.searched.points[i]] = i;
      const bool own = table.searched.points[i] == table.searched.space.initial();
      double drawn = uniform(random);
      faults.push_back(!own && drawn < disturbance.faults ? 1 + int(random() % 3) : 0);
    }
  }

  std::vector<Lane> race(const std::vector<SchedulePoint> &points, int rounds, double) override {
    static constexpr const char *names[] = {"", "the worker died: Segmentation fault",
                                            "it did not end within 20.0 seconds", "the worker died: Killed"};
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    std::vector<Lane> lanes(points.size());
    for (int round = 0; round < rounds; ++round) {
      const double common = std::exp(disturbance.drift * normal(random));
      for (size_t i = 0; i < points.size(); ++i) {
        auto found = number.find(points[i]);
        const double time = found == number.end() ? 0 : table.nanoseconds[found->second];
        const int fault = found == number.end() ? 0 : faults[found->second];
        if (time <= 0 || fault) {
          lanes[i].failure = fault ? std::string("running: ") + names[fault] : "compiling: not in the table";
          continue;
        }
        double seen = time * common * std::exp(disturbance.noise * normal(random));
        if (uniform(random) < disturbance.spikes)
          seen *= 1.5;
        lanes[i].nanoseconds.push_back(seen);
      }
    }
    return lanes;
  }

  std::string check(const SchedulePoint &) override { return ""; }

private:
  const Table &table;
  Disturbance disturbance;
  std::mt19937_64 random;
  std::map<SchedulePoint, size_t> number;
  std::vector<int> faults;
};
} // namespace

llvm::Error writeTable(const Table &table, llvm::StringRef folder) {
  json::Array sizes;
  for (int64_t size : table.sizes)
    sizes.push_back(size);
  llvm::Expected<json::Value> space = parseJson(spaceToText(table.searched.space));
  if (!space)
    return space.takeError();
  json::Object object{{"operations", table.operations},
                      {"family", table.family},
                      {"machine", table.machine},
                      {"sizes", std::move(sizes)},
                      {"space", std::move(*space)},
                      {"predicted", rounded(table.searched.predicted)},
                      {"nanoseconds", rounded(table.nanoseconds)},
                      {"outside", rounded(table.outside)}};
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, fileName(table) + ".json");
  return writeFile(path.str().str(),
                   [&](llvm::raw_ostream &out) { out << jsonText(json::Value(std::move(object))) + "\n"; });
}

llvm::Expected<std::vector<Table>> readTables(llvm::StringRef folder) {
  std::vector<std::string> files;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(folder, code), end; it != end && !code; it.increment(code))
    if (llvm::sys::path::extension(it->path()) == ".json")
      files.push_back(it->path());
  if (code)
    return llvm::createStringError(code, "cannot read the folder '%s'", folder.str().c_str());
  std::sort(files.begin(), files.end());
  std::vector<Table> tables;
  for (const std::string &file : files) {
    auto refuse = [&](const llvm::Twine &why) {
      return llvm::createStringError("'" + file + "' is not a table: " + why);
    };
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer)
      return llvm::createStringError(buffer.getError(), "cannot read '%s'", file.c_str());
    llvm::Expected<json::Value> value = parseJson((*buffer)->getBuffer());
    if (!value)
      return refuse(llvm::toString(value.takeError()));
    const json::Object *object = value->getAsObject();
    const json::Value *space = object ? object->get("space") : nullptr;
    if (!space)
      return refuse("it has no schedule space");
    Table &table = tables.emplace_back();
    table.name = llvm::sys::path::stem(file).str();
    table.operations = object->getString("operations").value_or("").str();
    table.family = object->getString("family").value_or("").str();
    table.machine = object->getString("machine").value_or("").str();
    std::string why;
    std::optional<ScheduleSpace> read = spaceFromText(jsonText(*space), why);
    if (!read)
      return refuse(why);
    table.searched.space = std::move(*read);
    table.searched.points = table.searched.space.points();
    const size_t count = table.searched.points.size();
    if (const json::Array *sizes = object->getArray("sizes"))
      for (const json::Value &size : *sizes)
        table.sizes.push_back(size.getAsInteger().value_or(0));
    if (!readTimes(object->getArray("nanoseconds"), table.nanoseconds) ||
        !readTimes(object->getArray("predicted"), table.searched.predicted) || table.nanoseconds.size() != count ||
        (!table.searched.predicted.empty() && table.searched.predicted.size() != count))
      return refuse("the numbers of its times and its schedules differ");
    (void)readTimes(object->getArray("outside"), table.outside); // older tables do not have this list
  }
  return tables;
}

std::unique_ptr<Bench> simulatedBench(const Table &table, const Disturbance &disturbance, uint64_t seed) {
  return std::make_unique<SimulatedBench>(table, disturbance, seed);
}

} // namespace tilewright::tuner

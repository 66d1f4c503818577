//===- Replay.cpp - run the tuner on recorded tables ----------------------------------------------------===//
//
// Test: test/Unit/Tuner/TableTest.cpp, test/Tuner/replay.test
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Table.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace tuner {
namespace {

/// Returns the recorded time of `point`, or 0 if there is none.
double timeOf(const Table &table, const SchedulePoint &point) {
  for (size_t i = 0; i < table.searched.points.size(); ++i)
    if (table.searched.points[i] == point)
      return table.nanoseconds[i];
  return 0;
}

double bestOf(const Table &table) {
  double best = 0;
  for (const std::vector<double> *times : {&table.nanoseconds, &table.outside})
    for (double time : *times)
      if (time > 0 && (best == 0 || time < best))
        best = time;
  return best;
}

struct Tunings {
  double logarithms = 0, measurements = 0;
  int lost = 0, slower = 0, runs = 0;
  std::vector<std::pair<SchedulePoint, double>> chosen;

  void add(const Table &table, const SearchResult &result, double best) {
    ++runs;
    const double time = timeOf(table, result.best), own = timeOf(table, table.searched.space.initial());
    if (time <= 0) {
      ++lost;
      return;
    }
    logarithms += std::log(best / time);
    measurements += result.measurements;
    slower += time > 1.01 * own;
    chosen.emplace_back(result.best, time);
  }
  double score() const { return chosen.empty() ? 0 : std::exp(logarithms / double(chosen.size())); }
  double agreed() const {
    int same = 0, pairs = 0;
    for (size_t a = 0; a < chosen.size(); ++a)
      for (size_t b = a + 1; b < chosen.size(); ++b, ++pairs) {
        const auto &[pointA, timeA] = chosen[a];
        const auto &[pointB, timeB] = chosen[b];
        same += pointA == pointB || std::abs(timeA / timeB - 1) < 0.02;
      }
    return pairs == 0 ? 1 : double(same) / pairs;
  }
};

/// Returns the best schedules of other tables of the same family, the nearest sizes first.
std::vector<SchedulePoint> pointsOfSimilar(const Table &table, const std::vector<Table> &all) {
  std::vector<std::pair<double, SchedulePoint>> near;
  for (const Table &other : all) {
    if (&other == &table || other.family != table.family || other.sizes.size() != table.sizes.size())
      continue;
    double distance = 0;
    for (size_t i = 0; i < table.sizes.size(); ++i)
      distance += std::abs(std::log2(double(std::max<int64_t>(1, table.sizes[i]))) -
                           std::log2(double(std::max<int64_t>(1, other.sizes[i]))));
    std::vector<size_t> order;
    for (size_t i = 0; i < other.nanoseconds.size(); ++i)
      if (other.nanoseconds[i] > 0)
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return other.nanoseconds[a] < other.nanoseconds[b]; });
    for (size_t best = 0; best < std::min(order.size(), bestOfSimilar); ++best) {
      std::vector<std::pair<std::string, int64_t>> values;
      for (size_t knob = 0; knob < other.searched.space.knobs.size(); ++knob)
        values.emplace_back(other.searched.space.knobs[knob].name, other.searched.points[order[best]][knob]);
      near.emplace_back(distance, table.searched.space.nearest(values));
    }
  }
  std::stable_sort(near.begin(), near.end(), [](auto &a, auto &b) { return a.first < b.first; });
  std::vector<SchedulePoint> points;
  for (auto &[distance, point] : near)
    points.push_back(std::move(point));
  return points;
}
} // namespace
} // namespace tuner

llvm::Expected<std::vector<ReplayedTable>> replayTables(llvm::StringRef folder, const ReplayOptions &options) {
  using namespace tuner;
  llvm::Expected<std::vector<Table>> tables = readTables(folder);
  if (!tables)
    return tables.takeError();
  if (tables->empty())
    return llvm::createStringError("there are no tables in '" + folder + "'");
  Disturbance disturbance;
  disturbance.noise = options.noise;
  disturbance.drift = options.noise;
  disturbance.faults = options.faults;
  std::vector<ReplayedTable> rows;
  for (const Table &table : *tables) {
    ReplayedTable &row = rows.emplace_back();
    row.name = table.name;
    row.points = int64_t(table.searched.points.size());
    row.outside = int64_t(table.outside.size());
    const double best = bestOf(table);
    std::vector<double> good;
    for (const std::vector<double> *times : {&table.nanoseconds, &table.outside})
      for (double time : *times)
        if (time > 0)
          good.push_back(time);
    row.spread = median(good) / best;
    row.initial = best / timeOf(table, table.searched.space.initial());
    Tunings quick, full, transfer;
    // On this simulated device, all schedules take the same time, so that measured differences are only noise.
    Table flat = table;
    for (double &time : flat.nanoseconds)
      time = time > 0 ? best : 0;
    int wrong = 0;
    for (int run = 0; run < options.runs; ++run) {
      const uint64_t seed = options.seed + uint64_t(run) * 7919 + 1;
      SearchOptions search;
      quick.add(table, tuner::search(table.searched, *simulatedBench(table, disturbance, seed), search), best);
      search.tier = TuneTier::Full;
      full.add(table, tuner::search(table.searched, *simulatedBench(table, disturbance, seed + 1), search), best);
      search.tier = TuneTier::Quick;
      wrong += !tuner::search(flat.searched, *simulatedBench(flat, disturbance, seed + 2), search).isDefault;
      search.similar = pointsOfSimilar(table, *tables);
      search.measurements = 4;
      if (!search.similar.empty())
        transfer.add(table, tuner::search(table.searched, *simulatedBench(table, disturbance, seed + 3), search), best);
    }
    row.quick = quick.score();
    row.full = full.score();
    row.quickMeasurements = quick.runs ? quick.measurements / quick.runs : 0;
    row.fullMeasurements = full.runs ? full.measurements / full.runs : 0;
    row.agreed = (quick.agreed() + full.agreed()) / 2;
    row.falseWins = options.runs ? double(wrong) / options.runs : 0;
    row.slower = double(quick.slower + full.slower) / std::max(1, quick.runs + full.runs);
    row.lost = quick.lost + full.lost;
    row.transfer = transfer.runs ? transfer.score() : 0;
  }
  return rows;
}

} // namespace tilewright

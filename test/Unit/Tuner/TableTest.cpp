//===- TableTest.cpp - the tuner on tables, with noise and faults -------------------------------===//
#include "lib/Tuner/Table.h"
#include "tilewright/Tuner.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::tuner;

namespace {

/// Returns a table for a product with `rows` x 768 results. The cost model does not predict the fastest schedule of the
/// table.
Table table(int64_t rows = 512) {
  Table made;
  made.operations = "matmul";
  made.family = "0123456789";
  made.machine = "made up";
  made.sizes = {rows, 768};
  ScheduleSpace &space = made.searched.space;
  space.knobs = {{"tile0", {16, 32, 64, 128, 256, 512}, 128},
                 {"tile1", {48, 96, 192, 384, 768}, 48},
                 {"order", {0, 1}, 0},
                 {"k_block", {128, 256, 512}, 128, true}};
  space.constraints = {{Constraint::Kind::TasksAtLeast, {0, 1}, {rows, 768}, 1, 2, 0, "every thread has a task"}};
  made.searched.points = space.points();
  for (const SchedulePoint &point : made.searched.points) {
    const double a = std::log2(double(point[0])), b = std::log2(double(point[1]) / 48), d = std::log2(double(point[3]));
    made.searched.predicted.push_back(1e6 * (1 + 0.05 * std::abs(a - 7) + 0.04 * b));
    made.nanoseconds.push_back(
        1e6 * (1 + 0.08 * std::abs(a - 6) + 0.06 * std::abs(b - 2) + 0.05 * std::abs(d - 8) + (point[2] ? 0 : 0.02)));
  }
  return made;
}

class Tables : public ::testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> made;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tables", made));
    folder = made.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }
  std::string folder;
};
} // namespace

TEST_F(Tables, RoundTrip) {
  Table made = table();
  ASSERT_FALSE(bool(writeTable(made, folder)));
  llvm::Expected<std::vector<Table>> read = readTables(folder);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front().searched.points, made.searched.points);
  EXPECT_EQ(read->front().sizes, made.sizes);
  for (size_t i = 0; i < made.nanoseconds.size(); ++i)
    EXPECT_NEAR(read->front().nanoseconds[i], made.nanoseconds[i], 0.5);
  std::error_code code;
  llvm::raw_fd_ostream(folder + "/z.json", code) << "{\"space\": {}}";
  read = readTables(folder);
  ASSERT_FALSE(bool(read));
  EXPECT_NE(llvm::toString(read.takeError()).find("is not a table: it is not a schedule space"), std::string::npos);
}

TEST_F(Tables, TheSameSeedGivesTheSameTimes) {
  Table made = table();
  auto times = [&](uint64_t seed) {
    return simulatedBench(made, Disturbance(), seed)->race({made.searched.points[3]}, 5, 0)[0].nanoseconds;
  };
  EXPECT_EQ(times(1), times(1));
  EXPECT_NE(times(1), times(2));
}

TEST_F(Tables, FaultsOfWorkersLoseNoSession) {
  Table made = table();
  Disturbance disturbance;
  disturbance.faults = 0.3;
  int faults = 0;
  for (uint64_t seed = 0; seed < 25 || faults < 100; ++seed) {
    ASSERT_LT(seed, 200u);
    SearchResult result = search(made.searched, *simulatedBench(made, disturbance, seed), {});
    EXPECT_TRUE(result.decided) << result.verdict;
    faults += int(result.failures.size());
    for (const auto &[point, reason] : result.failures)
      EXPECT_NE(point, result.best) << "what failed was chosen: " << reason;
  }
}

TEST_F(Tables, ReplayReportsTheDistanceToTheBest) {
  for (int64_t rows : {512, 384})
    ASSERT_FALSE(bool(writeTable(table(rows), folder)));
  ReplayOptions options;
  options.runs = 10;
  llvm::Expected<std::vector<ReplayedTable>> rows = replayTables(folder, options);
  ASSERT_TRUE(bool(rows)) << llvm::toString(rows.takeError());
  ASSERT_EQ(rows->size(), 2u);
  for (const ReplayedTable &row : *rows) {
    EXPECT_GT(row.quick, row.initial);
    EXPECT_GE(row.quick, 0.95);
    EXPECT_GE(row.full, 0.98);
    EXPECT_LE(row.quickMeasurements, 16);
    EXPECT_LE(row.fullMeasurements, 64);
    EXPECT_EQ(row.falseWins, 0);
    EXPECT_EQ(row.slower, 0);
    EXPECT_EQ(row.lost, 0);
    EXPECT_GE(row.transfer, 0.93);
  }
}

TEST_F(Tables, NoFalseWinsInAThousandRaces) {
  // All schedules take the same time, so a winner would only be the result of noise.
  Table made = table();
  std::fill(made.nanoseconds.begin(), made.nanoseconds.end(), 1e6);
  int wrong = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed)
    wrong += !search(made.searched, *simulatedBench(made, Disturbance(), seed), {}).isDefault;
  EXPECT_LT(wrong, 10);
}

TEST(RecordedTables, TunerFindsNearlyTheBestSchedules) {
  ReplayOptions options;
  options.runs = 6;
  llvm::Expected<std::vector<ReplayedTable>> rows = replayTables(TILEWRIGHT_TUNER_TABLES, options);
  ASSERT_TRUE(bool(rows)) << llvm::toString(rows.takeError());
  int large = 0, transfers = 0;
  double initial = 0, quick = 0, full = 0, transfer = 0, falseWins = 0, slower = 0, agreed = 0;
  for (const ReplayedTable &row : *rows) {
    agreed += row.agreed;
    falseWins += row.falseWins;
    slower += row.slower;
    EXPECT_EQ(row.lost, 0) << row.name;
    if (row.transfer > 0) {
      ++transfers;
      transfer += std::log(row.transfer);
    }
    if (row.points + row.outside < 200 || row.spread < 1.5)
      continue;
    ++large;
    initial += std::log(row.initial);
    quick += std::log(row.quick);
    full += std::log(row.full);
  }
  EXPECT_GE(large, 12);
  EXPECT_GE(std::exp(initial / large), 0.85);
  EXPECT_GE(std::exp(quick / large), 0.95);
  EXPECT_GE(std::exp(full / large), 0.98);
  EXPECT_GE(agreed / double(rows->size()), 0.95);
  EXPECT_GE(std::exp(transfer / transfers), 0.93);
  EXPECT_LT(falseWins / double(rows->size()), 0.01);
  EXPECT_EQ(slower, 0);
}

//===- SearchTest.cpp - search on simulated devices ----------------------------------===//
#include "lib/Tuner/Search.h"
#include "lib/Tuner/Surrogate.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace tilewright;
using namespace tilewright::tuner;

namespace {

/// Returns a space of tile0 x tile1 x order x k_block; the model's predictions depend only on the tiles.
Searched kernel() {
  Searched made;
  made.space.knobs = {{"tile0", {8, 16, 32, 64, 128, 256}, 32},
                      {"tile1", {48, 96, 192, 384, 768}, 96},
                      {"order", {0, 1}, 0},
                      {"k_block", {64, 128, 256, 512}, 128, true}};
  made.points = made.space.points();
  for (const SchedulePoint &point : made.points)
    made.predicted.push_back(1000 * (1 + 0.1 * std::abs(std::log2(double(point[0]) / 64)) +
                                     0.05 * std::abs(std::log2(double(point[1]) / 192))));
  return made;
}

double truth(const SchedulePoint &point) {
  return 1000 *
         (1 + 0.1 * std::abs(std::log2(double(point[0]) / 128)) + 0.07 * std::abs(std::log2(double(point[1]) / 192)) +
          (point[2] ? 0 : 0.05) + 0.04 * std::abs(std::log2(double(point[3]) / 256)));
}

class MadeUp : public Bench {
public:
  std::function<double(const SchedulePoint &)> time = truth;
  std::map<SchedulePoint, std::string> failures, wrong;
  std::set<SchedulePoint> seen;
  int races = 0, stopAfter = 1000, driftUntil = 0;

  std::vector<Lane> race(const std::vector<SchedulePoint> &points, int rounds, double) override {
    ++races;
    std::vector<Lane> lanes;
    for (const SchedulePoint &point : points) {
      Lane &lane = lanes.emplace_back();
      seen.insert(point);
      if (failures.count(point)) {
        lane.failure = failures[point];
        continue;
      }
      for (int round = 0; round < rounds; ++round)
        lane.nanoseconds.push_back(time(point) * (races <= driftUntil && lanes.size() == points.size() ? 1.2 : 1));
    }
    return lanes;
  }
  std::string check(const SchedulePoint &point) override { return wrong[point]; }
  bool stopped() override { return races >= stopAfter; }
};

double bestTime(const Searched &kernel) {
  double best = truth(kernel.points.front());
  for (const SchedulePoint &point : kernel.points)
    best = std::min(best, truth(point));
  return best;
}
} // namespace

TEST(Search, QuickMeasuresAtMostSixteenAndFindsNearlyTheBest) {
  Searched searched = kernel();
  MadeUp bench;
  SearchResult result = search(searched, bench, {});
  EXPECT_LE(bench.seen.size(), 16u);
  EXPECT_EQ(size_t(result.measurements), bench.seen.size());
  EXPECT_FALSE(result.isDefault);
  EXPECT_GE(bestTime(searched) / truth(result.best), 0.95);
}

TEST(Search, FullFindsTheBest) {
  Searched searched = kernel();
  MadeUp bench;
  SearchOptions options;
  options.tier = TuneTier::Full;
  SearchResult result = search(searched, bench, options);
  EXPECT_LE(bench.seen.size(), 64u);
  EXPECT_GE(bestTime(searched) / truth(result.best), 0.99);
}

TEST(Search, DeterministicStaysInTheClass) {
  Searched searched = kernel();
  MadeUp bench;
  SearchOptions options;
  options.deterministic = true;
  options.tier = TuneTier::Full;
  SearchResult result = search(searched, bench, options);
  for (const SchedulePoint &point : bench.seen)
    EXPECT_EQ(point[3], 128);
  EXPECT_EQ(result.best[3], 128);
  EXPECT_FALSE(result.isDefault);
}

TEST(Search, DefaultWinsTies) {
  Searched searched = kernel();
  MadeUp bench;
  bench.time = [&](const SchedulePoint &point) { return point == searched.space.initial() ? 1000.0 : 985.0; };
  SearchResult result = search(searched, bench, {});
  EXPECT_TRUE(result.isDefault);
  EXPECT_EQ(result.verdict, "no other schedule was faster beyond the noise");
}

TEST(Search, FailedScheduleDoesNotAffectOthers) {
  Searched searched = kernel();
  MadeUp clean;
  SearchResult first = search(searched, clean, {});
  MadeUp bench;
  bench.failures[first.best] = "running: the worker died: Segmentation fault";
  SearchResult result = search(searched, bench, {});
  EXPECT_FALSE(result.isDefault);
  EXPECT_NE(result.best, first.best);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].second, "running: the worker died: Segmentation fault");
}

TEST(Search, WrongNumbersAreNeverChosen) {
  Searched searched = kernel();
  MadeUp clean;
  SearchResult first = search(searched, clean, {});
  MadeUp bench;
  bench.wrong[first.best] = "element 3 is 7, expected 5";
  SearchResult result = search(searched, bench, {});
  EXPECT_NE(result.best, first.best);
  ASSERT_FALSE(result.failures.empty());
  EXPECT_EQ(result.failures.back().second, "wrong numbers: element 3 is 7, expected 5");
}

TEST(Search, DriftIsMeasuredAgainThenAborts) {
  Searched searched = kernel();
  MadeUp once;
  once.driftUntil = 1;
  EXPECT_FALSE(search(searched, once, {}).isDefault);
  MadeUp always;
  always.driftUntil = 1000;
  SearchResult result = search(searched, always, {});
  EXPECT_TRUE(result.isDefault);
  EXPECT_NE(result.verdict.find("speed changed by more than 5%"), std::string::npos);
}

TEST(Search, AnInterruptionKeepsTheDefault) {
  Searched searched = kernel();
  MadeUp bench;
  bench.stopAfter = 2;
  SearchResult result = search(searched, bench, {});
  EXPECT_TRUE(result.isDefault);
  EXPECT_FALSE(result.measured.empty());
}

TEST(Search, AFailingDefaultAbortsWithTheReason) {
  Searched searched = kernel();
  MadeUp bench;
  bench.failures[searched.space.initial()] = "out of memory";
  SearchResult result = search(searched, bench, {});
  EXPECT_TRUE(result.isDefault);
  EXPECT_EQ(result.verdict, "the default: the default schedule could not be measured: out of memory");
}

TEST(Search, SimilarKernelsAreMeasuredFirst) {
  Searched searched = kernel();
  MadeUp bench;
  SearchOptions options;
  options.measurements = 4;
  options.similar = {{128, 192, 1, 256}};
  SearchResult result = search(searched, bench, options);
  EXPECT_LE(bench.seen.size(), 4u);
  EXPECT_EQ(result.best, (SchedulePoint{128, 192, 1, 256}));
}

TEST(Search, TierZeroMeasuresNothing) {
  Searched searched = kernel();
  MadeUp bench;
  SearchOptions options;
  options.tier = TuneTier::Model;
  SearchResult result = search(searched, bench, options);
  EXPECT_EQ(bench.races, 0);
  EXPECT_EQ(result.best, (SchedulePoint{64, 192, 0, 128})) << "other knobs keep their defaults";
}

TEST(Surrogate, LearnsErrorsOfTheCostModel) {
  Searched searched = kernel();
  std::vector<size_t> numbers;
  std::vector<double> ratios;
  for (size_t i = 0; i < searched.points.size(); i += 7) {
    numbers.push_back(i);
    ratios.push_back(truth(searched.points[i]) / 1000);
  }
  Surrogate surrogate(searched, numbers, ratios);
  // Compares the surrogate's error with the error of the cost model, whose predictions are scaled so that the mean of
  // their log errors is 0.
  double offset = 0, error = 0, byModel = 0;
  const double count = double(searched.points.size());
  auto distance = [&](size_t i) { return std::log(truth(searched.points[i]) / searched.predicted[i]); };
  for (size_t i = 0; i < searched.points.size(); ++i)
    offset += distance(i) / count;
  for (size_t i = 0; i < searched.points.size(); ++i) {
    byModel += std::abs(distance(i) - offset) / count;
    error += std::abs(surrogate.at(i).mean - std::log(truth(searched.points[i]) / 1000)) / count;
  }
  EXPECT_LT(error, byModel * 2 / 3);
  // At a measured point, the deviation is small and no improvement is expected.
  EXPECT_LT(surrogate.at(numbers[3]).deviation, 0.02);
  EXPECT_NEAR(surrogate.expectedImprovement(numbers[3], 0.5), 0, 1e-6);
}

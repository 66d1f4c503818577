//===- TunePageTest.cpp - the drawings of a tuning and of designs --------------------===//
#include "lib/Interfaces/OperationText.h"
#include "tilewright/Tuner.h"

#include <gtest/gtest.h>
#include <regex>

using namespace tilewright;

namespace {

/// Returns the HTML page that reports the tuning of one kernel with these schedules.
std::string pageOf(std::vector<SeenSchedule> seen) {
  TuneReport report;
  report.kernels.emplace_back();
  report.kernels.front().name = "kernel_0";
  report.kernels.front().initial = report.kernels.front().chosen = "default";
  report.kernels.front().seen = std::move(seen);
  return tunePage(report, "model.mlir");
}

/// Finds all matches of the regular expression `pattern` in `page`. Returns the number in the first group of each
/// match.
std::vector<double> numbers(const std::string &page, const std::string &pattern) {
  const std::regex compiled(pattern);
  std::vector<double> found;
  for (std::sregex_iterator at(page.begin(), page.end(), compiled), end; at != end; ++at)
    found.push_back(std::stod((*at)[1]));
  return found;
}

const std::string circles = "<circle cx=\"([0-9.]+)\"";
const std::string labelEnds = "<text x=\"([0-9.]+)\" y=\"[0-9.]+\" text-anchor=\"end\">";

} // namespace

TEST(TunePage, LabelsOfLongSchedulesBeginInsideTheDrawing) {
  const std::string schedule = "tile1=102 tile2=102 tile3=512 order=1 k_block=1024 keys=512 scores=128 block=16";
  const std::vector<double> ends = numbers(pageOf({{schedule, 1.1, 1.09, 1.11}}), labelEnds);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_GE(ends.front() - 7.5 * double(schedule.size()), 0);
}

TEST(TunePage, LabelsOfLargeLatenciesBeginInsideTheDrawing) {
  DesignPoint small, large;
  small.dsp = 2, small.latency = 1'000'000'000'000, large.dsp = 2000, large.latency = 5;
  for (double end : numbers(designPage({small, large}, "model.mlir"), labelEnds))
    EXPECT_GE(end - 7.5 * 13, 0);
}

TEST(TunePage, OutlierIsAnArrowAndDoesNotSqueezeTheOthers) {
  const std::string page =
      pageOf({{"a", 0.99, 0.985, 0.995}, {"b", 1.0, 0.999, 1.001}, {"c", 1.02, 1.01, 1.03}, {"slow", 1.9, 1.8, 2.0}});
  const std::vector<double> dots = numbers(page, circles);
  ASSERT_EQ(dots.size(), 3u);
  EXPECT_GT(dots[2] - dots[0], 480.0 / 10);
  EXPECT_EQ(numbers(page, "<path d=\"M([0-9.]+) ").size(), 1u);
  EXPECT_NE(page.find(">1.900</text>"), std::string::npos);
}

TEST(TunePage, SchedulesThatAreSpreadEvenlyAreAllDots) {
  const std::string page = pageOf({{"a", 0.93, 0.92, 0.94}, {"b", 1.2, 1.19, 1.21}, {"c", 1.4, 1.39, 1.41}});
  EXPECT_EQ(numbers(page, circles).size(), 3u);
  EXPECT_EQ(page.find("<path"), std::string::npos);
}

TEST(OperationText, CountsOpsThatFollowEachOther) {
  EXPECT_EQ(shortOperations(""), "");
  EXPECT_EQ(shortOperations("matmul+add"), "matmul+add");
  EXPECT_EQ(shortOperations("add+add_one+layer_norm+layer_norm+add"), "add+add_one+layer_norm x2+add");
}

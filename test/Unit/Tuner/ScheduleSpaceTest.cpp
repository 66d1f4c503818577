//===- ScheduleSpaceTest.cpp - points, constraints, texts -----------------------===//
#include "tilewright/ScheduleSpace.h"
#include "lib/Interfaces/SpaceText.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace tilewright;

/// Returns the space of a product of 64 x 192 with panels of 48 columns.
static ScheduleSpace product() {
  ScheduleSpace space;
  space.knobs = {{"tile0", {8, 16, 32, 64}, 32},
                 {"tile1", {48, 96, 192}, 96},
                 {"order", {0, 1}, 0},
                 {"k_block", {64, 128}, 128, true}};
  space.constraints = {{Constraint::Kind::ProductAtMost, {0, 1}, {}, 4, 16384, 0, "results fit"},
                       {Constraint::Kind::TasksAtLeast, {0, 1}, {64, 192}, 1, 2, 0, "every thread has a task"},
                       {Constraint::Kind::Together, {2, 0, 1}, {0, 64, 192}, 1, 0, 1, "two directions"}};
  return space;
}

TEST(ScheduleSpace, EnumeratesPointsThatMeetEveryConstraint) {
  ScheduleSpace space = product();
  int64_t visited = 0;
  std::vector<SchedulePoint> points = space.points(&visited);
  // The expected points are all combinations of values that satisfy each constraint.
  std::vector<SchedulePoint> expected;
  for (int64_t rows : {8, 16, 32, 64})
    for (int64_t columns : {48, 96, 192})
      for (int64_t order : {0, 1})
        for (int64_t depth : {64, 128}) {
          int64_t tasks = (64 + rows - 1) / rows * ((192 + columns - 1) / columns);
          if (4 * rows * columns <= 16384 && tasks >= 2 && !(order == 1 && (rows >= 64 || columns >= 192)))
            expected.push_back({rows, columns, order, depth});
        }
  EXPECT_EQ(points, expected);
  // The enumeration prunes partial points: for 64 rows and 96 columns, it visits no values of the knobs order and
  // k_block.
  EXPECT_LT(visited, 4 + 12 + 24 + 48);
}

TEST(ScheduleSpace, ContainsTheDefault) {
  ScheduleSpace space = product();
  space.knobs[0].initial = 64;
  space.knobs[1].initial = 192; // violates both limits
  std::vector<SchedulePoint> points = space.points();
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end()));
  EXPECT_TRUE(std::find(points.begin(), points.end(), space.initial()) != points.end());
  EXPECT_TRUE(space.contains(space.initial()));
  EXPECT_FALSE(space.contains({64, 192, 0, 64}));
}

/// Returns a space of tiles with several stages, which together may take at most 2048 bytes.
static ScheduleSpace staged() {
  ScheduleSpace space;
  space.knobs = {{"rows", {16, 32, 64}, 16}, {"columns", {16, 32, 64, 128}, 16}, {"stages", {2, 3, 4}, 2}};
  Constraint memory;
  memory.kind = Constraint::Kind::SumAtMost;
  memory.terms = {{16, {0, 2}}, {8, {1, 2}}};
  memory.limit = 2048;
  memory.why = "the stages fit";
  space.constraints = {memory};
  return space;
}

TEST(ScheduleSpace, SumConstraintsPruneEarly) {
  ScheduleSpace space = staged();
  int64_t visited = 0;
  std::vector<SchedulePoint> points = space.points(&visited), expected;
  for (int64_t rows : {16, 32, 64})
    for (int64_t columns : {16, 32, 64, 128})
      for (int64_t stages : {2, 3, 4})
        if ((16 * rows + 8 * columns) * stages <= 2048)
          expected.push_back({rows, columns, stages});
  EXPECT_EQ(points, expected);
  EXPECT_LT(visited, 3 + 12 + 36);
  EXPECT_NE(space.print().find("at most 2048: 16 * rows * stages + 8 * columns * stages (the stages fit)"),
            std::string::npos);
  std::string why;
  std::optional<ScheduleSpace> again = spaceFromText(spaceToText(space), why);
  ASSERT_TRUE(again) << why;
  EXPECT_EQ(again->points(), points);
}

TEST(ScheduleSpace, PointsAreText) {
  ScheduleSpace space = product();
  std::string why;
  for (const SchedulePoint &point : space.points())
    EXPECT_EQ(space.parse(space.print(point), why), point) << why;
  EXPECT_EQ(space.print(space.initial()), "tile0=32 tile1=96 order=0 k_block=128");
  EXPECT_FALSE(space.parse("tile0=32 tile1=96 order=0", why));
  EXPECT_EQ(why, "it has no value for k_block");
  EXPECT_FALSE(space.parse("tile0=33 tile1=96 order=0 k_block=128", why));
  EXPECT_EQ(why, "tile0=33 is not one of the knob's values");
  EXPECT_FALSE(space.parse("tile9=33", why));
  EXPECT_EQ(why, "there is no knob 'tile9'");
  EXPECT_FALSE(space.parse("tile0=64 tile1=96 order=0 k_block=128", why));
  EXPECT_EQ(why, "it breaks a constraint: results fit");
  for (const char *bad : {"tile0", "=3", "tile0=", "tile0=3x", "tile0=1 =", "tile0=99999999999999999999"})
    EXPECT_FALSE(space.parse(bad, why)) << bad;
}

TEST(ScheduleSpace, NumericsClassesAreOrdersOfSums) {
  ScheduleSpace space = product();
  EXPECT_EQ(space.numericsClass({8, 48, 0, 64}), "k_block=64");
  EXPECT_EQ(space.numericsClass({8, 48, 0, 128}), space.numericsClass({32, 96, 1, 128}));
}

TEST(ScheduleSpace, NearestIsInTheSpace) {
  ScheduleSpace space = product();
  EXPECT_EQ(space.nearest({{"tile0", 10}, {"tile1", 100}, {"order", 1}, {"unknown", 5}}),
            (SchedulePoint{8, 96, 1, 128}));
  EXPECT_TRUE(space.contains(space.nearest({{"tile0", 4096}, {"tile1", 4096}, {"order", 1}})));
}

TEST(ScheduleSpace, RoundTripsThroughJson) {
  ScheduleSpace space = product();
  std::string why;
  std::optional<ScheduleSpace> again = spaceFromText(spaceToText(space), why);
  ASSERT_TRUE(again) << why;
  EXPECT_EQ(again->points(), space.points());
  EXPECT_EQ(again->print(), space.print());
  for (const char *bad :
       {"", "[]", "{}", "{\"knobs\": [{}], \"constraints\": []}",
        "{\"knobs\": [{\"name\": \"a\", \"values\": [1], \"initial\": 2}], \"constraints\": []}",
        "{\"knobs\": [], \"constraints\": [{\"kind\": \"sum at most\", \"knobs\": [], \"sizes\": []}]}",
        "{\"knobs\": [], \"constraints\": [{\"kind\": \"sum at most\", \"knobs\": [], \"sizes\": [], "
        "\"terms\": [{\"factor\": 1, \"knobs\": [0]}]}]}",
        "{\"knobs\": [], \"constraints\": [{\"kind\": \"tasks at most\", \"knobs\": [0], \"sizes\": [1]}]}"})
    EXPECT_FALSE(spaceFromText(bad, why)) << bad;
}

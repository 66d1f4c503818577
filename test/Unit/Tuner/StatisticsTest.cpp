//===- StatisticsTest.cpp - medians, intervals and winners ------------------------===//
#include "lib/Tuner/Statistics.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace tilewright::tuner;

TEST(Statistics, Median) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Statistics, IntervalsOfTheSignTest) {
  // For nine ratios 0.91 ... 0.99, the interval is from the second to the eighth (P(Binomial(9, 1/2) < 2) = 0.0195).
  std::vector<double> base(9, 1), times;
  for (int i = 1; i <= 9; ++i)
    times.push_back(0.90 + 0.01 * i);
  Ratio ratio = ratioOf(times, base);
  EXPECT_DOUBLE_EQ(ratio.median, 0.95);
  EXPECT_DOUBLE_EQ(ratio.low, 0.92);
  EXPECT_DOUBLE_EQ(ratio.high, 0.98);
  // For eight or fewer ratios, the interval is from the smallest to the largest.
  EXPECT_DOUBLE_EQ(ratioOf({1, 2, 3, 4, 5, 6}, std::vector<double>(6, 1)).high, 6);
  EXPECT_DOUBLE_EQ(ratioOf({1, 2, 3}, {1, 1, 1}).low, 1);
}

TEST(Statistics, IntervalsHoldTheMedianInNineteenOfTwenty) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  int inside = 0;
  constexpr int races = 2000;
  for (int race = 0; race < races; ++race) {
    std::vector<double> times, base(15, 1);
    for (int i = 0; i < 15; ++i)
      times.push_back(std::exp(0.05 * normal(random)));
    Ratio ratio = ratioOf(times, base);
    inside += ratio.low <= 1 && 1 <= ratio.high;
  }
  EXPECT_GE(inside, races * 95 / 100);
}

TEST(Statistics, PairingRemovesTheMachinesSpeed) {
  // The machine becomes slower in each round; one schedule is 10% faster in every round.
  std::vector<double> base, times;
  for (int i = 0; i < 10; ++i) {
    base.push_back(100 + 10 * i);
    times.push_back(0.9 * base.back());
  }
  Ratio ratio = ratioOf(times, base);
  EXPECT_NEAR(ratio.low, 0.9, 1e-12);
  EXPECT_NEAR(ratio.high, 0.9, 1e-12);
}

TEST(Statistics, WinsOnlyAboveTwoPercentAndThreeTimesTheNoise) {
  EXPECT_FALSE(wins({0.985, 0.98, 0.99}, 0));
  EXPECT_TRUE(wins({0.97, 0.96, 0.98}, 0.005));
  EXPECT_FALSE(wins({0.97, 0.96, 0.98}, 0.02));
  EXPECT_FALSE(wins({0.90, 0.80, 1.01}, 0.01)) << "its interval holds no difference";
}

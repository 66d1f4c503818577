//===- CalibrationTest.cpp - constants of the cost model ------------------===//
#include "lib/Runtime/Host/Calibration.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::runtime;

TEST(Calibration, DefaultsFollowTheDescription) {
  MachineDescription plain, tiles;
  std::string error;
  ASSERT_TRUE(describeMachine("x86-64-v3", plain, error));
  ASSERT_TRUE(describeMachine("sapphirerapids", tiles, error));
  EXPECT_LT(defaultRates(plain).f32, defaultRates(tiles).f32);
  EXPECT_GT(defaultRates(tiles).bf16, 4 * defaultRates(tiles).f32);
  EXPECT_EQ(defaultRates(plain).bf16, defaultRates(plain).f32);
}

TEST(Calibration, MeasuredRatesArePlausible) {
  MachineRates rates = measureRates();
  for (const RateName &row : rateNames) {
    EXPECT_GE(rates.*row.value, 1) << row.name;
    EXPECT_EQ(rates.*row.value, roundRate(rates.*row.value)) << row.name;
  }
  EXPECT_GT(rates.l2, rates.dram);
  EXPECT_LT(rates.task, 1000);
  EXPECT_LT(rates.kernel, 1e6);
}

TEST(Calibration, HostIsNamed) { EXPECT_GT(rateIdentity().size(), 20u); }

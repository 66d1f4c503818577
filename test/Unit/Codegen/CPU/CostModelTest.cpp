//===- CostModelTest.cpp - schedules that the model selects ---------------===//
#include "lib/Codegen/CPU/Schedule/CostModel.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::tiled;

/// Returns a machine with an L2 cache of 2 MiB, like servers with AMX.
static CostMachine server() {
  CostMachine machine;
  machine.rates.f32 = 181;
  machine.rates.bf16 = 2900;
  machine.rates.l2 = 128;
  machine.rates.l3 = 26.9;
  machine.cacheBytes = 2 << 20;
  machine.sharedBytes = int64_t(105) << 20;
  return machine;
}

static ProductShape f32Product(int64_t m, int64_t n, int64_t k) {
  ProductShape shape;
  shape.m = m;
  shape.panels = (n + 47) / 48;
  shape.k = k;
  shape.rate = server().rates.f32;
  return shape;
}

static ProductShape bf16Product(int64_t m, int64_t n, int64_t k) {
  ProductShape shape = f32Product(m, n, k);
  shape.panels = (n + 31) / 32;
  shape.panelColumns = 32;
  shape.bytes = 2;
  shape.rate = server().rates.bf16;
  shape.tiles = true;
  return shape;
}

// In measurements on two threads, tiles of 32 and 64 rows took 1.22 and 1.06 times as long as tiles of 128 rows
// (docs/decisions/0017-cost-model.md).
TEST(CostModel, MoreRowsPerTaskReadWeightsLessOften) {
  ProductShape shape = f32Product(128, 4096, 1024);
  auto time = [&](int64_t rows) { return costOfProduct(shape, {rows, 1}, server()).nanoseconds; };
  EXPECT_GT(time(32), 1.05 * time(128));
  EXPECT_LT(time(32), 1.4 * time(128));
  EXPECT_GT(time(64), 1.01 * time(128));
}

// If the rows of a task do not fit into the L2 cache, they are read again for each panel: tasks of 512 rows took 1.96
// times as long as tasks of 256 rows (docs/decisions/0017-cost-model.md).
TEST(CostModel, RowsThatExceedTheCacheTakeLonger) {
  ProductShape shape = bf16Product(2048, 2048, 2048);
  EXPECT_GT(costOfProduct(shape, {512, 1}, server()).nanoseconds,
            1.3 * costOfProduct(shape, {256, 1}, server()).nanoseconds);
}

TEST(CostModel, ProductWithLongSumUsesSeveralPanels) {
  ProductTiles tiles = chooseProductTiles(f32Product(128, 768, 3072), 32, 256, server());
  EXPECT_EQ(tiles.rows, 128);
  EXPECT_GT(tiles.panels, 1);
}

// With tiles of 128 rows, a product with 197 rows reads its weights twice (docs/decisions/0017-cost-model.md).
TEST(CostModel, UnknownRowsUseTilesForManyRows) {
  EXPECT_EQ(chooseTilesForAnyRows(f32Product(128, 3072, 768), 256, server()).rows, 256);
  EXPECT_GE(chooseTilesForAnyRows(bf16Product(128, 3072, 768), 512, server()).rows, 256);
  // A tile's rows are a multiple of the micro-kernel's rows, also if more rows (here 170) are allowed.
  EXPECT_EQ(chooseTilesForAnyRows(bf16Product(128, 768, 3072), 170, server()).rows, 128);
}

TEST(CostModel, TasksAreBalancedOverThreads) {
  for (int64_t threads : {2, 3, 4, 7}) {
    CostMachine machine = server();
    machine.threads = threads;
    ProductShape shape = f32Product(128, 768, 768);
    ProductTiles tiles = chooseProductTiles(shape, 32, 256, machine);
    int64_t tasks = (shape.m + tiles.rows - 1) / tiles.rows * ((shape.panels + tiles.panels - 1) / tiles.panels);
    EXPECT_GE(tasks, threads);
    // The time on several threads is at most 1.34 times the time on one thread divided by the number of threads.
    CostMachine alone = machine;
    alone.threads = 1;
    EXPECT_LT(costOfProduct(shape, tiles, machine).nanoseconds * double(threads),
              1.34 * costOfProduct(shape, tiles, alone).nanoseconds);
  }
}

TEST(CostModel, EvenGridCostsTheSumOfItsTasks) {
  // `shape` has the largest number of tasks that is simulated one by one, and `twice` has more. `twice` must take twice
  // the time.
  CostMachine machine = server();
  ProductShape shape = f32Product(64 * 64, 48 * 2, 256), twice = f32Product(2 * 64 * 64, 48 * 2, 256);
  double once = costOfProduct(shape, {64, 1}, machine).nanoseconds - machine.rates.kernel;
  double both = costOfProduct(twice, {64, 1}, machine).nanoseconds - machine.rates.kernel;
  EXPECT_NEAR(both / once, 2, 0.05);
}

TEST(CostModel, PreparedOperandsAreShared) {
  ProductShape shape = f32Product(128, 768, 768);
  shape.bytes = 2;
  shape.prepared = true;
  EXPECT_GT(chooseProductTiles(shape, 32, 256, server()).panels, 1);
}

TEST(CostModel, ReportsTheBottleneck) {
  EXPECT_EQ(costOfProduct(f32Product(1024, 1024, 1024), {128, 1}, server()).bound, Bound::Compute);
  // With one row, weights are read from the shared cache, or from memory if they are larger than this cache.
  EXPECT_EQ(costOfProduct(f32Product(1, 4096, 1024), {1, 1}, server()).bound, Bound::L3);
  EXPECT_EQ(costOfProduct(f32Product(1, 32768, 4096), {1, 1}, server()).bound, Bound::Dram);
  EXPECT_EQ(costOfProduct(f32Product(8, 48, 64), {8, 1}, server()).bound, Bound::Tasks); // one task for two threads
  EXPECT_EQ(schedule::describePrediction({9340, Bound::L2}), "9.3 us, L2");
  EXPECT_EQ(schedule::describePrediction({352000, Bound::Dram}), "352 us, DRAM");
}

TEST(CostModel, GrainsAreSharedIfFaster) {
  CostMachine machine = server();
  // One thread computes a kernel of a few microseconds; a large kernel uses the largest tasks.
  EXPECT_EQ(chooseGrain(4096, 8, 16384, machine), 16384);
  EXPECT_EQ(chooseGrain(1 << 24, 12, 16384, machine), 16384);
  // With 20000 elements in tasks of 16384, one thread would have most of the work.
  machine.rates.kernel = 100;
  EXPECT_LT(chooseGrain(20000, 12, 16384, machine), 16384);
  EXPECT_LT(costOfElements(20000, 12, 4096, machine).nanoseconds,
            costOfElements(20000, 12, 16384, machine).nanoseconds);
}

TEST(MachineRates, TextAndBack) {
  MachineRates rates;
  rates.f32 = 163.7;
  rates.l2 = 101;
  MachineRates read;
  ASSERT_TRUE(parseRates(printRates(rates), read));
  EXPECT_EQ(printRates(read), printRates(rates));
  EXPECT_NEAR(read.f32 / rates.f32, 1, 0.1);
  // Rates are rounded to a grid, so rates that differ by a few percent usually have the same text.
  MachineRates near = rates;
  near.f32 *= 0.98;
  EXPECT_EQ(printRates(near), printRates(rates));
  EXPECT_TRUE(parseRates("", read));
  for (const char *bad : {"f32", "f32=", "f32=x", "f32=-3", "f32=0", "f33=1", "f32=1x", "f32=nan", " f32=1"})
    EXPECT_FALSE(parseRates(bad, read)) << bad;
}

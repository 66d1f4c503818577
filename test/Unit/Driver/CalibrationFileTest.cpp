//===- CalibrationFileTest.cpp - rates stored in a file -------------------===//
#include "lib/Driver/CalibrationFile.h"

#include "llvm/Support/FileSystem.h"
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace tilewright;

namespace {
struct RatesFolder : testing::Test {
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tilewright-rates", path));
    folder = path.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string folder, reason;
};
} // namespace

TEST_F(RatesFolder, AreReadOnTheSameHostOnly) {
  EXPECT_FALSE(loadRates(folder, "a"));
  MachineRates rates;
  rates.f32 = roundRate(300);
  ASSERT_TRUE(storeRates(folder, "a", rates, reason)) << reason;
  ASSERT_TRUE(loadRates(folder, "a"));
  EXPECT_EQ(printRates(*loadRates(folder, "a")), printRates(rates));
  EXPECT_FALSE(loadRates(folder, "b"));
}

TEST_F(RatesFolder, DamagedFilesAreIgnored) {
  ASSERT_TRUE(storeRates(folder, "a", MachineRates(), reason)) << reason;
  {
    std::fstream file(ratesPath(folder, "a"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4);
    file.put('9');
  }
  EXPECT_FALSE(loadRates(folder, "a"));
  ASSERT_TRUE(storeRates(folder, "a", MachineRates(), reason)) << reason;
  EXPECT_TRUE(loadRates(folder, "a"));
}

TEST_F(RatesFolder, ManyWritersAndReadersSeeWholeFiles) {
  MachineRates fast, slow;
  fast.f32 = roundRate(1000);
  slow.f32 = roundRate(10);
  ASSERT_TRUE(storeRates(folder, "a", fast, reason)) << reason;
  std::vector<std::thread> threads;
  std::atomic<int> bad{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      std::string why;
      for (int round = 0; round < 50; ++round) {
        if (!storeRates(folder, "a", i % 2 ? fast : slow, why))
          ++bad;
        auto read = loadRates(folder, "a");
        if (!read || (read->f32 != fast.f32 && read->f32 != slow.f32))
          ++bad;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(bad, 0);
}

TEST_F(RatesFolder, UnwritableFolderIsReported) {
  std::ofstream(folder + "/calibration") << "a file";
  EXPECT_FALSE(storeRates(folder, "a", MachineRates(), reason));
  EXPECT_NE(reason.find("calibration"), std::string::npos) << reason;
}

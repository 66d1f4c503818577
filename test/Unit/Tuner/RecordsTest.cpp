//===- RecordsTest.cpp - damaged records are not used -----------------------------------===//
#include "lib/Tuner/Records.h"
#include "tilewright/Tuner.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

using namespace tilewright;
using namespace tilewright::tuner;

namespace {

class Records : public ::testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> made;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("records", made));
    folder = made.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  static KernelRecord record(int64_t measurements = 16, const std::string &signature = "abc") {
    KernelRecord made;
    made.key = {signature, "cpu", "a machine|2", "cpu-products-1"};
    made.family = "f";
    made.sizes = {512, 768};
    made.operations = "matmul+add";
    made.initial = "tile0=32 tile1=96 k_block=128";
    made.chosen = "tile0=64 tile1=96 k_block=256";
    made.initialClass = "k_block=128";
    made.chosenClass = "k_block=256";
    made.tier = "quick";
    made.verdict = "faster beyond the noise in the last race";
    made.measurements = measurements;
    made.initialNanoseconds = 352000;
    made.noise = 0.004;
    made.seen = {{"tile0=64 tile1=96 k_block=256", 0.93, 0.92, 0.94}};
    made.failures = {{"tile0=8 tile1=96 k_block=128", "running: the worker died: Killed"}};
    return made;
  }

  static std::string text(const KernelRecord &record) { return llvm::formatv("{0:2}", toJson(record)).str(); }

  std::string folder;
};
} // namespace

TEST_F(Records, RoundTrip) {
  RecordStore store(folder);
  std::string why;
  EXPECT_FALSE(store.find(record().key, why));
  EXPECT_EQ(why, "there is no record");
  ASSERT_FALSE(bool(store.store(record(), false)));
  std::optional<KernelRecord> found = store.find(record().key, why);
  ASSERT_TRUE(found) << why;
  EXPECT_EQ(text(*found), text(record()));
  // A key with another kernel, target, machine or epoch is a miss.
  for (auto change : {&RecordKey::signature, &RecordKey::target, &RecordKey::machine, &RecordKey::epoch}) {
    RecordKey key = record().key;
    key.*change += "x";
    EXPECT_FALSE(store.find(key, why));
  }
}

TEST_F(Records, DamagedRecordsAreNeverUsed) {
  RecordStore store(folder);
  ASSERT_FALSE(bool(store.store(record(), false)));
  const std::string path = store.path(record().key);
  const std::string whole = (*llvm::MemoryBuffer::getFile(path))->getBuffer().str();
  std::mt19937_64 random(7);
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = whole;
    switch (i % 3) {
    case 0: // truncation
      damaged.resize(random() % damaged.size());
      break;
    case 1: // one bit
      damaged[random() % damaged.size()] ^= char(1 << (random() % 8));
      break;
    case 2: // a repeated part
      damaged.insert(random() % damaged.size(), damaged.substr(random() % damaged.size(), 1 + random() % 20));
      break;
    }
    std::error_code code;
    llvm::raw_fd_ostream(path, code) << damaged;
    std::string why;
    std::optional<KernelRecord> found = store.find(record().key, why);
    if (!found) {
      EXPECT_FALSE(why.empty());
      continue;
    }
    // Damage to white space may not be detected; the contents must then be the same.
    EXPECT_EQ(text(*found), text(record())) << damaged;
    ++same;
  }
  EXPECT_LT(same, 150);
  std::vector<std::string> damaged;
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << "{";
  EXPECT_TRUE(store.all(&damaged).empty());
  EXPECT_EQ(damaged.size(), 1u);
}

TEST_F(Records, FormerKnobNamesAreReadAsThePresentOnes) {
  KernelRecord former = record();
  former.initial = "tile0=32 tile1=96 depth=128";
  former.chosen = "tile0=64 tile1=96 depth=256";
  former.initialClass = "depth=128";
  former.chosenClass = "depth=256";
  former.seen[0].schedule = former.chosen;
  former.failures[0].first = "tile0=8 tile1=96 depth=128";
  std::string why;
  std::optional<KernelRecord> found = fromJson(text(former), why);
  ASSERT_TRUE(found) << why;
  EXPECT_EQ(text(*found), text(record()));
}

TEST_F(Records, RecordWithMoreMeasurementsWins) {
  RecordStore store(folder);
  std::string why;
  ASSERT_FALSE(bool(store.store(record(64), false)));
  KernelRecord fewer = record(16);
  fewer.chosen = fewer.initial;
  fewer.seen = {{"tile0=16 tile1=96 k_block=128", 0.99, 0.98, 1.0}};
  ASSERT_FALSE(bool(store.store(fewer, false)));
  std::optional<KernelRecord> found = store.find(record().key, why);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->measurements, 64);
  EXPECT_EQ(found->chosen, record().chosen);
  EXPECT_EQ(found->seen.size(), 2u) << "what both have seen is kept";
  ASSERT_FALSE(bool(store.store(fewer, true)));
  EXPECT_EQ(store.find(record().key, why)->chosen, fewer.chosen);
}

TEST_F(Records, ConcurrentProcessesLoseNoRecords) {
  constexpr int processes = 8, each = 12;
  for (int process = 0; process < processes; ++process)
    if (fork() == 0) {
      RecordStore store(folder);
      bool good = true;
      for (int i = 0; i < each; ++i) {
        KernelRecord own = record(16, "kernel-" + std::to_string(process) + "-" + std::to_string(i));
        good &= !bool(store.store(own, false));
        KernelRecord shared = record(16, "shared");
        shared.seen = {{"tile0=" + std::to_string(process) + " tile1=1 k_block=1", 0.9 + 0.01 * process, 0.9, 1}};
        good &= !bool(store.store(shared, false));
      }
      _exit(good ? 0 : 1);
    }
  for (int process = 0; process < processes; ++process) {
    int status = 1;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  RecordStore store(folder);
  std::vector<std::string> damaged;
  EXPECT_EQ(store.all(&damaged).size(), size_t(processes * each + 1));
  EXPECT_TRUE(damaged.empty());
  std::string why;
  EXPECT_EQ(store.find(record(16, "shared").key, why)->seen.size(), size_t(processes));
}

TEST_F(Records, SimilarKernelsAreOrderedByDistance) {
  RecordStore store(folder);
  for (int64_t rows : {64, 256, 2048}) {
    KernelRecord near = record(16, "rows " + std::to_string(rows));
    near.sizes = {rows, 768};
    ASSERT_FALSE(bool(store.store(near, false)));
  }
  KernelRecord other = record(16, "of another family");
  other.family = "g";
  ASSERT_FALSE(bool(store.store(other, false)));
  std::vector<KernelRecord> near = store.similar(record(), 2);
  ASSERT_EQ(near.size(), 2u);
  EXPECT_EQ(near[0].sizes[0], 256);
  EXPECT_EQ(near[1].sizes[0], 2048);
}

TEST_F(Records, DigestsChangeWithTheFolder) {
  EXPECT_EQ(recordsDigest(folder), "");
  RecordStore store(folder);
  ASSERT_FALSE(bool(store.store(record(), false)));
  std::string one = recordsDigest(folder);
  EXPECT_NE(one, "");
  EXPECT_EQ(recordsDigest(folder), one);
  ASSERT_FALSE(bool(store.store(record(16, "another"), false)));
  EXPECT_NE(recordsDigest(folder), one);
}

TEST_F(Records, FullDiskIsAnErrorAndKeepsTheOldRecord) {
  RecordStore nowhere("/proc/tilewright-records");
  llvm::Error failed = nowhere.store(record(), false);
  EXPECT_TRUE(bool(failed));
  EXPECT_NE(llvm::toString(std::move(failed)).find("cannot make the folder of records"), std::string::npos);
}

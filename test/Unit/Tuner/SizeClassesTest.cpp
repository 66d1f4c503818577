//===- SizeClassesTest.cpp - classes of sizes ---------------------------------------------===//
#include "lib/Tuner/SizeClasses.h"

#include <gtest/gtest.h>

using namespace tilewright::tuner;

namespace {

using Sizes = std::vector<int64_t>;

TEST(SizeClasses, CoverEverySizeOnce) {
  int64_t next = 0;
  for (const SizeClass &one : sizeClasses()) {
    EXPECT_EQ(one.least, next);
    EXPECT_GE(one.typical, one.least);
    EXPECT_LE(one.typical, one.most);
    next = one.most == INT64_MAX ? -1 : one.most + 1;
  }
  EXPECT_EQ(next, -1);
}

TEST(SizeClasses, MultiplySizes) {
  EXPECT_EQ(sizeClassOf({16}).text(), "to 16");
  EXPECT_EQ(sizeClassOf({17}).text(), "17 to 128");
  EXPECT_EQ(sizeClassOf({4, 32}).text(), "17 to 128");
  EXPECT_EQ(sizeClassOf({4, 33}).text(), "from 129");
  EXPECT_EQ(sizeClassOf({0, 1000}).text(), "to 16");
  EXPECT_EQ(sizeClassOf({INT64_MAX, 3}).text(), "from 129"); // the product does not overflow
}

TEST(SizeClasses, SizesAreScaledEqually) {
  const llvm::ArrayRef<SizeClass> all = sizeClasses();
  EXPECT_EQ(sizesIn(all[1], {8}, {{1, 300}}), Sizes{64});
  EXPECT_EQ(sizesIn(all[2], {2, 32}, {{1, 1000}, {1, 1000}}), (Sizes{6, 91}));
  EXPECT_EQ(sizesIn(all[0], {2, 32}, {{1, 1000}, {1, 1000}}), (Sizes{1, 11}));
}

TEST(SizeClasses, ClassAtTheEndOfARangeLeavesTheRest) {
  EXPECT_EQ(sizesIn(sizeClasses()[2], {2, 32}, {{1, 2}, {1, 1000}}), (Sizes{2, 256}));
  EXPECT_EQ(sizesIn(sizeClasses()[2], {8}, {{1, 300}}), Sizes{300});
}

TEST(SizeClasses, RangesWithoutTheClass) {
  EXPECT_EQ(sizesIn(sizeClasses()[2], {8}, {{1, 128}}), std::nullopt);
  EXPECT_EQ(sizesIn(sizeClasses()[0], {64}, {{17, 128}}), std::nullopt);
  EXPECT_EQ(sizesIn(sizeClasses()[0], {}, {}), std::nullopt);
}

} // namespace

//===- BuildIdentityTest.cpp - which build of a library is loaded -----------===//
#include "lib/Driver/CompileCache.h"

#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace tilewright;

TEST(BuildIdentityTest, DiffersBetweenLibrariesAndIsStable) {
  std::string ours = buildIdentity(reinterpret_cast<const void *>(&buildIdentity));
  std::string theirs = buildIdentity(reinterpret_cast<const void *>(&llvm::outs));
  EXPECT_EQ(ours.size(), 40u) << "libTilewright has no build id: " << ours;
  EXPECT_NE(ours, theirs);
  EXPECT_NE(theirs, "unknown");
}

TEST(BuildIdentityTest, AnAddressOutsideOfAllImagesIsUnknown) {
  auto onHeap = std::make_unique<int>(1);
  EXPECT_EQ(buildIdentity(onHeap.get()), "unknown");
}

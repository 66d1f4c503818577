//===- SingleLaneStores.cpp - masked stores of one lane write one element ------------===//
#include "lib/Runtime/Jit/SingleLaneStores.h"
#include "test/Unit/Runtime/Jit/ParsedFunction.h"

using namespace tilewright::runtime;

/// Returns the rewritten function that stores the lanes in `mask` of a truncated vector.
static std::string rewritten(const std::string &mask) {
  return rewrittenFunction("declare void @llvm.masked.store.v4i8.p0(<4 x i8>, ptr, <4 x i1>)\n"
                           "define void @f(<4 x i32> %wide, ptr %place) {\n"
                           "  %narrow = trunc <4 x i32> %wide to <4 x i8>\n"
                           "  call void @llvm.masked.store.v4i8.p0(<4 x i8> %narrow, ptr align 4 %place, <4 x i1> " +
                               mask + ")\n  ret void\n}\n",
                           storeOneLaneAsScalars);
}

TEST(SingleLaneStores, SingleLaneStoreBecomesAStoreOfTheElement) {
  std::string text = rewritten("<i1 false, i1 false, i1 true, i1 false>");
  EXPECT_EQ(text.find("masked"), std::string::npos) << text;
  EXPECT_NE(text.find("extractelement <4 x i8> %narrow, i64 2"), std::string::npos) << text;
  EXPECT_NE(text.find("ptr %place, i64 2"), std::string::npos) << text;
  EXPECT_NE(text.find(", align 2"), std::string::npos) << text; // an address aligned to 4, plus two bytes
  EXPECT_NE(rewritten("<i1 true, i1 false, i1 false, i1 false>").find("align 4"), std::string::npos);
}

TEST(SingleLaneStores, OtherStoresAreUnchanged) {
  for (const char *mask : {"<i1 true, i1 false, i1 true, i1 false>", "zeroinitializer", "splat (i1 true)",
                           "<i1 poison, i1 true, i1 false, i1 false>"})
    EXPECT_NE(rewritten(mask).find("masked.store"), std::string::npos) << mask;
}

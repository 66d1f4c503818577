//===- DtypeTest.cpp - the rows of Dtypes.def agree with MLIR's types and with NumPy -----===//
#include "dialects/Graph/Dtype.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tilewright;

namespace {

TEST(Dtypes, NamesAndTypesAreUnique) {
  MLIRContext context;
  for (const ScalarTypeInfo &info : scalarTypes()) {
    EXPECT_EQ(scalarTypeFromName(info.name), info.type);
    EXPECT_EQ(scalarTypeOf(elementTypeOf(info.type, &context)), info.type);
    EXPECT_EQ(dtypeName(elementTypeOf(info.type, &context)), info.name);
  }
}

TEST(Dtypes, BitsAreThoseOfTheTypeAndOfTheNpyFile) {
  MLIRContext context;
  for (const ScalarTypeInfo &info : scalarTypes()) {
    // A boolean takes a byte in memory.
    const unsigned bits =
        info.type == ScalarType::Bool ? 8 : elementTypeOf(info.type, &context).getIntOrFloatBitWidth();
    EXPECT_EQ(info.bits, bits) << info.name.str();
    // An element smaller than a byte takes a whole byte in a .npy file.
    EXPECT_EQ(info.npy.back() - '0', std::max(1, int(bits / 8))) << info.name.str();
    EXPECT_EQ(info.npy.front(), bits <= 8 ? '|' : '<') << info.name.str();
  }
}

TEST(Dtypes, OtherTypesHaveTheirNameInMlir) {
  MLIRContext context;
  EXPECT_EQ(scalarTypeOf(IntegerType::get(&context, 3)), std::nullopt);
  EXPECT_EQ(dtypeName(IntegerType::get(&context, 3)), "i3");
  EXPECT_EQ(scalarTypeFromName("complex64"), std::nullopt);
}

} // namespace

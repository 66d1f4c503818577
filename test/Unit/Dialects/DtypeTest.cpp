//===- DtypeTest.cpp - the rows of Dtypes.def agree with MLIR's types and with NumPy -----===//
#include "dialects/Graph/Dtype.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tilewright;

namespace {

const ScalarType all[] = {
#define TW_DTYPE(ENUM, ...) ScalarType::ENUM,
#include "dialects/Graph/Dtypes.def"
};

TEST(Dtypes, NamesAndTypesAreUnique) {
  MLIRContext context;
  for (ScalarType type : all) {
    EXPECT_EQ(scalarTypeFromName(scalarTypeName(type)), type);
    EXPECT_EQ(scalarTypeOf(elementTypeOf(type, &context)), type);
    EXPECT_EQ(dtypeName(elementTypeOf(type, &context)), scalarTypeName(type));
  }
}

TEST(Dtypes, BitsAreThoseOfTheTypeAndOfTheNpyFile) {
  MLIRContext context;
  for (ScalarType type : all) {
    // A boolean takes a byte in memory.
    const unsigned bits = type == ScalarType::Bool ? 8 : elementTypeOf(type, &context).getIntOrFloatBitWidth();
    EXPECT_EQ(scalarTypeBits(type), bits) << scalarTypeName(type).str();
    EXPECT_EQ(infoOf(type).npy.back() - '0', int(bits / 8)) << scalarTypeName(type).str();
    EXPECT_EQ(infoOf(type).npy.front(), bits == 8 ? '|' : '<') << scalarTypeName(type).str();
  }
}

TEST(Dtypes, OtherTypesHaveTheirNameInMlir) {
  MLIRContext context;
  EXPECT_EQ(scalarTypeOf(IntegerType::get(&context, 4)), std::nullopt);
  EXPECT_EQ(dtypeName(IntegerType::get(&context, 4)), "i4");
  EXPECT_EQ(scalarTypeFromName("complex64"), std::nullopt);
}

} // namespace

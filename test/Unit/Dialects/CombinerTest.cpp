//===- CombinerTest.cpp - the rows of Combiners.def agree with the ops that they name ---===//
#include "dialects/Tile/Combiner.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tilewright;

namespace {

struct Case {
  tile::Combiner combiner;
  const char *name;
  enum { Float, Integer, Signed, Unsigned } elements;
};

const Case cases[] = {
#define TW_COMBINER_OP(NAME, ELEMENTS, OP, VECTOR_KIND) {tile::Combiner::NAME, #NAME "_" #ELEMENTS, Case::ELEMENTS},
#include "dialects/Tile/Combiners.def"
};

class CombinerTest : public testing::TestWithParam<Case> {
protected:
  CombinerTest() : builder(&context), module(ModuleOp::create(UnknownLoc::get(&context))) {
    context.loadDialect<arith::ArithDialect>();
    builder.setInsertionPointToStart(module->getBody());
  }

  Value constant(TypedAttr value) { return arith::ConstantOp::create(builder, loc(), value); }
  Location loc() { return builder.getUnknownLoc(); }

  /// Returns elements of every sign, and the smallest and the largest value of the type.
  std::vector<TypedAttr> samples() {
    std::vector<TypedAttr> found;
    if (GetParam().elements == Case::Float)
      for (double value : {0.0, 1.5, -2.25, 3e38, -3e38, double(INFINITY), -double(INFINITY)})
        for (Type type : {Type(builder.getF32Type()), Type(builder.getF64Type())})
          found.push_back(builder.getFloatAttr(type, value));
    else
      for (unsigned width : {8, 32, 64})
        for (const APInt &value : {APInt::getZero(width), APInt(width, 5), APInt::getSignedMinValue(width),
                                   APInt::getSignedMaxValue(width), APInt::getAllOnes(width)})
          found.push_back(builder.getIntegerAttr(builder.getIntegerType(width), value));
    return found;
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
};

TEST_P(CombinerTest, IdentityChangesNoElement) {
  const auto [combiner, name, elements] = GetParam();
  const bool isUnsigned = elements == Case::Unsigned;
  for (TypedAttr sample : samples()) {
    TypedAttr identity = tile::identityOf(combiner, sample.getType(), isUnsigned);
    Value x = constant(sample), y = tile::combine(builder, loc(), combiner, x, constant(identity), isUnsigned);
    SmallVector<OpFoldResult> folded;
    ASSERT_TRUE(succeeded(y.getDefiningOp()->fold({sample, identity}, folded)));
    // A fold returns a constant, or one of the two operands.
    Attribute result = isa<Attribute>(folded[0])     ? cast<Attribute>(folded[0])
                       : cast<Value>(folded[0]) == x ? sample
                                                     : identity;
    std::string text;
    llvm::raw_string_ostream(text) << sample << " combined with " << identity << " gave " << result;
    EXPECT_EQ(result, Attribute(sample)) << text;
  }
}

TEST_P(CombinerTest, OpIsRecognized) {
  const auto [combiner, name, elements] = GetParam();
  const bool isUnsigned = elements == Case::Unsigned;
  TypedAttr sample = samples().front();
  Value x = constant(sample);
  Operation *op = tile::combine(builder, loc(), combiner, x, x, isUnsigned).getDefiningOp();
  EXPECT_EQ(tile::combinerOf(op), combiner);
  EXPECT_EQ(tile::identityOf(op), tile::identityOf(combiner, sample.getType(), isUnsigned));
}

INSTANTIATE_TEST_SUITE_P(Combiners, CombinerTest, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

TEST(Combiners, OnlyFloatSumsAndProductsDependOnTheOrder) {
  MLIRContext context;
  Type f32 = Float32Type::get(&context), i32 = IntegerType::get(&context, 32);
  EXPECT_TRUE(tile::dependsOnOrder(tile::Combiner::Sum, f32) && tile::dependsOnOrder(tile::Combiner::Product, f32));
  EXPECT_FALSE(tile::dependsOnOrder(tile::Combiner::Sum, i32) || tile::dependsOnOrder(tile::Combiner::Maximum, f32));
}

TEST(Combiners, OtherOpsAreNotCombiners) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect>();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToStart(module->getBody());
  Value x = arith::ConstantOp::create(builder, builder.getUnknownLoc(), builder.getF32FloatAttr(1));
  Operation *difference = arith::SubFOp::create(builder, builder.getUnknownLoc(), x, x);
  EXPECT_EQ(tile::combinerOf(difference), std::nullopt);
}

} // namespace

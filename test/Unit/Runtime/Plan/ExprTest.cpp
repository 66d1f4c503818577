//===- ExprTest.cpp - size expressions ------------------------------------===//
#include "lib/Runtime/Plan/Plan.h"

#include <gtest/gtest.h>

using namespace tilewright::plan;
using Op = Expr::Op;

static Expr binary(Op op, Expr lhs, Expr rhs) {
  Expr result = lhs;
  result.items.insert(result.items.end(), rhs.items.begin(), rhs.items.end());
  result.items.push_back({op});
  return result;
}

static int64_t value(Op op, int64_t lhs, int64_t rhs) {
  std::string error;
  int64_t result = evaluate(binary(op, Expr::constant(lhs), Expr::constant(rhs)), nullptr, error);
  EXPECT_EQ(error, "");
  return result;
}

TEST(Expr, Arithmetic) {
  EXPECT_EQ(value(Op::Add, 2, -5), -3);
  EXPECT_EQ(value(Op::Mul, -4, 6), -24);
  EXPECT_EQ(value(Op::Max, -4, 6), 6);
  EXPECT_EQ(value(Op::Min, -4, 6), -4);
  for (int64_t a = -9; a <= 9; ++a)
    for (int64_t b : {-4, -3, -1, 1, 3, 4}) {
      int64_t quotient = value(Op::FloorDiv, a, b), rest = value(Op::Mod, a, b);
      EXPECT_EQ(quotient * b + rest, a);
      EXPECT_TRUE(b > 0 ? rest >= 0 && rest < b : rest <= 0 && rest > b) << a << " " << b;
      EXPECT_EQ(value(Op::CeilDiv, a, b), quotient + (rest != 0));
    }
}

TEST(Expr, Symbols) {
  int64_t symbols[] = {100, 7};
  std::string error;
  Expr expr = binary(Op::CeilDiv, Expr::symbol(0), Expr::symbol(1));
  EXPECT_EQ(verify(expr, 2), "");
  EXPECT_EQ(evaluate(expr, symbols, error), 15);
  EXPECT_FALSE(expr.isSymbolFree());
  EXPECT_EQ(evaluate(Expr(), nullptr, error), 0);
  EXPECT_EQ(error, "");
}

TEST(Expr, OverflowAndDivisionByZero) {
  struct {
    Op op;
    int64_t lhs, rhs;
    const char *text;
  } cases[] = {
      {Op::Add, INT64_MAX, 1, "overflow"},       {Op::Mul, INT64_MAX, 2, "overflow"},
      {Op::FloorDiv, INT64_MIN, -1, "overflow"}, {Op::Mod, INT64_MIN, -1, "overflow"},
      {Op::FloorDiv, 1, 0, "division by zero"},  {Op::CeilDiv, 1, 0, "division by zero"},
      {Op::Mod, 1, 0, "division by zero"},
  };
  for (auto &test : cases) {
    std::string error;
    EXPECT_EQ(evaluate(binary(test.op, Expr::constant(test.lhs), Expr::constant(test.rhs)), nullptr, error), 0);
    EXPECT_NE(error.find(test.text), std::string::npos) << error;
  }
}

TEST(Expr, MalformedProgramsAreRefusedAndDoNotCrash) {
  std::string error;
  Expr lonely{{{Op::Add}}}, two{{{Op::Const, 1}, {Op::Const, 2}}}, deep, unknown{{{Op(77), 0}}};
  for (int i = 0; i < Expr::maxDepth + 1; ++i)
    deep.items.push_back({Op::Const, 1});
  for (const Expr &expr : {lonely, two, deep}) {
    EXPECT_NE(verify(expr, 0), "");
    evaluate(expr, nullptr, error);
    EXPECT_NE(error, "");
  }
  EXPECT_NE(verify(unknown, 0), "");
  EXPECT_NE(verify(Expr::symbol(2), 2).find("s2"), std::string::npos);
  EXPECT_NE(verify(Expr::symbol(-1), 2), "");
}

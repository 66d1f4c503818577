//===- CompareKernelsTest.cpp - the bound of check=reference ------------------------------===//
#include "lib/Driver/CompareKernels.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <vector>

using namespace tilewright;

namespace {

template <typename T> struct Runs {
  std::vector<T> got, exact, plain;

  explicit Runs(int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      exact.push_back(T(i % 7) - T(3));
    got = plain = exact;
  }

  std::string compare(double reductionLength = 1) const {
    ElementKind kind = kindOf();
    std::vector<int64_t> sizes{int64_t(got.size() / 5), 5};
    double largest = rmsOf(kind, sizes, exact.data());
    return compareResult({kind, sizes, got.data(), exact.data(), plain.data()}, reductionLength, largest, "cpu");
  }

  static ElementKind kindOf() {
    if constexpr (std::is_same_v<T, float>)
      return {"f32", &llvm::APFloat::IEEEsingle(), 4};
    else if constexpr (std::is_same_v<T, double>)
      return {"f64", &llvm::APFloat::IEEEdouble(), 8};
    else
      return {"i32", nullptr, 4};
  }
};

constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(CompareKernels, RoundingErrorsAreAllowed) {
  Runs<float> runs(4000);
  EXPECT_EQ(runs.compare(), "");
  for (float &x : runs.got)
    x = std::nextafter(x, infinity);
  EXPECT_EQ(runs.compare(), "");
}

TEST(CompareKernels, ErrorsAboveTheBoundAreNamed) {
  Runs<float> runs(4000);
  for (float &x : runs.got)
    x *= 1 + 1e-5f;
  runs.got[7] += 1e-3f;
  std::string text = runs.compare();
  EXPECT_NE(text.find("f32[800, 5]: RMS error"), std::string::npos) << text;
  EXPECT_NE(text.find("worst element [1, 2]: cpu gives"), std::string::npos) << text;
}

TEST(CompareKernels, LongReductionsMayHaveLargerErrors) {
  Runs<float> runs(4000);
  for (float &x : runs.got)
    x *= 1 + 2e-6f;
  EXPECT_NE(runs.compare(1), "");
  EXPECT_EQ(runs.compare(1000), "");
}

TEST(CompareKernels, ErrorsOfTheFormulaAreAllowed) {
  Runs<float> runs(4000);
  for (float &x : runs.got)
    x += 1e-3f;
  EXPECT_NE(runs.compare(), "");
  for (float &x : runs.plain)
    x -= 1e-3f;
  EXPECT_EQ(runs.compare(), "");
}

TEST(CompareKernels, OneWrongElementOfMany) {
  Runs<float> runs(4000000);
  // All elements of `plain` have such large errors that one wrong element hardly changes the RMS error.
  for (float &x : runs.plain)
    x += 1e-3f;
  runs.got[123] += 1;
  EXPECT_NE(runs.compare().find("element [24, 3]"), std::string::npos) << runs.compare();
}

TEST(CompareKernels, NanAndInfinitiesMustAgree) {
  Runs<float> runs(100);
  runs.got[11] = notANumber;
  EXPECT_NE(runs.compare().find("element [2, 1]: cpu gives nan"), std::string::npos) << runs.compare();
  runs.plain[11] = notANumber; // in `plain`, this element is NaN, too
  EXPECT_EQ(runs.compare(), "");
  runs.exact[12] = runs.plain[12] = -infinity;
  runs.got[12] = infinity;
  EXPECT_NE(runs.compare().find("element [2, 2]: cpu gives inf, reference -inf"), std::string::npos) << runs.compare();
  runs.got[12] = -infinity;
  EXPECT_EQ(runs.compare(), "");
}

TEST(CompareKernels, ErrorsOfDoublesAreNamed) {
  Runs<double> runs(4000);
  for (double &x : runs.got)
    x *= 1 + 1e-13;
  EXPECT_EQ(runs.compare(), "");
  for (double &x : runs.got)
    x *= 1 + 1e-11;
  EXPECT_NE(runs.compare(), "");
}

TEST(CompareKernels, IntegersEqualOneOfTheTwo) {
  Runs<int32_t> runs(100);
  runs.got[13] = -5;
  EXPECT_NE(runs.compare().find("i32[20, 5]: 1 of 100 elements differ; element [2, 3]: cpu gives -5"),
            std::string::npos)
      << runs.compare();
  runs.plain[13] = -5; // `got` may equal `plain` instead of `exact`, because integers can depend on rounded floats
  EXPECT_EQ(runs.compare(), "");
}

} // namespace

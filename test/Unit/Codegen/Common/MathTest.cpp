//===- MathTest.cpp - error bounds of the functions of --tw-expand-math ------===//
//
// Each f32 function of one operand is compiled for this machine and for x86-64-v3, and compared with libm in double
// over every exponent, both signs and the special values. TILEWRIGHT_MATH_STRIDE sets the step through the 2^32 bit
// patterns (an odd number; 1 tests all). Functions of two operands are tested with random numbers and special values.
//
//===----------------------------------------------------------------------===//
#include "MathKernel.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tilewright;

namespace {

float fromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

/// Returns the floats whose bit patterns are multiples of an odd stride, and floats that the stride may skip: special
/// values, and the floats near several constants.
std::vector<float> sampleFloats(uint64_t stride) {
  std::vector<float> samples{0.0f,
                             -0.0f,
                             INFINITY,
                             -INFINITY,
                             NAN,
                             -NAN,
                             1.0f,
                             -1.0f,
                             0x1p-149f,
                             -0x1p-149f,
                             0x1.fffffep127f,
                             -0x1.fffffep127f,
                             0x1p-126f,
                             0x1.fffffcp-127f,
                             88.72283f,
                             88.72284f,
                             -87.33654f,
                             -103.97207f,
                             -103.97209f,
                             128.0f,
                             127.99999f,
                             -149.0f,
                             -150.0f,
                             -149.99999f,
                             9.02f,
                             9.010913f,
                             3.93f,
                             1.1f,
                             1e5f,
                             100001.0f,
                             1e10f,
                             0.99999994f,
                             1.0000001f};
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += stride)
    samples.push_back(fromBits(bits));
  for (float center : {0.5f, 1.0f, 1.1f, 1.5707964f, 3.1415927f, 88.722839f, -103.97208f, 0.69314718f, 355.0f})
    for (int step = -300; step <= 300; ++step) {
      uint32_t bits;
      memcpy(&bits, &center, sizeof bits);
      samples.push_back(fromBits(bits + step));
    }
  while (samples.size() % 16)
    samples.push_back(1.0f);
  return samples;
}

uint64_t strideOf(uint64_t usual) {
  const char *text = getenv("TILEWRIGHT_MATH_STRIDE");
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

struct Function {
  const char *op;
  double (*exact)(double);
  double bound;
};

void PrintTo(const Function &function, std::ostream *os) { *os << function.op; }

class Unary : public testing::TestWithParam<std::tuple<Function, const char *>> {};

TEST_P(Unary, StaysWithinItsUlp) {
  auto [function, machine] = GetParam();
  Compiled<float> compiled;
  if (!compileOp(function.op, 1, 16, machine, compiled))
    GTEST_SKIP() << "needs " << machine;
  static const std::vector<float> samples = sampleFloats(strideOf(9973));
  std::vector<float> out(samples.size());
  compiled.run(samples.data(), samples.data(), out.data(), samples.size());
  Worst<float, double> worst;
  for (size_t i = 0; i < samples.size(); ++i)
    worst.see(samples[i], 0, out[i], function.exact(samples[i]));

  RecordProperty("ulp", std::to_string(worst.ulp));
  if (getenv("TILEWRIGHT_MATH_REPORT"))
    printf("%-8s %-10s %.3f ULP at %a\n", function.op, machine, worst.ulp, worst.x);
  EXPECT_LE(worst.ulp, function.bound) << function.op << "(" << worst.x << ") gave " << worst.got << " for "
                                       << worst.exact;
}

double rsqrtOf(double x) { return 1 / std::sqrt(x); }

/// Returns the exact sigmoid. The kernel may flush results below 2^-125 to 0. For arguments with such results, the test
/// checks only that the kernel's result is below 2^-124.
double sigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

/// The bound is the sum of the steps' errors: 1.5 ULP for exp, and 0.5 ULP each for the sum and the quotient. Without
/// AVX-512, the quotient is computed by a division. With AVX-512, it is approximated by vrcp14ps within the same bound.
TEST(Sigmoid, IsExactForNormalResultsAndZeroBelow) {
  Compiled<float> compiled;
  ASSERT_TRUE(compileOp("sigmoid", 1, 16, "native", compiled));
  std::vector<float> x{INFINITY, -INFINITY, NAN, 0.0f, -86.0f, -88.0f, -100.0f, 100.0f};
  while (x.size() < 100000)
    x.push_back((float(x.size()) - 50000) * 0.0017f);
  std::vector<float> out(x.size());
  compiled.run(x.data(), x.data(), out.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] < -86.5f)
      EXPECT_LT(std::fabs(out[i]), 0x1p-124f) << x[i];
    else
      ASSERT_LE(ulpError(out[i], sigmoidOf(x[i])), 2.5) << x[i];
  }
}

const Function functions[] = {
#define TW_MATH_FUNCTION(MATH, NAME, SINGLE, SINGLE_ULP, ...) {#NAME, std::NAME, SINGLE_ULP},
#include "dialects/Graph/ScalarFunctions.def"
    {"exp_short", std::exp, 100},
    {"exp2_short", std::exp2, 60}, // for 16-bit results, the errors are 2^-17.5 and 2^-18.4
    {"rsqrt", rsqrtOf, 1.5}};      // the sum of the errors of a square root and a division

INSTANTIATE_TEST_SUITE_P(Math, Unary,
                         testing::Combine(testing::ValuesIn(functions), testing::Values("native", "x86-64-v3")),
                         [](const auto &info) {
                           std::string machine = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param).op) + (machine == "native" ? "" : "_avx2");
                         });

void checkBinary(const char *op, double (*exactOf)(double, double), double bound, bool wholeY) {
  Compiled<float> compiled;
  ASSERT_TRUE(compileOp(op, 2, 16, "native", compiled));
  std::vector<float> specials{0.0f,    -0.0f, INFINITY, -INFINITY,   NAN,         1.0f,       -1.0f,
                              0.5f,    -0.5f, 2.0f,     -2.0f,       3.0f,        -3.0f,      1e-40f,
                              -1e-40f, 1e38f, -1e38f,   16777217.0f, 0.99999994f, 1.0000001f, 2147483520.0f};
  std::vector<float> x, y;
  for (float a : specials)
    for (float b : specials) {
      x.push_back(a);
      y.push_back(b);
    }
  uint64_t random = 12345;
  auto next = [&] { return random = random * 6364136223846793005u + 1442695040888963407u, uint32_t(random >> 32); };
  while (x.size() < 400000) {
    bool near = x.size() % 2; // x below 2^19 and |y| up to 10, so that few results overflow
    x.push_back(near ? std::ldexp(float(next()) * 0x1p-32f, int(next() % 40) - 20) : fromBits(next()));
    y.push_back(near ? (float(next()) * 0x1p-32f - 0.5f) * 20 : fromBits(next()));
  }
  while (x.size() % 16) {
    x.push_back(1);
    y.push_back(1);
  }
  if (wholeY)
    for (float &each : y)
      each = std::isfinite(each) && std::fabs(each) < 2e9 ? std::trunc(each) : 7.0f;
  std::vector<float> out(x.size());
  compiled.run(x.data(), y.data(), out.data(), x.size());
  Worst<float, double> worst;
  for (size_t i = 0; i < x.size(); ++i)
    worst.see(x[i], y[i], out[i], exactOf(x[i], y[i]));

  if (getenv("TILEWRIGHT_MATH_REPORT"))
    printf("%-8s %-10s %.3f ULP at %a, %a\n", op, "native", worst.ulp, worst.x, worst.y);
  EXPECT_LE(worst.ulp, bound) << op << "(" << worst.x << ", " << worst.y << ") gave " << worst.got << " for "
                              << worst.exact;
}

TEST(Binary, Powf) { checkBinary("powf", std::pow, 0.6, false); }
TEST(Binary, Fpowi) { checkBinary("fpowi", std::pow, 0.6, true); }
TEST(Binary, Remf) { checkBinary("remf", static_cast<double (*)(double, double)>(std::fmod), 0, false); }
TEST(Binary, Atan2) { checkBinary("atan2", std::atan2, 0.6, false); }

// The results of scalars and of vectors of 4 lanes must agree with those of vectors of 16 lanes within 3 ULP.
TEST(Shapes, ScalarsAndOtherWidthsAgree) {
  std::vector<float> x;
  for (int i = 0; i < 48 * 7; ++i)
    x.push_back((i - 150) * 0.37f);
  x[5] = 1e20f;
  for (const char *op : {"exp", "log", "sin", "tanh", "erf", "atan"}) {
    Compiled<float> wide, narrow, scalar;
    ASSERT_TRUE(compileOp(op, 1, 16, "native", wide) && compileOp(op, 1, 4, "native", narrow) &&
                compileOp(op, 1, 1, "native", scalar));
    std::vector<float> a(x.size()), b(x.size()), c(x.size());
    wide.run(x.data(), x.data(), a.data(), x.size());
    narrow.run(x.data(), x.data(), b.data(), x.size());
    scalar.run(x.data(), x.data(), c.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(a[i])) {
        EXPECT_TRUE(std::isnan(b[i]) && std::isnan(c[i])) << op << " " << x[i];
        continue;
      }
      EXPECT_LE(ulpError(b[i], double(a[i])), 3) << op << " " << x[i];
      EXPECT_LE(ulpError(c[i], double(a[i])), 3) << op << " " << x[i];
    }
  }
}

} // namespace

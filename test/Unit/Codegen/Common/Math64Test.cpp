//===- Math64Test.cpp - error bounds of functions on f64 vectors -------------------===//
//
// The tests are similar to those of MathTest.cpp. The reference is libm in long double, whose mantissa has 11 more
// bits. TILEWRIGHT_MATH_SAMPLES sets the number of samples for each sign and each exponent at which functions are
// neither trivial nor infinite.
//
//===----------------------------------------------------------------------===//
#include "MathKernel.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

double fromBits(uint64_t bits) { return std::bit_cast<double>(bits); }

struct Random {
  uint64_t state = 12345;
  uint64_t bits() {
    state += 0x9e3779b97f4a7c15;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Returns a number in [0, 1).
  double unit() { return double(bits() >> 11) * 0x1p-53; }
};

/// Special values and boundaries, which random samples rarely come close to.
const double specials[] = {0.0,
                           -0.0,
                           INFINITY,
                           -INFINITY,
                           NAN,
                           1.0,
                           -1.0,
                           0.5,
                           -0.5,
                           2.0,
                           -2.0,
                           3.0,
                           -3.0,
                           0x1p-1074,
                           -0x1p-1074,
                           0x1.8p-1060,
                           -0x1.fffffffffffffp-1023,
                           0x1p-1022,
                           -0x1p-1022,
                           0x1.0000000000001p-1022,
                           0x1.fffffffffffffp1023,
                           -0x1.fffffffffffffp1023,
                           0x1p1023,
                           1e300,
                           -1e-300,
                           0x1p53 + 2,
                           1e22};

/// Returns samples of every exponent and sign, and numbers near the boundaries between formulas. There are more samples
/// at exponents where functions are neither 0 nor x nor infinite.
const std::vector<double> &samples() {
  static const std::vector<double> all = [] {
    const char *text = getenv("TILEWRIGHT_MATH_SAMPLES");
    int many = text ? atoi(text) : 3000;
    std::vector<double> found(std::begin(specials), std::end(specials));
    Random random;
    for (uint64_t exponent = 0; exponent < 2047; ++exponent) {
      bool matters = exponent + 60 >= 1023 && exponent <= 1023 + 11;
      for (int i = 0; i < (matters ? many : 16); ++i) {
        uint64_t mantissa = i == 0 ? 0 : i == 1 ? (uint64_t(1) << 52) - 1 : random.bits() >> 12;
        for (uint64_t sign : {0, 1})
          found.push_back(fromBits(sign << 63 | exponent << 52 | mantissa));
      }
    }
    for (double center : {0x1p-54,
                          0.41421356237309505,
                          0.5,
                          0.70710678118654752,
                          1.0,
                          1.4142135623730951,
                          1.5707963267948966,
                          2.4142135623730950,
                          3.1415926535897931,
                          6.0,
                          22.0,
                          26.543259,
                          27.226017,
                          27.3,
                          40.0,
                          307.65265,
                          308.25472,
                          708.39642,
                          709.78271289338397,
                          710.0,
                          710.47586007394394,
                          710.5,
                          744.44007192138126,
                          745.13321910194122,
                          746.0,
                          1021.0,
                          1024.0,
                          1074.0,
                          1075.0,
                          1076.0,
                          0x1p28,
                          1e9,
                          1e16})
      for (int step = -400; step <= 400; ++step)
        for (double sign : {1.0, -1.0})
          found.push_back(sign * fromBits(std::bit_cast<uint64_t>(center) + step));
    // Add multiples of pi/2, where a sine or cosine is almost 0, and the adjacent numbers.
    for (int64_t n = 1; n < 600'000'000; n += n / 64 + 1)
      for (int step = -1; step <= 1; ++step)
        found.push_back(fromBits(std::bit_cast<uint64_t>(double(n * 1.57079632679489661923132169163975144L)) + step));
    while (found.size() % 16)
      found.push_back(1.0);
    return found;
  }();
  return all;
}

struct Function {
  const char *op;
  long double (*exact)(long double);
  double bound;
};

void PrintTo(const Function &function, std::ostream *os) { *os << function.op; }

class Unary64 : public testing::TestWithParam<std::tuple<Function, const char *>> {};

TEST_P(Unary64, StaysWithinItsUlp) {
  auto [function, machine] = GetParam();
  for (int lanes : {16, 8}) {
    Compiled<double> compiled;
    if (!compileOp(function.op, 1, lanes, machine, compiled))
      GTEST_SKIP() << "needs " << machine;
    const std::vector<double> &x = samples();
    std::vector<double> out(x.size());
    compiled.run(x.data(), x.data(), out.data(), x.size());
    Worst<double, long double> worst;
    for (size_t i = 0; i < x.size(); ++i)
      worst.see(x[i], 0, out[i], function.exact(x[i]));
    if (getenv("TILEWRIGHT_MATH_REPORT"))
      printf("%-8s f64 x%-2d %-10s %.3f ULP at %a\n", function.op, lanes, machine, worst.ulp, worst.x);
    EXPECT_LE(worst.ulp, function.bound) << std::hexfloat << function.op << "(" << worst.x << ") gave " << worst.got
                                         << " for " << worst.exact;
  }
}

long double rsqrtOf(long double x) { return 1 / std::sqrt(x); }

const Function functions[] = {
#define TW_UNARY_FUNCTION(OP, ONNX, MATH, NAME, SINGLE, SINGLE_ULP, DOUBLE, DOUBLE_ULP) {#NAME, std::NAME, DOUBLE_ULP},
#define TW_MATH_FUNCTION(...) // functions without a polynomial for f64
#include "dialects/Graph/ScalarFunctions.def"
    {"rsqrt", rsqrtOf, 1.5}}; // the sum of the errors of a square root and a division

INSTANTIATE_TEST_SUITE_P(Math, Unary64,
                         testing::Combine(testing::ValuesIn(functions), testing::Values("native", "x86-64-v3")),
                         [](const auto &info) {
                           std::string machine = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param).op) + (machine == "native" ? "" : "_avx2");
                         });

using Pairs = std::vector<std::pair<double, double>>;

/// Returns all pairs of special values, and pairs of a special value and a random number of any size.
Pairs specialPairs() {
  Pairs pairs;
  Random random;
  for (double a : specials) {
    for (double b : specials)
      pairs.emplace_back(a, b);
    for (int i = 0; i < 200; ++i) {
      pairs.emplace_back(a, fromBits(random.bits()));
      pairs.emplace_back(fromBits(random.bits()), a);
    }
  }
  return pairs;
}

void checkBinary(const char *op, Pairs pairs, long double (*exactOf)(double, double), double bound) {
  while (pairs.size() % 16)
    pairs.emplace_back(1.0, 1.0);
  std::vector<double> x, y, out(pairs.size());
  for (auto [a, b] : pairs) {
    x.push_back(a);
    y.push_back(b);
  }
  for (const char *machine : {"native", "x86-64-v3"})
    for (int lanes : {16, 8}) {
      Compiled<double> compiled;
      if (!compileOp(op, 2, lanes, machine, compiled))
        continue;
      compiled.run(x.data(), y.data(), out.data(), x.size());
      Worst<double, long double> worst;
      for (size_t i = 0; i < x.size(); ++i)
        worst.see(x[i], y[i], out[i], exactOf(x[i], y[i]));
      if (getenv("TILEWRIGHT_MATH_REPORT"))
        printf("%-8s f64 x%-2d %-10s %.3f ULP at %a, %a\n", op, lanes, machine, worst.ulp, worst.x, worst.y);
      EXPECT_LE(worst.ulp, bound) << std::hexfloat << op << "(" << worst.x << ", " << worst.y << ") gave " << worst.got
                                  << " for " << worst.exact;
    }
}

// Tests quotients of all sizes. If the quotient is near an integer, rounding it would cause a wrong remainder.
TEST(Binary64, RemainderIsExact) {
  Pairs pairs = specialPairs();
  Random random;
  auto mantissa = [&](int kind) -> double {
    double small = double(1 + random.bits() % 7), full = 1 + random.unit();
    return kind % 3 == 0   ? small
           : kind % 3 == 1 ? full
                           : fromBits(std::bit_cast<uint64_t>(2.0) - 1 - random.bits() % 4);
  };
  for (int i = 0; i < 300'000; ++i) {
    double y = std::ldexp(mantissa(i), int(random.bits() % 1000) - 900);
    int wide = i % 4 == 0 ? 1000 : i % 4 == 1 ? 60 : 120;
    double multiple = std::ldexp(mantissa(i / 3), int(random.bits() % wide));
    double x = i % 2 ? y * multiple : y * std::trunc(multiple);
    x = fromBits(std::bit_cast<uint64_t>(x) + random.bits() % 7 - 3);
    pairs.emplace_back(random.bits() & 1 ? x : -x, random.bits() & 1 ? y : -y);
  }
  for (int i = 0; i < 100'000; ++i)
    pairs.emplace_back(fromBits(random.bits()), fromBits(random.bits()));
  for (int i = 0; i < 20'000; ++i) { // numbers on both sides of the smallest normal number
    double y = fromBits((uint64_t(1) << 52) - 1000 + random.bits() % 2000 + (uint64_t(i % 3) << 52));
    pairs.emplace_back(y * double(random.bits() % 100'000) + 0x1p-1074 * double(random.bits() % 3), y);
    pairs.emplace_back(fromBits(random.bits() >> 4), fromBits(random.bits() >> (11 + i % 50)));
  }
  checkBinary("remf", std::move(pairs), [](double a, double b) -> long double { return std::fmod(a, b); }, 0);
}

TEST(Binary64, Atan2) {
  Pairs pairs = specialPairs();
  Random random;
  for (int i = 0; i < 300'000; ++i) {
    double y = std::ldexp(1 + random.unit(), int(random.bits() % 1900) - 950);
    double x = y * std::ldexp(1 + random.unit(), int(random.bits() % (i % 2 ? 6 : 120)) - (i % 2 ? 3 : 60));
    pairs.emplace_back(random.bits() & 1 ? x : -x, random.bits() & 1 ? y : -y);
  }
  for (int i = 0; i < 100'000; ++i)
    pairs.emplace_back(fromBits(random.bits()), fromBits(random.bits()));
  checkBinary(
      "atan2", std::move(pairs), [](double a, double b) { return std::atan2((long double)a, (long double)b); }, 2.0);
}

// Functions of scalars and of vectors with few lanes may call libm. The results of scalars may differ from those of
// vectors of 16 lanes by 3 ULP, and the results of vectors of 4 lanes by 1 ULP.
TEST(Shapes64, ScalarsAndFewLanesAgree) {
  std::vector<double> x;
  for (int i = 0; i < 48 * 7; ++i)
    x.push_back((i - 150) * 0.37);
  x[5] = 1e20;
  for (const char *op : {"exp", "log", "sin", "tanh", "erf", "atan", "cbrt"}) {
    Compiled<double> wide, narrow, scalar;
    ASSERT_TRUE(compileOp(op, 1, 16, "native", wide) && compileOp(op, 1, 4, "native", narrow) &&
                compileOp(op, 1, 1, "native", scalar));
    std::vector<double> a(x.size()), b(x.size()), c(x.size());
    wide.run(x.data(), x.data(), a.data(), x.size());
    narrow.run(x.data(), x.data(), b.data(), x.size());
    scalar.run(x.data(), x.data(), c.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(ulpError(b[i], (long double)a[i]), 1) << op << " " << x[i];
      EXPECT_LE(ulpError(c[i], (long double)a[i]), 3) << op << " " << x[i];
    }
  }
}

} // namespace

//===- FloatOps.cpp - arithmetic of f32 and f64 --------------------------------------------------===//
//
// f32 operations are computed in double and rounded as the instruction specifies (Formats.h). f64 operations use the
// host's instructions, which round to nearest; the other rounding modes correct a finite result according to the sign
// of its exact error, but a result that overflows remains infinite. The approximate functions (.approx) are computed in
// double and, for f32, rounded to f32. Results of the hardware may differ from them by up to the maximum error that the
// PTX ISA specifies.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Formats.h"
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

#include <limits>

namespace tilewright::ptx {
namespace {

float in(uint32_t mods, float a) { return mods & ModFtz ? flushed(a) : a; }
float out(uint32_t mods, double exact) {
  float value = toSingle(exact, Round(mods & ModRound));
  if (mods & ModFtz)
    value = flushed(value);
  if (mods & ModSat)
    value = value > 0 ? std::min(value, 1.0f) : 0.0f; // NaN also becomes 0
  return value;
}

/// Returns `value`, or the next double in the direction of the rounding mode if the exact result is in that direction.
double directed(double value, double error, uint32_t mods) {
  Round round = Round(mods & ModRound);
  if (round == Round::Near || error == 0 || !std::isfinite(value))
    return value;
  bool down = round == Round::Down || (round == Round::Zero && value > 0),
       up = round == Round::Up || (round == Round::Zero && value < 0);
  if (down && error < 0)
    return std::nextafter(value, -INFINITY);
  if (up && error > 0)
    return std::nextafter(value, INFINITY);
  return value;
}
/// Returns the rounding error of a + b.
double sumError(double a, double b) {
  double sum = a + b, part = sum - a;
  return (a - (sum - part)) + (b - part);
}
double sum64(uint32_t mods, double a, double b) {
  double value = a + b;
  if (value == 0 && Round(mods & ModRound) == Round::Down && !(std::signbit(a) == std::signbit(b)))
    return -0.0;
  return directed(value, sumError(a, b), mods);
}
double fma64(uint32_t mods, double a, double b, double c) {
  double value = std::fma(a, b, c);
  if (Round(mods & ModRound) == Round::Near)
    return value;
  double product = a * b, rest = std::fma(a, b, -product); // the exact result is product + rest + c
  double sum = product + c, lost = sumError(product, c);
  // The error of `value` is (sum - value) + lost + rest. Only the sign of this sum is used.
  double low = lost + rest;
  return directed(value, (sum - value) + low, mods);
}

const uint32_t kDown = uint32_t(Round::Down), kUp = uint32_t(Round::Up), kZero = uint32_t(Round::Zero);

float least(uint32_t mods, float a, float b, bool greatest) {
  a = in(mods, a), b = in(mods, b);
  uint32_t sign = (std::bit_cast<uint32_t>(a) ^ std::bit_cast<uint32_t>(b)) & 0x80000000u;
  if (mods & ModAbs)
    a = std::fabs(a), b = std::fabs(b);
  float value;
  if (a != a || b != b)
    value = (mods & ModNan) || (a != a && b != b) ? std::bit_cast<float>(kSingle.nan) : a != a ? b : a;
  else if (a == b)
    value = std::signbit(a) != greatest ? a : b; // -0 is less than +0
  else
    value = (a < b) != greatest ? a : b;
  if (mods & ModXorSign && value == value)
    value = std::bit_cast<float>((std::bit_cast<uint32_t>(value) & 0x7fffffffu) | sign);
  return value;
}
double least(double a, double b, bool greatest) {
  if (a != a || b != b)
    return a != a ? b : a;
  if (a == b)
    return std::signbit(a) != greatest ? a : b;
  return (a < b) != greatest ? a : b;
}

template <class F> Handler approx(F) {
  return map<float, float>([](uint32_t mods, float a) { return out(mods, F{}(double(in(mods, a)))); });
}

} // namespace

void addFloatForms(Table &table) {
  std::initializer_list<Choice> optional = {{"", 0}, {".rn", 0}, {".rz", kZero}, {".rm", kDown}, {".rp", kUp}};
  std::initializer_list<Choice> required = {{".rn", 0}, {".rz", kZero}, {".rm", kDown}, {".rp", kUp}};
  std::initializer_list<Choice> flush = {{"", 0}, {".ftz", ModFtz}}, saturate = {{"", 0}, {".sat", ModSat}};
  auto single = [&](const std::string &stem, std::initializer_list<Choice> rounds, const char *signature, Handler run,
                    std::initializer_list<Choice> last) {
    combine(stem, {rounds, flush, last}, ".f32",
            [&](const std::string &opcode, uint32_t mods) { table.add(opcode, signature, run, mods); });
  };
  std::initializer_list<Choice> none = {{"", 0}};
  single("add", optional, "f=ff",
         map<float, float, float>([](uint32_t m, float a, float b) { return out(m, sumToOdd(in(m, a), in(m, b))); }),
         saturate);
  single("sub", optional, "f=ff", map<float, float, float>([](uint32_t m, float a, float b) {
           return out(m, sumToOdd(in(m, a), -double(in(m, b))));
         }),
         saturate);
  single("mul", optional, "f=ff",
         map<float, float, float>([](uint32_t m, float a, float b) { return out(m, double(in(m, a)) * in(m, b)); }),
         saturate);
  Handler fused = map<float, float, float, float>(
      [](uint32_t m, float a, float b, float c) { return out(m, sumToOdd(double(in(m, a)) * in(m, b), in(m, c))); });
  single("fma", required, "f=fff", fused, saturate);
  single("mad", required, "f=fff", fused, saturate);
  single("div", required, "f=ff", map<float, float, float>([](uint32_t m, float a, float b) {
           return out(m, quotientToOdd(in(m, a), in(m, b)));
         }),
         none);
  single("div", {{".approx", 0}, {".full", 0}}, "f=ff",
         map<float, float, float>([](uint32_t m, float a, float b) { return out(m, double(in(m, a)) / in(m, b)); }),
         none);
  single("rcp", {{".rn", 0}, {".rz", kZero}, {".rm", kDown}, {".rp", kUp}, {".approx", 0}}, "f=f",
         map<float, float>([](uint32_t m, float a) { return out(m, quotientToOdd(1.0, in(m, a))); }), none);
  single("sqrt", {{".rn", 0}, {".rz", kZero}, {".rm", kDown}, {".rp", kUp}, {".approx", 0}}, "f=f",
         map<float, float>([](uint32_t m, float a) { return out(m, rootToOdd(in(m, a))); }), none);
  auto approximate = [&](const std::string &stem, Handler run) { single(stem, {{".approx", 0}}, "f=f", run, none); };
  approximate("rsqrt", approx([](double a) { return 1.0 / std::sqrt(a); }));
  approximate("sin", approx([](double a) { return std::sin(a); }));
  approximate("cos", approx([](double a) { return std::cos(a); }));
  approximate("lg2", approx([](double a) { return std::log2(a); }));
  approximate("ex2", approx([](double a) { return std::exp2(a); }));
  table.add("tanh.approx.f32", "f=f", approx([](double a) { return std::tanh(a); }));
  single("abs", none, "f=f", map<float, float>([](uint32_t m, float a) { return std::fabs(in(m, a)); }), none);
  single("neg", none, "f=f", map<float, float>([](uint32_t m, float a) { return -in(m, a); }), none);
  std::initializer_list<Choice> nan = {{"", 0},
                                       {".NaN", ModNan},
                                       {".xorsign.abs", ModXorSign | ModAbs},
                                       {".NaN.xorsign.abs", ModNan | ModXorSign | ModAbs}};
  single("min", none, "f=ff",
         map<float, float, float>([](uint32_t m, float a, float b) { return least(m, a, b, false); }), nan);
  single("max", none, "f=ff",
         map<float, float, float>([](uint32_t m, float a, float b) { return least(m, a, b, true); }), nan);
  table.add("copysign.f32", "f=ff", map<float, float, float>([](float a, float b) { return std::copysign(b, a); }));
  table.add("copysign.f64", "g=gg",
            map<double, double, double>([](double a, double b) { return std::copysign(b, a); }));

  auto twice = [&](const std::string &stem, std::initializer_list<Choice> rounds, const char *signature, Handler run) {
    combine(stem, {rounds}, ".f64",
            [&](const std::string &opcode, uint32_t mods) { table.add(opcode, signature, run, mods); });
  };
  twice("add", optional, "g=gg",
        map<double, double, double>([](uint32_t m, double a, double b) { return sum64(m, a, b); }));
  twice("sub", optional, "g=gg",
        map<double, double, double>([](uint32_t m, double a, double b) { return sum64(m, a, -b); }));
  twice("mul", optional, "g=gg", map<double, double, double>([](uint32_t m, double a, double b) {
          return directed(a * b, std::fma(a, b, -(a * b)), m);
        }));
  Handler fused64 =
      map<double, double, double, double>([](uint32_t m, double a, double b, double c) { return fma64(m, a, b, c); });
  twice("fma", required, "g=ggg", fused64);
  twice("mad", required, "g=ggg", fused64);
  Handler quotient = map<double, double, double>([](uint32_t m, double a, double b) {
    double value = a / b, rest = std::fma(-value, b, a);
    return directed(value, b > 0 ? rest : -rest, m);
  });
  twice("div", required, "g=gg", quotient);
  twice("rcp", required, "g=g", map<double, double>([](uint32_t m, double a) {
          double value = 1 / a, rest = std::fma(-value, a, 1.0);
          return directed(value, a > 0 ? rest : -rest, m);
        }));
  twice("sqrt", required, "g=g", map<double, double>([](uint32_t m, double a) {
          double value = std::sqrt(a);
          return directed(value, std::fma(-value, value, a), m);
        }));
  table.add("rcp.approx.ftz.f64", "g=g", map<double, double>([](double a) { return 1 / a; }));
  table.add("rsqrt.approx.f64", "g=g", map<double, double>([](double a) { return 1 / std::sqrt(a); }));
  table.add("abs.f64", "g=g", map<double, double>([](double a) { return std::fabs(a); }));
  table.add("neg.f64", "g=g", map<double, double>([](double a) { return -a; }));
  table.add("min.f64", "g=gg", map<double, double, double>([](double a, double b) { return least(a, b, false); }));
  table.add("max.f64", "g=gg", map<double, double, double>([](double a, double b) { return least(a, b, true); }));

  // testp
  auto test = [&](const std::string &what, auto f32, auto f64) {
    table.add("testp." + what + ".f32", "p=f", map<Flagged, float>(f32));
    table.add("testp." + what + ".f64", "p=g", map<Flagged, double>(f64));
  };
  test("finite", [](float a) { return Flagged(std::isfinite(a)); }, [](double a) { return Flagged(std::isfinite(a)); });
  test("infinite", [](float a) { return Flagged(std::isinf(a)); }, [](double a) { return Flagged(std::isinf(a)); });
  test("number", [](float a) { return Flagged(a == a); }, [](double a) { return Flagged(a == a); });
  test("notanumber", [](float a) { return Flagged(a != a); }, [](double a) { return Flagged(a != a); });
  test("normal", [](float a) { return Flagged(std::isnormal(a)); }, [](double a) { return Flagged(std::isnormal(a)); });
  test(
      "subnormal", [](float a) { return Flagged(std::fpclassify(a) == FP_SUBNORMAL); },
      [](double a) { return Flagged(std::fpclassify(a) == FP_SUBNORMAL); });
}

} // namespace tilewright::ptx

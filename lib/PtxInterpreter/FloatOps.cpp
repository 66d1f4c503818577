//===- FloatOps.cpp - arithmetic of f32 and f64 --------------------------------------------------===//
//
// f32 operations are computed in double and rounded as the instruction specifies (Formats.h). f64 operations use the
// host's instructions, in the rounding mode of the PTX instruction. The approximate functions (.approx) are computed in
// double and, for f32, rounded to f32. On the hardware, the results of these functions may differ by up to the maximum
// error that the PTX ISA specifies.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Formats.h"
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

#include <cfenv>
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

/// Returns compute(operands...) in the rounding mode of the instruction. The operands and the result are volatile,
/// because the compiler may otherwise move the operation across fesetround(), or compute it at compile time.
template <class F, class... T> double rounded(uint32_t mods, F compute, T... operands) {
  Round round = Round(mods & ModRound);
  if (round == Round::Near)
    return compute(operands...);
  const int before = std::fegetround();
  std::fesetround(round == Round::Down ? FE_DOWNWARD : round == Round::Up ? FE_UPWARD : FE_TOWARDZERO);
  auto read = [](volatile double operand) -> double { return operand; };
  volatile double result = compute(read(operands)...);
  std::fesetround(before);
  return result;
}
double sum64(uint32_t mods, double a, double b) {
  return rounded(mods, [](double a, double b) { return a + b; }, a, b);
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
          return rounded(m, [](double a, double b) { return a * b; }, a, b);
        }));
  Handler fused64 = map<double, double, double, double>([](uint32_t m, double a, double b, double c) {
    return rounded(m, [](double a, double b, double c) { return std::fma(a, b, c); }, a, b, c);
  });
  twice("fma", required, "g=ggg", fused64);
  twice("mad", required, "g=ggg", fused64);
  twice("div", required, "g=gg", map<double, double, double>([](uint32_t m, double a, double b) {
          return rounded(m, [](double a, double b) { return a / b; }, a, b);
        }));
  twice("rcp", required, "g=g",
        map<double, double>([](uint32_t m, double a) { return rounded(m, [](double a) { return 1 / a; }, a); }));
  twice("sqrt", required, "g=g",
        map<double, double>([](uint32_t m, double a) { return rounded(m, [](double a) { return std::sqrt(a); }, a); }));
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

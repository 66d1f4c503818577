//===- MathTest.cpp - the functions of --tw-cpu-expand-math keep their ULP -------===//
//
// Each function is compiled for this machine, run over every exponent, both signs and the special values, and compared
// with libm in double. TILEWRIGHT_MATH_STRIDE sets the step through the 2^32 bit patterns (an odd number; 1: all).
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Jit/Codegen.h"
#include "lib/Runtime/Jit/Jit.h"
#include "tilewright/Passes.h"
#include "tilewright/Pipelines.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::runtime;

namespace {

using Kernel = void (*)(const float *, const float *, float *, int64_t);

/// Machine code that stays loaded, and the function in it.
struct Compiled {
  std::unique_ptr<Jit> jit;
  Kernel run = nullptr;
};

mlir::MLIRContext &sharedContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    mlir::registerAllToLLVMIRTranslations(registry);
    return new mlir::MLIRContext(registry);
  }();
  return *context;
}

/// for i in 0..n step lanes: out[i] = op(x[i], y[i])
std::string kernelText(const std::string &op, int operands, int lanes) {
  std::string type = lanes == 1 ? "f32" : "vector<" + std::to_string(lanes) + "xf32>";
  std::string expression;
  if (op == "fpowi")
    expression = llvm::formatv("%k = arith.fptosi %b : {0} to {1}\n %r = math.fpowi %a, %k : {0}, {1}", type,
                               lanes == 1 ? "i32" : "vector<" + std::to_string(lanes) + "xi32>");
  else if (op == "remf")
    expression = "%r = arith.remf %a, %b : " + type;
  else if (op == "sigmoid")
    expression = llvm::formatv("%one = arith.constant {0} : {1}\n %k = arith.negf %a : {1}\n %e = math.exp %k : {1}\n"
                               "%d = arith.addf %one, %e : {1}\n %r = arith.divf %one, %d : {1}",
                               lanes == 1 ? "1.0" : "dense<1.0>", type);
  else if (llvm::StringRef name = op; name.consume_back("_short"))
    expression = ("%r = math." + name + " %a fastmath<afn> : " + type).str();
  else
    expression = "%r = math." + op + (operands == 2 ? " %a, %b : " : " %a : ") + type;
  return llvm::formatv(R"(
    func.func @f(%x: !llvm.ptr, %y: !llvm.ptr, %out: !llvm.ptr, %n: i64) {{
      %zero = arith.constant 0 : i64
      %lanes = arith.constant {0} : i64
      scf.for %i = %zero to %n step %lanes : i64 {{
        %xi = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %yi = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %oi = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %a = llvm.load %xi {{alignment = 4 : i64} : !llvm.ptr -> {1}
        %b = llvm.load %yi {{alignment = 4 : i64} : !llvm.ptr -> {1}
        {2}
        llvm.store %r, %oi {{alignment = 4 : i64} : {1}, !llvm.ptr
      }
      return
    })",
                       lanes, type, expression);
}

bool compileOp(const std::string &op, int operands, int lanes, const char *machineName, Compiled &result) {
  MachineDescription machine;
  std::string problem;
  EXPECT_TRUE(describeMachine(machineName, machine, problem)) << problem;
  if (!machine.runsHere)
    return false;
  completeNative(machine);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kernelText(op, operands, lanes), &sharedContext());
  EXPECT_TRUE(bool(module));
  mlir::PassManager pm(&sharedContext());
  ExpandMathOptions options;
  options.avx512 = machine.sets.avx512f;
  pm.addNestedPass<mlir::func::FuncOp>(createExpandMath(options));
  pm.addPass(mlir::createSCFToControlFlowPass());
  pm.addPass(mlir::createConvertVectorToLLVMPass());
  pm.addPass(mlir::createConvertMathToLLVMPass());
  pm.addPass(mlir::createConvertMathToLibmPass());
  pm.addPass(mlir::createConvertToLLVMPass());
  pm.addPass(mlir::createReconcileUnrealizedCastsPass());
  EXPECT_TRUE(succeeded(pm.run(*module)));
  auto target = llvm::cantFail(createTargetMachine(machine));
  llvm::LLVMContext context;
  auto translated = mlir::translateModuleToLLVMIR(*module, context);
  EXPECT_TRUE(bool(translated));
  if (const char *folder = getenv("TILEWRIGHT_MATH_ASM")) {
    auto text = llvm::cantFail(compileToAssembly(llvm::CloneModule(*translated), *target));
    std::error_code error;
    llvm::raw_fd_ostream(std::string(folder) + "/" + op + "." + machineName + ".s", error) << text;
  }
  result.jit = llvm::cantFail(Jit::create());
  llvm::cantFail(result.jit->addObject(llvm::cantFail(compileToObject(std::move(translated), *target))));
  result.run = reinterpret_cast<Kernel>(llvm::cantFail(result.jit->lookup("f")));
  return true;
}

float fromBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// |got - exact| in units of the last place at `exact`; 0 for equal specials, infinite for different ones.
double ulpError(float got, double exact) {
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  float rounded = float(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got)
      return 0;
    // The largest numbers may round either way.
    return std::isinf(exact) || std::fabs(exact) > 0x1.000004p128 || std::fabs(double(got)) < 0x1.fffff0p127 ? INFINITY
                                                                                                             : 1;
  }
  if (rounded == 0 && got == 0)
    return std::signbit(rounded) == std::signbit(got) || exact != 0 ? 0 : INFINITY;
  int exponent = std::max(std::ilogb(exact), -126);
  return std::fabs(double(got) - exact) / std::ldexp(1.0, exponent - 23);
}

/// Bit patterns at an odd stride, then what the stride may miss.
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

struct Worst {
  double ulp = 0;
  float x = 0, y = 0, got = 0;
  double exact = 0;
};

struct Function {
  const char *op;
  double (*exact)(double);
  double bound;
};

void PrintTo(const Function &function, std::ostream *os) { *os << function.op; }

class Unary : public testing::TestWithParam<std::tuple<Function, const char *>> {};

TEST_P(Unary, StaysWithinItsUlp) {
  auto [function, machine] = GetParam();
  Compiled compiled;
  if (!compileOp(function.op, 1, 16, machine, compiled))
    GTEST_SKIP() << "needs " << machine;
  static const std::vector<float> samples = sampleFloats(strideOf(9973));
  std::vector<float> out(samples.size());
  compiled.run(samples.data(), samples.data(), out.data(), samples.size());
  Worst worst;
  for (size_t i = 0; i < samples.size(); ++i) {
    double exact = function.exact(samples[i]), error = ulpError(out[i], exact);
    if (error > worst.ulp)
      worst = {error, samples[i], 0, out[i], exact};
  }
  RecordProperty("ulp", std::to_string(worst.ulp));
  if (getenv("TILEWRIGHT_MATH_REPORT"))
    printf("%-8s %-10s %.3f ULP at %a\n", function.op, machine, worst.ulp, worst.x);
  EXPECT_LE(worst.ulp, function.bound) << function.op << "(" << worst.x << ") gave " << worst.got << " for "
                                       << worst.exact;
}

double rsqrtOf(double x) { return 1 / std::sqrt(x); }

/// Below 2^-125 the kernel gives 0: x is kept out of there.
double sigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Sigmoid, IsExactWhereItIsNormalAndZeroBelow) {
  Compiled compiled;
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
      ASSERT_LE(ulpError(out[i], sigmoidOf(x[i])), 2.0) << x[i];
  }
}

// The bounds are those of ExpandMath.h; rsqrt is a square root and a division.
const Function functions[] = {
    {"exp_short", std::exp, 100}, {"exp2_short", std::exp2, 60}, // what is rounded to 16 bits: 2^-17.5 and 2^-18.4
    {"exp", std::exp, 1.5},       {"exp2", std::exp2, 1.2},      {"expm1", std::expm1, 1.6}, {"tanh", std::tanh, 2.0},
    {"erf", std::erf, 1.4},       {"erfc", std::erfc, 0.6},      {"log", std::log, 1.2},     {"log2", std::log2, 1.2},
    {"log10", std::log10, 1.2},   {"log1p", std::log1p, 1.5},    {"sin", std::sin, 1.6},     {"cos", std::cos, 1.6},
    {"tan", std::tan, 0.6},       {"atan", std::atan, 0.6},      {"asin", std::asin, 0.6},   {"acos", std::acos, 0.6},
    {"sinh", std::sinh, 0.6},     {"cosh", std::cosh, 0.6},      {"asinh", std::asinh, 0.6}, {"acosh", std::acosh, 0.6},
    {"atanh", std::atanh, 0.6},   {"cbrt", std::cbrt, 0.6},      {"rsqrt", rsqrtOf, 1.5}};

INSTANTIATE_TEST_SUITE_P(Math, Unary,
                         testing::Combine(testing::ValuesIn(functions), testing::Values("native", "x86-64-v3")),
                         [](const auto &info) {
                           std::string machine = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param).op) + (machine == "native" ? "" : "_avx2");
                         });

void checkBinary(const char *op, double (*exactOf)(double, double), double bound, bool wholeY) {
  Compiled compiled;
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
    bool near = x.size() % 2; // results near 1, and exponents that do not overflow
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
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) {
    double exact = exactOf(x[i], y[i]), error = ulpError(out[i], exact);
    if (error > worst.ulp)
      worst = {error, x[i], y[i], out[i], exact};
  }
  if (getenv("TILEWRIGHT_MATH_REPORT"))
    printf("%-8s %-10s %.3f ULP at %a, %a\n", op, "native", worst.ulp, worst.x, worst.y);
  EXPECT_LE(worst.ulp, bound) << op << "(" << worst.x << ", " << worst.y << ") gave " << worst.got << " for "
                              << worst.exact;
}

TEST(Binary, Powf) { checkBinary("powf", std::pow, 0.6, false); }
TEST(Binary, Fpowi) { checkBinary("fpowi", std::pow, 0.6, true); }
TEST(Binary, Remf) { checkBinary("remf", static_cast<double (*)(double, double)>(std::fmod), 0, false); }
TEST(Binary, Atan2) { checkBinary("atan2", std::atan2, 0.6, false); }

// Scalars and odd widths go through the same formulas.
TEST(Shapes, ScalarsAndOtherWidthsAgree) {
  std::vector<float> x;
  for (int i = 0; i < 48 * 7; ++i)
    x.push_back((i - 150) * 0.37f);
  x[5] = 1e20f;
  for (const char *op : {"exp", "log", "sin", "tanh", "erf", "atan"}) {
    Compiled wide, narrow, scalar;
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
      EXPECT_LE(ulpError(b[i], a[i]), 3) << op << " " << x[i];
      EXPECT_LE(ulpError(c[i], a[i]), 3) << op << " " << x[i];
    }
  }
}

} // namespace

//===- Operators.cpp - costs of the operators of a design ------------------------------------===//
//
// The table is for UltraScale+ devices at 300 MHz. The multipliers, lookup tables and flip-flops of f32 additions,
// products, exponentials and quick additions are taken from public synthesis reports (Stream-HLS, FPGA 2025 data). The
// reports count no lookup tables for divisions and square roots. The registers and multiplexers around loads, stores,
// products, addresses, nests, shared operands and queues are fitted to one half of the public designs
// (test/Conformance/hls/hls_score.py), weighted by the reciprocal of a design's size. The numbers for other bit widths,
// and for functions that no public design uses, are assumptions.
//
// Test: test/Python/test_hls_estimate.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Estimate/Operators.h"
#include <algorithm>
#include <iterator>

namespace tilewright::hls {
namespace {

struct Row {
  std::string_view name;
  int64_t latency;
  int64_t half, single, wide; ///< number of multipliers in f16, f32 and f64
  int64_t lut, ff;            ///< lookup tables and flip-flops in f32
};

constexpr Row kFloat[] = {
    {"addf", 7, 2, 2, 3, 198, 318},         {"subf", 7, 2, 2, 3, 198, 318},        {"mulf", 4, 2, 3, 8, 92, 205},
    {"fma", 11, 4, 5, 11, 276, 461},        {"divf", 12, 0, 0, 0, 12, 0},          {"sqrt", 14, 0, 0, 0, 12, 0},
    {"reciprocal", 14, 3, 8, 14, 115, 286}, {"rsqrt", 14, 0, 0, 0, 1000, 600},     {"exp", 14, 4, 7, 26, 748, 316},
    {"exp2", 14, 4, 7, 26, 748, 316},       {"expm1", 14, 4, 7, 26, 946, 634},     {"log", 16, 6, 12, 30, 900, 500},
    {"log2", 16, 6, 12, 30, 900, 500},      {"log10", 16, 6, 12, 30, 900, 500},    {"log1p", 16, 6, 12, 30, 1100, 800},
    {"powf", 40, 20, 30, 90, 2500, 2500},   {"atan2", 40, 20, 30, 90, 2500, 2500}, {"maxnumf", 2, 0, 0, 0, 100, 40},
    {"minnumf", 2, 0, 0, 0, 100, 40},       {"maximumf", 2, 0, 0, 0, 100, 40},     {"minimumf", 2, 0, 0, 0, 100, 40},
    {"cmpf", 2, 0, 0, 0, 70, 40},           {"sitofp", 4, 0, 0, 0, 200, 200},      {"uitofp", 4, 0, 0, 0, 200, 200},
    {"fptosi", 4, 0, 0, 0, 200, 200},       {"fptoui", 4, 0, 0, 0, 200, 200},      {"extf", 4, 0, 0, 0, 80, 80},
    {"truncf", 4, 0, 0, 0, 80, 80}};

/// The cost of a function of C's math library that has no row in the table.
constexpr Row kFunction = {"", 40, 20, 30, 90, 2500, 2500};

bool isFunction(std::string_view name) {
  static constexpr std::string_view functions[] = {
#define TW_MATH_FUNCTION(MATH, NAME, ...) #NAME,
#include "dialects/Graph/ScalarFunctions.def"
  };
  return std::find(std::begin(functions), std::end(functions), name) != std::end(functions);
}

} // namespace

OperatorCost floatOperator(std::string_view name, unsigned width) {
  const Row *row = std::find_if(std::begin(kFloat), std::end(kFloat), [&](const Row &its) { return its.name == name; });
  if (row == std::end(kFloat) && isFunction(name))
    row = &kFunction;
  else if (row == std::end(kFloat))
    return {1, 0, int64_t(width), int64_t(width)};
  // Lookup tables and flip-flops are assumed to be proportional to the number of bits, as in adders and shifters.
  return {row->latency,
          width == 64   ? row->wide
          : width == 16 ? row->half
                        : row->single,
          row->lut * width / 32, row->ff * width / 32};
}

OperatorCost integerProduct(unsigned width) {
  const int64_t multipliers = width <= 4 ? 0 : width <= 18 ? 1 : width <= 32 ? 3 : 10;
  return {3, multipliers, multipliers == 0 ? int64_t(width) * width : int64_t(width) / 2, int64_t(width) * 2};
}

OperatorCost integerOperator(unsigned width) { return {1, 0, int64_t(width), int64_t(width)}; }

OperatorCost quickAddition() { return {5, 0, 338, 243}; }
OperatorCost productByDouble() { return {12, 8, 127, 388}; }
OperatorCost addressProduct() { return {3, 1, 31, 41}; }
OperatorCost addressInLogic() { return {1, 0, 52, 0}; }
OperatorCost wideQuotient() { return {5, 16, 249, 441}; }
OperatorCost loadOperator() { return {2, 0, 0, 101}; }
OperatorCost storeOperator() { return {1, 0, 57, 0}; }
OperatorCost queueOperator() { return {1, 0, 0, 0}; }
OperatorCost nestControl() { return {0, 0, 327, 146}; }
OperatorCost sharedOperand() { return {0, 0, 14, 20}; }
OperatorCost queueLane() { return {0, 0, 68, 61}; }

} // namespace tilewright::hls

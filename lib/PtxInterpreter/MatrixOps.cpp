//===- MatrixOps.cpp - mma.sync -----------------------------------------------------===//
//
// The instruction mma.sync computes D = A * B + C. The elements of the matrices are distributed over the registers of a
// warp. With E elements in a register, g = lane / 4 and t = lane % 4, an element has the following position:
//
//   A, register r, element i: row g + 8 * (r & 1), column t * E + i + (r >> 1) * 4 * E
//   B, register r, element i: row t * E + i + r * 4 * E, column g
//   C and D: rows g and g + 8, columns 2 * t and 2 * t + 1
//
// This holds for every shape m16n8kX. Floating-point products, except those of f64, are exact. The products are added
// in double in the order of k, and the sum with C is rounded once. f64 is computed by a chain of FMAs that starts with
// C. The hardware adds the products in another order and truncates intermediate sums, so a kernel must not rely on the
// order or on the rounding.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/MatrixElements.h"
#include "lib/PtxInterpreter/Table.h"

#include <algorithm>
#include <limits>

namespace tilewright::ptx {
namespace {

/// Executes mma.sync with `wordsA` registers for A and half as many for B. The accumulators are f32, f16 (two per
/// register) or s32.
template <class A, class B, Sum sum, uint32_t wordsA> void multiply(Exec &e, const Instr &in) {
  if (e.grid.timing) // the values are not used
    return;
  constexpr uint32_t E = A::kCount, K = 4 * E * (wordsA / 2), wordsB = wordsA / 2, wordsC = sum == Sum::F16 ? 2 : 4;
  using T = decltype(A::get(0, 0));
  using Total = std::conditional_t<sum == Sum::S32, int64_t, double>;
  T a[16][K], b[K][8];
  for (uint32_t r = 0; r < wordsA; ++r) {
    const uint32_t *row = e.row<uint32_t>(in, wordsC + r);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t i = 0; i < E; ++i)
        a[lane / 4 + 8 * (r & 1)][lane % 4 * E + i + (r >> 1) * 4 * E] = A::get(row[lane], i);
  }
  for (uint32_t r = 0; r < wordsB; ++r) {
    const uint32_t *row = e.row<uint32_t>(in, wordsC + wordsA + r);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t i = 0; i < E; ++i)
        b[lane % 4 * E + i + r * 4 * E][lane / 4] = B::get(row[lane], i);
  }
  Total total[16][8];
  for (uint32_t m = 0; m < 16; ++m) {
    Total line[8] = {};
    for (uint32_t k = 0; k < K; ++k)
      for (uint32_t n = 0; n < 8; ++n)
        line[n] += Total(a[m][k]) * Total(b[k][n]);
    std::copy_n(line, 8, total[m]);
  }
  for (uint32_t r = 0; r < wordsC; ++r) {
    const uint32_t *c = e.row<uint32_t>(in, wordsC + wordsA + wordsB + r);
    uint32_t *d = e.row<uint32_t>(in, r);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint32_t row = lane / 4, column = lane % 4 * 2;
      if constexpr (sum == Sum::F16) {
        uint32_t value = 0;
        for (uint32_t half = 0; half < 2; ++half)
          value |=
              encode(sumToOdd(total[row + 8 * r][column + half], halfToFloat(uint16_t(c[lane] >> (16 * half)))), kHalf)
              << (16 * half);
        d[lane] = value;
      } else {
        Total product = total[row + 8 * (r >> 1)][column + (r & 1)];
        if constexpr (sum == Sum::F32)
          d[lane] = std::bit_cast<uint32_t>(toSingle(sumToOdd(product, std::bit_cast<float>(c[lane]))));
        else {
          int64_t value = product + int32_t(c[lane]);
          if (in.mods & ModFinite)
            value =
                std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
          d[lane] = uint32_t(uint64_t(value));
        }
      }
    }
  }
}

/// Executes mma.sync for f64. A has one register in the shape m8n8k4, and 2, 4 and 8 registers in m16n8k4, m16n8k8 and
/// m16n8k16.
template <uint32_t wordsA> void multiplyDouble(Exec &e, const Instr &in) {
  if (e.grid.timing)
    return;
  constexpr uint32_t M = wordsA == 1 ? 8 : 16, K = wordsA == 1 ? 4 : 2 * wordsA, wordsB = wordsA == 1 ? 1 : wordsA / 2,
                     wordsC = wordsA == 1 ? 2 : 4;
  double a[M][K], b[K][8], total[M][8] = {};
  for (uint32_t r = 0; r < wordsA; ++r)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      a[lane / 4 + 8 * (r & 1)][lane % 4 + 4 * (r >> 1)] = e.row<double>(in, wordsC + r)[lane];
  for (uint32_t r = 0; r < wordsB; ++r)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      b[lane % 4 + 4 * r][lane / 4] = e.row<double>(in, wordsC + wordsA + r)[lane];
  auto at = [](uint32_t lane, uint32_t r) { return std::pair(lane / 4 + 8 * (r >> 1), lane % 4 * 2 + (r & 1)); };
  for (uint32_t r = 0; r < wordsC; ++r)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      total[at(lane, r).first][at(lane, r).second] = e.row<double>(in, wordsC + wordsA + wordsB + r)[lane];
  for (uint32_t m = 0; m < M; ++m)
    for (uint32_t k = 0; k < K; ++k)
      for (uint32_t n = 0; n < 8; ++n)
        total[m][n] = std::fma(a[m][k], b[k][n], total[m][n]);
  for (uint32_t r = 0; r < wordsC; ++r)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      e.row<double>(in, r)[lane] = total[at(lane, r).first][at(lane, r).second];
}

template <class A, class B, Sum sum, uint32_t wordsA> void add(Table &table, const std::string &types) {
  constexpr uint32_t K = 4 * A::kCount * (wordsA / 2);
  std::string c = sum == Sum::F16 ? "2w" : sum == Sum::F32 ? "4f" : "4w";
  std::string signature = c + "=" + std::to_string(wordsA) + "w" + std::to_string(wordsA / 2) + "w" + c;
  std::string stem = "mma.sync.aligned.m16n8k" + std::to_string(K) + ".row.col";
  table.add(stem + types, signature.c_str(), multiply<A, B, sum, wordsA>, 0, FlagAligned);
  if (sum == Sum::S32)
    table.add(stem + ".satfinite" + types, signature.c_str(), multiply<A, B, sum, wordsA>, ModFinite, FlagAligned);
}
template <class A, class B> void addIntegers(Table &table, const std::string &a, const std::string &b) {
  add<A, B, Sum::S32, 2>(table, ".s32." + a + "." + b + ".s32");
  add<A, B, Sum::S32, 4>(table, ".s32." + a + "." + b + ".s32");
}
template <class A, class B> void addEights(Table &table, const std::string &a, const std::string &b) {
  for (const char *kind : {"", ".kind::f8f6f4"}) {
    add<A, B, Sum::F32, 4>(table, kind + (".f32." + a + "." + b + ".f32"));
    add<A, B, Sum::F16, 4>(table, kind + (".f16." + a + "." + b + ".f16"));
  }
  add<A, B, Sum::F32, 2>(table, ".f32." + a + "." + b + ".f32");
  add<A, B, Sum::F16, 2>(table, ".f16." + a + "." + b + ".f16");
}

} // namespace

void addMatrixForms(Table &table) {
  add<F16, F16, Sum::F32, 2>(table, ".f32.f16.f16.f32");
  add<F16, F16, Sum::F32, 4>(table, ".f32.f16.f16.f32");
  add<F16, F16, Sum::F16, 2>(table, ".f16.f16.f16.f16");
  add<F16, F16, Sum::F16, 4>(table, ".f16.f16.f16.f16");
  add<BF16, BF16, Sum::F32, 2>(table, ".f32.bf16.bf16.f32");
  add<BF16, BF16, Sum::F32, 4>(table, ".f32.bf16.bf16.f32");
  add<TF32, TF32, Sum::F32, 2>(table, ".f32.tf32.tf32.f32");
  add<TF32, TF32, Sum::F32, 4>(table, ".f32.tf32.tf32.f32");
  addEights<E4M3, E4M3>(table, "e4m3", "e4m3");
  addEights<E4M3, E5M2>(table, "e4m3", "e5m2");
  addEights<E5M2, E4M3>(table, "e5m2", "e4m3");
  addEights<E5M2, E5M2>(table, "e5m2", "e5m2");
  addIntegers<S8, S8>(table, "s8", "s8");
  addIntegers<S8, U8>(table, "s8", "u8");
  addIntegers<U8, S8>(table, "u8", "s8");
  addIntegers<U8, U8>(table, "u8", "u8");
  addIntegers<S4, S4>(table, "s4", "s4");
  addIntegers<S4, U4>(table, "s4", "u4");
  addIntegers<U4, S4>(table, "u4", "s4");
  addIntegers<U4, U4>(table, "u4", "u4");
  for (const char *round : {"", ".rn"}) {
    std::string types = round + std::string(".f64.f64.f64.f64");
    table.add("mma.sync.aligned.m8n8k4.row.col" + types, "2g=1g1g2g", multiplyDouble<1>, 0, FlagAligned);
    table.add("mma.sync.aligned.m16n8k4.row.col" + types, "4g=2g1g4g", multiplyDouble<2>, 0, FlagAligned);
    table.add("mma.sync.aligned.m16n8k8.row.col" + types, "4g=4g2g4g", multiplyDouble<4>, 0, FlagAligned);
    table.add("mma.sync.aligned.m16n8k16.row.col" + types, "4g=8g4g4g", multiplyDouble<8>, 0, FlagAligned);
  }
}

} // namespace tilewright::ptx

//===- MatrixJobOps.cpp - wgmma ------------------------------------------------------------------------===//
//
// Four warps execute a wgmma.mma_async together. Each warp computes the 16 rows of D in its registers, so that the
// warps need not run at the same time. A warp executes the instruction when it waits for the instruction's group.
// Before this wait, the accumulators of the instruction must not be accessed, and registers that hold elements of A
// must not be written. The operands in shared memory are marked as being read through the async proxy. Each warp counts
// its instructions, so that the interpreter can check that all four warps execute each instruction with the same
// operands.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/MatrixDescriptor.h"
#include "lib/PtxInterpreter/MatrixElements.h"
#include "lib/PtxInterpreter/Table.h"

#include <algorithm>
#include <limits>

namespace tilewright::ptx {
namespace {

enum : uint32_t { RegistersA = ModUser, HalfSum = ModUser * 2, Transposable = ModUser * 4, Integers = ModUser * 8 };
constexpr uint32_t kWords = 8; ///< words of a row of A or a column of B: 32 bytes of k

using Rows = std::vector<std::array<uint32_t, kWords>>;

uint32_t widthOf(const Instr &in) { return in.count * 8u; }
uint32_t firstA(const Instr &in) { return in.results; }
uint32_t wordsA(const Instr &in) { return in.mods & RegistersA ? 4 : 1; }
MatrixDescriptor sideA(const MatrixJob &job, const Warp &warp) {
  return {job.a, warp.index % 4 * 16, 16, job.transposeA};
}
MatrixDescriptor sideB(const MatrixJob &job) { return {job.b, 0, widthOf(*job.in), job.transposeB}; }

Rows fetch(Exec &e, const MatrixDescriptor &matrix) {
  Rows rows(matrix.rows);
  bool missing = false;
  matrix.forChunks([&](uint64_t address, uint32_t row, uint32_t k) {
    const uint8_t *from = e.block.shared.data() + address;
    missing |= std::memchr(e.block.sharedWritten.data() + address, 0, 16) != nullptr;
    if (!matrix.transposed) {
      std::memcpy(reinterpret_cast<uint8_t *>(rows[row].data()) + k, from, 16);
      return;
    }
    for (uint32_t i = 0; i < 8; ++i) // the 16 bytes are eight 16-bit elements, one for each of eight rows
      std::memcpy(reinterpret_cast<uint8_t *>(rows[row + i].data()) + 2 * k, from + 2 * i, 2);
  });
  if (missing)
    e.find(Kind::UninitialisedMemory, 0, "the product reads shared memory that nothing has written");
  return rows;
}

template <class A, class B, Sum sum> void multiply(Exec &e, const MatrixJob &job) {
  constexpr uint32_t E = A::kCount, K = E * kWords;
  using T = decltype(A::get(0, 0));
  using Total = std::conditional_t<sum == Sum::S32, int64_t, double>;
  const Instr &in = *job.in;
  uint32_t width = widthOf(in);
  Rows rowsA(16), rowsB = fetch(e, sideB(job));
  if (in.mods & RegistersA) {
    for (uint32_t r = 0; r < 4; ++r)
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        rowsA[lane / 4 + 8 * (r & 1)][lane % 4 + 4 * (r >> 1)] = e.row<uint32_t>(in, firstA(in) + r)[lane];
  } else
    rowsA = fetch(e, sideA(job, e.warp));
  std::vector<T> b(size_t(K) * width);
  for (uint32_t n = 0; n < width; ++n)
    for (uint32_t k = 0; k < K; ++k)
      b[k * width + n] = B::get(rowsB[n][k / E], k % E);
  std::vector<Total> total(16 * width);
  for (uint32_t m = 0; m < 16; ++m)
    for (uint32_t k = 0; k < K; ++k) {
      Total a = Total(A::get(rowsA[m][k / E], k % E)) * job.scaleA * job.scaleB;
      for (uint32_t n = 0; n < width; ++n)
        total[m * width + n] += a * Total(b[k * width + n]);
    }
  for (uint32_t r = 0; r < in.results; ++r) {
    uint32_t *d = e.row<uint32_t>(in, r);
    constexpr uint32_t perTile = sum == Sum::F16 ? 2 : 4;
    uint32_t tile = r / perTile, part = r % perTile;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint32_t row = lane / 4 + 8 * (sum == Sum::F16 ? part : part >> 1), column = 8 * tile + lane % 4 * 2;
      const Total *at = &total[row * width + column];
      uint32_t old = job.accumulate ? d[lane] : 0;
      if constexpr (sum == Sum::F16) {
        uint32_t low = encode(sumToOdd(at[0], halfToFloat(uint16_t(old))), kHalf);
        d[lane] = low | encode(sumToOdd(at[1], halfToFloat(uint16_t(old >> 16))), kHalf) << 16;
      } else if constexpr (sum == Sum::F32)
        d[lane] = std::bit_cast<uint32_t>(toSingle(sumToOdd(at[part & 1], std::bit_cast<float>(old))));
      else {
        int64_t value = at[part & 1] + int32_t(old);
        if (in.mods & ModFinite)
          value = std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
        d[lane] = uint32_t(uint64_t(value));
      }
    }
  }
}

//===--- products in flight ---===//
void markRegisters(Warp &warp, const Code &code) {
  warp.inFlight.clear();
  auto mark = [&](const MatrixJob &job) {
    warp.inFlight.resize(warp.written.size());
    const Instr &in = *job.in;
    for (uint32_t i = 0; i < in.results + (in.mods & RegistersA ? 4u : 0); ++i)
      if (uint32_t row = code.operands[in.operands + i]; !(row & kPool))
        warp.inFlight[job.base + row] |= i < in.results ? 1 : 2;
  };
  for (const auto &group : warp.jobGroups)
    std::for_each(group.begin(), group.end(), mark);
  std::for_each(warp.jobs.begin(), warp.jobs.end(), mark);
}

/// Records that the reads of a shared memory operand are in progress. Returns false if the operand cannot be read.
bool beginReads(Exec &e, const MatrixDescriptor &matrix, const char *name) {
  std::string problem = matrix.problem();
  if (!problem.empty()) {
    e.find(Kind::BadOperand, 0, std::string("the descriptor of ") + name + ": " + problem);
    return false;
  }
  bool good = true;
  const Epoch *other = nullptr;
  Epoch conflict;
  uint64_t where = 0;
  Accessor who = e.accessor(0, Epoch::Async | Epoch::Proxy);
  matrix.forChunks([&](uint64_t address, uint32_t, uint32_t) {
    if (!good || !(good = e.inShared(0, address, 16, 16, name)))
      return;
    if (const Epoch *found = e.block.shadow.read(who, address, 16)) {
      conflict = *found;
      other = &conflict;
      where = address;
    }
  });
  if (other)
    e.noteRace(0, Space::Shared, where, *other, false, true);
  return good;
}

/// Checks that all four warps of a warp group execute the instruction with the same operands.
void meetGroup(Exec &e, const MatrixJob &job) {
  uint32_t group = e.warp.index / 4;
  if (group * 4 + 4 > e.block.warps.size()) {
    e.find(Kind::BarrierDivergence, 0,
           "the warp group has " + std::to_string(e.block.warps.size() - group * 4) +
               " of the 4 warps that the instruction needs");
    return;
  }
  auto [entry, fresh] = e.block.groupJobs.try_emplace({group, e.warp.jobCount++}, job, 1);
  if (fresh)
    return;
  const MatrixJob &first = entry->second.first;
  if (first.pc != job.pc || first.b != job.b || first.a != job.a || first.accumulate != job.accumulate)
    e.find(Kind::BarrierDivergence, 0,
           first.pc != job.pc ? "the warps of the group execute different wgmma instructions"
                              : "the warps of the group use different descriptors or values of scale-d");
  if (++entry->second.second == 4)
    e.block.groupJobs.erase(entry);
}

int8_t scaleOf(Exec &e, uint32_t value) {
  if (value != 1 && value != ~0u)
    e.find(Kind::BadOperand, 0, "a scale of " + std::to_string(int32_t(value)) + ": it must be 1 or -1");
  return value == ~0u ? -1 : 1;
}

template <class A, class B, Sum sum> void issue(Exec &e, const Instr &in) {
  MatrixJob job;
  job.run = multiply<A, B, sum>;
  job.in = &in;
  job.pc = e.pc;
  job.base = e.fragment->base;
  bool registers = in.mods & RegistersA;
  uint32_t next = firstA(in) + wordsA(in);
  if (!registers)
    job.a = e.row<uint64_t>(in, firstA(in))[0];
  job.b = e.row<uint64_t>(in, next)[0];
  job.accumulate = e.row<uint32_t>(in, next + 1)[0] & 1;
  if (!(in.mods & Integers)) {
    job.scaleA = scaleOf(e, e.row<uint32_t>(in, next + 2)[0]);
    job.scaleB = scaleOf(e, e.row<uint32_t>(in, next + 3)[0]);
    if (in.mods & Transposable) {
      next += 4;
      if (!registers)
        job.transposeA = e.row<uint32_t>(in, next++)[0] & 1;
      job.transposeB = e.row<uint32_t>(in, next)[0] & 1;
    }
  }
  Warp &warp = e.warp;
  bool unfenced = warp.unfenced.empty();
  for (uint32_t i = 0; i < in.results + (registers ? 4u : 0); ++i) {
    uint32_t row = e.operand(in, i);
    if (row & kPool)
      continue;
    uint32_t at = job.base + row;
    unfenced |= at < warp.unfenced.size() && warp.unfenced[at];
    if (i < in.results && job.accumulate && e.mask & ~e.written(row))
      e.find(Kind::UninitialisedRegister, uint32_t(std::countr_zero(e.mask & ~e.written(row))),
             "an accumulator is read before it is written");
    if (at < warp.inFlight.size() && warp.inFlight[at] & (i < in.results ? 2 : 1))
      e.find(Kind::RegisterInFlight, 0, "a register is both an accumulator and a part of A of products in flight");
  }
  if (unfenced)
    e.find(Kind::MissingMatrixFence, 0,
           "there is no wgmma.fence between the last writes of its registers and this product");
  meetGroup(e, job);
  bool good = registers || beginReads(e, sideA(job, warp), "A");
  good &= beginReads(e, sideB(job), "B");
  if (!good)
    return;
  warp.jobs.push_back(job);
  markRegisters(warp, e.grid.code);
}

void finish(Exec &e, const MatrixJob &job) {
  Exec late = e;
  late.pc = job.pc;
  late.registers = e.warp.registers.data() + size_t(job.base) * kLanes;
  if (!e.grid.timing)
    job.run(late, job);
  Accessor who = late.accessor(0, Epoch::Proxy);
  auto done = [&](uint64_t address, uint32_t, uint32_t) { e.block.shadow.finishRead(who, address, 16); };
  sideB(job).forChunks(done);
  if (!(job.in->mods & RegistersA))
    sideA(job, e.warp).forChunks(done);
}

void matrixFence(Exec &e, const Instr &) { e.warp.unfenced.assign(e.warp.written.size(), 0); }
void commitMatrixGroup(Exec &e, const Instr &) {
  e.warp.jobGroups.push_back(std::move(e.warp.jobs));
  e.warp.jobs.clear();
}
void waitMatrixGroup(Exec &e, const Instr &in) {
  uint32_t allowed = e.row<uint32_t>(in, 0)[0];
  for (; e.warp.jobGroups.size() > allowed; e.warp.jobGroups.pop_front())
    for (const MatrixJob &job : e.warp.jobGroups.front())
      finish(e, job);
  markRegisters(e.warp, e.grid.code);
}

template <class A, class B, Sum sum> void add(Table &table, const std::string &types, uint32_t mods) {
  std::string k = std::to_string(A::kCount * kWords);
  for (uint32_t width = 8; width <= 256; width += 8) {
    if ((mods & Integers) && width > 32 && width % 16)
      continue;
    for (bool registers : {false, true}) {
      Form form;
      form.run = issue<A, B, sum>;
      form.mods = mods | (registers ? RegistersA : 0);
      form.flags = FlagAligned | FlagMatrix;
      form.count = uint8_t(width / 8);
      uint32_t results = width / (sum == Sum::F16 ? 4 : 2);
      form.signature = std::to_string(results) + (sum == Sum::F32 ? "f" : "w") + "=" + (registers ? "4w" : "d") + "dp";
      if (!(mods & Integers))
        form.signature += mods & Transposable ? registers ? "www" : "wwww" : "ww";
      std::string stem = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(width) + "k" + k;
      std::string tail = types + (registers ? kRegistersForm : "");
      table.add(stem + tail, form);
      if (mods & Integers) {
        form.mods |= ModFinite;
        table.add(stem + ".satfinite" + tail, form);
      }
    }
  }
}

} // namespace

void checkInFlight(Exec &e, const Instr &in) {
  for (uint32_t i = 0; i < uint32_t(in.results) + in.sources; ++i) {
    uint32_t row = e.operand(in, i), at = e.fragment->base + row;
    if (row & kPool || at >= e.warp.inFlight.size())
      continue;
    // Registers that hold elements of A may be read, but not written.
    if (e.warp.inFlight[at] & (i < in.results ? 3 : 1))
      e.find(Kind::RegisterInFlight, uint32_t(std::countr_zero(e.mask)),
             std::string(i < in.results ? "writes" : "reads") +
                 " a register of a wgmma in flight: no wgmma.wait_group");
  }
}

void endMatrixJobs(Exec &e) {
  if (!e.warp.jobs.empty() || !e.warp.jobGroups.empty()) {
    e.pc = e.warp.jobs.empty() ? e.warp.jobGroups.front().empty() ? 0 : e.warp.jobGroups.front().front().pc
                               : e.warp.jobs.front().pc;
    e.find(Kind::RegisterInFlight, 0, "the warp ends, but has not waited for this product");
  }
  if (e.warp.index % 4)
    return;
  for (const auto &[key, value] : e.block.groupJobs)
    if (key.first == e.warp.index / 4) {
      e.pc = value.first.pc;
      e.find(Kind::BarrierDivergence, 0,
             std::to_string(value.second) + " of the 4 warps of the group executed this product");
    }
}

void addMatrixJobForms(Table &table) {
  add<F16, F16, Sum::F32>(table, ".f32.f16.f16", Transposable);
  add<F16, F16, Sum::F16>(table, ".f16.f16.f16", Transposable);
  add<BF16, BF16, Sum::F32>(table, ".f32.bf16.bf16", Transposable);
  add<TF32, TF32, Sum::F32>(table, ".f32.tf32.tf32", 0);
  add<E4M3, E4M3, Sum::F32>(table, ".f32.e4m3.e4m3", 0);
  add<E4M3, E5M2, Sum::F32>(table, ".f32.e4m3.e5m2", 0);
  add<E5M2, E4M3, Sum::F32>(table, ".f32.e5m2.e4m3", 0);
  add<E5M2, E5M2, Sum::F32>(table, ".f32.e5m2.e5m2", 0);
  add<E4M3, E4M3, Sum::F16>(table, ".f16.e4m3.e4m3", 0);
  add<E4M3, E5M2, Sum::F16>(table, ".f16.e4m3.e5m2", 0);
  add<E5M2, E4M3, Sum::F16>(table, ".f16.e5m2.e4m3", 0);
  add<E5M2, E5M2, Sum::F16>(table, ".f16.e5m2.e5m2", 0);
  add<S8, S8, Sum::S32>(table, ".s32.s8.s8", Integers);
  add<S8, U8, Sum::S32>(table, ".s32.s8.u8", Integers);
  add<U8, S8, Sum::S32>(table, ".s32.u8.s8", Integers);
  add<U8, U8, Sum::S32>(table, ".s32.u8.u8", Integers);
  uint8_t flags = FlagAligned | FlagMatrix;
  table.add("wgmma.fence.sync.aligned", "", matrixFence, 0, flags);
  table.add("wgmma.commit_group.sync.aligned", "", commitMatrixGroup, 0, flags);
  table.add("wgmma.wait_group.sync.aligned", "w", waitMatrixGroup, 0, flags);
}

} // namespace tilewright::ptx

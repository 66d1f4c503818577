//===- WarpOps.cpp - shfl, vote, match, redux, elect --------------------------------===//
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

#include <algorithm>

namespace tilewright::ptx {
namespace {

enum class Shuffle { Up, Down, Butterfly, Index };

/// Executes shfl.sync with the operands d{|p}, a, b, c and the mask of the member lanes.
template <Shuffle kind> void shuffle(Exec &e, const Instr &in) {
  uint32_t *d = e.row<uint32_t>(in, 0), second = e.operand(in, 1);
  uint32_t *p = second == kNoRow ? nullptr : e.rowAt<uint32_t>(second);
  const uint32_t *b = e.row<uint32_t>(in, 3), *c = e.row<uint32_t>(in, 4);
  uint32_t a[kLanes];
  std::memcpy(a, e.row<uint32_t>(in, 2), sizeof a);
  forLanes(e.mask, [&](uint32_t lane) {
    int32_t distance = int32_t(b[lane] & 31), segment = int32_t(c[lane] >> 8 & 31), clamp = int32_t(c[lane] & 31);
    int32_t own = int32_t(lane), highest = (own & segment) | (clamp & ~segment), lowest = own & segment, from;
    bool inside;
    switch (kind) {
    case Shuffle::Up:
      from = own - distance;
      inside = from >= highest;
      break;
    case Shuffle::Down:
      from = own + distance;
      inside = from <= highest;
      break;
    case Shuffle::Butterfly:
      from = own ^ distance;
      inside = from <= highest;
      break;
    case Shuffle::Index:
      from = lowest | (distance & ~segment);
      inside = from <= highest;
      break;
    }
    if (!inside)
      from = own;
    if (!(e.mask >> from & 1)) {
      e.find(Kind::BadOperand, lane,
             "reads the value of lane " + std::to_string(from) + ", which does not execute the instruction");
      from = own;
    }
    d[lane] = a[from];
    if (p)
      p[lane] = inside;
  });
}

uint32_t ballot(const Exec &e, const uint32_t *predicate) {
  uint32_t votes = 0;
  forLanes(e.mask, [&](uint32_t lane) { votes |= (predicate[lane] & 1) << lane; });
  return votes;
}
enum class Vote { All, Any, Uniform, Ballot };
template <Vote kind> void vote(Exec &e, const Instr &in) {
  uint32_t *d = e.row<uint32_t>(in, 0), votes = ballot(e, e.row<uint32_t>(in, 1));
  uint32_t value = kind == Vote::All       ? votes == e.mask
                   : kind == Vote::Any     ? votes != 0
                   : kind == Vote::Uniform ? votes == 0 || votes == e.mask
                                           : votes;
  forLanes(e.mask, [&](uint32_t lane) { d[lane] = value; });
}

template <class C> void matchAny(Exec &e, const Instr &in) {
  uint32_t *d = e.row<uint32_t>(in, 0);
  C a[kLanes];
  std::memcpy(a, e.row<C>(in, 1), sizeof a);
  forLanes(e.mask, [&](uint32_t lane) {
    uint32_t same = 0;
    forLanes(e.mask, [&](uint32_t other) { same |= uint32_t(a[other] == a[lane]) << other; });
    d[lane] = same;
  });
}
template <class C> void matchAll(Exec &e, const Instr &in) {
  uint32_t *d = e.row<uint32_t>(in, 0), second = e.operand(in, 1);
  const C *a = e.row<C>(in, 2);
  C first = a[std::countr_zero(e.mask)];
  bool all = true;
  forLanes(e.mask, [&](uint32_t lane) { all &= a[lane] == first; });
  forLanes(e.mask, [&](uint32_t lane) {
    d[lane] = all ? e.mask : 0;
    if (second != kNoRow)
      e.rowAt<uint32_t>(second)[lane] = all;
  });
}

template <class T, class F> void reduce(Exec &e, const Instr &in) {
  const uint32_t *a = e.row<uint32_t>(in, 1);
  uint32_t first = uint32_t(std::countr_zero(e.mask));
  T value = T(a[first]);
  forLanes(e.mask & (e.mask - 1), [&](uint32_t lane) { value = F{}(value, T(a[lane])); });
  uint32_t *d = e.row<uint32_t>(in, 0);
  forLanes(e.mask, [&](uint32_t lane) { d[lane] = uint32_t(value); });
}
template <class T, class F> void addReduce(Table &table, const char *name, F) {
  table.add(std::string("redux.sync") + name, "w=ww", reduce<T, F>, 0, FlagMember);
}

void activeMask(Exec &e, const Instr &in) {
  uint32_t *d = e.row<uint32_t>(in, 0);
  forLanes(e.mask, [&](uint32_t lane) { d[lane] = e.mask; });
}
void elect(Exec &e, const Instr &in) {
  uint32_t *d = e.row<uint32_t>(in, 0), second = e.operand(in, 1), leader = uint32_t(std::countr_zero(e.mask));
  forLanes(e.mask, [&](uint32_t lane) {
    d[lane] = leader;
    if (second != kNoRow)
      e.rowAt<uint32_t>(second)[lane] = lane == leader;
  });
}

} // namespace

void addWarpForms(Table &table) {
  table.add("shfl.sync.up.b32", "w|=wwww", shuffle<Shuffle::Up>, 0, FlagMember);
  table.add("shfl.sync.down.b32", "w|=wwww", shuffle<Shuffle::Down>, 0, FlagMember);
  table.add("shfl.sync.bfly.b32", "w|=wwww", shuffle<Shuffle::Butterfly>, 0, FlagMember);
  table.add("shfl.sync.idx.b32", "w|=wwww", shuffle<Shuffle::Index>, 0, FlagMember);
  table.add("vote.sync.all.pred", "p=pw", vote<Vote::All>, 0, FlagMember);
  table.add("vote.sync.any.pred", "p=pw", vote<Vote::Any>, 0, FlagMember);
  table.add("vote.sync.uni.pred", "p=pw", vote<Vote::Uniform>, 0, FlagMember);
  table.add("vote.sync.ballot.b32", "w=pw", vote<Vote::Ballot>, 0, FlagMember);
  table.add("match.any.sync.b32", "w=ww", matchAny<uint32_t>, 0, FlagMember);
  table.add("match.any.sync.b64", "w=dw", matchAny<uint64_t>, 0, FlagMember);
  table.add("match.all.sync.b32", "w|=ww", matchAll<uint32_t>, 0, FlagMember);
  table.add("match.all.sync.b64", "w|=dw", matchAll<uint64_t>, 0, FlagMember);
  addReduce<uint32_t>(table, ".add.u32", [](uint32_t a, uint32_t b) { return a + b; });
  addReduce<uint32_t>(table, ".add.s32", [](uint32_t a, uint32_t b) { return a + b; });
  addReduce<uint32_t>(table, ".min.u32", [](uint32_t a, uint32_t b) { return std::min(a, b); });
  addReduce<uint32_t>(table, ".max.u32", [](uint32_t a, uint32_t b) { return std::max(a, b); });
  addReduce<int32_t>(table, ".min.s32", [](int32_t a, int32_t b) { return std::min(a, b); });
  addReduce<int32_t>(table, ".max.s32", [](int32_t a, int32_t b) { return std::max(a, b); });
  addReduce<uint32_t>(table, ".and.b32", [](uint32_t a, uint32_t b) { return a & b; });
  addReduce<uint32_t>(table, ".or.b32", [](uint32_t a, uint32_t b) { return a | b; });
  addReduce<uint32_t>(table, ".xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; });
  table.add("activemask.b32", "w=", activeMask);
  table.add("elect.sync", "w|=w", elect, 0, FlagMember);
}

} // namespace tilewright::ptx

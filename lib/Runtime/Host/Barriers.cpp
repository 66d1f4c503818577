//===- Barriers.cpp - barriers between the steps of a call ----------------===//
//
// placeBarriers() visits the steps in order and records the memory that steps have accessed since the last barrier.
// Steps that only thread 0 executes need no barrier between them.
//
//   k0: grid 16, writes A       |
//   k1: grid 16, writes B       | does not access memory of k0: no barrier
//   --- barrier ---
//   k2: grid 16, reads A and B  |
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Host/Frame.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

struct Access {
  Frame::Operand operand;
  bool write;
  bool anywhere; ///< true for an in-place input, which may share memory with any tensor of the caller
};

bool isCallers(const Access &access) {
  return access.operand.space == Frame::Space::Input || access.operand.space == Frame::Space::Output;
}

bool overlaps(const Access &a, const Access &b) {
  if ((a.anywhere && isCallers(b)) || (b.anywhere && isCallers(a)))
    return true;
  const Frame::Operand &x = a.operand, &y = b.operand;
  return x.space == y.space && x.index == y.index && x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
}

bool conflicts(const std::vector<Access> &earlier, const Access &access) {
  for (const Access &other : earlier)
    if ((other.write || access.write) && overlaps(other, access))
      return true;
  return false;
}

/// Returns the operands of a step with which accesses of other steps may conflict. Constants are omitted, because no
/// step writes them.
std::vector<Access> accessesOf(const Frame &frame, size_t step, const std::vector<bool> &writes,
                               const std::vector<bool> &mayAlias) {
  std::vector<Access> result;
  for (size_t k = frame.steps[step].firstOperand; k < frame.operandsOf(step + 1); ++k) {
    const Frame::Operand &operand = frame.operands[k];
    if (operand.space == Frame::Space::Constant || operand.bytes == 0)
      continue;
    bool anywhere = operand.space == Frame::Space::Input && mayAlias[size_t(operand.index)];
    result.push_back({operand, writes[k], anywhere});
  }
  return result;
}

} // namespace

void placeBarriers(Frame &frame, const std::vector<bool> &writes, const std::vector<bool> &mayAlias) {
  // `byAll` and `byFirst` contain the accesses since the last barrier. `byAll` is for steps that all threads execute,
  // and `byFirst` is for steps that only thread 0 executes. `current` contains the accesses of the current step.
  std::vector<Access> byAll, byFirst, current;
  bool afterHost = false;
  for (size_t i = 0; i < frame.steps.size(); ++i) {
    Frame::Step &step = frame.steps[i];
    // A host function may access anything, so no other step may run concurrently.
    bool host = step.kind == plan::Step::Kind::Host;
    step.barrierBefore = (host && !byAll.empty()) || (afterHost && !step.serial);
    current = accessesOf(frame, i, writes, mayAlias);
    for (const Access &access : current)
      step.barrierBefore |= conflicts(byAll, access) || (!step.serial && conflicts(byFirst, access));
    if (step.barrierBefore) {
      byAll.clear();
      byFirst.clear();
      afterHost = false;
    }
    afterHost |= host;
    std::vector<Access> &list = step.serial ? byFirst : byAll;
    list.insert(list.end(), current.begin(), current.end());
  }
  int64_t tiles = 0;
  for (size_t first = 0, end; first < frame.steps.size(); first = end) {
    for (end = first; end < frame.steps.size() && (end == first || !frame.steps[end].barrierBefore); ++end)
      tiles += frame.steps[end].serial ? 1 : frame.steps[end].grid;
    for (size_t i = first; i < end; ++i)
      frame.steps[i].tilesToBarrier = tiles;
  }
}

std::vector<std::vector<uint32_t>> stepsBefore(const Frame &frame, size_t planSteps, const std::vector<bool> &writes,
                                               const std::vector<bool> &mayAlias) {
  const size_t count = frame.steps.size();
  std::vector<std::vector<uint32_t>> result(planSteps);
  std::vector<std::vector<Access>> accesses(count);
  std::vector<std::vector<bool>> followed(count); // for each step, flags of the earlier steps on which it depends
  for (size_t i = 0; i < count; ++i) {
    accesses[i] = accessesOf(frame, i, writes, mayAlias);
    followed[i].resize(i);
    for (size_t j = i; j-- > 0;) {
      auto meets = [&](const Access &access) { return conflicts(accesses[j], access); };
      if (followed[i][j] || std::none_of(accesses[i].begin(), accesses[i].end(), meets))
        continue;
      result[size_t(frame.steps[i].number)].push_back(uint32_t(frame.steps[j].number));
      followed[i][j] = true;
      for (size_t k = 0; k < j; ++k)
        followed[i][k] = followed[i][k] || followed[j][k];
    }
  }
  return result;
}

} // namespace tilewright::runtime

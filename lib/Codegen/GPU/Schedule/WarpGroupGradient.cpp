//===- WarpGroupGradient.cpp - the gradient of attention by warp groups, with TMA and wgmma -----===//
#include "lib/Codegen/GPU/Schedule/WarpGroupGradient.h"

using namespace mlir;

namespace tilewright::gpu {

WarpGroupGradientTiles::WarpGroupGradientTiles(const Schedule &schedule, const AttentionGradient &gradient) {
  constexpr int64_t lineNumbers = lineBytes / 2, alignment = 1024, numberBytes = 4, barrier = 8;
  slots = slotBytes = 0;
  for (unsigned side = 0; side < 2; ++side) {
    const int64_t columns = side == 0 ? gradient.headSize : gradient.valueSize;
    const auto boxes = int64_t(llvm::divideCeil(columns, lineNumbers));
    own[side] = {schedule.m, boxes};
    ownOffsets[side] = slots;
    slots += own[side].bytes();
    other[side] = {schedule.n, boxes};
    otherOffsets[side] = slotBytes;
    slotBytes += other[side].bytes();
  }
  statistics = slotBytes;
  slotBytes = int64_t(llvm::alignTo(uint64_t(statistics + 2 * schedule.n * numberBytes), uint64_t(alignment)));
  barriers = slots + slotBytes * schedule.stages;
  bytes = barriers + barrier * (1 + 2 * schedule.stages);
}

Schedule chooseWarpGroupGradient(const AttentionGradient &gradient, int64_t sharedBytes, int64_t consumers) {
  constexpr int64_t mostStages = 3;
  Schedule schedule;
  schedule.kind = Schedule::Kind::Attention;
  schedule.consumers = consumers > 0 ? consumers : 2;
  schedule.threads = (schedule.consumers + 1) * warpGroupSize;
  schedule.m = schedule.consumers * groupRows;
  schedule.n = 64;
  schedule.stages = mostStages;
  while (schedule.stages > 2 && WarpGroupGradientTiles(schedule, gradient).bytes > sharedBytes)
    --schedule.stages;
  return schedule;
}

std::string whyNotWarpGroupGradient(const Schedule &schedule, const AttentionGradient &gradient, int64_t sharedBytes) {
  auto text = [](int64_t number) { return std::to_string(number); };
  if (std::string why = whyNotConsumers(schedule); !why.empty())
    return why;
  for (auto operand : {AttentionGradient::Query, AttentionGradient::Key}) {
    const int64_t rows = gradient.sizeOf(operand, 2);
    if (!ShapedType::isDynamic(rows) && rows < groupRows)
      return "a head has " + text(rows) + (operand == AttentionGradient::Key ? " keys" : " queries") +
             ", but a warp group computes 64 rows; set `consumers` to 0";
  }
  if (schedule.n % 16 != 0 || schedule.m % schedule.n != 0)
    return "n, the number of rows per step, is " + text(schedule.n) +
           ", but must be a multiple of 16 that divides m, which is " + text(schedule.m);
  if (schedule.stages < 2 || schedule.stages > 64)
    return "stages is " + text(schedule.stages) + ", but must be 2 to 64";
  std::string reason;
  for (auto operand : gradientMaps)
    if (tile::AttentionGradientOp op = gradient.op;
        !recipeOfHeads(op.getInputs()[operand], gradient.dims[operand][2], 1, reason))
      return reason;
  if (int64_t bytes = WarpGroupGradientTiles(schedule, gradient).bytes; bytes > sharedBytes)
    return "it needs " + text(bytes) + " bytes of shared memory, and a block has " + text(sharedBytes);
  // The registers of a thread contain the sums, the scores and their gradients, weights, addresses and statistics.
  const int64_t used = (gradient.headSize + gradient.valueSize) / 2 + schedule.n + schedule.n / 4 + 24;
  if (used > consumerRegisters)
    return "it needs about " + text(used) + " registers, and a thread has " + text(consumerRegisters);
  return "";
}

} // namespace tilewright::gpu

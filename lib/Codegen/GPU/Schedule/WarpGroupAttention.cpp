//===- WarpGroupAttention.cpp - attention by warp groups, with TMA and wgmma --------------===//
#include "lib/Codegen/GPU/Schedule/WarpGroupAttention.h"
#include "dialects/Tile/Sizes.h"

using namespace mlir;

namespace tilewright::gpu {

HeadTile tileOfHead(const Schedule &schedule, const Attention &attention, Attention::Operand operand) {
  const int64_t rows = operand == Attention::Query ? schedule.m : schedule.n;
  const int64_t numbers = operand == Attention::Value ? attention.valueSize : attention.headSize;
  constexpr int64_t lineNumbers = lineBytes / 2;
  return {rows, int64_t(llvm::divideCeil(numbers, lineNumbers))};
}

static int64_t bytesOfStage(const Schedule &schedule, const Attention &attention) {
  return tileOfHead(schedule, attention, Attention::Key).bytes() +
         tileOfHead(schedule, attention, Attention::Value).bytes();
}

int64_t bytesOfWarpGroups(const Schedule &schedule, const Attention &attention) {
  constexpr int64_t barrier = 8;
  return tileOfHead(schedule, attention, Attention::Query).bytes() + barrier +
         (bytesOfStage(schedule, attention) + 4 * barrier) * schedule.stages;
}

std::optional<TensorMapRecipe> recipeOfHeads(Value operand, int64_t rowDim, int64_t rows, std::string &reason) {
  auto tensor = cast<BlockArgument>(operand);
  TensorMapRecipe made;
  for (BlockArgument before : tensor.getOwner()->getArguments().take_front(tensor.getArgNumber()))
    made.buffer += isa<RankedTensorType>(before.getType());
  made.element =
      getElementTypeOrSelf(tensor.getType()).isF16() ? TensorMapRecipe::Element::F16 : TensorMapRecipe::Element::BF16;
  made.swizzle = uint32_t(lineBytes);
  SmallVector<AffineExpr> sizes = tile::sizesOf(tensor);
  if (sizes.size() != 4) {
    reason = "a size of an operand cannot be computed from the kernel's arguments";
    return std::nullopt;
  }
  for (int64_t dim = 3; dim >= 0; --dim) {
    MappedOperand::Run run{MappedOperand::Part::Batch, {}, 1, {}};
    if (!multiplySize(run, sizes[size_t(dim)]) || run.factor > UINT32_MAX) {
      reason = "a size of an operand is not a product of the kernel's arguments, or is too large for a tensor map";
      return std::nullopt;
    }
    const int64_t box = dim == 3 ? lineBytes / 2 : dim == rowDim ? rows : 1;
    made.dimensions.push_back({uint32_t(box), run.factor, {run.sizes.begin(), run.sizes.end()}});
  }
  return made;
}

Schedule chooseWarpGroupAttention(const Attention &attention, int64_t sharedBytes, int64_t consumers) {
  constexpr int64_t mostStages = 4;
  const int64_t rows = attention.sizeOf(Attention::Query, 2), columns = attention.sizeOf(Attention::Key, 2);
  Schedule schedule;
  schedule.kind = Schedule::Kind::Attention;
  schedule.consumers = consumers > 0 ? consumers : !ShapedType::isDynamic(rows) && rows <= groupRows ? 1 : 2;
  schedule.threads = (schedule.consumers + 1) * warpGroupSize;
  schedule.m = schedule.consumers * groupRows;
  const bool few = !ShapedType::isDynamic(columns) && columns <= 64;
  schedule.n = few || std::max(attention.headSize, attention.valueSize) > 128 ? 64 : 128;
  schedule.stages = mostStages;
  while (schedule.stages > 2 && bytesOfWarpGroups(schedule, attention) > sharedBytes)
    --schedule.stages;
  return schedule;
}

std::string whyNotConsumers(const Schedule &schedule) {
  auto text = [](int64_t number) { return std::to_string(number); };
  if (schedule.consumers < 1 || schedule.consumers > 2)
    return "it has " + text(schedule.consumers) + " consumer warp groups, but must have one or two";
  if (schedule.m != schedule.consumers * groupRows)
    return "a block has " + text(schedule.m) + " rows, but its warp groups compute " +
           text(schedule.consumers * groupRows);
  if (schedule.threads != (schedule.consumers + 1) * warpGroupSize)
    return "it has " + text(schedule.threads) + " threads, but its warp groups have " +
           text((schedule.consumers + 1) * warpGroupSize);
  return "";
}

std::string whyNotWarpGroupAttention(const Schedule &schedule, const Attention &attention, int64_t sharedBytes) {
  auto text = [](int64_t number) { return std::to_string(number); };
  if (std::string why = whyNotConsumers(schedule); !why.empty())
    return why;
  const int64_t rows = attention.sizeOf(Attention::Query, 2);
  if (attention.groupedRows > 0 || (!ShapedType::isDynamic(rows) && rows < groupRows))
    return "a head has " + text(rows) + " queries, but a warp group computes 64 rows; set `consumers` to 0";
  if (schedule.n % 16 != 0 || schedule.n > 256)
    return "n, the number of keys per step, is " + text(schedule.n) + ", but must be a multiple of 16 up to 256";
  if (schedule.stages < 2 || schedule.stages > 64)
    return "stages is " + text(schedule.stages) + ", but must be 2 to 64";
  std::string reason;
  for (auto operand : {Attention::Query, Attention::Key, Attention::Value})
    if (!recipeOf(attention, operand, 1, reason))
      return reason;
  if (int64_t bytes = bytesOfWarpGroups(schedule, attention); bytes > sharedBytes)
    return "it needs " + text(bytes) + " bytes of shared memory, and a block has " + text(sharedBytes);
  // The registers of a thread contain sums, scores, weights, addresses and statistics.
  const int64_t used = attention.valueSize / 2 + schedule.n / 2 + schedule.n / 4 + 48;
  if (used > consumerRegisters)
    return "it needs about " + text(used) + " registers, and a thread has " + text(consumerRegisters);
  return "";
}

} // namespace tilewright::gpu

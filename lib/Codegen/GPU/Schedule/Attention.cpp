//===- Attention.cpp - a kernel with one attention whose shape tensor cores support -----===//
#include "lib/Codegen/GPU/Schedule/Attention.h"

using namespace mlir;

namespace tilewright::gpu {

static constexpr int64_t mostWarps = 4;
/// The largest supported size of a head. For larger heads, a thread does not have enough registers for the sums.
static constexpr int64_t largestHead = 256;

int64_t Attention::sizeOf(Operand operand, unsigned dim) const {
  mlir::Value of = operand == Result ? mlir::Value(op.getOutputs()[0]) : mlir::Value(op.getInputs()[operand]);
  return cast<ShapedType>(of.getType()).getDimSize(position(operand, dim));
}

std::optional<Attention> matchAttention(func::FuncOp kernel, std::string &reason) {
  Attention found{};
  found.op = onlyOp<tile::AttentionOp>(kernel, "an attention", reason);
  if (!found.op)
    return std::nullopt;
  tile::AttentionOp op = found.op;
  if (op.getFirstRow()) {
    reason = "it computes only a part of the rows of an attention";
    return std::nullopt;
  }
  Type element = getElementTypeOrSelf(op.getInputs()[0].getType());
  if (!element.isBF16() && !element.isF16()) {
    reason = "the schedule supports only bf16 and f16";
    return std::nullopt;
  }
  for (unsigned number = 0; number < 3; ++number) {
    auto operand = Attention::Operand(number);
    if (!isa<BlockArgument>(op.getInputs()[number]) ||
        getElementTypeOrSelf(op.getInputs()[number].getType()) != element) {
      reason = "an operand is computed in the kernel, or its type differs from the type of the query";
      return std::nullopt;
    }
    if (found.position(operand, 3) != 3) {
      reason = "the elements of a head are not contiguous";
      return std::nullopt;
    }
    int64_t size = found.sizeOf(operand, 3);
    if (size < 8 || size > largestHead || size % 8 != 0) {
      reason = "the head size is " + (ShapedType::isDynamic(size) ? "unknown" : std::to_string(size)) +
               ", but must be a multiple of 8 up to " + std::to_string(largestHead);
      return std::nullopt;
    }
  }
  found.headSize = found.sizeOf(Attention::Query, 3);
  found.valueSize = found.sizeOf(Attention::Value, 3);
  int64_t heads = found.sizeOf(Attention::Query, 1), keyHeads = found.sizeOf(Attention::Key, 1);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(keyHeads) || keyHeads == 0 ||
      found.sizeOf(Attention::Value, 1) != keyHeads) {
    reason = "the numbers of heads are not known";
    return std::nullopt;
  }
  found.queryHeads = heads / keyHeads;
  int64_t rows = found.sizeOf(Attention::Query, 2);
  if (found.queryHeads > 1 && !ShapedType::isDynamic(rows) && rows * found.queryHeads <= rowsOfWarp * mostWarps)
    found.groupedRows = rows * found.queryHeads;
  for (Value returned : kernel.getBody().front().getTerminator()->getOperands())
    if (returned.getDefiningOp() != op) {
      reason = "a result is not computed by the attention";
      return std::nullopt;
    }
  return found;
}

Schedule chooseAttention(const Attention &attention) {
  int64_t rows = attention.groupedRows ? attention.groupedRows : attention.sizeOf(Attention::Query, 2);
  int64_t warps = ShapedType::isDynamic(rows) ? mostWarps : llvm::divideCeil(std::max<int64_t>(rows, 1), rowsOfWarp);
  Schedule schedule;
  schedule.kind = Schedule::Kind::Attention;
  warps = std::min<int64_t>(mostWarps, llvm::PowerOf2Ceil(uint64_t(warps)));
  schedule.threads = warps * warpSize;
  schedule.m = warps * rowsOfWarp;
  // With these tiles, two stages of keys and values take at most 32 KB, or slightly more if rows are padded to an odd
  // number of chunks.
  int64_t size = std::max(attention.headSize, attention.valueSize);
  schedule.n = size <= 64 ? 64 : size <= 128 ? 32 : 16;
  schedule.stages = 2;
  return schedule;
}

SharedTile tileOfKeys(const Schedule &schedule, const Attention &attention) {
  return {/*alongK=*/true, schedule.n, filledUp(attention.headSize), 0};
}

SharedTile tileOfValues(const Schedule &schedule, const Attention &attention) {
  return {/*alongK=*/false, schedule.n, filledUp(attention.valueSize), tileOfKeys(schedule, attention).bytes()};
}

SharedTile tileOfQueries(const Schedule &schedule, const Attention &attention) {
  int64_t stage = tileOfKeys(schedule, attention).bytes() + tileOfValues(schedule, attention).bytes();
  return {/*alongK=*/true, schedule.m, filledUp(attention.headSize), stage * schedule.stages};
}

int64_t sharedBytes(const Schedule &schedule, const Attention &attention) {
  SharedTile queries = tileOfQueries(schedule, attention);
  return queries.slotOffset + (attention.keepsQueriesShared() ? queries.bytes() : 0);
}

std::string whyNotRowsOfBlock(const Schedule &schedule) {
  if (schedule.threads % warpSize != 0 || schedule.m * warpSize != schedule.threads * rowsOfWarp)
    return "a block of " + std::to_string(schedule.threads) + " threads has " +
           std::to_string(schedule.threads / warpSize * rowsOfWarp) + " rows, but the schedule has " +
           std::to_string(schedule.m);
  if (schedule.threads > mostThreads)
    return "a block has at most " + std::to_string(mostThreads) + " threads";
  return "";
}

std::string whyNotResources(int64_t bytes, int64_t registers) {
  constexpr int64_t mostRegisters = 255;
  if (bytes > mostShared)
    return "it needs " + std::to_string(bytes) + " bytes of shared memory, and a block has " +
           std::to_string(mostShared);
  if (registers > mostRegisters)
    return "it needs about " + std::to_string(registers) + " registers, and a thread has " +
           std::to_string(mostRegisters);
  return "";
}

std::string whyNotAttention(const Schedule &schedule, const Attention &attention) {
  if (std::string why = whyNotRowsOfBlock(schedule); !why.empty())
    return why;
  if (attention.groupedRows > schedule.m)
    return "the heads of a group have " + std::to_string(attention.groupedRows) +
           " rows, but one block must compute all of them";
  if (schedule.n % 16 != 0)
    return "n, the number of keys per step, is " + std::to_string(schedule.n) + ", but must be a multiple of 16";
  if (schedule.stages < 2)
    return "stages must be two or more";
  // The registers of a thread contain queries, sums, scores, addresses and statistics.
  int64_t queries = attention.keepsQueriesShared() ? 4 : filledUp(attention.headSize) / 4;
  return whyNotResources(sharedBytes(schedule, attention), queries + attention.valueSize / 2 + schedule.n / 2 + 60);
}

} // namespace tilewright::gpu

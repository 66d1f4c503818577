//===- WarpGroupCode.cpp - TMA, mbarriers and wgmma in the code of one thread --------------===//
#include "lib/Codegen/NVPTX/WarpGroupCode.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupProduct.h"
#include "lib/Codegen/NVPTX/Float8Name.h"
#include "lib/Codegen/NVPTX/InlineAssembly.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cuda {
using namespace tilewright::gpu;

Value WarpGroupCode::i32(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); }
Value WarpGroupCode::i64(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); }

WarpGroupCode::PipelineState WarpGroupCode::first() { return {i32(0), i32(0)}; }

WarpGroupCode::PipelineState WarpGroupCode::next(const PipelineState &state) {
  Value slot = arith::AddIOp::create(builder, loc, state.slot, i32(1));
  Value anew = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, slot, i32(schedule.stages));
  Value flipped = arith::XOrIOp::create(builder, loc, state.parity, i32(1));
  return {arith::SelectOp::create(builder, loc, anew, i32(0), slot),
          arith::SelectOp::create(builder, loc, anew, flipped, state.parity)};
}

Value WarpGroupCode::inSlot(Value pointer, int64_t stride, Value slot, int64_t offset) {
  Value bytes = arith::MulIOp::create(builder, loc, slot, i32(stride));
  bytes = arith::AddIOp::create(builder, loc, bytes, i32(offset));
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

void WarpGroupCode::assembly(StringRef text, StringRef constraints, ValueRange operands, MutableArrayRef<Value> sums) {
  Type result;
  if (!sums.empty())
    result = LLVM::LLVMStructType::getLiteral(builder.getContext(), llvm::to_vector(ValueRange(sums).getTypes()));
  Value made = inlineAssembly(builder, loc, text, constraints, operands, result);
  for (auto [number, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(builder, loc, made, ArrayRef<int64_t>{int64_t(number)});
}

/// Returns the assembly constraints of registers that are both inputs and outputs.
static std::string inPlace(ArrayRef<Value> sums) {
  std::string constraints;
  for (Value sum : sums)
    constraints += sum.getType().isInteger() ? "=r," : "=f,";
  for (size_t i = 0; i < sums.size(); ++i)
    constraints += std::to_string(i) + ",";
  return constraints;
}

void WarpGroupCode::initialise(Value barrier, int64_t arrivals) {
  assembly("mbarrier.init.shared::cta.b64 [$0], $1;", "r,n,~{memory}", {barrier, i32(arrivals)});
}

void WarpGroupCode::arrive(Value barrier) {
  assembly("mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}", {barrier});
}

void WarpGroupCode::arriveAt(Value barrier, Value rank) {
  // The release semantics of `.release.cluster` are not needed: wgmma has completed the reads of the slot, and this
  // thread has written nothing that another block reads. ptxas implements `.release.cluster` by MEMBAR.ALL.GPU, which
  // takes about 0.5 us on an H200.
  assembly("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, $0, $1;\n\t"
           "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}",
           "r,r,~{memory}", {barrier, rank});
}

void WarpGroupCode::beginCluster() {
  assembly("barrier.cluster.arrive.relaxed;\n\tbarrier.cluster.wait;", "~{memory}", {});
}

void WarpGroupCode::endCluster() { assembly("barrier.cluster.arrive;\n\tbarrier.cluster.wait;", "~{memory}", {}); }

void WarpGroupCode::storeSums(Value to, ArrayRef<Value> sums) {
  SmallVector<Value> operands{to};
  llvm::append_range(operands, sums);
  assembly("st.shared.v4.b32 [$0], {$1, $2, $3, $4};",
           sums.front().getType().isInteger() ? "r,r,r,r,r,~{memory}" : "r,f,f,f,f,~{memory}", operands);
}

SmallVector<Value> WarpGroupCode::loadSums(Value from, int64_t rank, Type type) {
  SmallVector<Value> sums(4, LLVM::UndefOp::create(builder, loc, type));
  assembly("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, $4, $5;\n\t"
           "ld.shared::cluster.v4.b32 {$0, $1, $2, $3}, [there];\n\t}",
           type.isInteger() ? "=r,=r,=r,=r,r,n,~{memory}" : "=f,=f,=f,=f,r,n,~{memory}", {from, i32(rank)}, sums);
  return sums;
}

void WarpGroupCode::arriveExpecting(Value barrier, int64_t bytes) {
  assembly("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,n,~{memory}", {barrier, i32(bytes)});
}

void WarpGroupCode::divideRoles(llvm::function_ref<void()> produce, llvm::function_ref<void()> consume) {
  Value produces = isLess(kernel.thread, index(warpGroupSize));
  auto branch = scf::IfOp::create(builder, loc, TypeRange(), produces, /*withElse=*/true);
  auto setRegisters = [&](int64_t number, NVVM::SetMaxRegisterAction action) {
    if (schedule.consumers > 1)
      NVVM::SetMaxRegisterOp::create(builder, loc, uint32_t(number), action);
  };
  elements.inScope([&] {
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    setRegisters(producerRegisters, NVVM::SetMaxRegisterAction::decrease);
    produce();
  });
  elements.inScope([&] {
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    setRegisters(consumerRegisters, NVVM::SetMaxRegisterAction::increase);
    consume();
  });
}

void WarpGroupCode::syncNamed(Value number, int64_t threads) {
  assembly("bar.sync $0, $1;", "r,n,~{memory}", {number, i32(threads)});
}

void WarpGroupCode::arriveNamed(Value number, int64_t threads) {
  assembly("bar.arrive $0, $1;", "r,n,~{memory}", {number, i32(threads)});
}

void WarpGroupCode::wait(Value barrier, Value parity) {
  // try_wait may return before the phase has completed.
  assembly("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n\t"
           "@!done bra again;\n\t}",
           "r,r,~{memory}", {barrier, parity});
}

void WarpGroupCode::load(Value to, Value map, ArrayRef<Value> at, Value barrier, int64_t blocks,
                         ArrayRef<Value> offsets) {
  // A block without a cluster is a cluster of one block, so an address in its shared memory is also an address in the
  // cluster's shared memory. LLVM's intrinsic would add address conversions.
  SmallVector<Value> operands{to, map, barrier};
  std::string constraints = "r,l,r", coordinates;
  for (Value each : at) {
    coordinates += (coordinates.empty() ? "$" : ", $") + std::to_string(operands.size());
    constraints += ",r";
    operands.push_back(each);
  }
  std::string mode, distances;
  for (Value offset : offsets) {
    distances += (distances.empty() ? ", {$" : ", $") + std::to_string(operands.size());
    constraints += ",h";
    operands.push_back(arith::TruncIOp::create(builder, loc, builder.getI16Type(), offset));
  }
  if (!offsets.empty()) {
    mode = ".im2col";
    distances += "}";
  }
  std::string all, mask;
  if (blocks > 1) {
    all = ".multicast::cluster";
    mask = ", $" + std::to_string(operands.size());
    constraints += ",h";
    operands.push_back(arith::ConstantIntOp::create(builder, loc, (int64_t(1) << blocks) - 1, 16));
  }
  assembly("cp.async.bulk.tensor." + std::to_string(at.size()) + "d.shared::cluster.global" + mode +
               ".mbarrier::complete_tx::bytes" + all + " [$0], [$1, {" + coordinates + "}], [$2]" + distances + mask +
               ";",
           constraints + ",~{memory}", operands);
}

Value WarpGroupCode::descriptorOf(const Matrix &matrix) {
  // All offsets in a matrix descriptor are in units of 16 bytes. Bits 0-13 contain the start address, bits 16-29 the
  // leading offset, and bits 32-45 the stride offset. A 1 in bit 62 selects the swizzle of 128 bytes. Groups of eight
  // lines are contiguous, so the stride offset is 1024 bytes. In a cluster, the high bits of an address select the
  // block. They must not become part of the leading offset, so they are masked.
  constexpr int64_t swizzle128 = int64_t(1) << 62, eightLines = 8 * lineBytes, startBits = (1 << 14) - 1;
  const int64_t leading = matrix.alongK ? 16 : matrix.lineBytes;
  Value start = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), matrix.start);
  start = arith::ShRUIOp::create(builder, loc, start, i32(4));
  if (schedule.blocksOfCluster() > 1)
    start = arith::AndIOp::create(builder, loc, start, i32(startBits));
  Value bits = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), start);
  return arith::OrIOp::create(builder, loc, bits, i64(swizzle128 | (leading / 16) << 16 | (eightLines / 16) << 32));
}

void WarpGroupCode::multiply(Type element, Type rhsElement, ArrayRef<Matrix> left, const Matrix &right, int64_t columns,
                             int64_t steps, MutableArrayRef<Value> sums, bool anew) {
  const bool integers = element.isInteger();
  const int64_t depth = groupDepthBytes * 8 / element.getIntOrFloatBitWidth();
  // The offset of a step along k is in units of 16 bytes. If lines are along k, the offset is the sum of the size of
  // whole groups of lines and an offset within a line. Otherwise, it is the size of whole lines.
  auto offsetOf = [&](const Matrix &matrix, int64_t step) {
    constexpr int64_t stepsOfLine = lineBytes / groupDepthBytes;
    if (!matrix.alongK)
      return step * depth * lineBytes / 16;
    return (step / stepsOfLine * matrix.nextLine + step % stepsOfLine * groupDepthBytes) / 16;
  };
  const int64_t each = int64_t(sums.size() / left.size());
  std::string stem = "\twgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k" + std::to_string(depth);
  stem += integers            ? ".s32.s8.s8 {"
          : isFloat8(element) ? ".f32." + ptxName(element).str() + "." + ptxName(rhsElement).str() + " {"
          : element.isF32()   ? ".f32.tf32.tf32 {"
          : element.isF16()   ? ".f32.f16.f16 {"
                              : ".f32.bf16.bf16 {";
  std::string constraints = inPlace(sums);
  SmallVector<Value> operands(sums.begin(), sums.end());
  auto pass = [&](Value value) {
    operands.push_back(value);
    constraints += "l,";
    return "$" + std::to_string(sums.size() + operands.size() - 1);
  };
  auto descriptors = [&](const Matrix &matrix) {
    Value begin = descriptorOf(matrix);
    SmallVector<std::string> made;
    for (int64_t step = 0; step < steps; ++step)
      made.push_back(pass(arith::AddIOp::create(builder, loc, begin, i64(offsetOf(matrix, step)))));
    return made;
  };
  SmallVector<std::string> ofRight = descriptors(right);
  std::string text = "{\n\t.reg .pred adds;\n\tsetp.eq.u32 adds, 0, 0;\n";
  if (anew)
    text += "\t.reg .pred begins;\n\tsetp.ne.u32 begins, 0, 0;\n";
  text += "\twgmma.fence.sync.aligned;\n";
  for (auto [group, matrix] : llvm::enumerate(left)) {
    SmallVector<std::string> ofLeft = descriptors(matrix);
    std::string registers;
    for (int64_t i = 0; i < each; ++i)
      registers += (i ? ", $" : "$") + std::to_string(int64_t(group) * each + i);
    // The last operands are the signs and the transposes of A and B. Integer instructions have neither of them. Only
    // instructions on 16-bit types have transposes.
    std::string tail = ", 1, 1";
    if (element.getIntOrFloatBitWidth() == 16)
      tail += std::string(matrix.alongK ? ", 0" : ", 1") + (right.alongK ? ", 0" : ", 1");
    for (int64_t step = 0; step < steps; ++step)
      text += stem + registers + "}, " + ofLeft[size_t(step)] + ", " + ofRight[size_t(step)] +
              (anew && step == 0 ? ", begins" : ", adds") + (integers ? "" : tail) + ";\n";
  }
  text += "\twgmma.commit_group.sync.aligned;\n\t}";
  assembly(text, constraints + "~{memory}", operands, sums);
}

void WarpGroupCode::multiplyWords(Type element, ArrayRef<Value> left, const Matrix &right, int64_t columns,
                                  MutableArrayRef<Value> sums) {
  constexpr int64_t depth = 16, words = 4;
  const std::string type = element.isF16() ? "f16" : "bf16";
  std::string constraints = inPlace(sums), registers;
  SmallVector<Value> operands(sums.begin(), sums.end());
  auto pass = [&](Value value, const char *constraint) {
    operands.push_back(value);
    constraints += constraint;
    return "$" + std::to_string(sums.size() + operands.size() - 1);
  };
  for (size_t i = 0; i < sums.size(); ++i)
    registers += (i ? ", $" : "$") + std::to_string(i);
  const Value begin = descriptorOf(right);
  std::string text = "{\n\t.reg .pred adds;\n\tsetp.eq.u32 adds, 0, 0;\n\twgmma.fence.sync.aligned;\n";
  for (int64_t step = 0; step < int64_t(left.size()) / words; ++step) {
    std::string rows;
    for (Value word : left.slice(size_t(step * words), size_t(words)))
      rows += (rows.empty() ? "" : ", ") + pass(word, "r,");
    const int64_t offset = right.alongK ? step * groupDepthBytes : step * depth * lineBytes;
    text += "\twgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k16.f32." + type + "." + type + " {" +
            registers + "}, {" + rows + "}, " +
            pass(arith::AddIOp::create(builder, loc, begin, i64(offset / 16)), "l,") + ", adds, 1, 1, " +
            (right.alongK ? "0" : "1") + ";\n";
  }
  text += "\twgmma.commit_group.sync.aligned;\n\t}";
  assembly(text, constraints + "~{memory}", operands, sums);
}

void WarpGroupCode::waitForGroups(int64_t groups, MutableArrayRef<Value> sums) {
  assembly("wgmma.wait_group.sync.aligned " + std::to_string(groups) + ";", inPlace(sums) + "~{memory}",
           SmallVector<Value>(sums.begin(), sums.end()), sums);
}

} // namespace tilewright::cuda

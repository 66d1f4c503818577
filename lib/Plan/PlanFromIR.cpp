//===- PlanFromIR.cpp - convert tw_plan.program to the runtime's plan --------------===//
#include "lib/Plan/PlanFromIR.h"
#include "dialects/Schedule/Schedule.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/SourceLine.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tilewright {
namespace {

/// Appends `expr` to `out` in postfix notation.
void append(AffineExpr expr, plan::Expr &out) {
  using Op = plan::Expr::Op;
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    out.items.push_back({Op::Const, cast<AffineConstantExpr>(expr).getValue()});
    return;
  case AffineExprKind::SymbolId:
    out.items.push_back({Op::Symbol, cast<AffineSymbolExpr>(expr).getPosition()});
    return;
  case AffineExprKind::DimId:
    llvm_unreachable("plans have symbols only");
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  append(binary.getLHS(), out);
  append(binary.getRHS(), out);
  Op op = expr.getKind() == AffineExprKind::Add        ? Op::Add
          : expr.getKind() == AffineExprKind::Mul      ? Op::Mul
          : expr.getKind() == AffineExprKind::FloorDiv ? Op::FloorDiv
          : expr.getKind() == AffineExprKind::CeilDiv  ? Op::CeilDiv
                                                       : Op::Mod;
  out.items.push_back({op});
}

/// Returns the elements of `value` in memory layout, in which booleans take one byte each.
std::vector<uint8_t> bytesOf(ElementsAttr value) {
  auto dense = cast<DenseElementsAttr>(value);
  Type element = dense.getElementType();
  std::vector<uint8_t> bytes;
  if (element.isInteger(1)) {
    for (bool bit : dense.getValues<bool>())
      bytes.push_back(bit);
    return bytes;
  }
  size_t width = element.getIntOrFloatBitWidth() / 8;
  ArrayRef<char> raw = dense.getRawData();
  size_t count = dense.isSplat() ? dense.getNumElements() : 1;
  for (size_t i = 0; i < count; ++i)
    bytes.insert(bytes.end(), raw.begin(), raw.begin() + (dense.isSplat() ? width : raw.size()));
  return bytes;
}
} // namespace

plan::Expr exprFrom(AffineMap map, unsigned result) {
  plan::Expr out;
  append(map.getResult(result), out);
  return out;
}

std::string describeSchedule(plan::LaunchOp launch) {
  auto selected = schedule::scheduleOf(launch);
  if (!selected)
    return "";
  std::string text = selected.describe();
  if (auto between = launch->getAttrOfType<DenseI64ArrayAttr>(sizesBetweenAttrName))
    text += ", sizes " + schedule::describeSizes(between[0], between[1] < 0 ? INT64_MAX : between[1]);
  return text;
}

llvm::Expected<plan::Plan> planFromIR(plan::ProgramOp program) {
  plan::Plan out;
  for (auto [name, min, max] : llvm::zip_equal(program.getSymbols(), program.getMins(), program.getMaxs()))
    out.symbols.push_back({cast<StringAttr>(name).str(), min, max});
  llvm::StringMap<int32_t> kernels;
  for (Operation &op : program.getBody().front()) {
    if (auto buffer = dyn_cast<plan::BufferOp>(op)) {
      plan::Buffer made;
      made.kind = static_cast<plan::Buffer::Kind>(0);
      switch (buffer.getKind()) {
      case plan::BufferKind::Input:
        made.kind = plan::Buffer::Kind::Input;
        ++out.numInputs;
        break;
      case plan::BufferKind::Output:
        made.kind = plan::Buffer::Kind::Output;
        ++out.numOutputs;
        break;
      case plan::BufferKind::Arena:
        made.kind = plan::Buffer::Kind::Arena;
        break;
      case plan::BufferKind::Packed:
        made.kind = plan::Buffer::Kind::Packed;
        break;
      case plan::BufferKind::Constant:
        made.kind = plan::Buffer::Kind::Constant;
        break;
      }
      made.index = buffer.getIndex();
      made.bytes = exprFrom(buffer.getBytes());
      made.inPlace = buffer.getInPlace();
      if (std::optional<ElementsAttr> value = buffer.getValue()) {
        out.constants.resize((out.constants.size() + 63) / 64 * 64);
        made.index = out.constants.size();
        std::vector<uint8_t> bytes = bytesOf(*value);
        out.constants.insert(out.constants.end(), bytes.begin(), bytes.end());
      }
      out.buffers.push_back(std::move(made));
      continue;
    }
    if (auto guard = dyn_cast<plan::GuardOp>(op)) {
      out.guards.push_back(
          {exprFrom(guard.getSizes(), 0), exprFrom(guard.getSizes(), 1), guard.getAtLeast(), guard.getText().str()});
      continue;
    }
    plan::Step step;
    if (auto launch = dyn_cast<plan::LaunchOp>(op)) {
      if (!launch.getGrid() || !launch.getScratch())
        return llvm::createStringError("kernel %s has no grid: the program is not finished",
                                       launch.getKernel().str().c_str());
      auto [entry, isNew] = kernels.try_emplace(launch.getKernel(), out.kernels.size());
      if (isNew)
        out.kernels.push_back(launch.getKernel().str());
      step.callee = entry->second;
      for (auto [i, number] : llvm::enumerate(launch.getBuffers())) {
        const int64_t start = launch.getStarts() ? (*launch.getStarts())[i] : 0;
        step.operands.push_back({static_cast<int32_t>(number), start ? plan::Expr::constant(start) : plan::Expr()});
      }
      step.writes = launch.getWrites();
      for (unsigned i = 0; i < launch.getSizes().getNumResults(); ++i)
        step.sizes.push_back(exprFrom(launch.getSizes(), i));
      step.grid = exprFrom(*launch.getGrid());
      step.scratchBytes = exprFrom(*launch.getScratch());
      step.checks = launch->hasAttr(checksAttrName);
      if (auto messages = launch->getAttrOfType<ArrayAttr>(messagesAttrName))
        for (StringAttr message : messages.getAsRange<StringAttr>())
          step.messages.push_back(message.str());
      if (auto flops = launch->getAttrOfType<AffineMapAttr>(flopsAttrName))
        step.flops = exprFrom(flops.getValue());
      step.schedule = describeSchedule(launch);
      if (auto selected = schedule::scheduleOf(launch))
        if (auto prediction = selected.getPrediction())
          step.schedule += ", time " + describePrediction(*prediction);
      if (auto ops = launch->getAttrOfType<StringAttr>(opsAttrName))
        step.label = ops.str();
      (launch.getOnce() ? out.once : out.steps).push_back(std::move(step));
    } else if (auto copy = dyn_cast<plan::CopyOp>(op)) {
      step.kind = plan::Step::Kind::Copy;
      step.operands = {{static_cast<int32_t>(copy.getFrom()), {}}, {static_cast<int32_t>(copy.getTo()), {}}};
      step.writes = 2;
      step.bytes = exprFrom(copy.getBytes());
      step.label = "copy";
      out.steps.push_back(std::move(step));
    }
  }
  return out;
}

llvm::Expected<plan::Plan> planOf(ModuleOp module) {
  auto programs = module.getOps<plan::ProgramOp>();
  if (programs.empty())
    return llvm::createStringError("the module contains no tw_plan.program");
  llvm::Expected<plan::Plan> plan = planFromIR(*programs.begin());
  if (plan)
    if (std::string error = plan::verify(*plan); !error.empty())
      return llvm::createStringError("the plan is invalid: %s", error.c_str());
  return plan;
}

bool withLine(RunError &error, llvm::ArrayRef<std::string> lines) {
  if (error.step && *error.step < lines.size() && !lines[*error.step].empty())
    error.text += " (" + lines[*error.step] + ")";
  return false;
}

std::vector<std::string> stepLines(ModuleOp module, bool onlyChecked) {
  std::vector<std::string> lines;
  for (auto program : module.getOps<plan::ProgramOp>())
    for (Operation &op : program.getBody().front()) {
      auto launch = dyn_cast<plan::LaunchOp>(op);
      if (isa<plan::BufferOp, plan::GuardOp>(op) || (launch && launch.getOnce()))
        continue;
      lines.push_back(op.hasAttr(checksAttrName) || (launch && !onlyChecked) ? sourceLine(op.getLoc()) : "");
    }
  return lines;
}

} // namespace tilewright

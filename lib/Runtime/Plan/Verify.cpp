//===- Verify.cpp - invariants of plans -----------------------------------===//
//
// A plan is verified after its image is read and before the executor uses it, so that the executor need not check
// indices. Properties that depend on the values of symbols (ranges of operands, sizes) are checked when a frame is
// computed.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Plan/Plan.h"

namespace tilewright::plan {
namespace {

/// Visits the plan once and stores the first error.
class Verifier {
public:
  explicit Verifier(const Plan &plan) : plan(plan), written(plan.buffers.size(), false) {}

  std::string run() {
    verifySymbols();
    for (const Guard &guard : plan.guards)
      for (const Expr *size : {&guard.lhs, &guard.rhs})
        verifyExpr(*size, "guard (" + guard.text + ")", "a size", /*required=*/true, /*symbolFree=*/false);
    for (size_t i = 0; i < plan.buffers.size() && error.empty(); ++i)
      verifyBuffer(i);
    for (size_t i = 0; i < plan.once.size() && error.empty(); ++i)
      verifyStep(plan.once[i], "once step " + std::to_string(i), /*once=*/true);
    for (size_t i = 0; i < plan.steps.size() && error.empty(); ++i)
      verifyStep(plan.steps[i], "step " + std::to_string(i), /*once=*/false);
    return error;
  }

private:
  bool fail(const std::string &where, const std::string &what) {
    if (error.empty())
      error = "invalid plan: " + where + ": " + what;
    return false;
  }

  bool verifyExpr(const Expr &expr, const std::string &where, const char *what, bool required, bool symbolFree) {
    std::string problem = verify(expr, plan.symbols.size());
    if (!problem.empty())
      return fail(where, std::string(what) + ": " + problem);
    if (required && expr.items.empty())
      return fail(where, std::string(what) + " is missing");
    if (symbolFree && !expr.isSymbolFree())
      return fail(where, std::string(what) +
                             " depends on a symbol, but constants, packed buffers and once steps require fixed sizes");
    return true;
  }

  void verifySymbols() {
    for (size_t i = 0; i < plan.symbols.size(); ++i)
      if (plan.symbols[i].min > plan.symbols[i].max)
        fail("symbol " + plan.symbols[i].name, "its range is empty");
    if (plan.numInputs < 0 || plan.numOutputs < 0)
      fail("signature", "negative number of inputs or outputs");
  }

  void verifyBuffer(size_t i) {
    const Buffer &buffer = plan.buffers[i];
    std::string where = "buffer " + std::to_string(i);
    bool fixed = buffer.kind == Buffer::Kind::Packed || buffer.kind == Buffer::Kind::Constant;
    if (!verifyExpr(buffer.bytes, where, "its size in bytes", /*required=*/true, fixed))
      return;
    if (buffer.inPlace && buffer.kind != Buffer::Kind::Input)
      fail(where, "only an input can be in place");
    switch (buffer.kind) {
    case Buffer::Kind::Input:
      if (buffer.index < 0 || buffer.index >= plan.numInputs)
        fail(where, "there is no input " + std::to_string(buffer.index));
      return;
    case Buffer::Kind::Output:
      if (buffer.index < 0 || buffer.index >= plan.numOutputs)
        fail(where, "there is no output " + std::to_string(buffer.index));
      return;
    case Buffer::Kind::Constant: {
      std::string problem;
      int64_t bytes = evaluate(buffer.bytes, nullptr, problem);
      int64_t size = int64_t(plan.constants.size());
      if (!problem.empty() || bytes < 0 || buffer.index < 0 || buffer.index > size || bytes > size - buffer.index)
        fail(where, "it reaches outside of the plan's " + std::to_string(size) + " bytes of constants");
      else if (buffer.index % 64 != 0)
        fail(where, "its offset in the constants is not a multiple of 64");
      return;
    }
    case Buffer::Kind::Arena:
    case Buffer::Kind::Packed:
      return;
    }
    fail(where, "unknown kind " + std::to_string(int(buffer.kind)));
  }

  void verifyCallee(const Step &step, const std::string &where) {
    size_t count = 0;
    switch (step.kind) {
    case Step::Kind::Launch:
      count = plan.kernels.size();
      break;
    case Step::Kind::Host:
      count = plan.hostFunctions.size();
      break;
    case Step::Kind::Copy:
      if (step.operands.size() != 2)
        fail(where, "a copy has two operands, this one has " + std::to_string(step.operands.size()));
      return;
    default:
      fail(where, "unknown kind " + std::to_string(int(step.kind)));
      return;
    }
    if (step.callee < 0 || size_t(step.callee) >= count)
      fail(where,
           "there is no callee " + std::to_string(step.callee) + "; the number of callees is " + std::to_string(count));
  }

  void verifyRead(int32_t buffer, const std::string &where, bool once) {
    Buffer::Kind kind = plan.buffers[buffer].kind;
    std::string name = "buffer " + std::to_string(buffer);
    bool outside = kind == Buffer::Kind::Arena || kind == Buffer::Kind::Output;
    if (once && outside)
      fail(where, "reads " + name + ", but once steps read only inputs, constants and packed buffers");
    if (kind != Buffer::Kind::Input && kind != Buffer::Kind::Constant && !written[buffer])
      fail(where, "reads " + name + " before it is written");
  }

  void verifyWrite(int32_t buffer, const std::string &where, bool once) {
    Buffer::Kind kind = plan.buffers[buffer].kind;
    std::string name = "buffer " + std::to_string(buffer);
    if (once != (kind == Buffer::Kind::Packed))
      fail(where, "writes " + name + ", but once steps write only packed buffers, and other steps write none");
    if (kind == Buffer::Kind::Constant)
      fail(where, "writes constant " + name);
    if (kind == Buffer::Kind::Input && !plan.buffers[buffer].inPlace)
      fail(where, "writes input " + name + ", which is not declared in place");
  }

  void verifyStep(const Step &step, const std::string &position, bool once) {
    std::string where = step.label.empty() ? position : position + " (" + step.label + ")";
    verifyCallee(step, where);
    bool launch = step.kind == Step::Kind::Launch, copy = step.kind == Step::Kind::Copy;
    verifyExpr(step.grid, where, "its grid", launch, once);
    verifyExpr(step.scratchBytes, where, "its scratch size", false, once);
    verifyExpr(step.bytes, where, "its number of bytes", copy, once);
    for (const Expr &size : step.sizes)
      verifyExpr(size, where, "a size argument", true, once);
    size_t count = step.operands.size();
    if (count < 64 && (step.writes >> count) != 0)
      fail(where, "marks operands as written that it does not have");
    if (copy && (step.writes & 1))
      fail(where, "a copy writes its second operand only");
    for (const Operand &operand : step.operands) {
      if (operand.buffer < 0 || size_t(operand.buffer) >= plan.buffers.size()) {
        fail(where, "there is no buffer " + std::to_string(operand.buffer));
        return;
      }
      verifyExpr(operand.offset, where, "an operand's offset", false, once);
    }
    if (!error.empty())
      return;
    // Check the reads of a step before its writes: if only the step itself has written a buffer, the step reads
    // undefined values. The step specifies which of its first 64 operands it writes. Operands from index 64 on may be
    // read or written.
    for (size_t i = 0; i < count && i < 64; ++i)
      if (!writesOperand(step, i))
        verifyRead(step.operands[i].buffer, where, once);
    for (size_t i = 0; i < count; ++i) {
      if (!writesOperand(step, i))
        continue;
      if (i < 64)
        verifyWrite(step.operands[i].buffer, where, once);
      written[step.operands[i].buffer] = true;
    }
  }

  const Plan &plan;
  std::vector<bool> written;
  std::string error;
};

} // namespace

std::string verify(const Plan &plan) { return Verifier(plan).run(); }

} // namespace tilewright::plan

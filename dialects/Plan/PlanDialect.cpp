//===- PlanDialect.cpp - the tw_plan dialect --------------------------------===//
#include "dialects/Plan/PlanDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "dialects/Plan/PlanDialect.cpp.inc"
#include "dialects/Plan/PlanEnums.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

namespace tilewright::plan {
void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/PlanOps.cpp.inc"
      >();
}

LogicalResult ProgramOp::verify() {
  int64_t buffers = 0;
  for (auto buffer : getBody().getOps<BufferOp>())
    if (static_cast<int64_t>(buffer.getNumber()) != buffers++)
      return buffer.emitOpError("program_c1: expected number ") << buffers - 1 << ", got " << buffer.getNumber();
  auto known = [&](int64_t number) { return number >= 0 && number < buffers; };
  for (Operation &op : getBody().front()) {
    if (auto launch = dyn_cast<LaunchOp>(op))
      for (int64_t number : launch.getBuffers())
        if (!known(number))
          return launch.emitOpError("program_c2: there is no buffer ") << number;
    if (auto copy = dyn_cast<CopyOp>(op))
      if (!known(copy.getFrom()) || !known(copy.getTo()))
        return copy.emitOpError("program_c2: there is no buffer ")
               << (known(copy.getFrom()) ? copy.getTo() : copy.getFrom());
  }
  if (getMins().size() != getSymbols().size() || getMaxs().size() != getSymbols().size())
    return emitOpError("program_c3: ") << getSymbols().size() << " symbols, but " << getMins().size() << " minima and "
                                       << getMaxs().size() << " maxima of sizes";
  for (auto [min, max] : llvm::zip_equal(getMins(), getMaxs()))
    if (min > max) // negative bounds are valid, because a symbol may be the start of a slice
      return emitOpError("program_c3: the range of a size is ") << min << " to " << max;
  return success();
}

/// Checks that `map` has `results` results (any number if -1), and uses only symbols of the program that contains `op`.
static LogicalResult verifyMap(Operation *op, StringRef constraint, StringRef name, AffineMap map, int64_t results) {
  size_t symbols = cast<ProgramOp>(op->getParentOp()).getSymbols().size();
  if (map.getNumDims() != 0 || map.getNumSymbols() > symbols)
    return op->emitOpError(constraint) << ": " << name << " has " << map.getNumDims() << " dimensions and "
                                       << map.getNumSymbols() << " symbols, but the program has " << symbols
                                       << " symbols";
  if (results >= 0 && map.getNumResults() != results)
    return op->emitOpError(constraint) << ": " << name << " has " << map.getNumResults() << " results; expected "
                                       << results;
  return success();
}

static bool isReadOnly(BufferOp buffer) {
  return buffer.getKind() == BufferKind::Constant || (buffer.getKind() == BufferKind::Input && !buffer.getInPlace());
}

LogicalResult BufferOp::verify() {
  if (failed(verifyMap(*this, "buffer_c1", "bytes", getBytes(), 1)))
    return failure();
  if ((getKind() == BufferKind::Constant) != getValue().has_value())
    return emitOpError("buffer_c2: ") << stringifyBufferKind(getKind())
                                      << (getValue() ? " buffer with a value" : " buffer without a value");
  if (getInPlace() && getKind() != BufferKind::Input)
    return emitOpError("buffer_c3: ") << stringifyBufferKind(getKind()) << " buffer in place";
  return success();
}

LogicalResult GuardOp::verify() { return verifyMap(*this, "guard_c1", "sizes", getSizes(), 2); }

LogicalResult LaunchOp::verify() {
  if (failed(verifyMap(*this, "launch_c1", "sizes", getSizes(), -1)) ||
      (getGrid() && failed(verifyMap(*this, "launch_c1", "grid", *getGrid(), -1))) ||
      (getScratch() && failed(verifyMap(*this, "launch_c1", "scratch", *getScratch(), 1))))
    return failure();
  uint64_t writes = getWrites();
  if (getBuffers().size() < 64 && writes >> getBuffers().size() != 0)
    return emitOpError("launch_c2: writes = ")
           << writes << " has a bit for more than the " << getBuffers().size() << " operands";
  if (std::optional<ArrayRef<int64_t>> starts = getStarts()) {
    if (starts->size() != getBuffers().size())
      return emitOpError("launch_c5: ") << starts->size() << " starts for " << getBuffers().size() << " operands";
    for (auto [position, start] : llvm::enumerate(*starts))
      if (start < 0 || (start > 0 && mayWrite(position)))
        return emitOpError("launch_c5: operand ") << position << " starts at byte " << start;
  }
  return success();
}

LogicalResult CopyOp::verify() { return verifyMap(*this, "copy_c1", "bytes", getBytes(), 1); }

/// Checks the buffers that `launch` writes.
static LogicalResult verifyWrites(LaunchOp launch, ArrayRef<BufferOp> buffers) {
  for (auto [position, number] : llvm::enumerate(launch.getBuffers())) {
    if (position >= 64 || !(launch.getWrites() >> position & 1))
      continue;
    BufferOp buffer = buffers[number];
    BufferKind kind = buffer.getKind();
    auto error = [&] {
      InFlightDiagnostic made = launch.emitOpError();
      made.attachNote(buffer.getLoc()) << "buffer " << number << " is declared here";
      return made;
    };
    if (isReadOnly(buffer))
      return error() << "launch_c3: writes to " << stringifyBufferKind(kind) << " buffer " << number;
    if ((kind == BufferKind::Packed) != launch.getOnce())
      return error() << "launch_c4: " << (launch.getOnce() ? "a once launch writes to " : "writes to ")
                     << stringifyBufferKind(kind) << " buffer " << number;
  }
  return success();
}

/// Checks the constraints launch_c3, launch_c4 and copy_c2, which concern the kinds of buffers, in one pass over the
/// program. If each op searched for its buffers, its verification would take time proportional to the number of
/// buffers.
LogicalResult ProgramOp::verifyRegions() {
  SmallVector<BufferOp> buffers(getBody().getOps<BufferOp>());
  for (Operation &op : getBody().front()) {
    if (auto launch = dyn_cast<LaunchOp>(op))
      if (failed(verifyWrites(launch, buffers)))
        return failure();
    if (auto copy = dyn_cast<CopyOp>(op))
      if (copy.getFrom() == copy.getTo() || isReadOnly(buffers[copy.getTo()]))
        return copy.emitOpError("copy_c2: copies buffer ") << copy.getFrom() << " to buffer " << copy.getTo();
  }
  return success();
}
} // namespace tilewright::plan

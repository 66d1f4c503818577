//===- LowerIndexChecks.cpp - checks computed indices -------------------------------===//
//
// Before:
//   func @kernel_0(..., %scratch: memref<?xi8>) attributes {tw.checks} {
//     %p = tw_tile.place %number below %limit from_end : index
// After:
//   %status = memref.view %scratch[%c0][] : memref<?xi8> to memref<3xi64>
//   %outside = ... ; %p = arith.select %outside, %c0, %index
//   scf.if %outside { memref.store 1, %number, %limit to %status }
//
// The runtime clears the status before it runs the kernel, and reads the status afterwards (lib/Runtime/Host/Walk.cpp).
// A vector of indices is checked as a whole, and only the error path determines the invalid index that is reported. If
// the function has no attribute tw.checks, for example in tools, invalid indices are replaced by 0 and no error is
// reported. tw_tile.divisor is checked in the same way, with status 2. tw_tile.report stores status 1. A failed
// tw_tile.require stores status 3 and the index of its message in the kernel's attribute tw.messages.
//
// Test: test/Codegen/Common/lower-index-checks.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"
#include "lib/Interfaces/RuntimeABI.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_LOWERINDEXCHECKS
#include "tilewright/Passes.h.inc"
namespace vector_stage {
namespace {

class PlaceExpander {
public:
  PlaceExpander(func::FuncOp function, bool reports)
      : builder(function.getContext()), messages(function->getAttrOfType<ArrayAttr>(messagesAttrName)) {
    if (!reports)
      return;
    builder.setInsertionPointToStart(&function.getBody().front());
    Location loc = function.getLoc();
    zero = arith::ConstantIndexOp::create(builder, loc, 0);
    status = memref::ViewOp::create(builder, loc, MemRefType::get({3}, builder.getI64Type()),
                                    function.getArguments().back(), zero, ValueRange());
  }

  void expand(tile::PlaceOp op) {
    builder.setInsertionPoint(op);
    Location loc = op.getLoc();
    Value number = op.getNumber(), limit = op.getLimit(), index = number;
    Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(number.getType()));
    if (op.getFromEnd()) {
      Value negative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, number, none);
      Value fromEnd = arith::AddIOp::create(builder, loc, number, limit);
      index = arith::SelectOp::create(builder, loc, negative, fromEnd, number);
    }
    Value outside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, index, limit);
    if (status)
      report(loc, outside, number, limit, none);
    op.replaceAllUsesWith(arith::SelectOp::create(builder, loc, outside, none, index).getResult());
    op.erase();
  }

  void expand(tile::DivisorOp op) {
    builder.setInsertionPoint(op);
    Location loc = op.getLoc();
    Value isZero;
    Value safe = tile::divideByOne(builder, loc, op.getDivisor(), &isZero);
    if (status) {
      Value any = combined(loc, isZero, vector::CombiningKind::OR);
      emitIf(loc, any, [&] { store(loc, zero, zero, TILEWRIGHT_FAILED_DIVISOR); });
    }
    op.replaceAllUsesWith(safe);
    op.erase();
  }

  void expand(tile::RequireOp op) {
    const auto *message = messages ? llvm::find(messages, op.getMessageAttr()) : nullptr;
    if (status && messages && message != messages.end()) {
      builder.setInsertionPoint(op);
      Location loc = op.getLoc();
      Value holds = combined(loc, op.getCondition(), vector::CombiningKind::AND);
      Value fails = arith::XOrIOp::create(builder, loc, holds, arith::ConstantIntOp::create(builder, loc, 1, 1));
      emitIf(loc, fails, [&] {
        Value number = arith::ConstantIndexOp::create(builder, loc, message - messages.begin());
        store(loc, number, zero, TILEWRIGHT_FAILED_CONDITION);
      });
    }
    op.replaceAllUsesWith(op.getValue());
    op.erase();
  }

  void expand(tile::ReportOp op) {
    builder.setInsertionPoint(op);
    if (status)
      store(op.getLoc(), op.getNumber(), op.getLimit());
    op.erase();
  }

private:
  /// Returns the combination of the lanes of `condition`, or `condition` itself if it is a scalar.
  Value combined(Location loc, Value condition, vector::CombiningKind kind) {
    return isa<VectorType>(condition.getType()) ? vector::ReductionOp::create(builder, loc, kind, condition)
                                                : condition;
  }

  /// Emits an scf.if whose body is emitted by `body`.
  void emitIf(Location loc, Value condition, llvm::function_ref<void()> body) {
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), condition, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    body();
  }

  void report(Location loc, Value outside, Value number, Value limit, Value none) {
    emitIf(loc, combined(loc, outside, vector::CombiningKind::OR), [&] {
      if (isa<VectorType>(number.getType())) {
        // MAXUI compares unsigned numbers, so a negative index, which is very large as an unsigned number, is also
        // found.
        auto wide = VectorType::get(cast<VectorType>(number.getType()).getShape(), builder.getI64Type());
        number = arith::SelectOp::create(builder, loc, outside, number, none);
        number = arith::IndexCastOp::create(builder, loc, wide, number);
        number = vector::ReductionOp::create(builder, loc, vector::CombiningKind::MAXUI, number);
        limit = arith::IndexCastOp::create(builder, loc, wide, limit);
        limit = vector::ReductionOp::create(builder, loc, vector::CombiningKind::MAXUI, limit);
      }
      store(loc, number, limit);
    });
  }

  /// Stores a status. Only another failed condition may overwrite the status of a failed condition. A failed condition
  /// may be the cause of a later invalid index, and its message is more specific.
  void store(Location loc, Value number, Value limit, int64_t what = TILEWRIGHT_FAILED_INDEX) {
    if (!messages || what == TILEWRIGHT_FAILED_CONDITION)
      return overwrite(loc, number, limit, what);
    Value old = memref::LoadOp::create(builder, loc, status, zero);
    Value condition = arith::ConstantIntOp::create(builder, loc, TILEWRIGHT_FAILED_CONDITION, 64);
    Value isOther = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, old, condition);
    emitIf(loc, isOther, [&] { overwrite(loc, number, limit, what); });
  }

  void overwrite(Location loc, Value number, Value limit, int64_t what) {
    Type i64 = builder.getI64Type();
    Value kind = arith::ConstantIntOp::create(builder, loc, what, 64);
    for (auto [at, value] : llvm::enumerate(std::array{kind, number, limit})) {
      if (isa<IndexType>(value.getType()))
        value = arith::IndexCastOp::create(builder, loc, i64, value);
      Value position = arith::ConstantIndexOp::create(builder, loc, at);
      memref::StoreOp::create(builder, loc, value, status, position);
    }
  }

  OpBuilder builder;
  ArrayAttr messages;
  Value zero, status;
};

struct LowerIndexChecks : impl::LowerIndexChecksBase<LowerIndexChecks> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) {
      if (isa<tile::PlaceOp, tile::DivisorOp, tile::RequireOp, tile::ReportOp>(op))
        ops.push_back(op);
    });
    if (ops.empty())
      return;
    PlaceExpander expander(function, function->hasAttr(checksAttrName));
    for (Operation *op : ops)
      llvm::TypeSwitch<Operation *>(op).Case<tile::PlaceOp, tile::DivisorOp, tile::RequireOp, tile::ReportOp>(
          [&](auto check) { expander.expand(check); });
  }
};
} // namespace
} // namespace vector_stage
} // namespace tilewright

//===- VerilogExpression.cpp - an operation on integers as a Verilog expression ------------===//
#include "lib/Codegen/HLS/Rtl/VerilogExpression.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::hls {

std::string expressionText(Operation *op, llvm::function_ref<std::string(size_t)> of,
                           llvm::function_ref<std::string(size_t)> bits) {
  auto smaller = [&](bool isUnsigned, StringRef sign) {
    return (isUnsigned ? bits(0) : of(0)) + " " + sign.str() + " " + (isUnsigned ? bits(1) : of(1));
  };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](arith::AddIOp) { return of(0) + " + " + of(1); })
      .Case([&](arith::SubIOp) { return of(0) + " - " + of(1); })
      .Case([&](arith::MulIOp) { return of(0) + " * " + of(1); })
      .Case([&](arith::AndIOp) { return of(0) + " & " + of(1); })
      .Case([&](arith::OrIOp) { return of(0) + " | " + of(1); })
      .Case([&](arith::XOrIOp) { return of(0) + " ^ " + of(1); })
      .Case([&](arith::ShLIOp) { return of(0) + " << " + bits(1); })
      .Case([&](arith::ShRSIOp) { return of(0) + " >>> " + bits(1); })
      .Case([&](arith::ShRUIOp) { return bits(0) + " >> " + bits(1); })
      .Case([&](arith::SelectOp) { return of(0) + " ? " + of(1) + " : " + of(2); })
      .Case<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>([&](auto) { return of(0); })
      .Case([&](arith::ExtUIOp) { return "$signed({1'b0, " + bits(0) + "})"; })
      // For max(x, 0), the comparison is the sign bit of x.
      .Case([&](arith::MaxSIOp) { return "(" + smaller(false, "<") + ") ? " + of(1) + " : " + of(0); })
      .Case([&](arith::MinSIOp) { return "(" + smaller(false, "<") + ") ? " + of(0) + " : " + of(1); })
      .Case([&](arith::MaxUIOp) { return "(" + smaller(true, ">") + ") ? " + of(0) + " : " + of(1); })
      .Case([&](arith::MinUIOp) { return "(" + smaller(true, "<") + ") ? " + of(0) + " : " + of(1); })
      .Case([&](arith::CmpIOp compare) {
        static constexpr StringLiteral signs[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
        auto predicate = compare.getPredicate();
        return smaller(predicate >= arith::CmpIPredicate::ult, signs[size_t(predicate)]);
      })
      .Default([](Operation *) { return std::string("0"); });
}

} // namespace tilewright::hls

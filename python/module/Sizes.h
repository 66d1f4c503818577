//===- Sizes.h - size expressions evaluated at a call ----------------------------===//
#ifndef TILEWRIGHT_PYTHON_MODULE_SIZES_H
#define TILEWRIGHT_PYTHON_MODULE_SIZES_H

#include "mlir/IR/AffineExpr.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright::python {

/// An affine expression of symbols as a list of steps in postfix order. Calls evaluate this list, because calls must
/// not use MLIR.
class SizeProgram {
public:
  explicit SizeProgram(mlir::AffineExpr expr) { append(expr); }

  int64_t run(const int64_t *symbols) const {
    int64_t stack[32];
    int top = -1;
    for (auto [kind, value] : steps) {
      if (kind == mlir::AffineExprKind::Constant) {
        stack[++top] = value;
        continue;
      }
      if (kind == mlir::AffineExprKind::SymbolId) {
        stack[++top] = symbols[value];
        continue;
      }
      int64_t b = stack[top--], &a = stack[top];
      switch (kind) {
      case mlir::AffineExprKind::Add:
        a += b;
        break;
      case mlir::AffineExprKind::Mul:
        a *= b;
        break;
      case mlir::AffineExprKind::FloorDiv:
        a = floorDiv(a, b);
        break;
      case mlir::AffineExprKind::CeilDiv:
        a = -floorDiv(-a, b);
        break;
      default: // Mod
        a -= floorDiv(a, b) * b;
      }
    }
    return stack[0];
  }

  /// Returns the value if the expression is a constant.
  std::optional<int64_t> constant() const {
    if (steps.size() != 1 || steps[0].first != mlir::AffineExprKind::Constant)
      return std::nullopt;
    return steps[0].second;
  }

private:
  static int64_t floorDiv(int64_t a, int64_t b) {
    if (b == 0)
      return 0;
    if (b == -1) // the CPU's division instruction traps on INT64_MIN / -1
      return int64_t(0 - uint64_t(a));
    int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
  }
  void append(mlir::AffineExpr expr) {
    if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(expr)) {
      steps.push_back({expr.getKind(), constant.getValue()});
    } else if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expr)) {
      steps.push_back({expr.getKind(), symbol.getPosition()});
    } else {
      auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(expr);
      append(binary.getLHS());
      append(binary.getRHS());
      steps.push_back({expr.getKind(), 0});
    }
  }
  std::vector<std::pair<mlir::AffineExprKind, int64_t>> steps;
};

} // namespace tilewright::python

#endif

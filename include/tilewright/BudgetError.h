//===- BudgetError.h - a design that needs more resources than it may use, as data ------===//
//
// If a design exceeds its budget, the search for designs (tuneDesign) uses the numbers in this error for its next
// design. The text of a diagnostic is for users, so a pass adds the required number of multipliers to the metadata of
// its diagnostic: MLIR passes metadata to handlers and does not print it. Session then creates a BudgetError. An
// attribute of the module cannot contain the number, because a pass that fails may leave invalid IR.
//
// Test: test/Unit/Driver/BudgetErrorTest.cpp
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_BUDGETERROR_H
#define TILEWRIGHT_BUDGETERROR_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mlir {
class Diagnostic;
class InFlightDiagnostic;
} // namespace mlir

namespace tilewright {

class BudgetError : public llvm::ErrorInfo<BudgetError> {
public:
  static char ID;
  explicit BudgetError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  std::string text;                    ///< text of the error, for users
  std::optional<int64_t> neededDsp;    ///< the smallest number of multipliers with which the model fits, if it is known
  std::optional<int64_t> availableDsp; ///< number of multipliers of the part, if the budget has more than the part
};

/// Adds to the metadata of `diagnostic` the smallest number of multipliers that the model needs.
void addNeededDsp(mlir::InFlightDiagnostic &diagnostic, int64_t dsp);

/// Returns the number that addNeededDsp() added to `diagnostic`, or nullopt.
std::optional<int64_t> neededDspOf(mlir::Diagnostic &diagnostic);

} // namespace tilewright

#endif

//===- BudgetError.cpp - a design that needs more resources than it may use, as data -----===//
#include "tilewright/BudgetError.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace tilewright {

char BudgetError::ID;

/// The key of the field `neededDsp` in the metadata of a diagnostic.
static constexpr llvm::StringLiteral neededDspKey = "tw_hls.needed_dsp";

void addNeededDsp(InFlightDiagnostic &diagnostic, int64_t dsp) {
  Diagnostic &inner = *diagnostic.getUnderlyingDiagnostic();
  Builder builder(inner.getLocation().getContext());
  NamedAttribute entry = builder.getNamedAttr(neededDspKey, builder.getI64IntegerAttr(dsp));
  inner.getMetadata().push_back(DiagnosticArgument(builder.getDictionaryAttr(entry)));
}

std::optional<int64_t> neededDspOf(Diagnostic &diagnostic) {
  for (const DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::Attribute)
      if (auto fields = dyn_cast<DictionaryAttr>(argument.getAsAttribute()))
        if (auto dsp = fields.getAs<IntegerAttr>(neededDspKey))
          return dsp.getInt();
  return std::nullopt;
}

} // namespace tilewright

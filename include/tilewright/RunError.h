//===- RunError.h - why a call of a compiled graph failed ------------------------------===//
//
// Callers use the fields to choose an exception, to name a parameter or to find the user's line. They never parse the
// text. The header is free of MLIR and LLVM, because the runtime of ahead-of-time libraries includes it.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_RUNERROR_H
#define TILEWRIGHT_RUNERROR_H

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace tilewright {

struct RunError {
  enum class Kind {
    Other,
    OutOfMemory,
    IndexOutOfRange,   ///< an index that a kernel read from a tensor
    DivisionByZero,    ///< a kernel divides an integer by 0
    ConditionFailed,   ///< a condition on elements does not hold, for example that a probability is at most 1
    SizesDoNotFit,     ///< a size guard of the plan does not hold
    ReleasedParameter, ///< `input` has no memory, and no pack of it can be used
  };

  RunError() = default;
  /// These conversions allow a function to write `error = "..."` if the error has only a text.
  RunError(std::string text) : text(std::move(text)) {}
  RunError(const char *text) : text(text) {}
  RunError(Kind kind, std::string text) : kind(kind), text(std::move(text)) {}

  Kind kind = Kind::Other;
  std::string text;            ///< text for users; if `step` is set, the user's line can be appended in parentheses
  std::optional<size_t> step;  ///< the index in plan.steps of the step that failed
  std::optional<size_t> input; ///< the index of the input that the error concerns
};

} // namespace tilewright

#endif

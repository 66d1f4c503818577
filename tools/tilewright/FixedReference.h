//===- FixedReference.h - compare a fixed-point design with its float model ----------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_FIXEDREFERENCE_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_FIXEDREFERENCE_H

#include "Design.h"
#include "RunInputs.h"

namespace tilewright::driver {

using Results = std::vector<HostTensor>;
/// Runs a graph on the reference target.
using RunGraph = llvm::function_ref<llvm::Expected<Results>(mlir::ModuleOp, const RunInputs &)>;

class FixedReference {
public:
  /// `fixed` was created from `floats` (--tw-fixed-point), and its integers have been widened to 8, 16, 32 or 64 bits.
  FixedReference(mlir::ModuleOp fixed, const ModelFile &floats);

  /// Fills inputs with elements from -1 to 1 in their formats, rounded to numbers that the float model's type can
  /// represent.
  void fill(std::vector<HostTensor> &inputs) const;

  /// Returns the errors of `results` against the float model, computed in double precision, for the same inputs.
  llvm::Expected<std::vector<FixedError>> compare(const std::vector<HostTensor> &inputs, const Results &results,
                                                  RunGraph run) const;

private:
  /// The width and the fraction bits of a tensor. There are none if the tensor also has integers in the float model.
  struct Point {
    int width = 0, fraction = 0;
  };
  static std::vector<std::optional<Point>> pointsOf(mlir::ModuleOp fixed, llvm::StringRef key);

  const ModelFile &floats;
  std::vector<std::optional<Point>> inputs, outputs;
};

} // namespace tilewright::driver

#endif

//===- FixedReference.h - a design of fixed point beside its float model -------------------===//
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
  /// `fixed` has been made of `floats` (--tw-fixed-point), and its integers are those that programs have.
  FixedReference(mlir::ModuleOp fixed, const ModelFile &floats);

  /// Elements from -1 to 1, in the inputs' formats. Those that the float model's type cannot hold are rounded to it.
  void fill(std::vector<HostTensor> &inputs) const;

  /// How far `results` lie from what the float model, all of it in double precision, makes of the same inputs.
  llvm::Expected<std::vector<FixedError>> compare(const std::vector<HostTensor> &inputs, const Results &results,
                                                  RunGraph run) const;

private:
  /// Bits behind the point and width of a tensor; none: it is one of integers in the float model, too.
  struct Point {
    int width = 0, fraction = 0;
  };
  static std::vector<std::optional<Point>> pointsOf(mlir::ModuleOp fixed, llvm::StringRef key);

  const ModelFile &floats;
  std::vector<std::optional<Point>> inputs, outputs;
};

} // namespace tilewright::driver

#endif

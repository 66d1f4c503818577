//===- FixedReference.h - compare a fixed-point design with its float model ----------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_FIXEDREFERENCE_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_FIXEDREFERENCE_H

#include "Design.h"
#include "RunInputs.h"

namespace tilewright::driver {

using Results = std::vector<HostTensor>;
/// A function that runs a graph with the target `reference`.
using RunGraph = llvm::function_ref<llvm::Expected<Results>(mlir::ModuleOp, const RunInputs &)>;

class FixedReference {
public:
  /// The pass --tw-fixed-point has created `fixed` from `floats`. The integers of `fixed` have been widened to 8, 16,
  /// 32 or 64 bits.
  FixedReference(mlir::ModuleOp fixed, const ModelFile &floats);

  /// Fills the fixed-point inputs with random numbers from -1 to 1 that both the format of the input and the float type
  /// of the model can represent. Leaves other inputs unchanged.
  void fill(std::vector<HostTensor> &inputs) const;

  /// Computes the float model in double precision for `inputs`, and returns the errors of the fixed-point `results`.
  llvm::Expected<std::vector<FixedError>> compare(const std::vector<HostTensor> &inputs, const Results &results,
                                                  RunGraph run) const;

private:
  /// The fixed-point format of a tensor: its bit width and the number of its fraction bits. pointsOf() returns nullopt
  /// for tensors whose elements are also integers in the float model.
  struct Point {
    int width = 0, fraction = 0;
  };
  static std::vector<std::optional<Point>> pointsOf(mlir::ModuleOp fixed, llvm::StringRef key);

  const ModelFile &floats;
  std::vector<std::optional<Point>> inputs, outputs;
};

} // namespace tilewright::driver

#endif

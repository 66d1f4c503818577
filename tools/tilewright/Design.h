//===- Design.h - write the folder of a design -------------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_DESIGN_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_DESIGN_H

#include "ModelFile.h"
#include "tilewright/Compiler.h"
#include "tilewright/Target.h"

namespace tilewright::driver {

/// Returns an error if writeDesign() cannot write to `folder`. Reasons are, for example, an empty name, a file or a
/// symbolic link of this name, a folder that contains files other than those of a design, and a parent folder that does
/// not exist or is not writable.
llvm::Error checkDesignFolder(llvm::StringRef folder);

/// Attaches the elements of the model's weights to its module as attributes, so that a target can embed them in a
/// design.
void attachWeights(ModelFile &model);

/// Compiles `model` to a design, and writes its files and the data of its test bench into `folder`. An older design in
/// `folder` is replaced. The files are written to a temporary folder, which is renamed at the end, so that a failure
/// leaves no files. `floats` is the model before its conversion to fixed point. It has no module if the model was not
/// converted.
llvm::Error writeDesign(Session &session, ModelFile &model, const ModelFile &floats, Target &target,
                        const Options &options, llvm::StringRef folder);

/// The error of a result of a fixed-point design: the root mean square and the maximum of the differences to the result
/// of the float model, computed in double precision.
struct FixedError {
  double rms = 0, largest = 0;
};

struct DesignData {
  std::vector<DesignFile> files;
  std::vector<FixedError> errors; ///< one per result; empty if the model is not fixed point
};

/// Returns the data of a test bench: inputs with seeded random elements, the elements of `arranged`, the results of the
/// target `reference`, and the allowed error of each result. Tensors whose indices are in `embedded` are part of the
/// design and not in the data.
llvm::Expected<DesignData> makeDesignData(const ModelFile &model, mlir::ModuleOp module, const ModelFile &floats,
                                          llvm::ArrayRef<int64_t> embedded, llvm::ArrayRef<mlir::Attribute> arranged);

} // namespace tilewright::driver

#endif

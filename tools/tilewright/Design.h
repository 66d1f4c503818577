//===- Design.h - write the folder of a design -------------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_DESIGN_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_DESIGN_H

#include "ModelFile.h"
#include "tilewright/Compiler.h"
#include "tilewright/Target.h"

namespace tilewright::driver {

/// Returns an error if writeDesign() cannot write to `folder`: the name is empty, it is a file, it has other contents,
/// or its parent does not exist or is not writable.
llvm::Error checkDesignFolder(llvm::StringRef folder);

/// Attaches the elements of the model's weights to its module, because a target can make them part of a design.
void attachWeights(ModelFile &model);

/// Compiles `model` for a target that writes files, and writes these files and the data of a test bench into `folder`.
/// The files are written to a temporary folder that is renamed at the end, so a failure leaves no files. An older
/// design is replaced. `floats` is the model before its conversion to fixed point; it has no module if there was no
/// conversion.
llvm::Error writeDesign(Session &session, ModelFile &model, const ModelFile &floats, Target &target,
                        const Options &options, llvm::StringRef folder);

/// The difference between a fixed-point design's results and those of its float model in double precision.
struct FixedError {
  double rms = 0, largest = 0;
};

struct DesignData {
  std::vector<DesignFile> files;
  std::vector<FixedError> errors; ///< one per result; empty if the model is not fixed point
};

/// Returns the data of a test bench: seeded inputs except the tensors with indices in `embedded`, followed by the
/// elements of `arranged`; the results of the reference, and the allowed error of each result. Consumes copies of
/// `module`.
llvm::Expected<DesignData> makeDesignData(const ModelFile &model, mlir::ModuleOp module, const ModelFile &floats,
                                          llvm::ArrayRef<int64_t> embedded, llvm::ArrayRef<mlir::Attribute> arranged);

} // namespace tilewright::driver

#endif

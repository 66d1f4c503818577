//===- Design.h - the folder of a design -------------------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_DESIGN_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_DESIGN_H

#include "ModelFile.h"
#include "tilewright/Compiler.h"
#include "tilewright/Target.h"

namespace tilewright::driver {

/// An error where writeDesign() could not put a design there: no folder named, a file in its place, a folder of
/// something else's, a parent that is not there or not writable.
llvm::Error checkDesignFolder(llvm::StringRef folder);

/// Tells the module of `model` the elements of its weights, so that a target can make them part of a design.
void attachWeights(ModelFile &model);

/// Compiles `model` for a target that makes files, and writes them with the data of a test bench into `folder`. They
/// are written aside and take their place at the end: what fails leaves nothing. A design of before is replaced.
/// `floats` is the model before it became fixed point; without a module where it did not.
llvm::Error writeDesign(Session &session, ModelFile &model, const ModelFile &floats, Target &target,
                        const Options &options, llvm::StringRef folder);

/// How far the results of a design of fixed point lie from those of its float model in double precision.
struct FixedError {
  double rms = 0, largest = 0;
};

struct DesignData {
  std::vector<DesignFile> files;
  std::vector<FixedError> errors; ///< per result; empty: the model is no fixed point
};

/// The data of a test bench: seeded inputs but those tensors whose numbers are in `embedded`, then the elements of
/// `arranged`; the reference's results, and how far from them a result may be. Consumes copies of `module`.
llvm::Expected<DesignData> makeDesignData(const ModelFile &model, mlir::ModuleOp module, const ModelFile &floats,
                                          llvm::ArrayRef<int64_t> embedded, llvm::ArrayRef<mlir::Attribute> arranged);

} // namespace tilewright::driver

#endif

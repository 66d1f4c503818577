//===- CompileEvents.h - record pass times and remarks during a compile --------------===//
//
// CompileEvents records the time of every pass, and the locations of the remarks about fusion, which kernel formation
// (lib/Kernels/FormKernels.cpp) and --tw-decompose-tile emit (dialects/Graph/Decisions.h).
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_REPORT_COMPILEEVENTS_H
#define TILEWRIGHT_LIB_REPORT_COMPILEEVENTS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include <mutex>
#include <string>
#include <vector>

namespace tilewright::explain {

struct PassTime {
  std::string name;        ///< command-line flag of the pass, such as tw-form-kernels
  double milliseconds = 0; ///< total time of all runs; function passes may run on several threads concurrently
  int64_t runs = 0;
};

/// Receives the remarks and the actions of the context until it is destroyed. The context must have no other remark
/// streamer and no other action handler.
class CompileEvents {
public:
  explicit CompileEvents(mlir::MLIRContext &context);
  ~CompileEvents();

  /// Returns the passes that ran since the last call, in order of their first run.
  std::vector<PassTime> takePasses();

  /// Returns the locations of the remarks about fusion, in order.
  const std::vector<mlir::Location> &fusionLocations() const { return locations; }

private:
  mlir::MLIRContext &context;
  std::mutex mutex;
  std::vector<PassTime> passes;
  std::vector<mlir::Location> locations;
};

} // namespace tilewright::explain

#endif

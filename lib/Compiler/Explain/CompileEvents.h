//===- CompileEvents.h - what passes tell while a model is compiled ------------------===//
//
// The time of every pass, and the remarks of kernel formation with their places.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_EXPLAIN_COMPILEEVENTS_H
#define TILEWRIGHT_LIB_COMPILER_EXPLAIN_COMPILEEVENTS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include <mutex>
#include <string>
#include <vector>

namespace tilewright::explain {

struct PassTime {
  std::string name;        ///< its flag: tw-form-kernels
  double milliseconds = 0; ///< of all runs; passes over functions may run on several threads at once
  int64_t runs = 0;
};

/// While it lives it listens to the context; no other listener may be there.
class CompileEvents {
public:
  explicit CompileEvents(mlir::MLIRContext &context);
  ~CompileEvents();

  /// The passes that ran since the last call, in order of their first run.
  std::vector<PassTime> takePasses();

  /// Where the remarks about fusion were made, in order.
  const std::vector<mlir::Location> &fusionPlaces() const { return places; }

private:
  mlir::MLIRContext &context;
  std::mutex mutex;
  std::vector<PassTime> passes;
  std::vector<mlir::Location> places;
};

} // namespace tilewright::explain

#endif

//===- WorkerProcess.h - a process that compiles or measures, and may crash ----------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_WORKERS_WORKERPROCESS_H
#define TILEWRIGHT_LIB_TUNER_WORKERS_WORKERPROCESS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace tilewright {

/// Starts `command` (lib/Tuner/Workers/Worker.cpp) and sends it requests. If the process crashes, hangs or is killed,
/// or if it reports a fatal error, its current request fails. The next request starts a new process and repeats the
/// last `load`.
class WorkerProcess {
public:
  explicit WorkerProcess(std::vector<std::string> command) : command(std::move(command)) {}
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess &) = delete;

  /// Returns the answer to `request`. `deadline` is the maximum number of seconds between two lines of the answer.
  /// `onLine` is called for each line before the last one, and may change the deadline.
  llvm::Expected<llvm::json::Object>
  ask(llvm::json::Object request, double deadline,
      llvm::function_ref<void(const llvm::json::Object &, double &deadline)> onLine = nullptr);

  /// Sends a `load` request, which is repeated for each new process.
  llvm::Expected<llvm::json::Object> load(llvm::json::Object request, double deadline);

  void stop();

private:
  llvm::Error start();
  llvm::Expected<llvm::json::Object> exchange(const llvm::json::Object &request, double deadline,
                                              llvm::function_ref<void(const llvm::json::Object &, double &)> onLine);
  llvm::Error died();
  /// Closes the pipes to a process that has ended, and forgets the process.
  void closePipes();

  std::vector<std::string> command;
  std::string loaded; ///< the last `load` request
  double loadDeadline = 60;
  int process = -1, toWorker = -1, fromWorker = -1;
  std::string pending; ///< bytes that were read but not processed yet
};

} // namespace tilewright

#endif

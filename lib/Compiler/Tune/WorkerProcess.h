//===- WorkerProcess.h - a process that compiles or measures, and may die ------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_TUNE_WORKERPROCESS_H
#define TILEWRIGHT_LIB_COMPILER_TUNE_WORKERPROCESS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace tilewright {

/// Runs `command` (lib/Compiler/Tune/Worker.cpp) and asks it. A process that crashes, hangs or is killed is an error of
/// the request it was at; the next request starts a new one, which is told what the last `load` was.
class WorkerProcess {
public:
  explicit WorkerProcess(std::vector<std::string> command) : command(std::move(command)) {}
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess &) = delete;

  /// The answer to `request`. `deadline` in seconds, from one line of the answer to the next; `onLine` is told of the
  /// lines before the last and may change it.
  llvm::Expected<llvm::json::Object>
  ask(llvm::json::Object request, double deadline,
      llvm::function_ref<void(const llvm::json::Object &, double &deadline)> onLine = nullptr);

  /// The same of a `load`, which is repeated for each new process.
  llvm::Expected<llvm::json::Object> load(llvm::json::Object request, double deadline);

  void stop();

private:
  llvm::Error start();
  llvm::Expected<llvm::json::Object> exchange(const llvm::json::Object &request, double deadline,
                                              llvm::function_ref<void(const llvm::json::Object &, double &)> onLine);
  llvm::Error died();

  std::vector<std::string> command;
  std::string loaded; ///< the last `load`, as it was sent
  double loadDeadline = 60;
  int process = -1, toWorker = -1, fromWorker = -1;
  std::string pending; ///< read, not yet a line
};

} // namespace tilewright

#endif

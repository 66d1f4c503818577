//===- ThreadsFlag.h - the flag --threads of several commands -------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_THREADSFLAG_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_THREADSFLAG_H

#include "llvm/Support/CommandLine.h"
#include <string>

namespace tilewright::driver {

/// A number of threads; 0, the default, means all threads that the process may use.
class ThreadsFlag : public llvm::cl::opt<int> {
public:
  explicit ThreadsFlag(llvm::cl::OptionCategory &category,
                       llvm::StringRef help = "number of threads of a call, for which the plan is made (default: all)")
      : opt("threads", llvm::cl::desc(help), llvm::cl::init(0), llvm::cl::cat(category)) {}

  /// Returns the reason why the value is invalid; empty if it is valid.
  std::string problem() const {
    const int count = getValue();
    return count < 0 ? "--threads=" + std::to_string(count) + ": the number of threads must be positive, or 0 for all"
                     : "";
  }
};

} // namespace tilewright::driver

#endif

//===- TargetFlags.h - the flags of the options that targets declare -----------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_TARGETFLAGS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_TARGETFLAGS_H

#include "tilewright/Target.h"
#include "llvm/Support/CommandLine.h"
#include <deque>
#include <memory>

namespace tilewright::driver {

/// One flag for each option of each target that a command accepts. The flags exist while the command runs, like its
/// other flags.
class TargetFlags {
public:
  /// Declares the flags of the options whose uses contain `use`.
  TargetFlags(llvm::cl::OptionCategory &category, OptionUse use);

  /// Stores the values of the flags in `options.own`. Returns an error if a flag belongs to another target than
  /// `options.target`.
  llvm::Error store(Options &options) const;

  /// Returns true if the flag of the option `name` was given.
  bool isGiven(llvm::StringRef name) const;

  /// Returns the flags, for commands that reject them with some inputs.
  llvm::SmallVector<llvm::cl::Option *> all() const;

private:
  struct Declared {
    TargetOption option;
    std::vector<std::string> targets; ///< the targets that declare the option
    std::string flag, help;           ///< cl::Option keeps references to these
    std::unique_ptr<llvm::cl::Option> parsed;

    std::string value() const;
  };
  std::deque<Declared> flags;
};

} // namespace tilewright::driver

#endif

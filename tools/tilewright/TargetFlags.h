//===- TargetFlags.h - the flags of the options that targets declare -----------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_TARGETFLAGS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_TARGETFLAGS_H

#include "tilewright/Target.h"
#include "llvm/Support/CommandLine.h"
#include <deque>
#include <memory>

namespace tilewright::driver {

/// The flags of a command for the options of targets. The flags are registered while this object exists.
class TargetFlags {
public:
  /// Declares a flag for each option of the targets. Only options whose field `uses` contains `use` have a flag, for
  /// example InCompile for `tilewright compile`.
  TargetFlags(llvm::cl::OptionCategory &category, OptionUse use);

  /// Stores the values of the flags in `options.own`. Returns an error if a flag belongs to a target other than
  /// `options.target`.
  llvm::Error store(Options &options) const;

  /// Returns true if the command line contains the flag of the option `name`.
  bool isGiven(llvm::StringRef name) const;

  /// Returns all flags. Commands reject these flags for inputs to which they do not apply.
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

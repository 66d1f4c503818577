//===- TargetFlags.cpp - the flags of the options that targets declare ---------------===//
//
// Test: test/Tools/target-flags.test
//
//===----------------------------------------------------------------------===//
#include "TargetFlags.h"

#include "llvm/ADT/StringExtras.h"

namespace cl = llvm::cl;

namespace tilewright::driver {

TargetFlags::TargetFlags(cl::OptionCategory &category, OptionUse use) {
  for (const DeclaredOption &declared : targetOptions()) {
    if (!(declared.option.uses & use))
      continue;
    auto same = llvm::find_if(flags, [&](const Declared &each) { return each.option.name == declared.option.name; });
    if (same != flags.end()) { // several targets with an option of the same name share one flag
      same->targets.push_back(declared.target);
      continue;
    }
    Declared &made = flags.emplace_back(Declared{declared.option, {declared.target}, "", "", nullptr});
    made.flag = made.option.name.str();
    std::replace(made.flag.begin(), made.flag.end(), '_', '-');
    // Remove the backquotes that mark code in the option's help for the documentation.
    made.help = "with --target=" + declared.target + ": " + llvm::join(llvm::split(made.option.help, '`'), "");
    if (made.option.kind == TargetOption::Flag)
      made.parsed = std::make_unique<cl::opt<bool>>(llvm::StringRef(made.flag), cl::desc(made.help), cl::cat(category));
    else if (made.option.kind == TargetOption::Text)
      made.parsed = std::make_unique<cl::opt<std::string>>(llvm::StringRef(made.flag), cl::desc(made.help),
                                                           cl::value_desc(made.option.value), cl::cat(category));
    else
      made.parsed = std::make_unique<cl::list<std::string>>(llvm::StringRef(made.flag), cl::desc(made.help),
                                                            cl::value_desc(made.option.value), cl::cat(category));
  }
}

std::string TargetFlags::Declared::value() const {
  switch (option.kind) {
  case TargetOption::Flag:
    return static_cast<const cl::opt<bool> &>(*parsed) ? "1" : "";
  case TargetOption::Text:
    return static_cast<const cl::opt<std::string> &>(*parsed).getValue();
  case TargetOption::List: {
    const auto &list = static_cast<const cl::list<std::string> &>(*parsed);
    return llvm::join(list.begin(), list.end(), " ");
  }
  }
  llvm_unreachable("every kind is above");
}

llvm::Error TargetFlags::store(Options &options) const {
  for (const Declared &each : flags) {
    if (each.parsed->getNumOccurrences() == 0)
      continue;
    if (!llvm::is_contained(each.targets, options.target))
      return llvm::createStringError("--" + each.flag +
                                     " requires --target=" + llvm::join(each.targets, " or --target=") + "; target '" +
                                     options.target + "' does not have this option");
    options.own.set(each.option.name, each.value());
  }
  return llvm::Error::success();
}

bool TargetFlags::isGiven(llvm::StringRef name) const {
  return llvm::any_of(
      flags, [&](const Declared &each) { return each.option.name == name && each.parsed->getNumOccurrences() > 0; });
}

llvm::SmallVector<cl::Option *> TargetFlags::all() const {
  return llvm::map_to_vector(flags, [](const Declared &each) { return each.parsed.get(); });
}

} // namespace tilewright::driver

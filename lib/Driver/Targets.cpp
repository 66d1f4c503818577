//===- Targets.cpp - the registry of targets and their plug-ins ----------------------===//
#include "lib/Interfaces/ForkMutex.h"
#include "tilewright/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright {

Target::~Target() = default;

llvm::Expected<std::vector<DesignFile>> Target::files(mlir::ModuleOp, const Options &) {
  return llvm::createStringError("target '" + name() + "' generates programs, not design files");
}

namespace {
struct TargetList {
  std::vector<std::unique_ptr<Target>> targets;
  std::string pluginError;
  bool loaded = false;

  void add(std::unique_ptr<Target> target) {
    for (auto &have : targets)
      if (have->name() == target->name()) {
        have = std::move(target);
        return;
      }
    targets.push_back(std::move(target));
  }
};

/// Returns the list of targets. The list is never destroyed, because LLVM unloads plug-ins when the process ends, and
/// the destructors of their targets then no longer exist.
runtime::ForkSafe<TargetList> &targetList() {
  static auto *list = new runtime::ForkSafe<TargetList>;
  return *list;
}

/// Loads a plug-in, which registers its target. Returns why `path` is not a plug-in, or an empty string.
std::string loadPlugin(llvm::StringRef path) {
  // A plug-in could not use the LLVM inside this library, whose symbols are hidden, and would need a second LLVM.
  if (TILEWRIGHT_HAS_LLVM_INSIDE)
    return "this Tilewright is from a wheel, in which the symbols of LLVM are hidden; plug-ins require a build from "
           "source that links LLVM as a shared library";
  std::string reason;
  auto library = llvm::sys::DynamicLibrary::getPermanentLibrary(path.str().c_str(), &reason);
  if (!library.isValid())
    return reason;
  void *entry = library.getAddressOfSymbol("tilewrightRegisterTarget");
  if (!entry)
    return "it exports no tilewrightRegisterTarget";
  reinterpret_cast<void (*)()>(entry)();
  return "";
}

/// Registers the built-in targets and the plug-ins, once per process. A plug-in that fails to load is reported
/// immediately, because a model for another target would never report it.
void loadTargets() {
  {
    auto list = targetList().lock();
    if (list->loaded)
      return;
    list->loaded = true;
    list->add(createCpuTarget());
    list->add(createReferenceTarget());
    list->add(createPlainTarget());
    list->add(createHlsTarget());
    list->add(createCudaTarget());
  }
  const char *plugins = std::getenv("TILEWRIGHT_PLUGINS");
  llvm::SmallVector<llvm::StringRef> paths;
  llvm::StringRef(plugins ? plugins : "").split(paths, ':', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef path : paths)
    if (std::string reason = loadPlugin(path); !reason.empty()) {
      llvm::errs() << "tilewright: warning: TILEWRIGHT_PLUGINS names " << path << ", which is not loaded: " << reason
                   << "\n";
      targetList().lock()->pluginError += "plug-in " + path.str() + ": " + reason + "; ";
    }
}
} // namespace

std::string suggestName(llvm::StringRef name, llvm::ArrayRef<std::string> known) {
  const std::string *best = nullptr;
  unsigned least = name.size() / 2 + 1;
  for (const std::string &candidate : known)
    if (unsigned distance = name.edit_distance(candidate); distance < least) {
      best = &candidate;
      least = distance;
    }
  return best ? " (did you mean '" + *best + "'?)" : "";
}

void registerTarget(std::unique_ptr<Target> target) { targetList().lock()->add(std::move(target)); }

Target *findTarget(llvm::StringRef name, std::string &error) {
  loadTargets();
  auto list = targetList().lock();
  std::vector<std::string> known;
  for (auto &target : list->targets) {
    if (target->name() == name)
      return target.get();
    known.push_back(target->name().str());
  }
  error =
      "unknown target '" + name.str() + "'" + suggestName(name, known) + "; known targets: " + llvm::join(known, ", ");
  if (!list->pluginError.empty())
    error += " (" + list->pluginError + ")";
  return nullptr;
}

std::vector<std::string> targetNames() {
  loadTargets();
  auto list = targetList().lock();
  std::vector<std::string> names;
  for (auto &target : list->targets)
    names.push_back(target->name().str());
  return names;
}

std::vector<DeclaredOption> targetOptions() {
  loadTargets();
  auto list = targetList().lock();
  std::vector<DeclaredOption> declared;
  for (auto &target : list->targets)
    for (const TargetOption &option : target->options())
      declared.push_back({target->name().str(), option});
  return declared;
}

llvm::Error configure(Target &target, Options &options) {
  const llvm::SmallVector<TargetOption> own = target.options();
  for (const auto &[name, value] : options.own) {
    if (llvm::any_of(own, [&, &name = name](const TargetOption &option) { return option.name == name; }))
      continue;
    std::vector<std::string> others;
    for (const DeclaredOption &declared : targetOptions())
      if (declared.option.name == name)
        others.push_back("'" + declared.target + "'");
    return llvm::createStringError("target '" + target.name() + "' takes no " + name +
                                   (others.empty() ? "" : ", an option of target " + llvm::join(others, " and ")) +
                                   "; leave it out");
  }
  return target.configure(options);
}

llvm::Expected<Target *> configuredTarget(Options &options) {
  std::string error;
  Target *target = findTarget(options.target, error);
  if (!target)
    return llvm::createStringError(error);
  if (llvm::Error failed = configure(*target, options))
    return std::move(failed);
  return target;
}

} // namespace tilewright

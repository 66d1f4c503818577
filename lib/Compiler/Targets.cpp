//===- Targets.cpp - the registry of targets and their plug-ins ----------------------===//
#include "tilewright/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DynamicLibrary.h"
#include <mutex>

namespace tilewright {

Target::~Target() = default;

llvm::Expected<std::vector<DesignFile>> Target::files(mlir::ModuleOp, const Options &) {
  return llvm::createStringError("target '" + name() + "' makes programs, not files of a design");
}

namespace {
struct TargetRegistry {
  std::mutex mutex;
  std::vector<std::unique_ptr<Target>> targets;
  std::string pluginError;
  bool loaded = false;

  /// Never destroyed: LLVM closes plug-ins when the process ends, and their targets' code is gone then.
  static TargetRegistry &get() {
    static auto *registry = new TargetRegistry;
    return *registry;
  }

  void add(std::unique_ptr<Target> target) {
    for (auto &have : targets)
      if (have->name() == target->name()) {
        have = std::move(target);
        return;
      }
    targets.push_back(std::move(target));
  }
};

/// The house's targets and the plug-ins, once.
void loadTargets() {
  TargetRegistry &registry = TargetRegistry::get();
  {
    std::lock_guard<std::mutex> lock(registry.mutex);
    if (registry.loaded)
      return;
    registry.loaded = true;
    registry.add(createCpuTarget());
    registry.add(createReferenceTarget());
    registry.add(createHlsTarget());
    registry.add(createCudaTarget());
  }
  const char *plugins = std::getenv("TILEWRIGHT_PLUGINS");
  llvm::SmallVector<llvm::StringRef> paths;
  llvm::StringRef(plugins ? plugins : "").split(paths, ':', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef path : paths) {
    // A plug-in would bring, or look for, an LLVM of its own, and see none of ours.
    if (TILEWRIGHT_HAS_LLVM_INSIDE) {
      registry.pluginError +=
          "plug-in " + path.str() +
          ": this Tilewright comes from a wheel, which has LLVM linked into it and hidden; plug-ins "
          "need one built from source with LLVM as a library; ";
      continue;
    }
    std::string reason;
    auto library = llvm::sys::DynamicLibrary::getPermanentLibrary(path.str().c_str(), &reason);
    void *entry = library.isValid() ? library.getAddressOfSymbol("tilewrightRegisterTarget") : nullptr;
    if (entry)
      reinterpret_cast<void (*)()>(entry)();
    else
      registry.pluginError += "plug-in " + path.str() + ": " +
                              (library.isValid() ? "it exports no tilewrightRegisterTarget" : reason) + "; ";
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

void registerTarget(std::unique_ptr<Target> target) {
  TargetRegistry &registry = TargetRegistry::get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.add(std::move(target));
}

Target *findTarget(llvm::StringRef name, std::string &error) {
  loadTargets();
  TargetRegistry &registry = TargetRegistry::get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::vector<std::string> known;
  for (auto &target : registry.targets) {
    if (target->name() == name)
      return target.get();
    known.push_back(target->name().str());
  }
  error =
      "unknown target '" + name.str() + "'" + suggestName(name, known) + "; known targets: " + llvm::join(known, ", ");
  if (!registry.pluginError.empty())
    error += " (" + registry.pluginError + ")";
  return nullptr;
}

std::vector<std::string> targetNames() {
  loadTargets();
  TargetRegistry &registry = TargetRegistry::get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::vector<std::string> names;
  for (auto &target : registry.targets)
    names.push_back(target->name().str());
  return names;
}

llvm::Expected<Target *> configuredTarget(Options &options) {
  std::string error;
  Target *target = findTarget(options.target, error);
  if (!target)
    return llvm::createStringError(error);
  if (llvm::Error failed = target->configure(options))
    return std::move(failed);
  return target;
}

} // namespace tilewright

//===- Jit.cpp - load machine code into this process ----------------------===//
#include "lib/Runtime/Jit/Jit.h"
#include "lib/Interfaces/ForkMutex.h"
#include "lib/Runtime/Jit/PerfMap.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"

#include <cstdlib>
#include <utility>

namespace tilewright::runtime {

namespace orc = llvm::orc;

struct Jit::Session {
  explicit Session(std::unique_ptr<orc::ExecutorProcessControl> control)
      : execution(std::move(control)), linking(execution) {}
  ~Session() {
    // Ignore errors: kernels have no destructors that could fail.
    llvm::consumeError(execution.endSession());
  }

  /// Returns the messages that ORC reported since the last call in addition to the errors it returned.
  std::string takeReports() { return std::exchange(*reports.lock(), ""); }

  ForkSafe<std::string> reports;
  orc::ExecutionSession execution;
  orc::ObjectLinkingLayer linking;
  orc::JITDylib *library = nullptr;
};

Jit::Jit() = default;
Jit::~Jit() = default;

static bool isEnabled(const char *variable) {
  const char *value = getenv(variable);
  return value && *value && llvm::StringRef(value) != "0";
}

llvm::Expected<std::unique_ptr<Jit>> Jit::create(llvm::ArrayRef<HostSymbol> symbols) {
  auto control = orc::SelfExecutorProcessControl::Create();
  if (!control)
    return control.takeError();
  std::unique_ptr<Jit> jit(new Jit);
  jit->session = std::make_unique<Session>(std::move(*control));
  Session &session = *jit->session;
  session.execution.setErrorReporter([&session](llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    auto reports = session.reports.lock();
    *reports += (reports->empty() ? "" : "; ") + text;
  });
  auto library = session.execution.createJITDylib("tilewright");
  if (!library)
    return library.takeError();
  session.library = &*library;

  orc::SymbolMap known;
  auto add = [&](const HostSymbol &symbol) {
    known[session.execution.intern(symbol.name)] = {orc::ExecutorAddr::fromPtr(symbol.address),
                                                    llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Absolute};
  };
  for (const HostSymbol &symbol : kernelSymbols())
    add(symbol);
  for (const HostSymbol &symbol : symbols)
    add(symbol);
  // The symbols are in a separate JITDylib, so that an object may define a function with the same name.
  auto host = session.execution.createJITDylib("host");
  if (!host)
    return host.takeError();
  if (llvm::Error error = host->define(orc::absoluteSymbols(std::move(known))))
    return std::move(error);
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(/*GlobalPrefix=*/'\0');
  if (!process)
    return process.takeError();
  host->addGenerator(std::move(*process));
  session.library->addToLinkOrder(*host);

  if (isEnabled("TILEWRIGHT_DEBUGGER")) {
    llvm::Error error = llvm::Error::success();
    auto plugin = std::make_shared<orc::ELFDebugObjectPlugin>(session.execution, /*RequireDebugSections=*/false,
                                                              /*AutoRegisterCode=*/true, error);
    if (error)
      return std::move(error);
    session.linking.addPlugin(std::move(plugin));
  }
  if (isEnabled("TILEWRIGHT_PERF_MAP"))
    session.linking.addPlugin(std::make_shared<PerfMapPlugin>());
  return jit;
}

static llvm::Error withReports(llvm::Error error, const std::string &what, const std::string &reports) {
  std::string text = llvm::toString(std::move(error));
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 what + ": " + text + (reports.empty() ? "" : " (" + reports + ")"));
}

llvm::Error Jit::addObject(std::unique_ptr<llvm::MemoryBuffer> object) {
  if (llvm::Error error = session->linking.add(*session->library, std::move(object)))
    return withReports(std::move(error), "cannot load object code", session->takeReports());
  return llvm::Error::success();
}

llvm::Expected<void *> Jit::lookup(llvm::StringRef name) {
  auto addresses = lookupAll(llvm::ArrayRef<std::string>(name.str()));
  if (!addresses)
    return addresses.takeError();
  return addresses->front();
}

llvm::Expected<std::vector<void *>> Jit::lookupAll(llvm::ArrayRef<std::string> names) {
  orc::SymbolLookupSet wanted;
  std::vector<orc::SymbolStringPtr> interned;
  for (const std::string &name : names)
    interned.push_back(session->execution.intern(name));
  llvm::DenseSet<orc::SymbolStringPtr> seen;
  for (const orc::SymbolStringPtr &name : interned)
    if (seen.insert(name).second)
      wanted.add(name);
  auto found = session->execution.lookup({{session->library, orc::JITDylibLookupFlags::MatchExportedSymbolsOnly}},
                                         std::move(wanted));
  if (!found)
    return withReports(found.takeError(), "cannot link " + llvm::join(names, ", "), session->takeReports());
  std::vector<void *> addresses;
  for (const orc::SymbolStringPtr &name : interned)
    addresses.push_back((*found)[name].getAddress().toPtr<void *>());
  return addresses;
}

} // namespace tilewright::runtime

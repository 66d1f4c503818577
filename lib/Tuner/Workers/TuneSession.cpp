//===- TuneSession.cpp - the parts of a tuning of a model ----------------------------------------------------===//
//
// Test: test/Tuner/tune.test
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Workers/TuneSession.h"
#include "lib/Driver/LowerStructured.h"
#include "lib/Tuner/WriteFile.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <thread>

using namespace mlir;

namespace tilewright {

char NoTuneWorker::ID = 0;

WithoutSigpipe::WithoutSigpipe() : before(std::signal(SIGPIPE, SIG_IGN)) {}
WithoutSigpipe::~WithoutSigpipe() { std::signal(SIGPIPE, before); }

llvm::Error writeModule(ModuleOp module, const std::string &path) {
  LogicalResult written = success();
  if (llvm::Error failed =
          tuner::writeFile(path, [&](llvm::raw_ostream &out) { written = writeBytecodeToFile(module, out); }))
    return failed;
  if (failed(written))
    return llvm::createStringError("a kernel cannot be written as bytecode");
  return llvm::Error::success();
}

TuneSession::TuneSession(Session &session, ModuleOp module, const Options &given, const TuneOptions &tune)
    : module(module), options(given), tune(tune), seconds(tune.seconds), session(session) {
  if (seconds <= 0)
    seconds = tune.tier == TuneTier::Full ? 900 : 90;
}

double TuneSession::secondsSpent() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

llvm::Error TuneSession::prepare() {
  llvm::Expected<Target *> chosen = configuredTarget(options);
  if (!chosen)
    return chosen.takeError();
  target = *chosen;
  if (!target->canMeasure(options) && !target->hasDevices())
    return llvm::createStringError(
        "target '%s' has no schedule space that can be searched: schedules of cpu and cuda are measured, and "
        "`tilewright tune --target=hls` searches designs",
        options.target.c_str());
  options.tune = "off";
  if (llvm::Error failed = lowerToKernels(session, module, *target, options))
    return failed;
  llvm::Expected<std::vector<TunableKernel>> found = tunableKernels(module, *target, options);
  if (!found)
    return found.takeError();
  kernels = std::move(*found);
  llvm::Expected<std::unique_ptr<TemporaryFolder>> made = TemporaryFolder::make("tilewright-tune");
  if (!made)
    return made.takeError();
  folder = std::move(*made);
  const unsigned cpus = std::max(1u, std::thread::hardware_concurrency());
  workers = std::make_unique<Workers>(tune.worker, std::min(cpus, 8u));
  return llvm::Error::success();
}

llvm::Error TuneSession::requireWorker() {
  // The worker process may have to read its libraries from a slow disk before its first answer.
  constexpr double deadline = 60;
  llvm::Expected<llvm::json::Object> answer = workers->runner.ask(llvm::json::Object{{"do", "hello"}}, deadline);
  return answer ? llvm::Error::success() : llvm::make_error<NoTuneWorker>(llvm::toString(answer.takeError()));
}

llvm::Expected<std::unique_ptr<WorkerBench>> TuneSession::benchOf(const TunableKernel &kernel, bool wide) {
  const std::string file = folder->file(kernel.kernel.name + ".mlirbc");
  if (llvm::Error failed = writeModule(*kernel.kernel.module, file))
    return std::move(failed);
  BenchSubject subject;
  subject.module = file;
  subject.sizes = sizes;
  const TunableKernel *of = &kernel;
  subject.schedule = [of, wide](const SchedulePoint &point) {
    std::string entry = wide ? wideScheduleEntry(*of, point) : scheduleEntry(*of, point);
    return entry.empty() ? "" : "{\"" + of->kernel.name + "\": " + entry + "}";
  };
  return makeBench(std::move(subject), kernel.kernel.name);
}

llvm::Expected<std::unique_ptr<WorkerBench>> TuneSession::makeBench(BenchSubject subject, const std::string &name) {
  const std::string own = folder->file(name);
  (void)llvm::sys::fs::remove_directories(own);
  if (std::error_code code = llvm::sys::fs::create_directory(own))
    return llvm::createStringError(code, "cannot make a folder for temporary files");
  auto bench = std::make_unique<WorkerBench>(*workers, options, std::move(subject), own, [this] { return isOver(); });
  if (llvm::Error failed = bench->load())
    return std::move(failed);
  return bench;
}

} // namespace tilewright

//===- Worker.cpp - the process that compiles and measures schedules --------------------------------===//
//
// The worker and the tuner exchange JSON objects, one per line. The worker reads requests from standard input:
//   {"do": "hello"}
//   {"do": "load", "module": FILE, "target": .., "own": {..}, "cpu": .., "threads": N, "sizes": [..], "runs": BOOL}
//   {"do": "build", "schedule": FILE or "", "artifact": FILE}
//   {"do": "race", "artifacts": [FILES], "rounds": N, "limit": NANOSECONDS}
//   {"do": "check", "schedule": FILE or ""}
//   {"do": "profile", "artifact": FILE}
// A worker that was loaded with "runs": false only builds. Answers on standard output: {"ok": ..} or {"error": TEXT}
// ends a request. {"error": TEXT, "fatal": true} requires a new worker, because an error may have made the device
// unusable for this process. A race prints {"lane": N} before it loads the program of artifact N and before it runs
// this program for the first time, so that the tuner can identify a program that crashes or hangs. Before the rounds,
// it prints {"lane": N} with the number of artifacts.
//
// Two environment variables exist for tests. If TILEWRIGHT_TUNE_TIMES is set, the worker runs every program, but
// reports times that are computed from the schedule's text and the symbolic sizes, so that tests do not depend on the
// load of the machine. With TILEWRIGHT_TUNE_FAULT="crash:TEXT", "hang:TEXT" or "kill:TEXT", a race of an artifact whose
// name contains TEXT raises SIGSEGV, never ends, or raises SIGKILL.
//
// Test: test/Tuner/tune.test
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/CheckReference.h"
#include "lib/Driver/LowerStructured.h"
#include "lib/Interfaces/JsonText.h"
#include "lib/Tuner/Workers/RandomCall.h"
#include "lib/Tuner/WriteFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Tuner.h"
#include "llvm/Support/DJB.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

using namespace mlir;
namespace json = llvm::json;

namespace tilewright {
namespace {

void say(const json::Value &value) {
  llvm::outs() << jsonText(value) + "\n";
  llvm::outs().flush();
}

/// Returns an artificial time for tests, computed from the schedule in the artifact's name: "artifact-3-64-48" has
/// schedule "-64-48". For whole models, the schedule "-1" is the tuned model, and "" is the untuned model. The tuned
/// model is faster.
double madeUpTime(llvm::StringRef artifact, llvm::ArrayRef<int64_t> symbols) {
  llvm::StringRef schedule = llvm::sys::path::filename(artifact).split('-').second.ltrim("0123456789");
  if (schedule.empty() || schedule == "-1")
    return schedule.empty() ? 2000 : 1500;
  uint32_t seed = 5381;
  for (int64_t size : symbols)
    seed = 33 * seed + uint32_t(size);
  return 1000 + double(llvm::djbHash(schedule, seed) % 1000);
}

/// Executes the fault that a test requests by TILEWRIGHT_TUNE_FAULT.
void fault(llvm::StringRef artifact) {
  const char *planted = std::getenv("TILEWRIGHT_TUNE_FAULT");
  if (!planted)
    return;
  auto [kind, text] = llvm::StringRef(planted).split(':');
  if (!artifact.contains(text))
    return;
  if (kind == "crash")
    std::raise(SIGSEGV);
  if (kind == "kill")
    std::raise(SIGKILL);
  while (kind == "hang")
    std::this_thread::sleep_for(std::chrono::seconds(1));
}

class Worker {
public:
  llvm::Expected<json::Value> answer(const json::Object &request) {
    llvm::StringRef what = request.getString("do").value_or("");
    if (what == "hello")
      return json::Value(json::Object{{"ok", true}});
    if (what == "load")
      return load(request);
    if (!module)
      return llvm::createStringError("no module is loaded");
    if (what == "build")
      return build(request);
    if (what == "race")
      return race(request);
    if (what == "check")
      return check(request);
    if (what == "profile")
      return profile(request);
    return llvm::createStringError("unknown request '" + what + "'");
  }

  /// Returns true if the worker has run programs on a device, whose state an error may have damaged.
  bool runsOnDevice() const { return call && target->hasDevices(); }

private:
  llvm::Expected<json::Value> load(const json::Object &request) {
    programs.clear();
    call.reset();
    module = nullptr;
    options = Options();
    options.target = request.getString("target").value_or("cpu").str();
    options.cpu = request.getString("cpu").value_or("native").str();
    if (const json::Object *own = request.getObject("own"))
      for (const auto &[name, value] : *own)
        options.own.set(name, value.getAsString().value_or(""));
    options.threads = int(request.getInteger("threads").value_or(0));
    options.tune = "off";
    options.cache = false;
    llvm::Expected<Target *> chosen = configuredTarget(options);
    if (!chosen)
      return chosen.takeError();
    target = *chosen;
    // A builder passes the assembled code of a device to the runner through the cache.
    options.cache = target->hasDevices();
    const std::string file = request.getString("module").value_or("").str();
    module = parseSourceFile<ModuleOp>(file, ParserConfig(&session.context()));
    if (!module)
      return llvm::createStringError("cannot read the module '" + file + "'");
    std::vector<int64_t> sizes;
    if (const json::Array *given = request.getArray("sizes"))
      for (const json::Value &size : *given)
        sizes.push_back(size.getAsInteger().value_or(0));
    if (!request.getBoolean("runs").value_or(true))
      return json::Value(json::Object{{"ok", true}});
    llvm::Expected<RandomCall> made = RandomCall::make(*module, sizes);
    if (!made)
      return made.takeError();
    call = std::make_unique<RandomCall>(std::move(*made));
    return json::Value(json::Object{{"ok", true}});
  }

  Options with(const json::Object &request) const {
    Options chosen = options;
    chosen.scheduleFile = request.getString("schedule").value_or("").str();
    return chosen;
  }

  llvm::Expected<json::Value> build(const json::Object &request) {
    OwningOpRef<ModuleOp> copy = module->clone();
    const Options chosen = with(request);
    if (llvm::Error failed = lowerStructured(*copy, *target, chosen))
      return std::move(failed);
    llvm::Expected<std::string> artifact = target->emit(*copy, chosen);
    if (!artifact)
      return artifact.takeError();
    const std::string path = request.getString("artifact").value_or("").str();
    if (llvm::Error failed = tuner::writeFile(path, [&](llvm::raw_ostream &out) { out << *artifact; }))
      return std::move(failed);
    if (llvm::Error failed = target->prepareToLoad(*artifact, chosen))
      return std::move(failed);
    return json::Value(json::Object{{"ok", true}});
  }

  llvm::Expected<Program *> program(const std::string &path) {
    std::shared_ptr<Program> &made = programs[path];
    if (made)
      return made.get();
    auto bytes = llvm::MemoryBuffer::getFile(path);
    if (!bytes)
      return llvm::createStringError(bytes.getError(), "cannot read '%s'", path.c_str());
    llvm::Expected<std::shared_ptr<Program>> loaded = target->load((*bytes)->getBuffer(), options);
    if (!loaded)
      return loaded.takeError();
    made = std::move(*loaded);
    return made.get();
  }

  /// Calls every program the same number of times in each round. The number is at most 64 (16 on a device), and such
  /// that the fastest program runs for about 0.1 ms. If every program takes longer, each is called once. The order of
  /// the programs varies between rounds.
  llvm::Expected<json::Value> race(const json::Object &request) {
    const int64_t rounds = request.getInteger("rounds").value_or(1);
    const double limit = request.getNumber("limit").value_or(0);
    std::vector<Program *> lanes; ///< null for an artifact that cannot be loaded
    std::vector<std::string> names, failures;
    for (const json::Value &artifact : *request.getArray("artifacts")) {
      say(json::Object{{"lane", int64_t(names.size())}}); // loading may take long, and may crash
      names.push_back(artifact.getAsString().value_or("").str());
      llvm::Expected<Program *> made = program(names.back());
      lanes.push_back(made ? *made : nullptr);
      failures.push_back(made ? "" : "loading: " + llvm::toString(made.takeError()));
    }
    const bool onDevice = target->hasDevices();
    auto loaded = llvm::find_if(lanes, [](Program *lane) { return lane != nullptr; });
    if (llvm::Error failed = loaded == lanes.end() ? llvm::Error::success() : call->useDeviceOf(**loaded))
      return std::move(failed);
    std::vector<std::vector<double>> times(lanes.size());
    // All lanes make the same number of calls per round. Otherwise, a lane with more calls would have a larger share of
    // calls whose inputs are already in the caches.
    int64_t calls = 1;
    const bool madeUp = std::getenv("TILEWRIGHT_TUNE_TIMES") != nullptr;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      if (!failures[lane].empty())
        continue;
      say(json::Object{{"lane", int64_t(lane)}});
      fault(names[lane]);
      // The first call packs parameters; then take the fastest of up to three calls, to exclude other load.
      double once = 0;
      for (int warm = 0; warm < 4 && failures[lane].empty(); ++warm) {
        llvm::Expected<double> took = call->time(*lanes[lane], options.threads);
        if (!took && onDevice)
          return took.takeError(); // after this error, the device may not be able to run the other lanes
        if (!took) {
          failures[lane] = llvm::toString(took.takeError());
          break;
        }
        once = warm <= 1 ? *took : std::min(once, *took);
        if (warm >= 1 && (limit <= 0 || once <= limit))
          break;
      }
      // Do not apply the limit to lanes of the first artifact, from whose time the limit was derived.
      if (failures[lane].empty() && limit > 0 && once > limit && names[lane] != names[0] && !madeUp)
        failures[lane] = "it takes more than three times the default's time";
      if (failures[lane].empty())
        calls = std::max(calls, std::clamp<int64_t>(int64_t(1e5 / std::max(once, 1.0)), 1, onDevice ? 16 : 64));
    }
    say(json::Object{{"lane", int64_t(lanes.size())}});
    for (size_t lane = 0; madeUp && lane < lanes.size(); ++lane)
      times[lane].assign(size_t(rounds), madeUpTime(names[lane], call->symbolValues()));
    for (int64_t round = 0; round < rounds && !madeUp; ++round)
      for (size_t turn = 0; turn < lanes.size(); ++turn) {
        // Reverse the order in every other round, so that drift within a round cancels out.
        const size_t position = round % 2 ? lanes.size() - 1 - turn : turn;
        const size_t lane = (position + size_t(round / 2)) % lanes.size();
        if (!failures[lane].empty())
          continue;
        llvm::Expected<double> took = call->time(*lanes[lane], options.threads, calls);
        if (!took && onDevice)
          return took.takeError();
        if (took)
          times[lane].push_back(*took);
        else
          failures[lane] = llvm::toString(took.takeError());
      }
    json::Array answer;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      json::Array list;
      if (failures[lane].empty())
        for (double time : times[lane])
          list.push_back(time);
      answer.push_back(json::Object{{"times", std::move(list)}, {"failure", failures[lane]}});
    }
    programs.clear();
    return json::Value(json::Object{{"ok", true}, {"lanes", std::move(answer)}});
  }

  llvm::Expected<json::Value> check(const json::Object &request) {
    OwningOpRef<ModuleOp> copy = module->clone();
    llvm::Expected<std::shared_ptr<Program>> checked = target->hasDevices()
                                                           ? compileCompared(*copy, *target, with(request), options)
                                                           : compileChecked(*copy, *target, with(request));
    if (!checked)
      return checked.takeError();
    // The comparison reads results on the host. If the programs run on a device, the memory of `call` is on the device.
    std::optional<RandomCall> onHost;
    if (target->hasDevices()) {
      llvm::Expected<RandomCall> made = RandomCall::make(*module, call->symbolValues());
      if (!made)
        return made.takeError();
      onHost.emplace(std::move(*made));
    }
    std::string wrong;
    if (llvm::Error failed = (onHost ? *onHost : *call).run(**checked, options.threads)) {
      if (target->hasDevices())
        return std::move(failed); // a fault on the device would make the next requests fail
      wrong = llvm::toString(std::move(failed));
    }
    return json::Value(json::Object{{"ok", true}, {"wrong", wrong}});
  }

  llvm::Expected<json::Value> profile(const json::Object &request) {
    llvm::Expected<Program *> made = program(request.getString("artifact").value_or("").str());
    if (!made)
      return made.takeError();
    if (llvm::Error failed = call->useDeviceOf(**made))
      return std::move(failed);
    for (int warm = 0; warm < 2; ++warm)
      if (llvm::Error failed = call->run(**made, options.threads))
        return std::move(failed);
    (*made)->profile(true);
    for (int round = 0; round < 5; ++round)
      if (llvm::Error failed = call->run(**made, options.threads))
        return std::move(failed);
    json::Array steps;
    for (const KernelTime &time : (*made)->times(call->symbolValues().data()))
      steps.push_back(json::Object{{"kernel", time.kernel}, {"nanoseconds", time.nanoseconds}});
    (*made)->profile(false);
    programs.clear();
    return json::Value(json::Object{{"ok", true}, {"steps", std::move(steps)}});
  }

  Session session;
  Options options;
  Target *target = nullptr;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<RandomCall> call;
  std::map<std::string, std::shared_ptr<Program>> programs;
};
} // namespace

int runTuneWorker() {
  std::signal(SIGINT, SIG_IGN); // the tuner ends its workers when it receives SIGINT
  Worker worker;
  std::string line;
  while (std::getline(std::cin, line)) {
    llvm::Expected<json::Value> request = parseJson(line);
    const json::Object *object = request ? request->getAsObject() : nullptr;
    if (!object) {
      if (!request)
        llvm::consumeError(request.takeError());
      say(json::Object{{"error", "the request is not a JSON object"}});
      continue;
    }
    llvm::Expected<json::Value> answer = worker.answer(*object);
    if (answer)
      say(*answer);
    else
      say(json::Object{{"error", llvm::toString(answer.takeError())}, {"fatal", worker.runsOnDevice()}});
  }
  return 0;
}

} // namespace tilewright

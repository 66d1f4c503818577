//===- WorkerBench.cpp - races of schedules on this machine ------------------------------------------------===//
//
// Test: test/Tuner/tune.test, test/Tuner/tune-faults.test
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Workers/WorkerBench.h"
#include "lib/Tuner/WriteFile.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <thread>

namespace json = llvm::json;

namespace tilewright {

/// Time limits in seconds for loading a module, for compiling a schedule, and for the first calls of a program. race()
/// adds four times the maximum time of a call to the last limit.
static constexpr double loadDeadline = 120, buildDeadline = 180, runDeadline = 20;

Workers::Workers(const std::vector<std::string> &command, unsigned count) : runner(command) {
  for (unsigned i = 0; i < count; ++i)
    builders.push_back(std::make_unique<WorkerProcess>(command));
}

WorkerBench::WorkerBench(Workers &workers, const Options &options, BenchSubject subject, std::string folder,
                         std::function<bool()> stop)
    : workers(workers), options(options), subject(std::move(subject)), folder(std::move(folder)),
      stop(std::move(stop)) {}

llvm::Error WorkerBench::load() {
  auto request = [&](bool runs) {
    json::Array sizes;
    for (int64_t size : subject.sizes)
      sizes.push_back(size);
    json::Object own;
    for (const auto &[name, value] : options.own)
      own[name] = value;
    return json::Object{
        {"do", "load"},       {"module", subject.module},   {"target", options.target},  {"own", std::move(own)},
        {"cpu", options.cpu}, {"threads", options.threads}, {"sizes", std::move(sizes)}, {"runs", runs}};
  };
  for (auto &builder : workers.builders) {
    llvm::Expected<json::Object> answer = builder->load(request(/*runs=*/false), loadDeadline);
    if (!answer)
      return answer.takeError();
  }
  llvm::Expected<json::Object> answer = workers.runner.load(request(/*runs=*/true), loadDeadline);
  return answer ? llvm::Error::success() : answer.takeError();
}

llvm::Expected<std::string> WorkerBench::scheduleFile(const SchedulePoint &point) {
  if (auto found = scheduleFiles.find(point); found != scheduleFiles.end())
    return found->second;
  std::string text = subject.schedule(point), path;
  if (!text.empty()) {
    llvm::SmallString<128> name(folder);
    llvm::sys::path::append(name, "schedule-" + std::to_string(scheduleFiles.size()) + ".json");
    path = name.str();
    if (llvm::Error failed = tuner::writeFile(path, [&](llvm::raw_ostream &out) { out << text; }))
      return std::move(failed);
  }
  scheduleFiles[point] = path;
  return path;
}

void WorkerBench::build(const std::vector<SchedulePoint> &points) {
  struct Job {
    Built *built;
    std::string schedule;
  };
  std::vector<Job> jobs;
  for (const SchedulePoint &point : points) {
    if (built.count(point))
      continue;
    Built &made = built[point];
    llvm::Expected<std::string> schedule = scheduleFile(point);
    if (!schedule) {
      made.failure = llvm::toString(schedule.takeError());
      continue;
    }
    llvm::SmallString<128> name(folder);
    // The name contains the schedule, so that fault injection in tests (TILEWRIGHT_TUNE_FAULT) can select artifacts.
    std::string label;
    for (int64_t value : point)
      label += "-" + std::to_string(value);
    llvm::sys::path::append(name, "artifact-" + std::to_string(built.size()) + label);
    made.artifact = name.str();
    jobs.push_back({&made, *schedule});
  }
  std::atomic<size_t> next{0};
  auto work = [&](WorkerProcess &builder) {
    for (size_t job = next++; job < jobs.size(); job = next++) {
      llvm::Expected<json::Object> answer = builder.ask(
          json::Object{{"do", "build"}, {"schedule", jobs[job].schedule}, {"artifact", jobs[job].built->artifact}},
          buildDeadline);
      if (!answer)
        jobs[job].built->failure = "compiling: " + llvm::toString(answer.takeError());
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < workers.builders.size() && i < jobs.size(); ++i)
    threads.emplace_back([&, i] { work(*workers.builders[i]); });
  if (!jobs.empty())
    work(*workers.builders[0]);
  for (std::thread &thread : threads)
    thread.join();
}

std::vector<tuner::Lane> WorkerBench::race(const std::vector<SchedulePoint> &points, int rounds, double deadline) {
  build(points);
  std::vector<tuner::Lane> lanes(points.size());
  std::vector<size_t> left; // indices of points that can still run
  for (size_t i = 0; i < points.size(); ++i) {
    lanes[i].failure = built[points[i]].failure;
    if (lanes[i].failure.empty())
      left.push_back(i);
  }
  while (!left.empty() && !stopped()) {
    json::Array artifacts;
    for (size_t number : left)
      artifacts.push_back(built[points[number]].artifact);
    size_t at = 0; // index in `left` of the lane that started last
    const double one = runDeadline + 4 * deadline * 1e-9;
    llvm::Expected<json::Object> answer = workers.runner.ask(
        json::Object{{"do", "race"}, {"artifacts", std::move(artifacts)}, {"rounds", rounds}, {"limit", deadline}}, one,
        [&](const json::Object &line, double &limit) {
          at = size_t(line.getInteger("lane").value_or(0));
          // Limit for all rounds of all lanes; fast programs run up to 64 times per round.
          if (at >= left.size())
            limit = runDeadline + double(rounds) * double(left.size()) * std::max(deadline * 2e-9, 0.05) * 64;
        });
    if (answer) {
      const json::Array *results = answer->getArray("lanes");
      for (size_t i = 0; results && i < left.size() && i < results->size(); ++i) {
        const json::Object *lane = (*results)[i].getAsObject();
        if (const json::Array *times = lane ? lane->getArray("times") : nullptr)
          for (const json::Value &time : *times)
            lanes[left[i]].nanoseconds.push_back(time.getAsNumber().value_or(0));
        if (lane)
          lanes[left[i]].failure = lane->getString("failure").value_or("").str();
      }
      return lanes;
    }
    std::string why = llvm::toString(answer.takeError());
    if (at >= left.size()) { // the worker failed during the rounds, so it is unknown which lane failed
      for (size_t number : left)
        lanes[number].failure = "the race was lost: " + why;
      return lanes;
    }
    const SchedulePoint &culprit = points[left[at]];
    for (size_t i = 0; i < points.size(); ++i)
      if (points[i] == culprit)
        lanes[i].failure = "running: " + why;
    built[culprit].failure = "running: " + why;
    std::erase_if(left, [&](size_t number) { return !lanes[number].failure.empty(); });
  }
  return lanes;
}

std::string WorkerBench::check(const SchedulePoint &point) {
  llvm::Expected<std::string> schedule = scheduleFile(point);
  if (!schedule)
    return llvm::toString(schedule.takeError());
  llvm::Expected<json::Object> answer =
      workers.runner.ask(json::Object{{"do", "check"}, {"schedule", *schedule}}, buildDeadline + runDeadline);
  if (!answer)
    return llvm::toString(answer.takeError());
  return answer->getString("wrong").value_or("").str();
}

llvm::Expected<std::map<std::string, double>> WorkerBench::profile() {
  const SchedulePoint none;
  build({none});
  if (!built[none].failure.empty())
    return llvm::createStringError(built[none].failure);
  llvm::Expected<json::Object> answer =
      workers.runner.ask(json::Object{{"do", "profile"}, {"artifact", built[none].artifact}}, 6 * runDeadline);
  if (!answer)
    return answer.takeError();
  std::map<std::string, double> times;
  if (const json::Array *steps = answer->getArray("steps"))
    for (const json::Value &step : *steps)
      if (const json::Object *object = step.getAsObject())
        times[object->getString("kernel").value_or("").str()] += object->getNumber("nanoseconds").value_or(0);
  return times;
}

} // namespace tilewright

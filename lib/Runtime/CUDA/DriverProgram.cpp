//===- DriverProgram.cpp - run a plan's kernels on a GPU through the NVIDIA driver ------===//
//
// Tests: test/Unit/Runtime/CUDA/DriverTest.cpp, test/Python/test_cuda_driver.py
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/CUDA/DriverProgram.h"
#include "lib/Interfaces/StepObserver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tilewright::runtime {
namespace {

constexpr uint64_t slabAlignment = 256;
constexpr size_t statusBytes = 24;

uint64_t aligned(uint64_t bytes) { return (bytes + slabAlignment - 1) / slabAlignment * slabAlignment; }

bool isMemoryError(driver::Code code) { return code == driver::kOutOfMemory; }

RunError ofCode(driver::Code code, std::string text) {
  return isMemoryError(code) ? RunError(RunError::Kind::OutOfMemory, "out of memory: " + text) : RunError(text);
}
} // namespace

/// One call: the addresses of its buffers, and the device on which the steps are executed.
class DriverProgram::Call final : public GridDevice {
public:
  Call(DriverProgram &program, driver::Stream stream) : program(program), api(program.context->api), stream(stream) {}
  ~Call() override {
    if (ownSlab)
      program.context->pools ? api.freeAsync(slab, stream) : api.free(slab);
    for (const TimedStep &each : timed)
      for (driver::Event event : {each.from, each.to})
        if (event)
          api.destroyEvent(event);
  }

  /// Determines whether each tensor is in device memory, and computes the size of the slab that the call needs.
  bool survey(const void *const *inputs, void *const *outputs, const GridPlan::Sized &sized, RunError &error);
  bool allocate(CallersMemory *memory, RunError &error);
  /// Assigns addresses in the slab to the tensors that kernels cannot access directly. Copies the contents of tensors
  /// that the call reads to these addresses, and clears the statuses.
  bool fill(RunError &error);
  /// Copies results back, and starts the copy of the statuses to the host. Waits for the end of the call if necessary.
  bool finish(RunError &error);

  bool copy(int32_t step, uint64_t to, uint64_t from, uint64_t bytes, RunError &error) override;
  bool launch(const GridLaunch &launch, RunError &error) override;

  /// Waits for the call, and adds the times of its steps to program.stepNanoseconds.
  bool addTimes(RunError &error);

  bool good(driver::Code code, const char *what, RunError &error) const {
    if (code != 0)
      error = program.failure(what, code);
    return code == 0;
  }

  DriverProgram &program;
  const driver::Api &api;
  const driver::Stream stream;
  GridAddresses addresses;
  std::vector<GridLaunch> checked;
  bool waits = false;           ///< the host must wait for the end of the call
  LaunchGraph *graph = nullptr; ///< steps are added to this graph instead of the stream

private:
  struct Staged {
    void *original; ///< the caller's memory
    uint64_t *address;
    uint64_t bytes, offset;
    bool onHost, read, written;
  };

  /// A step with the events that were recorded before and after it.
  struct TimedStep {
    size_t step;
    driver::Event from = nullptr, to = nullptr;
  };

  /// Each function records an event, before or after step `step`, if steps are timed.
  bool beginStep(size_t step, RunError &error);
  bool endStep(RunError &error);
  bool resolve(const void *data, int64_t bytes, bool read, bool written, const std::string &name, uint64_t &address,
               RunError &error);

  const GridPlan::Sized *sized = nullptr;
  driver::Address slab = 0, statuses = 0;
  bool ownSlab = false;
  uint64_t slabBytes = 0, statusOffset = 0;
  size_t mostChecks = 0;
  std::vector<Staged> staged;
  std::vector<TimedStep> timed;
};

bool DriverProgram::Call::resolve(const void *data, int64_t bytes, bool read, bool written, const std::string &name,
                                  uint64_t &address, RunError &error) {
  address = reinterpret_cast<uint64_t>(data);
  if (bytes <= 0)
    return true;
  if (!data) {
    error = name + " is a null pointer";
    return false;
  }
  uint32_t type = 0;
  int ordinal = -1;
  int attributes[] = {driver::kPointerMemoryType, driver::kPointerOrdinal};
  void *values[] = {&type, &ordinal};
  // If memory was neither allocated by nor registered with the driver, both values remain 0.
  if (!good(api.pointerAttributes(2, attributes, values, address), "to query the memory of a tensor", error))
    return false;
  const bool onHost = type != driver::kDeviceMemory;
  if (!onHost && ordinal != program.context->ordinal) {
    error = name + " is on cuda:" + std::to_string(ordinal) + "; the program runs on " + program.context->describe() +
            ": move it there";
    return false;
  }
  if (!onHost && address % bufferAlignment == 0)
    return true;
  // A copy from pageable memory has read its source when the call returns; a copy from pinned memory reads it later.
  waits |= onHost && (written || type == driver::kHostMemory);
  staged.push_back({const_cast<void *>(data), &address, uint64_t(bytes), slabBytes, onHost, read, written});
  slabBytes += aligned(uint64_t(bytes));
  return true;
}

bool DriverProgram::Call::survey(const void *const *inputs, void *const *outputs, const GridPlan::Sized &of,
                                 RunError &error) {
  sized = &of;
  const GridPlan &plan = *program.plan;
  mostChecks = plan.onceChecks() + of.checks;
  statusOffset = aligned(uint64_t(of.frame.arenaBytes));
  slabBytes = statusOffset + aligned(mostChecks * statusBytes);
  addresses.inputs.resize(of.inputs.size());
  addresses.outputs.resize(of.outputs.size());
  for (size_t i = 0; i < of.inputs.size(); ++i)
    if (!resolve(inputs[i], of.inputs[i], true, plan.inPlace()[i], "input " + std::to_string(i), addresses.inputs[i],
                 error))
      return false;
  for (size_t i = 0; i < of.outputs.size(); ++i)
    if (!resolve(outputs[i], of.outputs[i], false, true, "output " + std::to_string(i), addresses.outputs[i], error))
      return false;
  addresses.constants = program.constants;
  return true;
}

bool DriverProgram::Call::allocate(CallersMemory *memory, RunError &error) {
  if (slabBytes == 0)
    return true;
  if (memory)
    slab = reinterpret_cast<uint64_t>(memory->scratch(int64_t(slabBytes)));
  if (!slab) {
    driver::Code code =
        program.context->pools ? api.allocateAsync(&slab, slabBytes, stream) : api.allocate(&slab, slabBytes);
    if (code != 0) {
      slab = 0;
      error = ofCode(code, "this call needs " + std::to_string(slabBytes) + " bytes on " + program.context->describe() +
                               " for intermediate results (" + api.explain(code) +
                               "); use smaller inputs, or free other memory of the device (torch.cuda.empty_cache())");
      return false;
    }
    ownSlab = true;
  }
  addresses.arena = slab;
  statuses = slab + statusOffset;
  return true;
}

bool DriverProgram::Call::fill(RunError &error) {
  for (Staged &each : staged) {
    *each.address = slab + each.offset;
    if (!each.read)
      continue;
    driver::Code code =
        each.onHost ? api.copyIn(*each.address, each.original, each.bytes, stream)
                    : api.copyWithin(*each.address, reinterpret_cast<uint64_t>(each.original), each.bytes, stream);
    if (!good(code, "to copy an argument", error))
      return false;
  }
  return mostChecks == 0 || good(api.fill(statuses, 0, mostChecks * statusBytes, stream), "to clear memory", error);
}

bool DriverProgram::Call::copy(int32_t step, uint64_t to, uint64_t from, uint64_t bytes, RunError &error) {
  if (to == from || bytes == 0)
    return true;
  if (!beginStep(size_t(step), error))
    return false;
  // The source and the destination of a cuMemcpy must not overlap. If they overlap, split the copy into pieces that are
  // at most as long as the distance between the source and the destination. Copy the pieces sequentially, in the
  // direction that reads all bytes before they are overwritten.
  const uint64_t distance = to > from ? to - from : from - to;
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t piece = std::min(bytes - done, distance);
    const uint64_t at = to > from ? bytes - done - piece : done;
    if (!(graph ? graph->copy(step, to + at, from + at, piece, error.text)
                : good(api.copyWithin(to + at, from + at, piece, stream), "to copy a tensor", error)))
      return false;
    done += piece;
  }
  return endStep(error);
}

bool DriverProgram::Call::beginStep(size_t step, RunError &error) {
  if (program.stepNanoseconds.empty())
    return true;
  TimedStep &made = timed.emplace_back(TimedStep{step});
  return good(api.createEvent(&made.from, 0), "to create an event", error) &&
         good(api.createEvent(&made.to, 0), "to create an event", error) &&
         good(api.recordEvent(made.from, stream), "to record an event", error);
}

bool DriverProgram::Call::endStep(RunError &error) {
  return program.stepNanoseconds.empty() || good(api.recordEvent(timed.back().to, stream), "to record an event", error);
}

bool DriverProgram::Call::addTimes(RunError &error) {
  if (!good(api.synchronize(stream), "to finish a call", error))
    return false;
  for (const TimedStep &each : timed) {
    float milliseconds = 0;
    if (!good(api.elapsedTime(&milliseconds, each.from, each.to), "to read the time of an event", error))
      return false;
    program.stepNanoseconds[each.step] += int64_t(double(milliseconds) * 1e6);
  }
  return true;
}

bool DriverProgram::Call::launch(const GridLaunch &launch, RunError &error) {
  const GridKernel &kernel = *launch.kernel;
  LaunchParameters &parameters = (launch.once ? program.onceParameters : program.parameters)[size_t(launch.number)];
  const auto outcome = parameters.set(api, launch, statuses + checked.size() * statusBytes, error.text);
  if (outcome == LaunchParameters::Outcome::Failed)
    return false;
  if (launch.checks)
    checked.push_back(launch);
  const driver::Function function = program.functions[size_t(launch.callee)];
  if (graph)
    return graph->launch(launch.number, {function, launch.grid, kernel.threads, kernel.shared, parameters.data()},
                         outcome == LaunchParameters::Outcome::Changed, error.text);
  const bool isTimed = !launch.once && !program.stepNanoseconds.empty();
  if (isTimed && !beginStep(size_t(launch.number), error))
    return false;
  StepObserver *observer = StepObserver::ofThread();
  const bool observed = observer && observer->observesLaunches();
  if (observed)
    observer->begin(kernel.name);
  driver::Code code = api.launchKernel(function, launch.grid, 1, 1, kernel.threads, 1, 1, kernel.shared, stream,
                                       parameters.data(), nullptr);
  if (observed)
    observer->end();
  const bool launched = code == 0;
  if (launched && program.blocking)
    code = api.synchronize(stream);
  if (code == 0)
    return !isTimed || endStep(error);
  error = launch.failure("kernel " + kernel.name + (launched ? " failed on " : " cannot be launched on ") +
                         program.context->describe() + ": " + api.explain(code) +
                         (launched || program.blocking ? ""
                                                       : " (work that was launched earlier may be the cause; with "
                                                         "CUDA_LAUNCH_BLOCKING=1 the error names the kernel)") +
                         "; ");
  return false;
}

bool DriverProgram::Call::finish(RunError &error) {
  for (const Staged &each : staged) {
    if (!each.written)
      continue;
    driver::Code code =
        each.onHost ? api.copyOut(each.original, *each.address, each.bytes, stream)
                    : api.copyWithin(reinterpret_cast<uint64_t>(each.original), *each.address, each.bytes, stream);
    if (!good(code, "to copy a result", error))
      return false;
  }
  PendingStatuses pending;
  if (!checked.empty()) {
    std::list<PendingStatuses> &idle = program.idle;
    auto fits = std::find_if(idle.begin(), idle.end(), [&](auto &each) { return each.capacity >= checked.size(); });
    if (fits == idle.end()) {
      idle.emplace_front();
      fits = idle.begin();
      void *pinned = nullptr;
      if (!good(api.allocateHost(&pinned, checked.size() * statusBytes, 0), "to allocate pinned memory", error) ||
          !good(api.createEvent(&fits->event, driver::kEventWithoutTiming), "to create an event", error)) {
        if (pinned)
          api.freeHost(pinned);
        idle.erase(fits);
        return false;
      }
      fits->statuses = static_cast<int64_t *>(pinned);
      fits->capacity = checked.size();
    }
    if (!good(api.copyOut(fits->statuses, statuses, checked.size() * statusBytes, stream), "to read statuses", error) ||
        !good(api.recordEvent(fits->event, stream), "to record an event", error))
      return false;
    fits->launches = std::move(checked);
    program.underway.splice(program.underway.end(), idle, fits);
  }
  if (waits || program.blocking) {
    if (!good(api.synchronize(stream), "to finish a call", error))
      return false;
    return program.readArrived(error);
  }
  return true;
}

RunError DriverProgram::failure(const char *what, driver::Code code) const {
  return ofCode(code, context->describe() + " failed " + what + ": " + context->api.explain(code) +
                          (blocking || isMemoryError(code) ? ""
                                                           : " (work that was launched earlier may be the cause; with "
                                                             "CUDA_LAUNCH_BLOCKING=1 the error names the kernel)"));
}

std::unique_ptr<DriverProgram> DriverProgram::create(std::unique_ptr<GridPlan> plan, const std::string &ptx,
                                                     const std::string &cubin, std::shared_ptr<DriverContext> context,
                                                     bool asGraph, std::string &cubinRefused, std::string &error) {
  if (asGraph && !context->api.hasGraphs()) {
    error = "the NVIDIA driver does not support the CUDA graphs that Tilewright uses, which require CUDA 11.4: update "
            "the driver, or remove the option cuda_graph";
    return nullptr;
  }
  std::unique_ptr<DriverProgram> program(new DriverProgram);
  program->context = std::move(context);
  program->plan = std::move(plan);
  program->parameters.resize(program->plan->plan().steps.size());
  program->onceParameters.resize(program->plan->plan().once.size());
  program->asGraph = asGraph;
  const char *blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  program->blocking = blocking && *blocking && std::strcmp(blocking, "0") != 0;
  DriverContext::Current current(*program->context, error);
  return current && program->load(ptx, cubin, cubinRefused, error) ? std::move(program) : nullptr;
}

bool DriverProgram::load(const std::string &ptx, const std::string &cubin, std::string &cubinRefused,
                         std::string &error) {
  const driver::Api &api = context->api;
  driver::Code ofCubin = 0;
  if (!plan->kernels().empty() && !cubin.empty())
    ofCubin = api.loadModule(&module, cubin.c_str(), 0, nullptr, nullptr);
  if (ofCubin != 0) {
    module = nullptr;
    if (!isMemoryError(ofCubin))
      cubinRefused = api.explain(ofCubin);
  }
  if (!plan->kernels().empty() && !module) {
    char log[4096] = "";
    int options[] = {driver::kJitErrorLog, driver::kJitErrorLogBytes};
    void *values[] = {log, reinterpret_cast<void *>(uintptr_t(sizeof(log)))};
    driver::Code result = api.loadModule(&module, ptx.c_str(), 2, options, values);
    if (result != 0) {
      module = nullptr;
      error = ofCode(result, context->describe() + " cannot load the compiled kernels: " + api.explain(result)).text;
      if (log[0])
        error += ": " + std::string(log);
      if (result == driver::kNoBinaryForDevice || result == driver::kInvalidPtx)
        error += "; compile for this chip: options={\"arch\": ...}, --arch";
      if (result == driver::kUnsupportedPtx)
        error += "; the driver is older than the PTX: update it";
      return false;
    }
  }
  for (const GridKernel &kernel : plan->kernels()) {
    driver::Function function = nullptr;
    driver::Code result = api.getFunction(&function, module, kernel.name.c_str());
    if (result != 0) {
      error = "kernel " + kernel.name + " is not in the compiled kernels: " + api.explain(result);
      return false;
    }
    if (!kernel.maps.empty() && (!api.encodeTensorMap || !api.encodeWindowMap)) {
      error = "kernel " + kernel.name +
              " uses tensor maps, which require an NVIDIA driver for CUDA 12.0 or newer: update the driver, or compile "
              "for sm_89";
      return false;
    }
    if (int64_t(kernel.shared) > context->sharedOptIn) {
      error = "kernel " + kernel.name + " needs " + std::to_string(kernel.shared) + " bytes of shared memory; " +
              context->describe() + " has " + std::to_string(context->sharedOptIn) + " bytes per block";
      return false;
    }
    constexpr uint32_t without = 48 * 1024; // bytes of shared memory that a block may use without an opt-in
    if (kernel.shared > without &&
        (result = api.setFunctionAttribute(function, driver::kMaxDynamicShared, int(kernel.shared))) != 0) {
      error = "kernel " + kernel.name + " cannot have " + std::to_string(kernel.shared) +
              " bytes of shared memory: " + api.explain(result);
      return false;
    }
    functions.push_back(function);
  }
  const std::vector<uint8_t> &bytes = plan->plan().constants;
  if (bytes.empty())
    return true;
  driver::Code result = api.allocate(&constants, bytes.size());
  if (result == 0)
    result = api.copyIn(constants, bytes.data(), bytes.size(), nullptr);
  if (result == 0)
    result = api.synchronize(nullptr);
  if (result != 0)
    error = failure("to copy constants", result).text;
  return result == 0;
}

DriverProgram::~DriverProgram() {
  std::string error;
  DriverContext::Current current(*context, error);
  if (!current)
    return;
  const driver::Api &api = context->api;
  graph.reset();
  for (std::list<PendingStatuses> *list : {&underway, &idle})
    for (PendingStatuses &pending : *list) {
      api.synchronizeEvent(pending.event);
      api.destroyEvent(pending.event);
      api.freeHost(pending.statuses);
    }
  std::vector<driver::Event> events{made};
  for (auto [stream, event] : uses)
    events.push_back(event);
  for (driver::Event event : events)
    if (event) {
      api.synchronizeEvent(event);
      api.destroyEvent(event);
    }
  for (driver::Address address : packed)
    if (address)
      api.free(address);
  if (constants)
    api.free(constants); // cuMemFree waits until the device is idle
  if (module)
    api.unloadModule(module);
}

void DriverProgram::repack() {
  if (!context->isOfThisProcess())
    return; // in a forked child, another thread of the parent may hold the lock
  std::lock_guard lock(mutex);
  isPacked = false;
}

int64_t DriverProgram::packedBytes() {
  if (!context->isOfThisProcess())
    return 0;
  std::lock_guard lock(mutex);
  int64_t sum = 0;
  for (size_t i = 0; i < packed.size(); ++i)
    sum += packed[i] ? plan->packedBytes()[i] : 0;
  return sum;
}

bool DriverProgram::read(const PendingStatuses &pending, RunError &error) {
  for (size_t i = 0; i < pending.launches.size(); ++i)
    if (const int64_t *status = pending.statuses + 3 * i; status[0]) {
      error = pending.launches[i].outOfRange(status);
      return false;
    }
  return true;
}

bool DriverProgram::readArrived(RunError &error) {
  bool good = true;
  for (auto pending = underway.begin(); pending != underway.end();) {
    driver::Code code = context->api.queryEvent(pending->event);
    if (code == driver::kNotReady)
      break;
    if (code != 0) {
      error = failure("in an earlier call", code);
      return false;
    }
    if (RunError why; good && !read(*pending, why)) {
      good = false;
      error = why;
    }
    idle.splice(idle.end(), underway, pending++);
  }
  return good;
}

bool DriverProgram::pack(Call &call, const void *const *inputs, const uint64_t *versions, RunError &error) {
  const driver::Api &api = context->api;
  std::vector<std::pair<const void *, uint64_t>> from;
  for (size_t i = 0; i < plan->readOnce().size(); ++i)
    if (plan->readOnce()[i])
      from.push_back({inputs[i], versions ? versions[i] : 0});
  const bool current = isPacked && versions && from == packedFrom;
  if (!current) {
    isPacked = false;
    if (packed.empty())
      packed.resize(plan->packedBytes().size());
    for (size_t i = 0; i < packed.size(); ++i)
      if (uint64_t bytes = uint64_t(std::max<int64_t>(plan->packedBytes()[i], 1));
          !packed[i] &&
          !call.good(api.allocate(&packed[i], bytes), "to allocate memory for packed parameters", error)) {
        packed[i] = 0;
        return false;
      }
  }
  call.addresses.packed = packed;
  auto wait = [&](driver::Event event) {
    return call.good(api.waitEvent(call.stream, event, 0), "to wait for a stream", error);
  };
  if (current) // another stream may have computed the packs
    return call.stream == madeOn || wait(made);
  for (auto [stream, event] : uses)
    if (stream != call.stream && !wait(event)) // wait, because the stream may still read the old packs
      return false;
  if (!plan->walkOnce(call.addresses, call, error) || !mark(made, call, error))
    return false;
  madeOn = call.stream;
  packedFrom = std::move(from);
  return isPacked = true;
}

bool DriverProgram::mark(driver::Event &event, const Call &call, RunError &error) const {
  const driver::Api &api = context->api;
  return (event || call.good(api.createEvent(&event, driver::kEventWithoutTiming), "to create an event", error)) &&
         call.good(api.recordEvent(event, call.stream), "to record an event", error);
}

bool DriverProgram::walk(Call &call, const std::shared_ptr<const GridPlan::Sized> &sized, RunError &error) {
  const bool again = std::exchange(lastSized, sized) == sized;
  if (asGraph && !blocking && again && stepNanoseconds.empty())
    return walkAsGraph(call, sized, error);
  return plan->walk(*sized, call.addresses, call, error);
}

bool DriverProgram::walkAsGraph(Call &call, const std::shared_ptr<const GridPlan::Sized> &sized, RunError &error) {
  if (graphOf != sized)
    graph.reset();
  const size_t checkedBefore = call.checked.size();
  for (;;) {
    if (!graph && !(graph = LaunchGraph::create(context, plan->stepsBefore(*sized), error.text)))
      return false;
    graphOf = sized;
    call.graph = graph.get();
    const bool walked = plan->walk(*sized, call.addresses, call, error);
    call.graph = nullptr;
    // A copy whose source and destination are equal adds no node, so the traversal may differ from the graph. In this
    // case, build a new graph.
    const bool isOther = walked && graph->isOther();
    if (walked && !isOther && graph->run(call.stream, error.text))
      return true;
    graph.reset();
    if (!isOther)
      return false;
    call.checked.resize(checkedBefore);
  }
}

bool DriverProgram::run(const void *const *inputs, void *const *outputs, const int64_t *symbols,
                        const uint64_t *versions, CallersMemory *memory, RunError &error) {
  error = {};
  std::shared_ptr<const GridPlan::Sized> sized = plan->sized(symbols, error);
  if (!sized)
    return false;
  DriverContext::Current current(*context, error.text);
  if (!current)
    return false;
  std::lock_guard lock(mutex);
  if (!readArrived(error))
    return false;
  const auto stream = reinterpret_cast<driver::Stream>(memory ? memory->stream() : 0);
  Call call(*this, stream);
  if (!call.survey(inputs, outputs, *sized, error) || !call.allocate(memory, error) || !call.fill(error))
    return false;
  const bool packs = !plan->packedBytes().empty();
  if (packs && !pack(call, inputs, versions, error))
    return false;
  const bool walked = walk(call, sized, error);
  if (RunError why; packs && !mark(uses[stream], call, why) && walked) {
    error = why;
    return false;
  }
  return walked && call.finish(error) && (stepNanoseconds.empty() || call.addTimes(error));
}

void DriverProgram::profile(bool on) {
  std::lock_guard lock(mutex);
  stepNanoseconds.assign(on && context->api.elapsedTime ? plan->plan().steps.size() : 0, 0);
}

std::vector<int64_t> DriverProgram::times() {
  std::lock_guard lock(mutex);
  return stepNanoseconds;
}

} // namespace tilewright::runtime

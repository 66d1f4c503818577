//===- Fake.h - a CUDA driver that runs kernels on ptx-check ------------------------------===//
//
// libtilewright_fake_cuda.so has the entry points of libcuda.so.1 that lib/Runtime/CUDA/DriverApi.h loads, for
// machines without a GPU. Device memory is host memory, and ptx-check's interpreter executes launches. The fake driver
// is at least as strict as the NVIDIA driver:
//
//   - work in a stream is executed only when a caller waits for it. New memory is filled with 0xA5.
//   - copies outside of an allocation, kernels for which ptx-check reports an error, and launches with too much shared
//     memory fail. A kernel's failure is sticky: every later call returns it.
//   - calls without a current context fail.
//   - a graph's nodes run in the valid order that differs most from the order in which they were added.
//
// TILEWRIGHT_FAKE_CUDA="devices=2,capability=9.0,memory=1048576,version=12040,fail=cuMemAllocAsync:2:2,fault=kernel_0"
// sets the configuration: `memory` is bytes per device, `fail` makes the second call of cuMemAllocAsync return 2,
// `fault` makes kernel_0 fail. `times=FILE` names a file with the times of kernels by their schedules, which are
// comments in the PTX. A line of the file has the nanoseconds, the outcome of a launch, and the schedule:
//     41600 good wgmma, threads 256, block 64x128x64, consumers 1, stages 3
// The outcome `good` means that the kernel runs normally. With `fault`, it fails; with `hang`, it never ends; with
// `wrong`, its last result is changed. Kernels that the file does not list take 1 us, or 1 ms with `execute=0`. With
// `execute=0`, no kernel is executed. `profile=FOLDER` writes measures of some blocks of each launch to the file
// launches.jsonl in this folder, and the PTX of each module, for tools/dev/estimate_gpu.py. `name` is the name of the
// devices. fakeCudaSet() changes the configuration and resets the call counts; "mended" clears a kernel's failure.
// fakeCudaReport() returns the calls and the resources that are not yet released, as JSON.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_TEST_FAKECUDA_FAKE_H
#define TILEWRIGHT_TEST_FAKECUDA_FAKE_H

#include "tilewright/PtxChecker.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace fake {

using Code = int;
constexpr Code success = 0, invalidValue = 1, outOfMemory = 2, notInitialized = 3, noDevice = 100, invalidDevice = 101,
               invalidContext = 201, invalidPtx = 218, invalidHandle = 400, notFound = 500, notReady = 600,
               illegalAddress = 700, outOfResources = 701;

struct Context {
  int ordinal = 0, users = 0;
};

struct Allocation {
  uint64_t bytes = 0;
  int ordinal = 0;     ///< the device; -1: pinned host memory
  bool mapped = false; ///< true: by mmap
};

struct Module {
  std::unique_ptr<tilewright::ptx::Module> code;
  std::string text;
  size_t number = 0; ///< in the order of loads
  Context *context = nullptr;
};

struct Function {
  Module *module = nullptr;
  std::string name;
  int dynamicShared = 48 * 1024; ///< limit for a launch
};

struct Event {
  uint64_t ticket = 0;  ///< of the last cuEventRecord; 0: none
  uintptr_t stream = 0; ///< where it was recorded
  bool asked = false;   ///< queried since the last record
  double when = -1;     ///< nanoseconds of the device's clock; negative: the work before it has not been executed
};

using Work = std::function<Code()>;

struct GraphNode {
  std::vector<GraphNode *> before;
  bool isCopy = false;
  Work work;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
};

/// An instantiated graph.
struct GraphExec {
  Graph *of = nullptr;
  std::map<GraphNode *, Work> works;
  std::vector<GraphNode *> order; ///< execution order
};

/// The pending work of a stream, in order.
struct Queue {
  std::deque<std::pair<uint64_t, Work>> work; ///< with its tickets
  uint64_t done = 0;                          ///< the last ticket that was executed
};

class Driver {
public:
  static Driver &get();

  /// Begins and counts a call. If the result is not `success`, the call must return it.
  Code enter(const char *name, bool needsContext = true);
  Context *current() const;
  std::vector<Context *> &contextStack() const;

  Code allocate(uint64_t bytes, int ordinal, uint64_t &address);
  Code release(uint64_t address, int ordinal);
  /// Returns the allocation that contains all of [address, address + bytes).
  const Allocation *find(uint64_t address, uint64_t bytes) const;

  uint64_t put(uintptr_t stream, Work work);
  /// Checks a launch and copies its parameters into `work`. Returns an error if the launch is invalid.
  Code prepare(Function *function, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, uint32_t shared,
               void **parameters, Work &work);
  /// Executes the stream's work up to and including `ticket`.
  Code drain(uintptr_t stream, uint64_t ticket = UINT64_MAX);
  Code drainAll();
  Code runKernel(const Function &function, const tilewright::ptx::Launch &launch,
                 const std::vector<tilewright::ptx::Argument> &arguments, int ordinal);
  /// Returns the allocations of a device, for the PTX interpreter.
  tilewright::ptx::Memory memoryOf(int ordinal) const;
  /// Executes a launch in the PTX interpreter.
  Code interpret(const Function &function, const tilewright::ptx::Launch &launch,
                 const std::vector<tilewright::ptx::Argument> &arguments, int ordinal);

  /// Appends measures of the launch to the file in `profileFolder`, or the number of an equal launch before it.
  void profile(const Function &function, const tilewright::ptx::Launch &launch,
               const std::vector<tilewright::ptx::Argument> &arguments, int ordinal);

  std::string report() const;
  void set(const std::string &settings);
  void forgetCalls();

  std::recursive_mutex mutex;
  // The configuration.
  int devices = 1, major = 8, minor = 0, version = 12040;
  uint64_t memory = UINT64_MAX;
  bool pools = true, execute = true;
  std::string name = "Fake GPU", profileFolder;
  // The state.
  bool initialized = false;
  Code sticky = success;
  double clock = 0; ///< nanoseconds that the device has spent
  std::map<int, Context> contexts;
  std::map<uint64_t, Allocation> allocations; ///< by address
  std::map<Module *, std::unique_ptr<Module>> modules;
  std::map<Function *, std::unique_ptr<Function>> functions;
  std::map<Event *, std::unique_ptr<Event>> events;
  std::map<Graph *, std::unique_ptr<Graph>> graphs;
  std::map<GraphExec *, std::unique_ptr<GraphExec>> execs;
  std::map<uintptr_t, Queue> streams;

private:
  /// The time and the outcome of kernels with a certain schedule.
  struct Timing {
    double nanoseconds;
    std::string outcome; ///< good, fault, hang, wrong
  };

  Driver();
  void readTimes(const std::string &path);
  std::map<std::string, uint64_t> calls, launches;
  std::map<std::string, std::map<uint64_t, Code>> failures;
  std::map<std::string, Timing> timings; ///< by the text of the schedule
  /// The numbers of the launches in the profile, by the number of the module, the kernel, the grid, and the arguments
  /// that are not addresses (sizes, for example).
  std::map<std::tuple<size_t, std::string, std::array<uint32_t, 3>, std::vector<uint64_t>>, size_t> profiled;
  std::string fault, findings;
  uint64_t tickets = 0, used = 0;
};

/// Holds the driver's lock during a call. `code` is the result of Driver::enter().
struct Call {
  explicit Call(const char *name, bool needsContext = true)
      : driver(Driver::get()), lock(driver.mutex), code(driver.enter(name, needsContext)) {}
  Driver &driver;
  std::lock_guard<std::recursive_mutex> lock;
  Code code;
};

/// Returns true if all bytes are in one allocation of device memory.
bool onDevice(const Driver &driver, uint64_t address, size_t bytes);

} // namespace fake

#define ENTRY extern "C" __attribute__((visibility("default")))

#endif

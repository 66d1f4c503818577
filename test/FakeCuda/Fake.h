//===- Fake.h - a CUDA driver that runs kernels on ptx-check ------------------------------===//
//
// libtilewright_fake_cuda.so has the entries of libcuda.so.1 that lib/Runtime/CUDA/DriverApi.h finds, for machines
// without a GPU: device memory is the host's, and a launch is run by ptx-check's interpreter. It is as strict as the
// driver, or more so:
//
//   - work put into a stream is done as late as may be: when somebody waits for it. New memory is filled with 0xA5.
//   - copies outside of an allocation, kernels that ptx-check objects to and launches with too much shared memory fail.
//     A kernel's failure is kept and returned by every later call.
//   - without a current context nothing works.
//   - a graph's nodes run in the order that is farthest from the one they were added in.
//
// TILEWRIGHT_FAKE_CUDA="devices=2,capability=9.0,memory=1048576,version=12040,fail=cuMemAllocAsync:2:2,fault=kernel_0"
// sets what there is: bytes of each device; the second call of cuMemAllocAsync returns 2; running kernel_0 fails.
// fakeCudaSet() changes it, "mended" forgets a kernel's failure, and calls are counted from there on. fakeCudaReport()
// returns what has been called and what is not given back yet, as JSON.
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
  int ordinal = 0; ///< -1: the host's, pinned
};

struct Module {
  std::unique_ptr<tilewright::ptx::Module> code;
  Context *context = nullptr;
};

struct Function {
  Module *module = nullptr;
  std::string name;
  int dynamicShared = 48 * 1024; ///< most that a launch may ask for
};

struct Event {
  uint64_t ticket = 0;  ///< of the last record; 0: none
  uintptr_t stream = 0; ///< where
  bool asked = false;   ///< since then
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

/// A graph as it was instantiated.
struct GraphExec {
  Graph *of = nullptr;
  std::map<GraphNode *, Work> works;
  std::vector<GraphNode *> order; ///< that they run in
};

/// Work in the order of a stream.
struct Queue {
  std::deque<std::pair<uint64_t, Work>> work; ///< with tickets
  uint64_t done = 0;                          ///< the last ticket that was
};

class Driver {
public:
  static Driver &get();

  /// Begins a call: counts it. Not success: the call returns that.
  Code enter(const char *name, bool needsContext = true);
  Context *current() const;
  std::vector<Context *> &contextStack() const;

  Code allocate(uint64_t bytes, int ordinal, uint64_t &address);
  Code release(uint64_t address, int ordinal);
  /// The allocation that holds all of [address, address + bytes).
  const Allocation *find(uint64_t address, uint64_t bytes) const;

  uint64_t put(uintptr_t stream, Work work);
  /// Copies a launch's parameters. Not success: it is no launch.
  Code prepare(Function *function, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, uint32_t shared,
               void **parameters, Work &work);
  /// Does the stream's work up to a ticket.
  Code drain(uintptr_t stream, uint64_t ticket = UINT64_MAX);
  Code drainAll();
  Code runKernel(const Function &function, const tilewright::ptx::Launch &launch,
                 const std::vector<tilewright::ptx::Argument> &arguments, int ordinal);

  std::string report() const;
  void set(const std::string &settings);
  void forgetCalls();

  std::recursive_mutex mutex;
  // What there is.
  int devices = 1, major = 8, minor = 0, version = 12040;
  uint64_t memory = UINT64_MAX;
  bool pools = true;
  // What is in use.
  bool initialized = false;
  Code sticky = success;
  std::map<int, Context> contexts;
  std::map<uint64_t, Allocation> allocations; ///< by address
  std::map<Module *, std::unique_ptr<Module>> modules;
  std::map<Function *, std::unique_ptr<Function>> functions;
  std::map<Event *, std::unique_ptr<Event>> events;
  std::map<Graph *, std::unique_ptr<Graph>> graphs;
  std::map<GraphExec *, std::unique_ptr<GraphExec>> execs;
  std::map<uintptr_t, Queue> streams;

private:
  Driver();
  std::map<std::string, uint64_t> calls, launches;
  std::map<std::string, std::map<uint64_t, Code>> failures;
  std::string fault, findings;
  uint64_t tickets = 0, used = 0;
};

/// A call: the driver locked, and what the call returns before it begins.
struct Call {
  explicit Call(const char *name, bool needsContext = true)
      : driver(Driver::get()), lock(driver.mutex), code(driver.enter(name, needsContext)) {}
  Driver &driver;
  std::lock_guard<std::recursive_mutex> lock;
  Code code;
};

/// Whether all of it lies in memory of a device.
bool onDevice(const Driver &driver, uint64_t address, size_t bytes);

} // namespace fake

#define ENTRY extern "C" __attribute__((visibility("default")))

#endif

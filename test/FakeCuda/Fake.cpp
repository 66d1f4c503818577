//===- Fake.cpp - the state of the fake driver --------------------------------------------===//
#include "test/FakeCuda/Fake.h"
#include "tilewright/PtxTensorMap.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <thread>

namespace fake {

Driver &Driver::get() {
  static Driver &driver = *new Driver;
  return driver;
}

Driver::Driver() {
  const char *settings = std::getenv("TILEWRIGHT_FAKE_CUDA");
  set(settings ? settings : "");
}

void Driver::set(const std::string &settings) {
  std::istringstream words(settings);
  for (std::string word; std::getline(words, word, ',');) {
    const size_t at = word.find('=');
    const std::string name = word.substr(0, at), value = at == std::string::npos ? "" : word.substr(at + 1);
    if (name == "devices")
      devices = std::stoi(value);
    else if (name == "capability")
      major = value.at(0) - '0', minor = value.at(2) - '0';
    else if (name == "memory")
      memory = std::stoull(value);
    else if (name == "version")
      version = std::stoi(value);
    else if (name == "pools")
      pools = value != "0";
    else if (name == "fault")
      fault = value;
    else if (name == "name")
      this->name = value;
    else if (name == "times")
      readTimes(value);
    else if (name == "profile")
      profileFolder = value;
    else if (name == "execute")
      execute = value != "0";
    else if (name == "mended")
      sticky = success;
    else if (name == "fail") {
      const size_t first = value.find(':'), second = value.find(':', first + 1);
      failures[value.substr(0, first)][std::stoull(value.substr(first + 1, second - first - 1))] =
          std::stoi(value.substr(second + 1));
    } else {
      std::fprintf(stderr, "TILEWRIGHT_FAKE_CUDA: unknown setting %s\n", word.c_str());
      std::abort();
    }
  }
}

void Driver::readTimes(const std::string &path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Timing timing{};
    std::string schedule;
    if (!(words >> timing.nanoseconds >> timing.outcome) || !std::getline(words >> std::ws, schedule)) {
      std::fprintf(stderr, "TILEWRIGHT_FAKE_CUDA: %s: cannot read the line: %s\n", path.c_str(), line.c_str());
      std::abort();
    }
    timings[schedule] = timing;
  }
}

/// Returns the schedule of a kernel, which is in a comment of the PTX: "// kernel_0: mma, threads 128, ...".
static std::string scheduleOf(const Function &function) {
  const std::string begin = "// " + function.name + ": ", &text = function.module->text;
  const size_t at = text.find(begin);
  return at == std::string::npos ? "" : text.substr(at + begin.size(), text.find('\n', at) - at - begin.size());
}

void Driver::forgetCalls() {
  calls.clear();
  launches.clear();
  failures.clear();
  fault.clear();
}

std::vector<Context *> &Driver::contextStack() const {
  thread_local std::vector<Context *> stack;
  return stack;
}

Context *Driver::current() const { return contextStack().empty() ? nullptr : contextStack().back(); }

Code Driver::enter(const char *name, bool needsContext) {
  const uint64_t number = ++calls[name];
  if (auto found = failures.find(name); found != failures.end())
    if (auto code = found->second.find(number); code != found->second.end())
      return code->second;
  if (!needsContext)
    return success;
  if (!initialized)
    return notInitialized;
  if (!current() || current()->users == 0)
    return invalidContext;
  return sticky;
}

Code Driver::allocate(uint64_t bytes, int ordinal, uint64_t &address) {
  if (bytes == 0)
    return invalidValue;
  if (ordinal >= 0 && (bytes > memory || used > memory - bytes))
    return outOfMemory;
  // Measures need no values, but the indices of a program should be valid. Pages of zeros that no block of the sample
  // writes need no memory.
  const bool mapped = !profileFolder.empty();
  void *data = mapped ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                      : std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (!data || data == MAP_FAILED)
    return outOfMemory;
  if (!mapped)
    std::memset(data, 0xA5, bytes);
  address = reinterpret_cast<uint64_t>(data);
  allocations[address] = {bytes, ordinal, mapped};
  used += ordinal >= 0 ? bytes : 0;
  return success;
}

Code Driver::release(uint64_t address, int ordinal) {
  auto found = allocations.find(address);
  if (found == allocations.end() || (found->second.ordinal < 0) != (ordinal < 0))
    return invalidValue;
  used -= ordinal >= 0 ? found->second.bytes : 0;
  if (found->second.mapped)
    munmap(reinterpret_cast<void *>(address), found->second.bytes);
  else
    std::free(reinterpret_cast<void *>(address));
  allocations.erase(found);
  return success;
}

const Allocation *Driver::find(uint64_t address, uint64_t bytes) const {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return nullptr;
  const auto &[start, allocation] = *std::prev(after);
  return address - start <= allocation.bytes && bytes <= allocation.bytes - (address - start) ? &allocation : nullptr;
}

bool onDevice(const Driver &driver, uint64_t address, size_t bytes) {
  const Allocation *allocation = driver.find(address, bytes);
  return allocation && allocation->ordinal >= 0;
}

Code Driver::prepare(Function *function, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, uint32_t shared,
                     void **parameters, Work &work) {
  namespace ptx = tilewright::ptx;
  if (!functions.count(function) || function->module->context != current())
    return invalidHandle;
  if (!grid[0] || !grid[1] || !grid[2] || !block[0] || uint64_t(block[0]) * block[1] * block[2] > 1024 ||
      grid[0] > INT32_MAX || int(shared) > function->dynamicShared)
    return invalidValue;
  std::vector<ptx::Argument> arguments;
  const auto wanted = function->module->code->parameters(function->name);
  for (const ptx::Parameter &parameter : *wanted) {
    const auto *data = static_cast<const uint8_t *>(parameters[arguments.size()]);
    if (parameter.bytes == sizeof(ptx::TensorMap) && reinterpret_cast<uintptr_t>(data) % 64 != 0)
      return invalidValue;
    arguments.emplace_back(data, data + parameter.bytes);
  }
  ptx::Launch launch;
  launch.kernel = function->name;
  launch.grid = {grid[0], grid[1], grid[2]};
  launch.block = {block[0], block[1], block[2]};
  launch.dynamicShared = shared;
  work = [this, function, launch, arguments, ordinal = current()->ordinal] {
    return runKernel(*function, launch, arguments, ordinal);
  };
  return success;
}

uint64_t Driver::put(uintptr_t stream, Work work) {
  streams[stream].work.push_back({++tickets, std::move(work)});
  return tickets;
}

Code Driver::drain(uintptr_t stream, uint64_t ticket) {
  Queue &queue = streams[stream];
  while (!queue.work.empty() && queue.work.front().first <= ticket) {
    auto [number, work] = std::move(queue.work.front());
    queue.work.pop_front();
    if (Code code = work(); code != success && sticky == success)
      sticky = code;
    queue.done = number;
  }
  return sticky;
}

Code Driver::drainAll() {
  for (auto &[stream, queue] : streams)
    drain(stream);
  return sticky;
}

Code Driver::runKernel(const Function &function, const tilewright::ptx::Launch &launch,
                       const std::vector<tilewright::ptx::Argument> &arguments, int ordinal) {
  ++launches[function.name];
  if (sticky != success)
    return sticky;
  if (function.name == fault)
    return illegalAddress;
  const auto timing = timings.find(scheduleOf(function));
  const std::string outcome = timing == timings.end() ? "good" : timing->second.outcome;
  clock += timing != timings.end() ? timing->second.nanoseconds : execute ? 1e3 : 1e6;
  if (outcome == "fault")
    return illegalAddress;
  while (outcome == "hang")
    std::this_thread::sleep_for(std::chrono::seconds(1));
  if (!profileFolder.empty())
    profile(function, launch, arguments, ordinal);
  if (Code code = execute ? interpret(function, launch, arguments, ordinal) : success; code != success)
    return code;
  if (outcome == "wrong")
    for (auto argument = arguments.rbegin(); argument != arguments.rend(); ++argument) {
      uint64_t address = 0;
      if (argument->size() != sizeof(address))
        continue;
      std::memcpy(&address, argument->data(), sizeof(address));
      if (const Allocation *result = find(address, 64); result && result->ordinal == ordinal) {
        std::memset(reinterpret_cast<void *>(address), 0x41, 64);
        break;
      }
    }
  return success;
}

tilewright::ptx::Memory Driver::memoryOf(int ordinal) const {
  tilewright::ptx::Memory memory;
  size_t count = 0;
  for (const auto &[address, allocation] : allocations)
    if (allocation.ordinal == ordinal)
      memory.add(reinterpret_cast<void *>(address), allocation.bytes, "allocation " + std::to_string(count++));
  return memory;
}

Code Driver::interpret(const Function &function, const tilewright::ptx::Launch &launch,
                       const std::vector<tilewright::ptx::Argument> &arguments, int ordinal) {
  tilewright::ptx::Memory memory = memoryOf(ordinal);
  std::string error;
  std::optional<tilewright::ptx::Report> report =
      tilewright::ptx::run(*function.module->code, memory, launch, arguments, error);
  if (report && report->findings.empty())
    return success;
  findings += report ? report->text() : function.name + ": " + error + "\n";
  std::fprintf(stderr, "fake CUDA driver: %s", findings.c_str());
  return illegalAddress;
}

void Driver::profile(const Function &function, const tilewright::ptx::Launch &launch,
                     const std::vector<tilewright::ptx::Argument> &arguments, int ordinal) {
  std::ofstream file(profileFolder + "/launches.jsonl", std::ios::app);
  std::vector<uint64_t> numbers;
  for (const tilewright::ptx::Argument &argument : arguments) {
    uint64_t number = 0;
    if (argument.size() > sizeof(number))
      continue; // a tensor map
    std::memcpy(&number, argument.data(), argument.size());
    if (!find(number, 1))
      numbers.push_back(number);
  }
  const auto [entry, fresh] =
      profiled.try_emplace({function.module->number, function.name, launch.grid, numbers}, profiled.size());
  if (!fresh) {
    file << nlohmann::json{{"again", entry->second}}.dump() << std::endl;
    return;
  }
  tilewright::ptx::Memory memory = memoryOf(ordinal);
  tilewright::ptx::Launch sampled = launch;
  sampled.sampledClusters = 8;
  sampled.residentBlocks = 1; // one cluster after another
  sampled.stepLimit = uint64_t(1) << 26;
  std::string error;
  const auto report = tilewright::ptx::run(*function.module->code, memory, sampled, arguments, error);
  nlohmann::json record = {
      {"kernel", function.name}, {"module", function.module->number}, {"grid", launch.grid},
      {"block", launch.block},   {"shared", launch.dynamicShared},    {"schedule", scheduleOf(function)}};
  if (!report || !report->finished) {
    record["error"] = report ? "the step limit is reached" : error;
  } else {
    const tilewright::ptx::Profile &profile = *report->profile;
    record.update({{"blocks", profile.blocks},
                   {"path", profile.path},
                   {"longest_path", profile.longestPath},
                   {"issue", profile.issue},
                   {"integer", profile.integer},
                   {"single", profile.single},
                   {"doubles", profile.doubles},
                   {"special", profile.special},
                   {"tensor", profile.tensor},
                   {"shared_wavefronts", profile.shared},
                   {"bulk", profile.bulkBytes},
                   {"outside", profile.outsideBytes},
                   {"partial", profile.partialWrites},
                   {"lines", profile.lines},
                   {"read", profile.bytesRead},
                   {"written", profile.bytesWritten},
                   {"distinct_read", profile.distinctRead},
                   {"distinct_written", profile.distinctWritten}});
  }
  file << record.dump() << std::endl;
  const std::string path = profileFolder + "/module" + std::to_string(function.module->number) + ".ptx";
  if (!std::ifstream(path))
    std::ofstream(path) << function.module->text;
}

std::string Driver::report() const {
  uint64_t device = 0, host = 0, users = 0;
  for (auto &[address, allocation] : allocations)
    ++(allocation.ordinal < 0 ? host : device);
  for (auto &[ordinal, context] : contexts)
    users += uint64_t(context.users);
  std::ostringstream out;
  out << "{\"allocations\": " << device << ", \"pinned\": " << host << ", \"modules\": " << modules.size()
      << ", \"events\": " << events.size() << ", \"graphs\": " << graphs.size() + execs.size()
      << ", \"contexts\": " << users;
  for (auto [name, counts] : {std::pair{"calls", &calls}, std::pair{"launches", &launches}}) {
    out << ", \"" << name << "\": {";
    const char *comma = "";
    for (auto &[key, count] : *counts) {
      out << comma << "\"" << key << "\": " << count;
      comma = ", ";
    }
    out << "}";
  }
  out << "}";
  return out.str();
}

} // namespace fake

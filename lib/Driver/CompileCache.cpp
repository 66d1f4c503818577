//===- CompileCache.cpp - whole compilations in the object cache ------------===//
//
// An entry consists of "TWCR", a version, the numbers of the compile report, the named parts of the key, the decisions
// and steps of the report, and the artifact. A source line is stored as the index of an op of the module. Numbers have
// 64 bits and are little-endian. Strings and lists are prefixed by their length. The reader validates everything that
// it reads.
//
// Test: test/Python/test_object_cache.py, test/Unit/Driver/ObjectCacheTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/CompileCache.h"
#include "lib/Driver/ObjectCache.h"
#include "lib/Interfaces/ForkMutex.h"
#include "mlir/Pass/PassManager.h"
#include "tilewright/DeviceCode.h"
#include "tilewright/SourceLine.h"
#include "tilewright/StageContract.h"
#include "tilewright/Tuner.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace mlir;

namespace tilewright {

/// One ObjectCache per folder and process, with the warnings that have not been reported yet.
class ProcessCache {
public:
  explicit ProcessCache(const std::string &folder) {
    ObjectCacheOptions options;
    options.folder = folder;
    options.warn = [this](const std::string &text) { pending.lock()->push_back(text); };
    objects = std::make_unique<ObjectCache>(std::move(options));
  }

  static ProcessCache &at(const std::string &folder) {
    // This object is leaked on purpose, because threads may compile while static objects are destroyed.
    static auto *caches = new runtime::ForkSafe<std::map<std::string, std::unique_ptr<ProcessCache>>>;
    auto known = caches->lock();
    auto &found = (*known)[folder];
    if (!found)
      found = std::make_unique<ProcessCache>(folder);
    return *found;
  }

  void reportWarnings(CompileReport &report) {
    auto reported = pending.lock();
    llvm::move(*reported, std::back_inserter(report.warnings));
    reported->clear();
  }

  std::unique_ptr<ObjectCache> objects;

private:
  runtime::ForkSafe<std::vector<std::string>> pending;
};

namespace {

constexpr llvm::StringLiteral entryMagic = "TWCR";
constexpr uint64_t entryVersion = 3;

/// A stream that adds its output to the hash of a cache key.
class KeyStream final : public llvm::raw_ostream {
public:
  explicit KeyStream(llvm::BLAKE3 &hash) : llvm::raw_ostream(/*unbuffered=*/false), hash(hash) {}
  ~KeyStream() override { flush(); }

private:
  void write_impl(const char *data, size_t size) override {
    hash.update(llvm::StringRef(data, size));
    position += size;
  }
  uint64_t current_pos() const override { return position; }
  llvm::BLAKE3 &hash;
  uint64_t position = 0;
};

class EntryWriter {
public:
  void number(uint64_t value) {
    char bytes[8];
    llvm::support::endian::write64le(bytes, value);
    out.append(bytes, 8);
  }
  void text(llvm::StringRef value) {
    number(value.size());
    out.append(value.data(), value.size());
  }
  std::string out;
};

/// Reads the fields of a cache entry. After the first failed read, all later reads fail.
class EntryReader {
public:
  explicit EntryReader(llvm::StringRef bytes) : rest(bytes) {}

  uint64_t number() {
    if (rest.size() < 8) {
      fail();
      return 0;
    }
    uint64_t value = llvm::support::endian::read64le(rest.data());
    rest = rest.drop_front(8);
    return value;
  }
  llvm::StringRef text() {
    uint64_t size = number();
    if (size > rest.size()) {
      fail();
      return "";
    }
    llvm::StringRef value = rest.take_front(size);
    rest = rest.drop_front(size);
    return value;
  }
  void fail() {
    good = false;
    rest = "";
  }
  bool atEnd() const { return good && rest.empty(); }
  bool ok() const { return good; }

private:
  llvm::StringRef rest;
  bool good = true;
};

/// Returns the reason why this compilation bypasses the cache, or an empty string if it does not.
std::string reasonToBypass(const Options &options) {
  if (!options.cache)
    return "off: options={\"cache\": False} or TILEWRIGHT_CACHE=0";
  if (!options.dumpDirectory.empty())
    return "off: a dump of the stages requires that every stage runs";
  if (verifiesStages())
    return "off: TILEWRIGHT_VERIFY is set, which requires that every stage runs";
  return "";
}

/// Returns a part of a key in the form in which entries store it and the cache command prints it: a line of text, or a
/// digest if the part is long or binary.
std::string forPeople(llvm::StringRef value) {
  if (value.size() <= 2000 && llvm::all_of(value, [](char c) { return llvm::isPrint(c) || c == '\n'; })) {
    std::string line = value.rtrim().str();
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
  }
  auto digest = llvm::BLAKE3::hash<16>(llvm::arrayRefFromStringRef(value));
  return "digest " + llvm::toHex(digest, /*LowerCase=*/true);
}
} // namespace

ObjectCache *processCache() {
  std::string error;
  ObjectCache *objects = ProcessCache::at(defaultCacheFolder(error)).objects.get();
  return objects->enabled() ? objects : nullptr;
}

double takeLoading(Program &program, CompileReport &report) {
  double sum = 0;
  for (auto &stage : program.report.stageMilliseconds) {
    sum += stage.second;
    report.stageMilliseconds.push_back(stage);
  }
  llvm::append_range(report.warnings, program.report.warnings);
  return sum;
}

std::string hashOfGraph(ModuleOp module) {
  llvm::BLAKE3 hash;
  {
    KeyStream stream(hash);
    module->print(stream, OpPrintingFlags().printGenericOpForm().useLocalScope());
  }
  auto result = hash.final<32>();
  return std::string(reinterpret_cast<const char *>(result.data()), result.size());
}

CompileCache::CompileCache(ModuleOp module, const Options &options, Target &target) : why(reasonToBypass(options)) {
  if (!why.empty())
    return;
  auto start = std::chrono::steady_clock::now();
  std::string error;
  cache = &ProcessCache::at(defaultCacheFolder(error));
  CacheKey made;
  auto add = [&](llvm::StringRef name, llvm::StringRef value) {
    made.add(name, value);
    parts.push_back({name.str(), forPeople(value)});
  };
  add("module", llvm::toHex(hashOfGraph(module), /*LowerCase=*/true));
  add("target", target.name());
  add("machine", target.machineKey(options));
  add("rounding", options.rounding);
  if (!options.scheduleFile.empty()) {
    auto file = llvm::MemoryBuffer::getFile(options.scheduleFile);
    add("schedules", file ? (*file)->getBuffer() : "unreadable"); // reported as an error by the stage that reads it
  }
  if (std::string records = recordsDigest(options.records); !records.empty()) {
    add("records", records);
    add("measured on", target.recordKey(options));
    add("deterministic", options.deterministic ? "yes" : "no");
    add("tune", options.tune);
  }
  add("threads", std::to_string(options.threads));
  if (options.sizesHold)
    add("sizes", "hold");
  if (options.portable)
    add("portable", "yes");
  add("tilewright build", buildIdentity(reinterpret_cast<const void *>(&buildIdentity)));
  add("llvm build", buildIdentity(reinterpret_cast<const void *>(&llvm::outs)));
  add("mlir build", buildIdentity(TypeID::get<ModuleOp>().getAsOpaquePointer()));
  add("target build", buildIdentity(*reinterpret_cast<const void *const *>(&target)));
  key = made.hex();
  module.walk<WalkOrder::PreOrder>([&](Operation *op) { lines.push_back(sourceLine(op->getLoc())); });
  keyMilliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

llvm::Expected<std::shared_ptr<Program>> CompileCache::load(Target &target, const Options &options) {
  if (!cache)
    return nullptr;
  auto start = std::chrono::steady_clock::now();
  auto lap = [&] {
    auto now = std::chrono::steady_clock::now();
    double spent = std::chrono::duration<double, std::milli>(now - start).count();
    start = now;
    return spent;
  };
  std::unique_ptr<llvm::MemoryBuffer> entry = cache->objects->load(key);
  if (!entry) {
    why = cache->objects->explain(key);
    return nullptr;
  }
  CompileReport report;
  llvm::StringRef artifact;
  std::string problem;
  if (decode(entry->getBuffer(), report, artifact)) {
    report.stageMilliseconds = {{"key", keyMilliseconds}, {"cache", lap()}};
    llvm::Expected<std::shared_ptr<Program>> program = target.load(artifact, options);
    if (program) {
      const double inside = takeLoading(**program, report);
      report.stageMilliseconds.push_back({"load", lap() - inside});
      report.cachedKernels = report.distinctKernels;
      report.cache = "hit: " + std::to_string(entry->getBufferSize()) + " bytes in " + cache->objects->folder();
      cache->reportWarnings(report);
      (*program)->report = std::move(report);
      return *program;
    }
    llvm::Error failed = program.takeError();
    if (failed.isA<DeviceError>())
      return std::move(failed);
    problem = "unusable (" + llvm::toString(std::move(failed)) + ")";
  } else {
    problem = "in another format";
  }
  cache->objects->discard(key, problem);
  why = cache->objects->explain(key);
  return nullptr;
}

void CompileCache::store(CompileReport &report, llvm::StringRef artifact) {
  report.cache = why;
  if (!cache)
    return;
  cache->objects->store(key, encode(report, artifact));
  cache->reportWarnings(report);
}

std::string CompileCache::encode(const CompileReport &report, llvm::StringRef artifact) const {
  std::map<llvm::StringRef, uint64_t> opAt;
  for (auto [number, line] : llvm::enumerate(lines))
    opAt.try_emplace(line, number);
  EntryWriter writer;
  writer.text(entryMagic);
  writer.number(entryVersion);
  for (int64_t number : {report.operations, report.kernels, report.distinctKernels})
    writer.number(number);
  writer.number(parts.size());
  for (const auto &[name, value] : parts) {
    writer.text(name);
    writer.text(value);
  }
  writer.number(report.decisions.size());
  for (const Decision &decision : report.decisions) {
    writer.text(decision.kind);
    writer.number(decision.done);
    writer.text(decision.subject);
    writer.text(decision.reason);
    auto op = opAt.find(decision.where);
    writer.number(op == opAt.end() ? UINT64_MAX : op->second);
  }
  writer.number(report.stepLines.size());
  for (const std::string &line : report.stepLines) {
    auto op = line.empty() ? opAt.end() : opAt.find(line);
    writer.number(op == opAt.end() ? UINT64_MAX : op->second);
  }
  writer.text(artifact);
  return std::move(writer.out);
}

/// Reads the first fields of an entry, which describe its contents.
static bool readHead(EntryReader &reader, CacheEntry &entry, int64_t &distinctKernels) {
  if (reader.text() != entryMagic || reader.number() != entryVersion)
    return false;
  for (int64_t *number : {&entry.operations, &entry.kernels, &distinctKernels})
    *number = reader.number();
  uint64_t count = reader.number();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    std::string name = reader.text().str();
    entry.parts.push_back({std::move(name), reader.text().str()});
  }
  return reader.ok();
}

bool CompileCache::describe(llvm::StringRef bytes, CacheEntry &entry) {
  EntryReader reader(bytes);
  int64_t distinctKernels = 0;
  return readHead(reader, entry, distinctKernels);
}

bool CompileCache::decode(llvm::StringRef bytes, CompileReport &report, llvm::StringRef &artifact) const {
  EntryReader reader(bytes);
  CacheEntry head;
  if (!readHead(reader, head, report.distinctKernels))
    return false;
  report.operations = head.operations;
  report.kernels = head.kernels;
  uint64_t decisions = reader.number();
  for (uint64_t i = 0; i < decisions && reader.ok(); ++i) {
    Decision decision;
    decision.kind = reader.text().str();
    decision.done = reader.number();
    decision.subject = reader.text().str();
    decision.reason = reader.text().str();
    uint64_t op = reader.number();
    if (op < lines.size())
      decision.where = lines[op];
    report.decisions.push_back(std::move(decision));
  }
  uint64_t steps = reader.number();
  for (uint64_t i = 0; i < steps && reader.ok(); ++i) {
    uint64_t op = reader.number();
    report.stepLines.push_back(op < lines.size() ? lines[op] : "");
  }
  artifact = reader.text();
  return reader.atEnd();
}

} // namespace tilewright

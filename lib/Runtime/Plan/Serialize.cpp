//===- Serialize.cpp - serialization of plans -----------------------------===//
//
//   "TWPLAN\r\n"  u32 ABI version  u32 zero  u64 payload bytes  payload  u64 hash of all preceding bytes
//
// All numbers are little-endian. A list is a u32 count followed by its elements; the count of the constants is a u64.
// The reader compares a count with the number of remaining bytes, so that a damaged count causes neither a large
// allocation nor an out-of-bounds read.
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/RuntimeABI.h"
#include "lib/Runtime/Plan/Hash.h"
#include "lib/Runtime/Plan/Plan.h"

#include <bit>
#include <utility>

namespace tilewright::plan {
namespace {

static_assert(std::endian::native == std::endian::little, "images are written in the byte order of the machine");

constexpr char planMagic[8] = {'T', 'W', 'P', 'L', 'A', 'N', '\r', '\n'};
constexpr size_t planHeaderBytes = 24, planHashBytes = 8;

class PlanWriter {
public:
  std::vector<uint8_t> image;

  void bytes(const void *data, size_t size) {
    const auto *first = static_cast<const uint8_t *>(data);
    image.insert(image.end(), first, first + size);
  }
  template <typename T> void number(T value) { bytes(&value, sizeof value); }
  void text(const std::string &value) {
    number(uint32_t(value.size()));
    bytes(value.data(), value.size());
  }
  template <typename T, typename F> void list(const std::vector<T> &values, F &&write) {
    number(uint32_t(values.size()));
    for (const T &value : values)
      write(value);
  }
  void expr(const Expr &value) {
    list(value.items, [&](const Expr::Item &item) {
      number(uint8_t(item.op));
      number(item.value);
    });
  }
  void step(const Step &value) {
    number(uint8_t(value.kind));
    number(value.callee);
    list(value.operands, [&](const Operand &operand) {
      number(operand.buffer);
      expr(operand.offset);
    });
    number(value.writes);
    list(value.sizes, [&](const Expr &size) { expr(size); });
    expr(value.grid);
    expr(value.scratchBytes);
    expr(value.bytes);
    number(uint8_t(value.checks));
    list(value.messages, [&](const std::string &message) { text(message); });
    expr(value.flops);
    text(value.label);
    text(value.schedule);
  }
};

/// Reads a plan image sequentially. After the first error, every read returns zero or an empty list.
class PlanReader {
public:
  PlanReader(const uint8_t *data, size_t size, std::string &error) : next(data), left(size), error(error) {}

  bool done() const { return left == 0; }
  bool ok() const { return error.empty(); }
  void fail(const std::string &what) {
    if (ok())
      error = "damaged plan image: " + what + "; compile the model again";
    left = 0;
  }
  template <typename T> T number() {
    T value{};
    if (left < sizeof value) {
      fail("it ends in the middle of a value");
      return value;
    }
    memcpy(&value, next, sizeof value);
    next += sizeof value;
    left -= sizeof value;
    return value;
  }
  /// Reads the count of a list whose elements take at least `least` bytes each.
  uint32_t count(size_t least) {
    auto value = number<uint32_t>();
    if (value > left / least) {
      fail("a list of " + std::to_string(value) + " elements does not fit in the remaining bytes");
      return 0;
    }
    return value;
  }
  template <typename E> E enumerator(E last, const char *what) {
    auto value = number<uint8_t>();
    if (value > uint8_t(last)) {
      fail(std::string("unknown ") + what + " " + std::to_string(int(value)));
      value = 0;
    }
    return E(value);
  }
  std::string text() {
    uint32_t size = count(1);
    std::string value(reinterpret_cast<const char *>(next), size);
    next += size;
    left -= size;
    return value;
  }
  template <typename T, typename F> void list(std::vector<T> &values, size_t least, F &&read) {
    uint32_t size = count(least);
    values.clear();
    for (uint32_t i = 0; i < size && ok(); ++i)
      read(values.emplace_back());
  }
  void bytes(std::vector<uint8_t> &values) {
    auto size = number<uint64_t>();
    if (size > left) {
      fail("its constants are longer than the remaining bytes");
      return;
    }
    values.assign(next, next + size);
    next += size;
    left -= size;
  }
  void expr(Expr &value) {
    list(value.items, 9, [&](Expr::Item &item) {
      item.op = enumerator(Expr::Op::Min, "operation");
      item.value = number<int64_t>();
    });
  }
  void step(Step &value) {
    value.kind = enumerator(Step::Kind::Host, "kind of step");
    value.callee = number<int32_t>();
    list(value.operands, 8, [&](Operand &operand) {
      operand.buffer = number<int32_t>();
      expr(operand.offset);
    });
    value.writes = number<uint64_t>();
    list(value.sizes, 4, [&](Expr &size) { expr(size); });
    expr(value.grid);
    expr(value.scratchBytes);
    expr(value.bytes);
    value.checks = number<uint8_t>();
    list(value.messages, 4, [&](std::string &message) { message = text(); });
    expr(value.flops);
    value.label = text();
    value.schedule = text();
  }

private:
  const uint8_t *next;
  size_t left;
  std::string &error;
};

} // namespace

std::vector<uint8_t> serialize(const Plan &plan) {
  PlanWriter writer;
  writer.bytes(planMagic, sizeof planMagic);
  writer.number(uint32_t(TILEWRIGHT_ABI_VERSION));
  writer.number(uint32_t(0));
  writer.number(uint64_t(0)); // the payload's size, filled in below
  writer.number(plan.numInputs);
  writer.number(plan.numOutputs);
  writer.list(plan.symbols, [&](const Symbol &symbol) {
    writer.text(symbol.name);
    writer.number(symbol.min);
    writer.number(symbol.max);
  });
  writer.list(plan.guards, [&](const Guard &guard) {
    writer.expr(guard.lhs);
    writer.expr(guard.rhs);
    writer.number(uint8_t(guard.atLeast));
    writer.text(guard.text);
  });
  writer.list(plan.buffers, [&](const Buffer &buffer) {
    writer.number(uint8_t(buffer.kind));
    writer.number(uint8_t(buffer.inPlace));
    writer.number(buffer.index);
    writer.expr(buffer.bytes);
  });
  writer.list(plan.kernels, [&](const std::string &name) { writer.text(name); });
  writer.list(plan.hostFunctions, [&](const std::string &name) { writer.text(name); });
  writer.list(plan.once, [&](const Step &step) { writer.step(step); });
  writer.list(plan.steps, [&](const Step &step) { writer.step(step); });
  writer.number(uint64_t(plan.constants.size()));
  writer.bytes(plan.constants.data(), plan.constants.size());
  uint64_t payload = writer.image.size() - planHeaderBytes;
  memcpy(writer.image.data() + planHeaderBytes - sizeof payload, &payload, sizeof payload);
  writer.number(hashBytes(writer.image.data(), writer.image.size()));
  return std::move(writer.image);
}

bool deserialize(const uint8_t *data, size_t size, Plan &plan, std::string &error) {
  error.clear();
  plan = Plan();
  if (size < sizeof planMagic || memcmp(data, planMagic, sizeof planMagic) != 0) {
    error = "not a Tilewright plan image (its first bytes differ); was the file made by `tilewright compile`?";
    return false;
  }
  if (size < planHeaderBytes + planHashBytes) {
    error = "damaged plan image: it ends in its header; compile the model again";
    return false;
  }
  PlanReader header(data + sizeof planMagic, planHeaderBytes - sizeof planMagic, error);
  auto version = header.number<uint32_t>();
  auto flags = header.number<uint32_t>();
  auto payload = header.number<uint64_t>();
  if (version != TILEWRIGHT_ABI_VERSION) {
    error = "the plan image has version " + std::to_string(version) + ", this Tilewright reads version " +
            std::to_string(TILEWRIGHT_ABI_VERSION) + "; compile the model again";
    return false;
  }
  uint64_t hash;
  memcpy(&hash, data + size - planHashBytes, sizeof hash);
  if (flags != 0 || payload != size - planHeaderBytes - planHashBytes ||
      hash != hashBytes(data, size - planHashBytes)) {
    error = "damaged plan image: its length or hash is wrong; compile the model again";
    return false;
  }
  PlanReader reader(data + planHeaderBytes, payload, error);
  plan.numInputs = reader.number<int32_t>();
  plan.numOutputs = reader.number<int32_t>();
  reader.list(plan.symbols, 20, [&](Symbol &symbol) {
    symbol.name = reader.text();
    symbol.min = reader.number<int64_t>();
    symbol.max = reader.number<int64_t>();
  });
  reader.list(plan.guards, 13, [&](Guard &guard) {
    reader.expr(guard.lhs);
    reader.expr(guard.rhs);
    guard.atLeast = reader.number<uint8_t>() != 0;
    guard.text = reader.text();
  });
  reader.list(plan.buffers, 14, [&](Buffer &buffer) {
    buffer.kind = reader.enumerator(Buffer::Kind::Constant, "kind of buffer");
    buffer.inPlace = reader.number<uint8_t>() != 0;
    buffer.index = reader.number<int64_t>();
    reader.expr(buffer.bytes);
  });
  reader.list(plan.kernels, 4, [&](std::string &name) { name = reader.text(); });
  reader.list(plan.hostFunctions, 4, [&](std::string &name) { name = reader.text(); });
  reader.list(plan.once, 37, [&](Step &step) { reader.step(step); });
  reader.list(plan.steps, 37, [&](Step &step) { reader.step(step); });
  reader.bytes(plan.constants);
  if (reader.ok() && !reader.done())
    reader.fail("there are more bytes after its end");
  if (!error.empty())
    plan = Plan();
  return error.empty();
}

} // namespace tilewright::plan

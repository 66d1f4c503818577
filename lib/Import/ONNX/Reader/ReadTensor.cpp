//===- ReadTensor.cpp - the elements of initializers and attributes ------------------===//
//
// A TensorProto (onnx-ml.proto) stores its elements in one of three ways: as bytes in the field raw_data, as numbers in
// a repeated field, or in a separate file. The repeated fields are float_data, double_data, int64_data, uint64_data,
// and int32_data, which is used for int32 and all types of at most 16 bits. The field external_data has the location,
// offset and length of the elements in a separate file. The number of bytes must be equal to the number that the type
// and the sizes require.
//
// Test: test/Unit/Import/ONNX
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/Reader/Reader.h"
#include <charconv>
#include <cstring>

namespace tilewright::onnx {
namespace {

struct TypeRow {
  ElementType type;
  const char *name;
  unsigned bits;
};
constexpr TypeRow types[] = {
#define TW_DTYPE(ENUM, NAME, BITS, ...) {ElementType::ENUM, NAME, BITS},
#define TW_FILE_DTYPE(ENUM, NAME, BITS, ...) {ElementType::ENUM, NAME, BITS},
#include "dialects/Graph/Dtypes.def"
};

const TypeRow *rowOf(ElementType type) {
  for (const TypeRow &row : types)
    if (row.type == type && int(type) > 0) // types with a number of 0 or less do not exist in ONNX
      return &row;
  return nullptr;
}

/// Returns the number of bytes of `count` elements of a type.
uint64_t bytesOf(ElementType type, uint64_t count) {
  unsigned bits = elementBits(type);
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

/// The fields of external_data, which specify a part of a separate file.
struct External {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

std::string quoted(const std::string &name) { return "the tensor '" + name + "'"; }

uint64_t numberOf(const std::string &text, const std::string &tensor) {
  uint64_t value = 0;
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size())
    throw BadModel(quoted(tensor) + ": '" + text + "' is not an offset or a length in a file of external data");
  return value;
}

/// Throws an exception unless the path `location` is certainly inside the model's folder: it must be relative, without
/// a component "..", and without backslashes and colons.
void checkLocation(const std::string &location, const std::string &tensor) {
  std::string_view rest = location;
  bool inside = !location.empty() && location[0] != '/' && location.find('\\') == std::string::npos &&
                location.find('\0') == std::string::npos && location.find(':') == std::string::npos;
  while (inside && !rest.empty()) {
    size_t slash = rest.find('/');
    inside = rest.substr(0, slash) != "..";
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  if (!inside)
    throw BadModel(quoted(tensor) + " has its elements in '" + location +
                   "', which is not in the model's folder; other files are not read");
}

/// The repeated fields with the numbers of a TensorProto. The numbers are converted to bytes after the complete
/// TensorProto has been read, because its type may come after the numbers in the file.
struct NumberLists {
  std::vector<float> floats;
  std::vector<int64_t> integers; ///< int32_data, int64_data and uint64_data
  std::vector<double> doubles;
  bool any = false;
};

template <typename T, typename From> void append(std::string &bytes, const std::vector<From> &list) {
  for (From item : list) {
    T value = T(item);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
  }
}

std::string bytesFrom(const NumberLists &lists, ElementType type) {
  std::string bytes;
  if (type == ElementType::F32 || type == ElementType::Complex64) {
    append<float>(bytes, lists.floats);
  } else if (type == ElementType::F64 || type == ElementType::Complex128) {
    append<double>(bytes, lists.doubles);
  } else {
    switch (elementBits(type)) {
    case 64:
      append<uint64_t>(bytes, lists.integers);
      break;
    case 32:
      append<uint32_t>(bytes, lists.integers);
      break;
    case 16:
      append<uint16_t>(bytes, lists.integers);
      break;
    default: // elements of at most 8 bits: an entry of int32_data contains one byte
      append<uint8_t>(bytes, lists.integers);
    }
  }
  return bytes;
}

External readExternal(protozero::pbf_reader message, External external, const std::string &tensor) {
  std::string key, value;
  while (message.next())
    if (message.tag() == 1)
      key = readText(message);
    else if (message.tag() == 2)
      value = readText(message);
    else
      message.skip();
  if (key == "location")
    external.location = value;
  else if (key == "offset")
    external.offset = numberOf(value, tensor);
  else if (key == "length")
    external.length = numberOf(value, tensor);
  return external;
}

template <typename Range, typename List> void addAll(Range range, List &list) {
  for (auto item : range)
    list.push_back(item);
}

} // namespace

std::string elementTypeName(ElementType type) {
  const TypeRow *row = rowOf(type);
  return row ? row->name : "type " + std::to_string(int(type));
}

unsigned elementBits(ElementType type) {
  const TypeRow *row = rowOf(type);
  return row ? row->bits : 0;
}

int64_t Tensor::count() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

Tensor readTensor(protozero::pbf_reader message, const OpenFile &open) {
  Tensor tensor;
  NumberLists lists;
  std::optional<std::string_view> raw;
  std::vector<protozero::pbf_reader> externals;
  bool isExternal = false;
  using protozero::pbf_wire_type;
  while (message.next()) {
    bool packed = message.wire_type() == pbf_wire_type::length_delimited;
    switch (message.tag()) {
    case 1:
      readIntegers(message, tensor.sizes);
      break;
    case 2:
      tensor.type = ElementType(message.get_int32());
      break;
    case 3:
      throw BadModel(quoted(tensor.name) + " is cut into segments, which is not supported");
    case 4:
      packed ? addAll(message.get_packed_float(), lists.floats) : lists.floats.push_back(message.get_float());
      lists.any = true;
      break;
    case 5:
    case 7:
    case 11:
      readIntegers(message, lists.integers);
      lists.any = true;
      break;
    case 8:
      tensor.name = readText(message);
      break;
    case 9: {
      protozero::data_view view = message.get_view();
      raw = std::string_view(view.data(), view.size());
      break;
    }
    case 10:
      packed ? addAll(message.get_packed_double(), lists.doubles) : lists.doubles.push_back(message.get_double());
      lists.any = true;
      break;
    case 13:
      externals.push_back(message.get_message());
      break;
    case 14:
      isExternal = message.get_enum() == 1;
      break;
    default:
      message.skip();
    }
  }
  if (!rowOf(tensor.type))
    throw BadModel(quoted(tensor.name) + " has elements of " + elementTypeName(tensor.type) +
                   ", which onnx 1.23 does not define");
  uint64_t count = 1;
  bool empty = false;
  for (int64_t size : tensor.sizes) {
    empty |= size == 0;
    if (size < 0 || __builtin_mul_overflow(count, std::max<uint64_t>(size, 1), &count) || count > (uint64_t(1) << 48))
      throw BadModel(quoted(tensor.name) + " has invalid sizes");
  }
  count = empty ? 0 : count;
  if (!elementBits(tensor.type)) // the elements are strings; nodes that need them are refused
    return tensor;
  uint64_t needed = bytesOf(tensor.type, count);
  auto checkBytes = [&](uint64_t found) {
    if (found != needed)
      throw BadModel(quoted(tensor.name) + " needs " + std::to_string(needed) + " bytes for its sizes and has " +
                     std::to_string(found));
  };
  if (isExternal) {
    External external;
    for (const protozero::pbf_reader &entry : externals)
      external = readExternal(entry, external, tensor.name);
    checkLocation(external.location, tensor.name);
    std::string why = "files in the model's folder are not read here";
    auto file = open ? open(external.location, why) : std::nullopt;
    if (!file)
      throw BadModel(quoted(tensor.name) + " has its elements in '" + external.location + "': " + why);
    uint64_t length = external.length.value_or(needed);
    if (external.offset > file->size() || length > file->size() - external.offset)
      throw BadModel(quoted(tensor.name) + " is beyond the end of '" + external.location + "'; the file is cut off");
    checkBytes(length);
    tensor.bytes = file->substr(external.offset, length);
  } else if (raw) {
    checkBytes(raw->size());
    tensor.bytes = *raw;
  } else {
    if (!lists.any && needed)
      throw BadModel(quoted(tensor.name) + " has no elements");
    tensor.owner = std::make_shared<const std::string>(bytesFrom(lists, tensor.type));
    checkBytes(tensor.owner->size());
    tensor.bytes = *tensor.owner;
  }
  return tensor;
}

} // namespace tilewright::onnx

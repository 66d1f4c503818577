//===- LaunchFile.cpp - read the description of a launch from JSON ----------------------===//
#include "tools/ptx-check/LaunchFile.h"

#include "lib/PtxInterpreter/Formats.h"

#include "tilewright/PtxTensorMap.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

namespace tilewright::ptx {
namespace {

using Json = nlohmann::json;

constexpr int mostDepth = 100;
struct Refusal {
  std::string why;
};

constexpr uint64_t kAlign = 256, kGap = 1 << 16; ///< alignment of a buffer, and unused bytes around it

struct Element {
  const char *name, *type;
  uint32_t bytes;
};
constexpr Element kElements[] = {{"f64", "<f8", 8},  {"f32", "<f4", 4},  {"f16", "<f2", 2}, {"bf16", "<u2", 2},
                                 {"e4m3", "|u1", 1}, {"e5m2", "|u1", 1}, {"s64", "<i8", 8}, {"u64", "<u8", 8},
                                 {"s32", "<i4", 4},  {"u32", "<u4", 4},  {"s16", "<i2", 2}, {"u16", "<u2", 2},
                                 {"s8", "|i1", 1},   {"u8", "|u1", 1}};

const Element &elementOf(const std::string &name) {
  for (const Element &element : kElements)
    if (name == element.name)
      return element;
  throw Refusal{"unknown dtype '" + name +
                "'; valid dtypes are f64 f32 f16 bf16 e4m3 e5m2 s64 u64 s32 u32 s16 u16 s8 u8"};
}

/// Converts `number` to the dtype `element` and returns its bits.
uint64_t bitsOf(const Element &element, const Json &number) {
  std::string name = element.name;
  if (name[0] == 's')
    return uint64_t(number.get<int64_t>());
  if (name[0] == 'u')
    return number.get<uint64_t>();
  double x = number.get<double>();
  if (name == "f64")
    return std::bit_cast<uint64_t>(x);
  const Format &format = name == "f32"    ? kSingle
                         : name == "f16"  ? kHalf
                         : name == "bf16" ? kBfloat16
                         : name == "e4m3" ? kE4M3
                                          : kE5M2;
  return encode(x, format);
}

Dimensions dimensions(const Json &value) {
  Dimensions made = {1, 1, 1};
  if (value.is_number_unsigned())
    made[0] = value.get<uint32_t>();
  else if (value.is_array() && value.size() <= 3)
    for (size_t i = 0; i < value.size(); ++i)
      made[i] = value[i].get<uint32_t>();
  else
    throw Refusal{"expected a number or a list of up to three numbers"};
  return made;
}

void fill(LaunchFile::Buffer &buffer, const Element &element, const std::string &how, uint64_t seed) {
  uint64_t count = buffer.array.bytes.size() / element.bytes;
  if (how == "zeros" || how == "uninitialised") {
    buffer.initialised = how == "zeros";
    if (!buffer.initialised)
      std::fill(buffer.array.bytes.begin(), buffer.array.bytes.end(), 0xff); // NaN for floats
    return;
  }
  std::mt19937_64 random(seed);
  bool isFloat = element.name[0] != 's' && element.name[0] != 'u';
  for (uint64_t i = 0; i < count; ++i) {
    Json number;
    if (how == "iota")
      number = isFloat ? Json(double(i)) : Json(i);
    else if (how == "random") // floats in [-1, 1), integers in [-8, 8) or [0, 16)
      number = isFloat                  ? Json(double(int64_t(random()) >> 11) * 0x1p-52)
               : element.name[0] == 's' ? Json(int64_t(random() & 15) - 8)
                                        : Json(random() & 15);
    else
      throw Refusal{"unknown fill '" + how + "'; valid fills are random, zeros, iota, uninitialised"};
    uint64_t bits = bitsOf(element, number);
    std::memcpy(buffer.array.bytes.data() + i * element.bytes, &bits, element.bytes);
  }
}

void readBuffer(LaunchFile::Buffer &buffer, const Json &value, const std::string &folder) {
  std::string error;
  for (const auto &[key, unused] : value.items())
    if (key != "file" && key != "out" && key != "dtype" && key != "shape" && key != "fill" && key != "seed")
      throw Refusal{"unknown key '" + key + "'"};
  if (value.contains("out"))
    buffer.out = folder + value["out"].get<std::string>();
  if (value.contains("file")) {
    if (!readNpy(folder + value["file"].get<std::string>(), buffer.array, error))
      throw Refusal{error};
    return;
  }
  const Element &element = elementOf(value.at("dtype").get<std::string>());
  buffer.array.type = element.type;
  buffer.array.shape = value.at("shape").get<std::vector<uint64_t>>();
  uint64_t bytes = element.bytes;
  for (uint64_t side : buffer.array.shape) {
    if (side && bytes > (uint64_t(1) << 34) / side)
      throw Refusal{"the buffer has more than 16 GiB"};
    bytes *= side;
  }
  buffer.array.bytes.resize(bytes);
  fill(buffer, element, value.value("fill", "zeros"), value.value("seed", uint64_t(0)));
}

/// Reads the keys of a map with the mode im2col, except "element_strides".
WindowParameters windowsOf(const Json &value, size_t dims) {
  WindowParameters made;
  made.lower = value.at("lower").get<std::vector<int>>();
  made.upper = value.at("upper").get<std::vector<int>>();
  made.channels = value.at("channels").get<uint32_t>();
  made.pixels = value.at("pixels").get<uint32_t>();
  if (made.lower.size() + 2 != dims || made.upper.size() + 2 != dims)
    throw Refusal{"a tensor map with pixels needs two entries fewer in lower and upper than in dims"};
  return made;
}

/// Reads {"tensor_map": {"buffer": name, "dtype": ..., "dims": [...], "strides": [...], "box": [...]}}, in which the
/// keys "offset", "element_strides", "swizzle" and "fill_nan" are optional. A map with the mode im2col has the keys
/// "lower", "upper", "channels" and "pixels" instead of "box". The kernel gets this argument instead of a tensor map
/// (CUtensorMap) of the NVIDIA driver.
Argument tensorMapOf(const Json &value, std::vector<LaunchFile::Buffer> &buffers) {
  for (const auto &[key, unused] : value.items())
    if (key != "buffer" && key != "offset" && key != "dtype" && key != "dims" && key != "strides" && key != "box" &&
        key != "element_strides" && key != "swizzle" && key != "fill_nan" && key != "lower" && key != "upper" &&
        key != "channels" && key != "pixels")
      throw Refusal{"unknown key '" + key + "'"};
  constexpr std::pair<const char *, TensorMap::Element> elements[] = {
      {"u8", TensorMap::Element::U8},   {"s8", TensorMap::Element::U8},   {"e4m3", TensorMap::Element::U8},
      {"e5m2", TensorMap::Element::U8}, {"u16", TensorMap::Element::U16}, {"s16", TensorMap::Element::U16},
      {"u32", TensorMap::Element::U32}, {"s32", TensorMap::Element::S32}, {"u64", TensorMap::Element::U64},
      {"s64", TensorMap::Element::S64}, {"f16", TensorMap::Element::F16}, {"bf16", TensorMap::Element::BF16},
      {"f32", TensorMap::Element::F32}, {"f64", TensorMap::Element::F64}};
  std::string name = value.at("buffer").get<std::string>(), dtype = value.at("dtype").get<std::string>();
  auto element =
      std::find_if(std::begin(elements), std::end(elements), [&](auto &pair) { return dtype == pair.first; });
  auto buffer = std::find_if(buffers.begin(), buffers.end(), [&](auto &candidate) { return candidate.name == name; });
  if (element == std::end(elements))
    throw Refusal{"unknown dtype '" + dtype + "' of a tensor map"};
  if (buffer == buffers.end())
    throw Refusal{"there is no buffer '" + name + "'"};
  auto dims = value.at("dims").get<std::vector<uint32_t>>();
  auto strides = value.value("strides", std::vector<uint64_t>());
  auto steps = value.value("element_strides", std::vector<uint8_t>(dims.size(), 1));
  const bool windows = value.contains("pixels");
  auto box = windows ? std::vector<uint16_t>(dims.size(), 1) : value.at("box").get<std::vector<uint16_t>>();
  if (dims.empty() || dims.size() > 5 || strides.size() + 1 != dims.size() || box.size() != dims.size() ||
      steps.size() != dims.size())
    throw Refusal{"a tensor map needs 1 to 5 dims, as many entries in box and element_strides, and one entry fewer in "
                  "strides (bytes)"};
  const uint8_t *base = buffer->data() + value.value("offset", uint64_t(0));
  const auto swizzle = value.value("swizzle", uint8_t(0));
  TensorMap map = windows ? windowMap(element->second, base, dims, strides, windowsOf(value, dims.size()), swizzle)
                          : tensorMap(element->second, base, dims, strides, box, swizzle);
  std::copy(steps.begin(), steps.end(), map.elementStrides.begin());
  map.fillNan = value.value("fill_nan", false);
  if (std::string problem = map.problem(); !problem.empty())
    throw Refusal{problem};
  return argument(map);
}

void readAll(const Json &root, const std::string &folder, LaunchFile &made) {
  std::string where;
  try {
    for (const auto &[key, unused] : root.items())
      if (key != "kernel" && key != "grid" && key != "block" && key != "cluster" && key != "dynamic_shared" &&
          key != "seed" && key != "resident_blocks" && key != "step_limit" && key != "buffers" && key != "arguments")
        throw Refusal{"unknown key '" + key + "'"};
    made.launch.kernel = root.value("kernel", "");
    where = "grid";
    if (root.contains("grid"))
      made.launch.grid = dimensions(root["grid"]);
    where = "block";
    if (root.contains("block"))
      made.launch.block = dimensions(root["block"]);
    where = "cluster";
    if (root.contains("cluster"))
      made.launch.cluster = dimensions(root["cluster"]);
    where = "";
    made.launch.dynamicShared = root.value("dynamic_shared", uint64_t(0));
    made.launch.seed = root.value("seed", uint64_t(0));
    made.launch.residentBlocks = root.value("resident_blocks", made.launch.residentBlocks);
    made.launch.stepLimit = root.value("step_limit", made.launch.stepLimit);
    const Json buffers = root.value("buffers", Json::object()), arguments = root.value("arguments", Json::array());
    for (const auto &[name, value] : buffers.items()) {
      where = "buffers." + name;
      made.buffers.emplace_back();
      made.buffers.back().name = name;
      readBuffer(made.buffers.back(), value, folder);
    }
    for (LaunchFile::Buffer &buffer : made.buffers) {
      buffer.memory.resize(buffer.array.bytes.size() + 2 * kGap);
      std::copy(buffer.array.bytes.begin(), buffer.array.bytes.end(), buffer.data());
      made.memory.add(buffer.data(), buffer.array.bytes.size(), buffer.name, buffer.initialised);
    }
    size_t index = 0;
    for (const Json &value : arguments) {
      where = "arguments[" + std::to_string(index++) + "]";
      if (!value.is_object() || value.empty())
        throw Refusal{"expected {\"buffer\": name} or a number with its type, such as {\"u32\": 1}"};
      if (value.contains("buffer")) {
        std::string name = value["buffer"].get<std::string>();
        uint64_t address = 0;
        for (LaunchFile::Buffer &buffer : made.buffers)
          if (buffer.name == name)
            address = reinterpret_cast<uint64_t>(buffer.data()) + value.value("offset", uint64_t(0));
        if (!address)
          throw Refusal{"there is no buffer '" + name + "'"};
        made.arguments.push_back(argument(address));
        continue;
      }
      if (value.contains("tensor_map")) {
        made.arguments.push_back(tensorMapOf(value["tensor_map"], made.buffers));
        continue;
      }
      const Element &element = elementOf(value.begin().key());
      uint64_t bits = bitsOf(element, value.begin().value());
      Argument bytes(element.bytes);
      std::memcpy(bytes.data(), &bits, element.bytes);
      made.arguments.push_back(std::move(bytes));
    }
  } catch (const Refusal &refusal) {
    throw Refusal{(where.empty() ? "" : where + ": ") + refusal.why};
  } catch (const Json::exception &problem) {
    throw Refusal{(where.empty() ? "" : where + ": ") + problem.what()};
  }
}

} // namespace

uint8_t *LaunchFile::Buffer::data() {
  return reinterpret_cast<uint8_t *>((reinterpret_cast<uint64_t>(memory.data()) + kGap) / kAlign * kAlign);
}

bool readLaunchFile(const std::string &path, LaunchFile &launch, std::string &error) {
  std::ifstream file(path);
  if (!file) {
    error = path + ": cannot be read";
    return false;
  }
  size_t slash = path.rfind('/');
  try {
    // The nesting depth is limited, because JSON values are copied and printed recursively.
    Json root = Json::parse(file, [](int depth, Json::parse_event_t, Json &) {
      if (depth > mostDepth)
        throw Refusal{"lists and objects are nested more than " + std::to_string(mostDepth) + " levels deep"};
      return true;
    });
    readAll(root, slash == std::string::npos ? "" : path.substr(0, slash + 1), launch);
  } catch (const Refusal &refusal) {
    error = path + ": " + refusal.why;
    return false;
  } catch (const Json::exception &problem) {
    error = path + ": " + problem.what();
    return false;
  }
  return true;
}

} // namespace tilewright::ptx

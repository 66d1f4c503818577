//===- SaveLaunch.cpp - save a launch of the emulated device for ptx-check ---------------===//
//
// Test: test/Python/test_ptx_mutations.py
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/CUDA/SaveLaunch.h"
#include "tilewright/PtxTensorMap.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

namespace tilewright::runtime {
namespace {

/// Writes a one-dimensional array of bytes in NumPy's format, version 1.
void writeBytes(std::ofstream &file, const uint8_t *data, uint64_t bytes) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(bytes) + ",), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(char(header.size() & 255)).put(char(header.size() >> 8));
  file << header;
  file.write(reinterpret_cast<const char *>(data), std::streamsize(bytes));
}

/// Creates a folder for `kernel` with the lowest number that is not used. Other processes may write to the parent
/// folder at the same time.
std::filesystem::path makeFolder(const std::string &folder, const std::string &kernel) {
  std::filesystem::create_directories(folder);
  for (int number = 0;; ++number) {
    char digits[16];
    std::snprintf(digits, sizeof digits, "%03d-", number);
    std::filesystem::path made = std::filesystem::path(folder) / (digits + kernel);
    if (std::filesystem::create_directory(made))
      return made;
  }
}

std::string triple(const ptx::Dimensions &sizes) {
  return "[" + std::to_string(sizes[0]) + ", " + std::to_string(sizes[1]) + ", " + std::to_string(sizes[2]) + "]";
}

template <typename Number, size_t size> std::string listOf(const std::array<Number, size> &numbers, unsigned count) {
  std::string list = "[";
  for (unsigned i = 0; i < count; ++i)
    list += (i ? ", " : "") + std::to_string(+numbers[i]);
  return list + "]";
}

/// Returns the map in the format of ptx-check's launch files (docs/targets/ptx-check.md), or an empty string if it is
/// invalid or refers to no buffer in `names`.
std::string tensorMapText(const ptx::TensorMap &map, const std::map<uint64_t, std::string> &names) {
  static constexpr const char *elements[] = {"u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16"};
  auto buffer = names.upper_bound(map.base);
  if (buffer == names.begin() || !map.problem().empty())
    return "";
  --buffer;
  return "{\"tensor_map\": {\"buffer\": \"" + buffer->second +
         "\", \"offset\": " + std::to_string(map.base - buffer->first) + ", \"dtype\": \"" +
         elements[unsigned(map.element)] + "\", \"dims\": " + listOf(map.dims, map.rank) +
         ", \"strides\": " + listOf(map.strides, map.rank - 1) +
         (map.windows
              ? ", \"lower\": " + listOf(map.lower, map.rank - 2) + ", \"upper\": " + listOf(map.upper, map.rank - 2) +
                    ", \"channels\": " + std::to_string(map.box[0]) + ", \"pixels\": " + std::to_string(map.pixels)
              : ", \"box\": " + listOf(map.box, map.rank)) +
         ", \"element_strides\": " + listOf(map.elementStrides, map.rank) +
         ", \"swizzle\": " + std::to_string(map.swizzle) + (map.fillNan ? ", \"fill_nan\": true}}" : "}}");
}

} // namespace

bool saveLaunch(const std::string &folder, const std::string &ptx, const ptx::Memory &memory, const ptx::Launch &launch,
                const std::vector<ptx::Argument> &arguments, std::string &error) {
  std::filesystem::path made;
  try {
    made = makeFolder(folder, launch.kernel);
  } catch (const std::filesystem::filesystem_error &problem) {
    error = "a launch cannot be saved: " + std::string(problem.what());
    return false;
  }
  std::string json = "{\"kernel\": \"" + launch.kernel + "\", \"grid\": " + triple(launch.grid) +
                     ", \"block\": " + triple(launch.block) +
                     ", \"dynamic_shared\": " + std::to_string(launch.dynamicShared) + ",\n \"buffers\": {";
  bool written = true;
  std::map<uint64_t, std::string> names;
  for (const auto &[address, allocation] : memory.all()) {
    std::string name = "buffer-" + std::to_string(names.size());
    json += (names.empty() ? "\"" : ",\n  \"") + name + "\": {\"file\": \"" + name + ".npy\", \"out\": \"" + name +
            ".after.npy\"}";
    std::ofstream file(made / (name + ".npy"), std::ios::binary);
    writeBytes(file, allocation.data, allocation.bytes);
    file.close();
    written &= bool(file);
    names.emplace(address, std::move(name));
  }
  json += "},\n \"arguments\": [";
  for (size_t i = 0; i < arguments.size(); ++i) {
    uint64_t value = 0;
    std::memcpy(&value, arguments[i].data(), std::min(arguments[i].size(), sizeof value));
    auto name = names.find(value);
    json += i ? ", " : "";
    ptx::TensorMap map;
    if (arguments[i].size() == sizeof map) {
      std::memcpy(&map, arguments[i].data(), sizeof map);
      std::string text = map.magic == ptx::TensorMap::kMagic ? tensorMapText(map, names) : "";
      if (text.empty()) {
        error = "a launch cannot be saved: an argument is a tensor map that refers to no buffer";
        return false;
      }
      json += text;
      continue;
    }
    json += name == names.end() ? "{\"u64\": " + std::to_string(value) + "}" : "{\"buffer\": \"" + name->second + "\"}";
  }
  json += "]}\n";
  std::ofstream launchFile(made / "launch.json"), module(made / "kernels.ptx");
  launchFile << json;
  module << ptx;
  launchFile.close();
  module.close();
  if (written && launchFile && module)
    return true;
  error = "a launch cannot be saved: " + made.string() + " cannot be written";
  return false;
}

} // namespace tilewright::runtime

//===- LaunchParameters.cpp - a launch's kernel parameters, kept between calls ------------===//
//
// Tests: test/Unit/Runtime/CUDA/DriverTest.cpp, test/Python/test_cuda_driver.py
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/CUDA/LaunchParameters.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

/// The value of CUtensorMapDataType for each TensorMapRecipe::Element.
constexpr int mapElements[] = {6, 9, 0, 11};
/// Returns the value of CUtensorMapSwizzle for a swizzle of `bytes` bytes.
int swizzleCode(uint32_t bytes) { return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0; }
constexpr int promoteTo256Bytes = 3;

} // namespace

LaunchParameters::Outcome LaunchParameters::set(const driver::Api &api, const GridLaunch &launch, uint64_t status,
                                                std::string &error) {
  const size_t numBuffers = launch.buffers.size();
  const size_t count = numBuffers + launch.numSizes + size_t(launch.checks);
  const bool fresh = pointers.empty();
  if (fresh) {
    words.assign(count, 0);
    maps.resize(launch.kernel->maps.size());
    for (uint64_t &word : words)
      pointers.push_back(&word);
    for (driver::TensorMap &map : maps)
      pointers.push_back(&map);
    pointers.push_back(nullptr); // one entry ensures that data() is not null for a kernel without parameters
  }
  bool moved = fresh, changed = fresh;
  auto write = [&](size_t at, uint64_t value, bool &differs) {
    differs |= words[at] != value;
    words[at] = value;
  };
  for (size_t i = 0; i < numBuffers; ++i)
    write(i, launch.buffers[i].address, moved);
  for (size_t i = 0; i < launch.numSizes; ++i)
    write(numBuffers + i, uint64_t(launch.sizes[i]), moved);
  if (launch.checks)
    write(count - 1, status, changed);
  if (moved && !maps.empty() && !encode(api, launch, error)) {
    pointers.clear(); // the next call builds the list and encodes the tensor maps again
    return Outcome::Failed;
  }
  return moved || changed ? Outcome::Changed : Outcome::Same;
}

bool LaunchParameters::encode(const driver::Api &api, const GridLaunch &launch, std::string &error) {
  const GridKernel &kernel = *launch.kernel;
  for (size_t i = 0; i < maps.size(); ++i) {
    const TensorMapRecipe &recipe = kernel.maps[i];
    MapShape shape;
    if (!shapeOfMap(recipe, launch.sizes, shape, error)) {
      error = "kernel " + kernel.name + " cannot be launched: " + error;
      return false;
    }
    const std::vector<uint64_t> sizes(shape.sizes.begin(), shape.sizes.end());
    const int element = mapElements[size_t(recipe.element)], swizzle = swizzleCode(recipe.swizzle);
    void *base = reinterpret_cast<void *>(launch.buffers[recipe.buffer].address);
    driver::Code code =
        recipe.pixels > 0
            ? api.encodeWindowMap(&maps[i], element, uint32_t(sizes.size()), base, sizes.data(), shape.strides.data(),
                                  shape.lower.data(), shape.upper.data(), shape.box.front(), recipe.pixels,
                                  shape.steps.data(), /*interleave=*/0, swizzle, promoteTo256Bytes, /*fill=*/0)
            : api.encodeTensorMap(&maps[i], element, uint32_t(sizes.size()), base, sizes.data(), shape.strides.data(),
                                  shape.box.data(), shape.steps.data(), /*interleave=*/0, swizzle, promoteTo256Bytes,
                                  /*fill=*/0);
    if (code != 0) {
      error = "a tensor map of kernel " + kernel.name + " cannot be encoded: " + api.explain(code);
      return false;
    }
  }
  return true;
}

} // namespace tilewright::runtime

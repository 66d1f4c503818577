//===- EmulatedDevice.cpp - run a plan's kernels in ptx-check's interpreter -----------===//
#include "lib/Runtime/CUDA/EmulatedDevice.h"
#include "lib/Runtime/CUDA/SaveLaunch.h"
#include "tilewright/PtxTensorMap.h"

#include <cstdlib>
#include <cstring>
#include <map>

namespace tilewright::runtime {
namespace {

/// A block of device memory, which is initialized with zeros so that runs are reproducible.
class Block {
public:
  explicit Block(size_t bytes)
      : memory(static_cast<uint8_t *>(std::aligned_alloc(256, (bytes + 511) / 256 * 256)), &std::free) {
    if (memory)
      std::memset(memory.get(), 0, bytes + 1);
  }
  uint8_t *data() const { return memory.get(); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory.get()); }

private:
  std::unique_ptr<uint8_t, void (*)(void *)> memory;
};

void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }

/// Returns the tensor map of `recipe` for a launch whose mapped buffer is at `data`, or nullopt with a reason in
/// `error`.
std::optional<ptx::TensorMap> encode(const TensorMapRecipe &recipe, const void *data, const int64_t *sizes,
                                     std::string &error) {
  MapShape shape;
  if (!shapeOfMap(recipe, sizes, shape, error))
    return std::nullopt;
  using Element = ptx::TensorMap::Element;
  constexpr Element elements[] = {Element::F16, Element::BF16, Element::U8,
                                  Element::TF32}; // indexed by TensorMapRecipe::Element
  const Element element = elements[size_t(recipe.element)];
  ptx::TensorMap map =
      recipe.pixels > 0
          ? ptx::windowMap(element, data, shape.sizes, shape.strides,
                           {shape.lower, shape.upper, shape.steps, shape.box.front(), recipe.pixels},
                           uint8_t(recipe.swizzle))
          : ptx::tensorMap(element, data, shape.sizes, shape.strides,
                           std::vector<uint16_t>(shape.box.begin(), shape.box.end()), uint8_t(recipe.swizzle));
  error = map.problem();
  return error.empty() ? std::optional(map) : std::nullopt;
}

} // namespace

/// State of one call: the addresses of its buffers, and copies of buffers that are not aligned to 16 bytes.
class EmulatedDevice::Call final : public GridDevice {
public:
  explicit Call(const EmulatedDevice &device) : device(device) {}

  bool resolve(const void *const *inputs, void *const *outputs, const GridPlan::Sized &sized, RunError &error) {
    const GridPlan &plan = *device.plan;
    for (size_t i = 0; i < sized.inputs.size(); ++i)
      if (!resolve(inputs[i], sized.inputs[i], plan.inPlace()[i], "input " + std::to_string(i), addresses.inputs,
                   error))
        return false;
    for (size_t i = 0; i < sized.outputs.size(); ++i)
      if (!resolve(outputs[i], sized.outputs[i], true, "output " + std::to_string(i), addresses.outputs, error))
        return false;
    for (int64_t bytes : plan.packedBytes()) {
      blocks.emplace_back(size_t(bytes));
      addresses.packed.push_back(blocks.back().address());
      if (!addresses.packed.back()) {
        error = {RunError::Kind::OutOfMemory,
                 "out of memory: " + std::to_string(bytes) + " bytes for packed constants"};
        return false;
      }
    }
    arena = Block(size_t(sized.frame.arenaBytes));
    if (!arena.data()) {
      error = {RunError::Kind::OutOfMemory, "out of memory: this call needs an arena of " +
                                                std::to_string(sized.frame.arenaBytes) +
                                                " bytes for intermediate results; use smaller inputs"};
      return false;
    }
    addresses.arena = arena.address();
    addresses.constants = reinterpret_cast<uint64_t>(plan.plan().constants.data());
    return true;
  }

  void writeBack() {
    for (Staged &each : staged)
      if (each.original)
        std::memcpy(each.original, each.copy.data(), each.bytes);
  }

  bool copy(int32_t, uint64_t to, uint64_t from, uint64_t bytes, RunError &) override {
    std::memmove(pointer(to), pointer(from), bytes);
    return true;
  }

  bool launch(const GridLaunch &launch, RunError &error) override;

  GridAddresses addresses;

private:
  struct Staged {
    void *original; ///< address to which the copy is written back; null: none
    size_t bytes;
    Block copy;
  };

  /// Appends an address to `list`: `data` if it has the alignment that kernels require, otherwise the address of a
  /// copy.
  bool resolve(const void *data, int64_t bytes, bool written, const std::string &name, std::vector<uint64_t> &list,
               RunError &error) {
    list.push_back(reinterpret_cast<uint64_t>(data));
    if (!data && bytes > 0) {
      error = name + " is a null pointer";
      return false;
    }
    if (bytes <= 0 || list.back() % bufferAlignment == 0)
      return true;
    staged.push_back({written ? const_cast<void *>(data) : nullptr, size_t(bytes), Block(size_t(bytes))});
    list.back() = staged.back().copy.address();
    if (!list.back()) {
      error = {RunError::Kind::OutOfMemory,
               "out of memory: " + std::to_string(bytes) + " bytes for an aligned copy of a tensor"};
      return false;
    }
    std::memcpy(staged.back().copy.data(), data, size_t(bytes));
    return true;
  }

  const EmulatedDevice &device;
  Block arena{0};
  Block status{24};
  std::vector<Block> blocks;
  std::vector<Staged> staged;
};

bool EmulatedDevice::Call::launch(const GridLaunch &launch, RunError &error) {
  // Register one allocation per address, because an operand and a result may have the same address.
  std::map<uint64_t, uint64_t> bounds;
  ptx::Memory memory;
  std::vector<ptx::Argument> arguments;
  for (const GridBuffer &buffer : launch.buffers) {
    arguments.push_back(ptx::argument(buffer.address));
    bounds[buffer.address] = std::max(bounds[buffer.address], buffer.bytes);
  }
  size_t count = 0;
  for (auto [address, bytes] : bounds)
    if (bytes > 0)
      memory.add(pointer(address), bytes, "buffer " + std::to_string(count++));
  for (size_t i = 0; i < launch.numSizes; ++i)
    arguments.push_back(ptx::argument(launch.sizes[i]));
  if (launch.checks) {
    std::memset(status.data(), 0, 24);
    memory.add(status.data(), 24, "status");
    arguments.push_back(ptx::argument(status.data()));
  }
  const GridKernel &kernel = *launch.kernel;
  for (const TensorMapRecipe &recipe : kernel.maps) {
    std::optional<ptx::TensorMap> map =
        encode(recipe, pointer(launch.buffers[recipe.buffer].address), launch.sizes, error.text);
    if (!map) {
      error = "kernel " + kernel.name + " cannot be launched: " + error.text;
      return false;
    }
    arguments.push_back(ptx::argument(*map));
  }
  ptx::Launch grid;
  grid.kernel = kernel.name;
  grid.dynamicShared = kernel.shared;
  grid.grid = {launch.grid, 1, 1};
  grid.block = {kernel.threads, 1, 1};
  if (const char *folder = std::getenv("TILEWRIGHT_SAVE_LAUNCHES"); folder && *folder)
    if (!saveLaunch(folder, device.text, memory, grid, arguments, error.text))
      return false;
  std::optional<ptx::Report> report = ptx::run(*device.module, memory, grid, arguments, error.text);
  if (!report) {
    error = "kernel " + kernel.name + " cannot be emulated: " + error.text;
    return false;
  }
  if (!report->findings.empty()) {
    error = launch.failure("ptx-check has findings in kernel " + kernel.name + " (" + launch.step->label + "):\n" +
                           report->text());
    return false;
  }
  int64_t values[3];
  std::memcpy(values, status.data(), sizeof(values));
  if (launch.checks && values[0]) {
    error = launch.outOfRange(values);
    return false;
  }
  return true;
}

std::unique_ptr<EmulatedDevice> EmulatedDevice::create(std::unique_ptr<GridPlan> plan, std::string ptx,
                                                       std::string &error) {
  std::unique_ptr<EmulatedDevice> device(new EmulatedDevice);
  device->module = ptx::Module::read(ptx, "kernels.ptx", error);
  if (!device->module)
    return nullptr;
  for (const GridKernel &kernel : plan->kernels())
    if (!device->module->parameters(kernel.name)) {
      error = "kernel " + kernel.name + " is not in the PTX";
      return nullptr;
    }
  device->plan = std::move(plan);
  device->text = std::move(ptx);
  return device;
}

bool EmulatedDevice::run(const void *const *inputs, void *const *outputs, const int64_t *symbols,
                         RunError &error) const {
  error = {};
  std::shared_ptr<const GridPlan::Sized> sized = plan->sized(symbols, error);
  if (!sized)
    return false;
  Call call(*this);
  if (!call.resolve(inputs, outputs, *sized, error) || !plan->walkOnce(call.addresses, call, error) ||
      !plan->walk(*sized, call.addresses, call, error))
    return false;
  call.writeBack();
  return true;
}

} // namespace tilewright::runtime

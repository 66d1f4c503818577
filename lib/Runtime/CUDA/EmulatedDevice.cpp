//===- EmulatedDevice.cpp - a plan's kernels on ptx-check's interpreter ---------------===//
#include "lib/Runtime/CUDA/EmulatedDevice.h"
#include "lib/Runtime/CUDA/SaveLaunch.h"
#include "tilewright/PtxTensorMap.h"

#include <cstdlib>
#include <cstring>
#include <map>

namespace tilewright::runtime {
namespace {

/// Kernels rely on it (DeviceCode.h).
constexpr size_t bufferAlignment = 16;

/// Memory of the device: zero, so that a run is the same each time.
class Block {
public:
  explicit Block(size_t bytes)
      : memory(static_cast<uint8_t *>(std::aligned_alloc(256, (bytes + 511) / 256 * 256)), &std::free) {
    if (memory)
      std::memset(memory.get(), 0, bytes + 1);
  }
  uint8_t *data() const { return memory.get(); }

private:
  std::unique_ptr<uint8_t, void (*)(void *)> memory;
};

/// A buffer of a launch, as the kernel sees it.
struct Bound {
  uint8_t *data;
  uint64_t bytes;
  bool written;
};

/// Whether every launch of the kernels has what their tensor maps name.
bool haveMapped(const std::vector<plan::Step> &steps, const std::vector<GridKernel> &kernels) {
  for (const plan::Step &step : steps)
    if (step.kind == plan::Step::Kind::Launch)
      for (const TensorMapRecipe &map : kernels[size_t(step.callee)].maps) {
        if (map.buffer >= step.operands.size())
          return false;
        for (const TensorMapRecipe::Dimension &dimension : map.dimensions)
          for (uint32_t size : dimension.sizes)
            if (size >= step.sizes.size())
              return false;
      }
  return true;
}

/// The map of a launch whose buffer lies at `data`, or an error.
std::optional<ptx::TensorMap> encode(const TensorMapRecipe &recipe, const void *data, const int64_t *sizes,
                                     std::string &error) {
  std::vector<uint32_t> counts;
  if (!recipe.elements(sizes, counts, error))
    return std::nullopt;
  using Element = ptx::TensorMap::Element;
  std::vector<uint16_t> box;
  std::vector<uint64_t> strides;
  constexpr Element elements[] = {Element::F16, Element::BF16, Element::U8,
                                  Element::F32}; // by TensorMapRecipe::Element
  const Element element = elements[size_t(recipe.element)];
  uint64_t bytes = element == Element::U8 ? 1 : element == Element::F32 ? 4 : 2; // of an element
  for (size_t i = 0; i < counts.size(); ++i) {
    box.push_back(uint16_t(recipe.dimensions[i].box));
    if (__builtin_mul_overflow(bytes, uint64_t(counts[i]), &bytes)) {
      error = "a tensor of a tensor map has more bytes than there are addresses";
      return std::nullopt;
    }
    if (i + 1 < counts.size())
      strides.push_back(bytes);
  }
  ptx::TensorMap map = ptx::tensorMap(element, data, counts, strides, box, uint8_t(recipe.swizzle));
  error = map.problem();
  return error.empty() ? std::optional(map) : std::nullopt;
}

} // namespace

/// What one call has: where its buffers lie, and copies of those that begin at no multiple of 16 bytes.
struct EmulatedDevice::Call {
  struct Staged {
    void *home; ///< null: it is not written back
    size_t bytes;
    Block copy;
  };

  std::vector<uint8_t *> inputs, outputs, packed;
  Block arena{0};
  Block status{24};
  std::vector<Block> blocks;
  std::vector<Staged> staged;

  /// `data` itself where kernels can read it, else a copy.
  uint8_t *stage(const void *data, int64_t bytes, bool written) {
    if (reinterpret_cast<uintptr_t>(data) % bufferAlignment == 0)
      return static_cast<uint8_t *>(const_cast<void *>(data));
    staged.push_back({written ? const_cast<void *>(data) : nullptr, size_t(bytes), Block(size_t(bytes))});
    if (data && staged.back().copy.data())
      std::memcpy(staged.back().copy.data(), data, size_t(bytes));
    return staged.back().copy.data();
  }

  void writeBack() {
    for (Staged &each : staged)
      if (each.home)
        std::memcpy(each.home, each.copy.data(), each.bytes);
  }
};

std::unique_ptr<EmulatedDevice> EmulatedDevice::create(plan::Plan plan, std::vector<GridKernel> kernels,
                                                       std::string ptx, std::string &error) {
  if (error = plan::verify(plan); !error.empty())
    return nullptr;
  std::unique_ptr<EmulatedDevice> device(new EmulatedDevice);
  if (kernels.size() != plan.kernels.size() || !plan.hostFunctions.empty()) {
    error = "the artifact's kernels are not those of its plan";
    return nullptr;
  }
  device->module = ptx::Module::read(ptx, "kernels.ptx", error);
  if (!device->module)
    return nullptr;
  for (const GridKernel &kernel : kernels)
    if (!device->module->parameters(kernel.name)) {
      error = "kernel " + kernel.name + " is not in the PTX";
      return nullptr;
    }
  if (!haveMapped(plan.once, kernels) || !haveMapped(plan.steps, kernels)) {
    error = "a tensor map is of a buffer or size that a launch of its kernel does not have";
    return nullptr;
  }
  for (const plan::Buffer &buffer : plan.buffers)
    if (buffer.kind == plan::Buffer::Kind::Packed) {
      int64_t bytes = plan::fixedBytes(buffer, error);
      if (bytes < 0)
        return nullptr;
      device->packedBytes.push_back(bytes);
    }
  device->program = std::move(plan);
  device->kernels = std::move(kernels);
  device->text = std::move(ptx);
  return device;
}

bool EmulatedDevice::run(const void *const *inputs, void *const *outputs, const int64_t *symbols,
                         std::string &error) const {
  std::vector<const plan::Step *> once, steps;
  for (const plan::Step &step : program.once)
    once.push_back(&step);
  for (const plan::Step &step : program.steps)
    steps.push_back(&step);
  const int64_t none = 0; // a null pointer would mean that no symbol is known
  Frame first, frame;
  if (!resolveFrame(program, once, nullptr, first, error) ||
      !resolveFrame(program, steps, symbols ? symbols : &none, frame, error))
    return false;
  Call call;
  call.inputs.resize(size_t(program.numInputs));
  call.outputs.resize(size_t(program.numOutputs));
  for (const plan::Buffer &buffer : program.buffers) {
    bool isInput = buffer.kind == plan::Buffer::Kind::Input;
    if (!isInput && buffer.kind != plan::Buffer::Kind::Output)
      continue;
    int64_t bytes = plan::evaluate(buffer.bytes, symbols, error);
    if (!error.empty())
      return false;
    const void *data = isInput ? inputs[buffer.index] : outputs[buffer.index];
    if (!data && bytes > 0) {
      error = std::string(isInput ? "input " : "output ") + std::to_string(buffer.index) + " is a null pointer";
      return false;
    }
    (isInput ? call.inputs : call.outputs)[size_t(buffer.index)] =
        call.stage(data, bytes, isInput ? buffer.inPlace : true);
    if (data && !(isInput ? call.inputs : call.outputs)[size_t(buffer.index)]) {
      error = "out of memory: a copy of a tensor of " + std::to_string(bytes) + " bytes at a multiple of 16 bytes";
      return false;
    }
  }
  for (int64_t bytes : packedBytes) {
    call.blocks.emplace_back(size_t(bytes));
    call.packed.push_back(call.blocks.back().data());
    if (!call.packed.back()) {
      error = "out of memory: " + std::to_string(bytes) + " bytes of packed constants";
      return false;
    }
  }
  call.arena = Block(size_t(frame.arenaBytes));
  if (!call.arena.data()) {
    error = "out of memory: this call needs an arena of " + std::to_string(frame.arenaBytes) +
            " bytes for what it computes on the way; use smaller inputs";
    return false;
  }
  if (!walk(first, call, error) || !walk(frame, call, error))
    return false;
  call.writeBack();
  return true;
}

bool EmulatedDevice::walk(const Frame &frame, Call &call, std::string &error) const {
  for (size_t i = 0; i < frame.steps.size(); ++i) {
    if (!launch(frame, i, call, error))
      return false;
    int64_t status[3];
    std::memcpy(status, call.status.data(), sizeof(status));
    if (frame.steps[i].checks && status[0]) {
      const plan::Step &step = program.steps[size_t(frame.steps[i].number)];
      error = "index " + std::to_string(status[1]) + " is out of range for a dimension of size " +
              std::to_string(status[2]) + ", in " + step.label + " [step " + std::to_string(frame.steps[i].number) +
              "]";
      return false;
    }
  }
  return true;
}

bool EmulatedDevice::launch(const Frame &frame, size_t number, Call &call, std::string &error) const {
  const Frame::Step &step = frame.steps[number];
  std::vector<Bound> bound;
  size_t end = frame.operandsOf(number + 1);
  for (size_t i = step.firstOperand; i < end; ++i) {
    const Frame::Operand &operand = frame.operands[i];
    uint8_t *base = nullptr;
    switch (operand.space) {
    case Frame::Space::Input:
      base = call.inputs[size_t(operand.index)];
      break;
    case Frame::Space::Output:
      base = call.outputs[size_t(operand.index)];
      break;
    case Frame::Space::Packed:
      base = call.packed[size_t(operand.index)];
      break;
    case Frame::Space::Arena:
      base = call.arena.data();
      break;
    case Frame::Space::Constant:
      base = const_cast<uint8_t *>(program.constants.data());
      break;
    }
    bound.push_back({base + operand.offset, uint64_t(operand.bytes), false});
  }
  if (step.kind == plan::Step::Kind::Copy) {
    std::memmove(bound[1].data, bound[0].data, size_t(step.copyBytes));
    return true;
  }
  const GridKernel &kernel = kernels[size_t(step.callee)];
  if (step.grid > INT32_MAX) {
    error = "kernel " + kernel.name + " has " + std::to_string(step.grid) + " blocks; a launch takes 2147483647";
    return false;
  }
  // One allocation for each place: an operand that is also a result is one buffer.
  std::map<uint8_t *, uint64_t> places;
  ptx::Memory memory;
  std::vector<ptx::Argument> arguments;
  for (const Bound &buffer : bound) {
    arguments.push_back(ptx::argument(buffer.data));
    places[buffer.data] = std::max(places[buffer.data], buffer.bytes);
  }
  size_t count = 0;
  for (auto [data, bytes] : places)
    if (bytes > 0)
      memory.add(data, bytes, "buffer " + std::to_string(count++));
  size_t lastSize = number + 1 < frame.steps.size() ? frame.steps[number + 1].firstSize : frame.sizes.size();
  for (size_t i = step.firstSize; i < lastSize; ++i)
    arguments.push_back(ptx::argument(frame.sizes[i]));
  if (step.checks) {
    std::memset(call.status.data(), 0, 24);
    memory.add(call.status.data(), 24, "status");
    arguments.push_back(ptx::argument(call.status.data()));
  }
  for (const TensorMapRecipe &recipe : kernel.maps) {
    std::optional<ptx::TensorMap> map =
        encode(recipe, bound[recipe.buffer].data, frame.sizes.data() + step.firstSize, error);
    if (!map) {
      error = "kernel " + kernel.name + " cannot be launched: " + error;
      return false;
    }
    arguments.push_back(ptx::argument(*map));
  }
  ptx::Launch launch;
  launch.kernel = kernel.name;
  launch.dynamicShared = kernel.shared;
  launch.grid = {uint32_t(step.grid), 1, 1};
  launch.block = {kernel.threads, 1, 1};
  if (const char *folder = std::getenv("TILEWRIGHT_SAVE_LAUNCHES"); folder && *folder)
    if (!saveLaunch(folder, text, memory, launch, arguments, error))
      return false;
  std::optional<ptx::Report> report = ptx::run(*module, memory, launch, arguments, error);
  if (!report) {
    error = "kernel " + kernel.name + " cannot be emulated: " + error;
    return false;
  }
  if (report->findings.empty())
    return true;
  error = "the checker of PTX objects to kernel " + kernel.name + " (" +
          (step.number < int32_t(program.steps.size()) ? program.steps[size_t(step.number)].label : "") + "):\n" +
          report->text();
  if (step.number < int32_t(program.steps.size())) // whoever knows the user's lines puts them in its place
    error += "kernel " + kernel.name + " is launched by " + program.steps[size_t(step.number)].label + " [step " +
             std::to_string(step.number) + "]";
  return false;
}

} // namespace tilewright::runtime

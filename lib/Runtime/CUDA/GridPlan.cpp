//===- GridPlan.cpp - a plan whose kernels run as grids, on any device ------------------===//
#include "lib/Runtime/CUDA/GridPlan.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

/// Returns true if every launch has the buffers and sizes to which the tensor maps of its kernel refer.
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

size_t checksOf(const Frame &frame) {
  return size_t(std::count_if(frame.steps.begin(), frame.steps.end(), [](auto &step) { return step.checks; }));
}
} // namespace

std::optional<size_t> GridLaunch::planStep() const { return once ? std::nullopt : std::optional(size_t(number)); }

RunError GridLaunch::failure(std::string what) const {
  RunError error = std::move(what) + "kernel " + kernel->name + " is launched by " + step->label;
  error.step = planStep();
  return error;
}

RunError GridLaunch::outOfRange(const int64_t *status) const {
  RunError error(RunError::Kind::IndexOutOfRange, "index " + std::to_string(status[1]) +
                                                      " is out of range for a dimension of size " +
                                                      std::to_string(status[2]) + ", in " + step->label);
  error.step = planStep();
  return error;
}

bool shapeOfMap(const TensorMapRecipe &recipe, const int64_t *sizes, MapShape &shape, std::string &error) {
  shape = {};
  if (!recipe.elements(sizes, shape.sizes, error))
    return false;
  using Element = TensorMapRecipe::Element;
  uint64_t bytes = recipe.element == Element::I8 ? 1 : recipe.element == Element::TF32 ? 4 : 2; // bytes per element
  for (size_t i = 0; i < shape.sizes.size(); ++i) {
    shape.box.push_back(recipe.dimensions[i].box);
    shape.steps.push_back(recipe.dimensions[i].step);
    if (recipe.hasWindows(i)) {
      shape.lower.push_back(recipe.dimensions[i].lower);
      shape.upper.push_back(recipe.dimensions[i].upper);
    }
    if (__builtin_mul_overflow(bytes, uint64_t(shape.sizes[i]), &bytes)) {
      error = "the tensor of a tensor map is larger than the 64-bit address space";
      return false;
    }
    if (i + 1 < shape.sizes.size())
      shape.strides.push_back(bytes);
  }
  return true;
}

std::unique_ptr<GridPlan> GridPlan::create(plan::Plan plan, std::vector<GridKernel> kernels, std::string &error) {
  if (error = plan::verify(plan); !error.empty())
    return nullptr;
  if (kernels.size() != plan.kernels.size() || !plan.hostFunctions.empty()) {
    error = "the artifact's kernels do not match its plan";
    return nullptr;
  }
  if (!haveMapped(plan.once, kernels) || !haveMapped(plan.steps, kernels)) {
    error = "a tensor map refers to a buffer or size that a launch of its kernel does not have";
    return nullptr;
  }
  std::unique_ptr<GridPlan> result(new GridPlan);
  result->onceInputs.resize(size_t(plan.numInputs));
  result->written.resize(size_t(plan.numInputs));
  for (const plan::Buffer &buffer : plan.buffers) {
    if (buffer.kind == plan::Buffer::Kind::Input)
      result->written[size_t(buffer.index)] = buffer.inPlace;
    if (buffer.kind != plan::Buffer::Kind::Packed)
      continue;
    int64_t bytes = plan::fixedBytes(buffer, error);
    if (bytes < 0)
      return nullptr;
    result->packed.push_back(bytes);
  }
  std::vector<const plan::Step *> once;
  for (const plan::Step &step : plan.once) {
    once.push_back(&step);
    for (const plan::Operand &operand : step.operands)
      if (const plan::Buffer &buffer = plan.buffers[size_t(operand.buffer)]; buffer.kind == plan::Buffer::Kind::Input)
        result->onceInputs[size_t(buffer.index)] = true;
  }
  if (!resolveFrame(plan, once, nullptr, result->onceFrame, error))
    return nullptr;
  result->checksOfOnce = checksOf(result->onceFrame);
  result->program = std::move(plan);
  result->table = std::move(kernels);
  return result;
}

std::shared_ptr<const GridPlan::Sized> GridPlan::sized(const int64_t *symbols, RunError &error) const {
  std::vector<int64_t> values(program.symbols.size());
  if (symbols)
    std::copy_n(symbols, values.size(), values.begin());
  {
    auto known = last.lock();
    if (*known && (*known)->frame.symbols == values)
      return *known;
  }
  auto fresh = std::make_shared<Sized>();
  if (!resolveFrame(program, symbols, fresh->frame, error))
    return nullptr;
  fresh->frame.symbols = std::move(values);
  fresh->checks = checksOf(fresh->frame);
  fresh->inputs.assign(size_t(program.numInputs), -1);
  fresh->outputs.assign(size_t(program.numOutputs), -1);
  for (const plan::Buffer &buffer : program.buffers)
    if (buffer.kind == plan::Buffer::Kind::Input || buffer.kind == plan::Buffer::Kind::Output) {
      int64_t bytes = plan::evaluate(buffer.bytes, symbols, error.text);
      if (!error.text.empty())
        return nullptr;
      (buffer.kind == plan::Buffer::Kind::Input ? fresh->inputs : fresh->outputs)[size_t(buffer.index)] = bytes;
    }
  return *last.lock() = std::move(fresh);
}

std::vector<std::vector<uint32_t>> GridPlan::stepsBefore(const Sized &sized) const {
  std::vector<bool> writes;
  for (const Frame::Step &step : sized.frame.steps) {
    const plan::Step &of = program.steps[size_t(step.number)];
    for (size_t i = 0; i < of.operands.size(); ++i)
      writes.push_back(plan::writesOperand(of, i));
  }
  return runtime::stepsBefore(sized.frame, program.steps.size(), writes, written);
}

bool GridPlan::walkOnce(const GridAddresses &addresses, GridDevice &device, RunError &error) const {
  return walk(onceFrame, /*once=*/true, addresses, device, error);
}

bool GridPlan::walk(const Sized &sized, const GridAddresses &addresses, GridDevice &device, RunError &error) const {
  return walk(sized.frame, /*once=*/false, addresses, device, error);
}

bool GridPlan::walk(const Frame &frame, bool once, const GridAddresses &addresses, GridDevice &device,
                    RunError &error) const {
  GridLaunch launch;
  for (size_t i = 0; i < frame.steps.size(); ++i) {
    const Frame::Step &step = frame.steps[i];
    launch.buffers.clear();
    for (size_t at = step.firstOperand, end = frame.operandsOf(i + 1); at < end; ++at) {
      const Frame::Operand &operand = frame.operands[at];
      uint64_t base = 0;
      switch (operand.space) {
      case Frame::Space::Input:
        base = addresses.inputs[size_t(operand.index)];
        break;
      case Frame::Space::Output:
        base = addresses.outputs[size_t(operand.index)];
        break;
      case Frame::Space::Packed:
        base = addresses.packed[size_t(operand.index)];
        break;
      case Frame::Space::Arena:
        base = addresses.arena;
        break;
      case Frame::Space::Constant:
        base = addresses.constants;
        break;
      }
      launch.buffers.push_back({base + uint64_t(operand.offset), uint64_t(operand.bytes)});
    }
    if (step.kind == plan::Step::Kind::Copy) {
      if (!device.copy(step.number, launch.buffers[1].address, launch.buffers[0].address, uint64_t(step.copyBytes),
                       error))
        return false;
      continue;
    }
    launch.kernel = &table[size_t(step.callee)];
    launch.callee = step.callee;
    launch.step = &(once ? program.once : program.steps)[size_t(step.number)];
    launch.number = step.number;
    launch.once = once;
    launch.checks = step.checks;
    if (step.grid > INT32_MAX) {
      error = "kernel " + launch.kernel->name + " has " + std::to_string(step.grid) +
              " blocks; a launch has at most 2147483647";
      return false;
    }
    launch.grid = uint32_t(step.grid);
    launch.sizes = frame.sizes.data() + step.firstSize;
    launch.numSizes = (i + 1 < frame.steps.size() ? frame.steps[i + 1].firstSize : frame.sizes.size()) - step.firstSize;
    if (!device.launch(launch, error))
      return false;
  }
  return true;
}

} // namespace tilewright::runtime

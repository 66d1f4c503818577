//===- Run.cpp - modules, memory and launches --------------------------------------------------===//
#include "lib/PtxInterpreter/Machine.h"

#include <algorithm>

namespace tilewright::ptx {
namespace {

std::string shown(const Dimensions &size) {
  return std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
}

/// Returns the number of blocks per cluster in each dimension. The launch or the kernel specifies this number; the
/// default is 1.
Dimensions clusterOf(const Code &code, const Launch &launch) {
  if (launch.cluster[0] || launch.cluster[1] || launch.cluster[2])
    return launch.cluster;
  Dimensions made = {1, 1, 1};
  const std::vector<uint32_t> &required = code.functions[0].syntax->requiredCluster;
  std::copy_n(required.begin(), std::min<size_t>(3, required.size()), made.begin());
  return made;
}

std::string clusterRefusal(const Code &code, const Launch &launch) {
  const Dimensions cluster = clusterOf(code, launch);
  const std::vector<uint32_t> &required = code.functions[0].syntax->requiredCluster;
  uint64_t blocks = uint64_t(cluster[0]) * cluster[1] * cluster[2];
  if (!blocks || cluster[0] > kMaxCluster || cluster[1] > kMaxCluster || cluster[2] > kMaxCluster ||
      blocks > kMaxCluster)
    return "a cluster of " + shown(cluster) + " blocks: it must have 1 to " + std::to_string(kMaxCluster);
  if (!required.empty() && cluster != clusterOf(code, Launch()))
    return "a cluster of " + shown(cluster) + " blocks, but the kernel requires .reqnctapercluster " +
           shown(clusterOf(code, Launch()));
  for (size_t i = 0; i < 3; ++i)
    if (launch.grid[i] % cluster[i])
      return "a grid of " + shown(launch.grid) + " blocks is not a multiple of its clusters of " + shown(cluster);
  if (blocks > 1 && code.sharedBytes >> kRankShift)
    return "more shared memory than the checker can address in a cluster";
  return "";
}

/// Returns the reason why a device or the interpreter cannot execute the launch, or an empty string if the launch is
/// valid.
std::string refusal(const Code &code, const Launch &launch, const std::vector<Argument> &arguments) {
  const FunctionSyntax &kernel = *code.functions[0].syntax;
  const Dimensions &block = launch.block;
  uint64_t threads = uint64_t(block[0]) * block[1] * block[2];
  if (threads == 0 || block[0] > 1024 || block[1] > 1024 || block[2] > 64 || threads > 1024)
    return "a block of " + shown(block) + " threads: it must have 1 to 1024, at most 1024x1024x64";
  if (!launch.grid[0] || !launch.grid[1] || !launch.grid[2] || launch.grid[0] > 0x7fffffff || launch.grid[1] > 65535 ||
      launch.grid[2] > 65535)
    return "a grid of " + shown(launch.grid) + " blocks: each side must be at least 1, at most 2147483647x65535x65535";
  if (uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2] > 0xffffffff)
    return "a grid of " + shown(launch.grid) + " blocks is more than the checker supports (2^32 - 1)";
  if (!kernel.requiredThreads.empty()) {
    Dimensions required = {1, 1, 1};
    std::copy_n(kernel.requiredThreads.begin(), std::min<size_t>(3, kernel.requiredThreads.size()), required.begin());
    if (required != block)
      return "a block of " + shown(block) + " threads, but the kernel requires .reqntid " + shown(required);
  }
  uint64_t most = kernel.maximalThreads.empty() ? 1024 : 1;
  for (uint32_t side : kernel.maximalThreads)
    most *= side;
  if (threads > most)
    return "a block of " + std::to_string(threads) + " threads, but the kernel allows .maxntid " + std::to_string(most);
  uint64_t limit = code.syntax->target.compare(0, 4, "sm_9") == 0 || code.syntax->target.compare(0, 4, "sm_1") == 0
                       ? 232448
                   : code.syntax->target == "sm_86" || code.syntax->target == "sm_89" ? 101376
                                                                                      : 166912;
  if (code.staticShared > limit)
    return std::to_string(code.staticShared) + " bytes of shared memory, but a block on " + code.syntax->target +
           " has at most " + std::to_string(limit);
  if (std::string why = clusterRefusal(code, launch); !why.empty())
    return why;
  if (arguments.size() != code.parameters.size())
    return std::to_string(arguments.size()) + " arguments, but the kernel has " +
           std::to_string(code.parameters.size()) + " parameters";
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].size() != code.parameters[i].bytes)
      return "argument " + std::to_string(i) + " has " + std::to_string(arguments[i].size()) +
             " bytes, but the parameter '" + code.parameters[i].name + "' has " +
             std::to_string(code.parameters[i].bytes);
  if (!launch.residentBlocks)
    return "residentBlocks is 0";
  return "";
}

} // namespace

std::unique_ptr<Module> Module::read(const std::string &text, const std::string &file, std::string &error) {
  std::unique_ptr<Module> module(new Module());
  module->tree = std::make_unique<Syntax>();
  if (!parse(text, file, *module->tree, error))
    return nullptr;
  for (const Variable &variable : module->tree->variables)
    if (variable.space == Space::Global || variable.space == Space::Const) {
      // Allocate extra bytes, so that the variable can be aligned.
      std::vector<uint8_t> &bytes = module->storage[variable.name];
      bytes.resize(variable.bytes + variable.align);
      std::copy(variable.initial.begin(), variable.initial.end(), module->variable(variable.name).first);
    }
  return module;
}

Module::~Module() = default;

std::vector<std::string> Module::kernels() const {
  std::vector<std::string> names;
  for (const FunctionSyntax &function : tree->functions)
    if (function.entry && function.defined)
      names.push_back(function.name);
  return names;
}

std::optional<std::vector<Parameter>> Module::parameters(const std::string &kernel) const {
  const FunctionSyntax *function = tree->find(kernel);
  if (!function || !function->entry)
    return std::nullopt;
  std::vector<Parameter> list;
  for (const Variable &variable : function->variables)
    if (variable.role == Variable::Role::Formal)
      list.push_back({variable.name, variable.bytes, variable.align});
  return list;
}

std::pair<uint8_t *, size_t> Module::variable(const std::string &name) const {
  auto found = storage.find(name);
  if (found == storage.end())
    return {nullptr, 0};
  for (const Variable &variable : tree->variables)
    if (variable.name == name) {
      uint64_t begin = reinterpret_cast<uint64_t>(found->second.data());
      uint64_t aligned = (begin + variable.align - 1) / variable.align * variable.align;
      return {reinterpret_cast<uint8_t *>(aligned), variable.bytes};
    }
  return {nullptr, 0};
}

void Memory::add(void *data, uint64_t bytes, std::string name, bool initialised, bool constant) {
  list[reinterpret_cast<uint64_t>(data)] = {static_cast<uint8_t *>(data), bytes, std::move(name), initialised,
                                            constant};
}
void Memory::remove(const void *data) { list.erase(reinterpret_cast<uint64_t>(data)); }

std::optional<Report> run(const Module &module, const Memory &memory, const Launch &launch,
                          const std::vector<Argument> &arguments, std::string &error) {
  const Syntax &syntax = module.syntax();
  GlobalAddresses addresses;
  Memory all = memory;
  for (const Variable &variable : syntax.variables) {
    auto [data, bytes] = module.variable(variable.name);
    addresses.push_back(reinterpret_cast<uint64_t>(data));
    if (bytes)
      all.add(data, bytes, variable.name, true, variable.space == Space::Const);
  }
  std::unique_ptr<Code> code = decode(syntax, launch.kernel, addresses, launch.dynamicShared, error);
  if (!code)
    return std::nullopt;
  std::string why = refusal(*code, launch, arguments);
  if (!why.empty()) {
    error = launch.kernel + ": " + why;
    return std::nullopt;
  }
  Report report;
  report.seed = launch.seed;
  Grid grid{*code, launch, report};
  grid.random = launch.seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  if (!grid.random)
    grid.random = 1;
  grid.cluster = clusterOf(*code, launch);
  grid.costs.resize(code->instrs.size());
  for (const auto &[address, allocation] : all.all()) {
    if (!allocation.bytes)
      continue;
    GlobalObject object;
    object.begin = address;
    object.bytes = allocation.bytes;
    object.allocation = &allocation;
    if (!launch.sampledClusters)
      object.shadow.reset(allocation.bytes);
    if (!allocation.initialised && !launch.sampledClusters)
      object.written.resize(allocation.bytes);
    grid.objects.push_back(std::move(object));
  }
  grid.parameters.resize(code->parameterBytes);
  for (size_t i = 0; i < arguments.size(); ++i)
    std::copy(arguments[i].begin(), arguments[i].end(),
              grid.parameters.begin() + std::ptrdiff_t(code->parameterOffsets[i]));
  if (launch.sampledClusters)
    grid.timing = std::make_unique<Timing>(*code);
  runGrid(grid);
  if (grid.timing)
    report.profile = grid.timing->result(uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2]);
  report.instructions = grid.steps;
  for (uint32_t pc = 0; pc < grid.costs.size(); ++pc) {
    const Cost &cost = grid.costs[pc];
    if (!cost.extraWavefronts && cost.sectors == cost.leastSectors)
      continue;
    AccessCost reported;
    reported.line = code->statement(pc).line;
    reported.instruction = code->statement(pc).opcode;
    reported.executions = cost.executions;
    reported.extraWavefronts = cost.extraWavefronts;
    reported.sectors = cost.sectors;
    reported.leastSectors = cost.leastSectors;
    report.costs.push_back(std::move(reported));
  }
  return report;
}

} // namespace tilewright::ptx

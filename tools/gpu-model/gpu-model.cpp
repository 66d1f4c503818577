//===- gpu-model.cpp - evaluate the cost model of GPU products on recorded tables -----------===//
//
//   gpu-model --tables=test/Tuner/Inputs/gpu/h200-products.jsonl
//
// A line of a file of tables has the times of the schedules of one product on a GPU:
//   {"kernel": "bf16-512x4096x4096", "schedules": [[{"consumer_rows": 64, "n": 128, "stages": 4, ...}, 0.0416], ...]}
// The name of the kernel has the element type, rows, columns and terms of the product; `gelu` after the type stands for
// a bias and GELU in the epilogue. Times are in milliseconds. Other fields of a line are ignored.
//
// The program prints one line of JSON: the parameters of the model, and the measured and predicted times in nanoseconds
// of each table. Then it prints the predicted times for each line of standard input, which is an array of values of the
// parameters. tools/dev/fit_wgmma.py fits the parameters with this program.
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/KnobNames.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupProduct.h"
#include "lib/Codegen/GPU/Schedule/WgmmaModel.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Regex.h"
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace tilewright;
using namespace tilewright::gpu;
using Json = nlohmann::json;

namespace {

struct Table {
  std::string kernel;
  ProductSizes sizes;
  std::vector<Schedule> schedules;
  std::vector<double> measured; ///< nanoseconds
};

int64_t integer(llvm::StringRef text) {
  int64_t value = 0;
  if (text.getAsInteger(10, value) || value < 1)
    throw std::runtime_error("'" + text.str() + "' is not a positive number");
  return value;
}

/// Returns the sizes of the product with the name `kernel`.
ProductSizes sizesOf(const std::string &kernel) {
  llvm::SmallVector<llvm::StringRef> parts;
  if (!llvm::Regex("^(bf16|f16|fp8)(gelu)?-([0-9]+)x([0-9]+)x([0-9]+)$").match(kernel, &parts))
    throw std::runtime_error("kernel '" + kernel +
                             "' does not have the form TYPE-MxNxK, where TYPE is bf16, f16 or "
                             "fp8, optionally followed by gelu");
  const bool narrow = parts[1] == "fp8";
  constexpr int64_t resultBytes = 2; // results are bf16 or f16
  return {integer(parts[3]), integer(parts[4]), integer(parts[5]), /*batches=*/1,
          narrow ? 1 : 2,    resultBytes,       narrow ? 2 : 1,    !parts[2].empty()};
}

Schedule scheduleOf(const Json &knobs, const ProductSizes &sizes) {
  Schedule schedule;
  schedule.kind = Schedule::Kind::Wgmma;
  int64_t rows = 0;
  for (const auto &[name, value] : knobs.items()) {
    llvm::StringRef knob = schedule::presentKnobName(name);
    int64_t *const number = llvm::StringSwitch<int64_t *>(knob)
                                .Case("consumer_rows", &rows)
                                .Case("consumers", &schedule.consumers)
                                .Case("n", &schedule.n)
                                .Case("stages", &schedule.stages)
                                .Case("tile_rows_per_band", &schedule.tileRowsPerBand)
                                .Case("tiles_per_block", &schedule.tilesPerBlock)
                                .Case("cluster", &schedule.cluster)
                                .Case("split_k", &schedule.splitK)
                                .Default(nullptr);
    if (!number)
      throw std::runtime_error("a schedule of the kind wgmma has no knob '" + name + "'");
    *number = value;
  }
  if (rows < 1 || schedule.consumers < 1 || schedule.n < 1 || schedule.stages < 1)
    throw std::runtime_error("a schedule lacks consumer_rows, consumers, n or stages: " + knobs.dump());
  schedule.m = rows * schedule.consumers;
  schedule.k = lineBytes / sizes.bytes;
  schedule.threads = (schedule.consumers + 1) * warpGroupSize;
  return schedule;
}

std::vector<Table> readTables(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error("cannot read the file");
  std::vector<Table> tables;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    if (json.at("schedules").empty())
      continue; // a kernel that has only one schedule
    Table table{json.at("kernel"), sizesOf(json.at("kernel")), {}, {}};
    for (const Json &pair : json.at("schedules")) {
      Schedule schedule = scheduleOf(pair.at(0), table.sizes);
      // Clusters were measured when each step had a fence, which the present code does not have (decision 0030).
      if (schedule.cluster > 1)
        continue;
      table.schedules.push_back(schedule);
      table.measured.push_back(pair.at(1).get<double>() * 1e6);
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

Json predicted(const std::vector<Table> &tables, const Arch &arch, const WgmmaRates &rates) {
  Json all = Json::array();
  for (const Table &table : tables) {
    Json times = Json::array();
    for (const Schedule &schedule : table.schedules)
      times.push_back(nanosecondsOfWgmma(schedule, table.sizes, arch, rates));
    all.push_back(std::move(times));
  }
  return all;
}

} // namespace

int main(int argc, char **argv) {
  llvm::cl::OptionCategory category("gpu-model");
  llvm::cl::opt<std::string> path("tables", llvm::cl::Required, llvm::cl::cat(category), llvm::cl::value_desc("file"),
                                  llvm::cl::desc("tables of measured times, one JSON object per line"));
  llvm::cl::opt<std::string> archName("arch", llvm::cl::init("sm_90a"), llvm::cl::cat(category),
                                      llvm::cl::value_desc("name"), llvm::cl::desc("the architecture of the GPU"));
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(argc, argv, "Evaluates the cost model of GPU products on recorded tables.\n");
  llvm::Expected<Arch> arch = findArch(archName);
  if (!arch) {
    std::cerr << "gpu-model: " << llvm::toString(arch.takeError()) << "\n";
    return 1;
  }
  try {
    const std::vector<Table> tables = readTables(path);
    Json parameters = Json::array(), kernels = Json::array(), measured = Json::array();
    WgmmaRates rates;
    for (const WgmmaRate &rate : wgmmaRates())
      parameters.push_back(
          {{"name", rate.name.str()}, {"value", rates.*rate.value}, {"least", rate.least}, {"most", rate.most}});
    for (const Table &table : tables) {
      kernels.push_back(table.kernel);
      measured.push_back(table.measured);
    }
    std::cout << Json{{"parameters", parameters},
                      {"kernels", kernels},
                      {"measured", measured},
                      {"predicted", predicted(tables, *arch, rates)}}
              << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      const Json values = Json::parse(line);
      if (values.size() != wgmmaRates().size())
        throw std::runtime_error("a line of standard input has " + std::to_string(values.size()) +
                                 " numbers, but the model has " + std::to_string(wgmmaRates().size()) + " parameters");
      for (auto [rate, value] : llvm::zip(wgmmaRates(), values))
        rates.*rate.value = value;
      std::cout << predicted(tables, *arch, rates) << std::endl;
    }
  } catch (const std::exception &error) {
    std::cerr << "gpu-model: " << path << ": " << error.what() << "\n";
    return 1;
  }
  return 0;
}

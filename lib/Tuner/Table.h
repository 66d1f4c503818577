//===- Table.h - recorded times of every schedule of a kernel ----------------------------------------===//
//
// A table contains the recorded times of a whole schedule space (`tilewright tune --record-tables`). Tests of the tuner
// use the table to simulate the machine on which it was recorded, with additional noise and faults.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_TABLE_H
#define TILEWRIGHT_LIB_TUNER_TABLE_H

#include "lib/Tuner/Search.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tilewright::tuner {

struct Table {
  std::string name; ///< the file's name, without ".json"
  std::string operations, family, machine;
  std::vector<int64_t> sizes;
  Searched searched;
  std::vector<double> nanoseconds; ///< time of each point; 0: the point cannot run
  std::vector<double> outside;     ///< times of schedules that the space excludes
};

/// Writes `table` to a file in `folder`, whose name consists of the kernel's operations and sizes and the
/// first characters of its family.
llvm::Error writeTable(const Table &table, llvm::StringRef folder);

/// Returns all tables of `folder`, sorted by name.
llvm::Expected<std::vector<Table>> readTables(llvm::StringRef folder);

/// The deviations of a simulated device from the table's times.
struct Disturbance {
  double noise = 0.01;  ///< standard deviation of the logarithm of a time
  double drift = 0.01;  ///< standard deviation of the logarithm of a factor common to a round's times
  double spikes = 0.02; ///< fraction of times that are multiplied by 1.5, as if other programs ran
  double faults = 0;    ///< fraction of schedules that crash, hang or are killed
};

/// Returns a simulated device with the times of the table. Equal seeds result in equal times.
std::unique_ptr<Bench> simulatedBench(const Table &table, const Disturbance &disturbance, uint64_t seed);

} // namespace tilewright::tuner

#endif

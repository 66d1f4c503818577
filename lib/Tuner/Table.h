//===- Table.h - every schedule of a kernel, measured once -------------------------------------------===//
//
// A whole space with its times, recorded on a machine (`tilewright tune --record-tables`): the tuner is tried on it as
// on a device, with noise and faults put in, where nobody has that machine.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_TABLE_H
#define TILEWRIGHT_LIB_TUNER_TABLE_H

#include "lib/Tuner/Search.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tilewright::tuner {

struct Table {
  std::string name; ///< of its file, without ".json"
  std::string operations, family, machine;
  std::vector<int64_t> sizes;
  Searched searched;
  std::vector<double> nanoseconds; ///< per point; 0: it cannot be run
  std::vector<double> outside;     ///< the same of schedules that the space leaves out
};

/// Writes `table` into `folder` under a name made of its operations and sizes.
llvm::Error writeTable(const Table &table, llvm::StringRef folder);

/// All tables of `folder`, by name.
llvm::Expected<std::vector<Table>> readTables(llvm::StringRef folder);

/// What a simulated device does beside taking the table's time.
struct Disturbance {
  double noise = 0.01;  ///< standard deviation of the logarithm of a time
  double drift = 0.01;  ///< the same of a round, of all its times together
  double spikes = 0.02; ///< of times: something else ran, it took half as long again
  double faults = 0;    ///< of schedules: they crash, hang or are killed
};

/// The table as a device; the same seed, the same times.
std::unique_ptr<Bench> simulatedBench(const Table &table, const Disturbance &disturbance, uint64_t seed);

} // namespace tilewright::tuner

#endif

//===- ReadFacts.h - read designs from JSON -----------------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_HLS_ESTIMATE_READFACTS_H
#define TILEWRIGHT_TOOLS_HLS_ESTIMATE_READFACTS_H

#include "lib/Codegen/HLS/Estimate/DesignFacts.h"
#include <string>
#include <vector>

namespace tilewright::hls {

/// Reads the designs in a JSON file. The README of test/Conformance/hls/public describes the format. If the file is
/// invalid, returns false and stores the reason in `error`.
bool readFacts(const std::string &path, std::vector<DesignFacts> &designs, std::string &error);

} // namespace tilewright::hls

#endif

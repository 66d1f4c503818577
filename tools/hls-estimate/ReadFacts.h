//===- ReadFacts.h - read designs from JSON -----------------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_HLS_ESTIMATE_READFACTS_H
#define TILEWRIGHT_TOOLS_HLS_ESTIMATE_READFACTS_H

#include "lib/Codegen/HLS/Estimate/DesignFacts.h"
#include <string>
#include <vector>

namespace tilewright::hls {

/// Reads the designs of a file of test/Conformance/hls/public, whose README describes the format. Returns false with a
/// reason if the file is invalid.
bool readFacts(const std::string &path, std::vector<DesignFacts> &designs, std::string &error);

} // namespace tilewright::hls

#endif

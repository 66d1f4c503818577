//===- ReadFacts.h - designs as JSON ------------------------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_HLS_ESTIMATE_READFACTS_H
#define TILEWRIGHT_TOOLS_HLS_ESTIMATE_READFACTS_H

#include "lib/Target/HLS/Estimate/DesignFacts.h"
#include <string>
#include <vector>

namespace tilewright::hls {

/// The designs of a file of test/Conformance/hls/public (its README says what is in it). False and why.
bool readFacts(const std::string &path, std::vector<DesignFacts> &designs, std::string &error);

} // namespace tilewright::hls

#endif

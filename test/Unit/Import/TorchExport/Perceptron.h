//===- Perceptron.h - a .pt2 file of torch for tests, and its entries ------------===//
#ifndef TILEWRIGHT_TEST_UNIT_EXPORTEDPROGRAM_PERCEPTRON_H
#define TILEWRIGHT_TEST_UNIT_EXPORTEDPROGRAM_PERCEPTRON_H

#include "ZipWriter.h"
#include "lib/Import/TorchExport/Reader/Program.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace tilewright::exported::test {

/// Returns the bytes of test/Tools/Inputs/perceptron.pt2.
inline std::string perceptron() {
  std::ifstream file(TILEWRIGHT_TEST_INPUTS "/perceptron.pt2", std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  EXPECT_TRUE(file.good());
  return bytes.str();
}

/// Returns the entries of the archive, so that tests can change and repack them.
inline std::vector<Part> perceptronParts() {
  std::string file = perceptron(), error;
  std::optional<ZipArchive> archive = ZipArchive::open(file, error);
  EXPECT_TRUE(archive) << error;
  std::vector<Part> parts;
  for (const ZipArchive::Entry &entry : archive->entries())
    parts.push_back({entry.name, std::string(archive->read(entry, 1 << 30, error)->view)});
  return parts;
}

/// Replaces the first `from` by `to` in the entry whose name ends with `entry`.
inline std::vector<Part> replaced(std::vector<Part> parts, const std::string &entry, const std::string &from,
                                  const std::string &to) {
  bool done = false;
  for (Part &part : parts)
    if (size_t at = part.name.ends_with("/" + entry) ? part.bytes.find(from) : std::string::npos;
        at != std::string::npos) {
      part.bytes.replace(at, from.size(), to);
      done = true;
    }
  EXPECT_TRUE(done) << entry << " has no " << from;
  return parts;
}

inline testing::AssertionResult has(const std::string &text, const std::string &part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in '" << text << "'";
}

} // namespace tilewright::exported::test

#endif

//===- ZipArchive.h - the entries of a zip file, checked -----------------------===//
//
// Reads zip files as torch.save and torch.export.save write them (stored, ZIP64) and those that other tools have packed
// again (deflated). Nothing of a file is believed: every offset is checked against the bytes there are, no two entries
// may share bytes, and an entry's checksum is compared when it is read.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_EXPORTEDPROGRAM_ZIPARCHIVE_H
#define TILEWRIGHT_LIB_FRONTEND_EXPORTEDPROGRAM_ZIPARCHIVE_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::exported {

/// Bytes of the file, or of a buffer of their own.
struct Bytes {
  std::string_view view;
  std::shared_ptr<const std::string> owner; ///< null: the file holds them
};

class ZipArchive {
public:
  struct Entry {
    std::string name;
    uint64_t data = 0; ///< where its bytes begin in the file
    uint64_t packedSize = 0, size = 0;
    uint32_t checksum = 0;
    bool deflated = false;
  };

  /// The directory of `file`, which must outlive the archive and what is read from it. On failure nullopt, and `error`
  /// says what is wrong with the file.
  static std::optional<ZipArchive> open(std::string_view file, std::string &error);

  /// In the order of the directory; names are unique.
  const std::vector<Entry> &entries() const { return list; }
  /// Null when there is none.
  const Entry *find(std::string_view name) const;

  /// The bytes of an entry. Deflated ones get memory as they are inflated, at most `limit` bytes.
  std::optional<Bytes> read(const Entry &entry, uint64_t limit, std::string &error) const;

private:
  std::string_view file;
  std::vector<Entry> list;
  std::map<std::string, size_t, std::less<>> index; ///< by name
};

} // namespace tilewright::exported

#endif

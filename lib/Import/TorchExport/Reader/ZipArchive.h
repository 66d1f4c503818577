//===- ZipArchive.h - checked entries of a zip file ----------------------------===//
//
// ZipArchive reads zip files that torch.save and torch.export.save have written (uncompressed, ZIP64) and files that
// another tool has compressed with deflate. The file is not trusted: every offset is checked against the file's size,
// entries must not overlap, and the checksum of an entry is verified when the entry is read.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_ZIPARCHIVE_H
#define TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_ZIPARCHIVE_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::exported {

/// The contents of an entry: a part of the file, or a separate buffer if the entry was compressed.
struct Bytes {
  std::string_view view;
  std::shared_ptr<const std::string> owner; ///< null: the bytes are in the file
};

class ZipArchive {
public:
  struct Entry {
    std::string name;
    uint64_t data = 0; ///< offset of its bytes in the file
    uint64_t packedSize = 0, size = 0;
    uint32_t checksum = 0;
    bool deflated = false;
  };

  /// Reads the directory of `file`, which must outlive the archive and all bytes that are read from it. On failure,
  /// returns nullopt, with the reason in `error`.
  static std::optional<ZipArchive> open(std::string_view file, std::string &error);

  /// Returns the entries in the order of the directory; names are unique.
  const std::vector<Entry> &entries() const { return list; }
  /// Returns the entry with this name, or null if there is none.
  const Entry *find(std::string_view name) const;

  /// Returns the bytes of an entry. A compressed entry may have at most `limit` bytes after decompression. On failure,
  /// returns nullopt, with the reason in `error`.
  std::optional<Bytes> read(const Entry &entry, uint64_t limit, std::string &error) const;

private:
  std::string_view file;
  std::vector<Entry> list;
  std::map<std::string, size_t, std::less<>> index; ///< by name
};

} // namespace tilewright::exported

#endif

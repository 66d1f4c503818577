//===- ZipArchive.cpp - checked entries of a zip file ---------------------------===//
#include "lib/Import/TorchExport/Reader/ZipArchive.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>

namespace tilewright::exported {
namespace {

constexpr uint32_t endSignature = 0x06054b50, end64Signature = 0x06064b50, locatorSignature = 0x07064b50,
                   directorySignature = 0x02014b50, localSignature = 0x04034b50;
constexpr uint64_t endBytes = 22, locatorBytes = 20, end64Bytes = 56, directoryBytes = 46, localBytes = 30;
constexpr uint16_t zip64Field = 1, storedMethod = 0, deflatedMethod = 8, encryptedFlag = 1;

/// Reads a little-endian number. The caller must have checked the offset.
template <typename T> T numberAt(std::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

struct Directory {
  uint64_t count = 0, offset = 0, size = 0;
  uint64_t end = 0; ///< offset of the records after it
};

std::optional<Directory> findDirectory(std::string_view file, std::string &error) {
  auto fail = [&](const char *why) {
    error = why;
    return std::nullopt;
  };
  if (file.size() < sizeof localSignature || numberAt<uint32_t>(file, 0) != localSignature)
    return fail("it is not a zip archive");
  uint64_t end = file.size() - endBytes;
  if (file.size() < endBytes || numberAt<uint32_t>(file, end) != endSignature)
    return fail("its end is missing: the file is cut off, or something was added to it");
  Directory directory{numberAt<uint16_t>(file, end + 10), numberAt<uint32_t>(file, end + 16),
                      numberAt<uint32_t>(file, end + 12), end};
  if (end >= locatorBytes && numberAt<uint32_t>(file, end - locatorBytes) == locatorSignature) {
    uint64_t record = numberAt<uint64_t>(file, end - locatorBytes + 8);
    if (record > end - locatorBytes || end - locatorBytes - record < end64Bytes ||
        numberAt<uint32_t>(file, record) != end64Signature)
      return fail("its ZIP64 end record is not where the locator says");
    directory = {numberAt<uint64_t>(file, record + 32), numberAt<uint64_t>(file, record + 48),
                 numberAt<uint64_t>(file, record + 40), record};
  }
  if (directory.offset > directory.end || directory.size > directory.end - directory.offset)
    return fail("its directory reaches outside of the file");
  if (directory.count > directory.size / directoryBytes)
    return fail("its directory is too small for the number of its entries");
  return directory;
}

/// Reads from the ZIP64 extra field the sizes and the offset that do not fit into the 32-bit fields of the entry.
bool readZip64(std::string_view extra, ZipArchive::Entry &entry, uint64_t &local) {
  auto wants = [](uint64_t value) { return value == UINT32_MAX; };
  if (!wants(entry.size) && !wants(entry.packedSize) && !wants(local))
    return true;
  while (extra.size() >= 4) {
    uint16_t id = numberAt<uint16_t>(extra, 0), size = numberAt<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (size > extra.size())
      return false;
    if (id != zip64Field) {
      extra.remove_prefix(size);
      continue;
    }
    std::string_view field = extra.substr(0, size);
    for (uint64_t *value : {&entry.size, &entry.packedSize, &local}) {
      if (!wants(*value))
        continue;
      if (field.size() < 8)
        return false;
      *value = numberAt<uint64_t>(field, 0);
      field.remove_prefix(8);
    }
    return true;
  }
  return false;
}

/// Finds the data of an entry after its local header; on failure the reason is in `error`.
bool locate(std::string_view file, uint64_t directory, uint64_t local, ZipArchive::Entry &entry, std::string &error) {
  auto fail = [&](const char *why) {
    error = "the entry '" + entry.name + "' " + why;
    return false;
  };
  if (local > directory || directory - local < localBytes || numberAt<uint32_t>(file, local) != localSignature)
    return fail("does not begin where the directory says");
  uint64_t names = numberAt<uint16_t>(file, local + 26), extras = numberAt<uint16_t>(file, local + 28);
  uint64_t left = directory - local - localBytes;
  if (names + extras > left || entry.packedSize > left - names - extras)
    return fail("reaches outside of the file");
  if (file.substr(local + localBytes, names) != entry.name)
    return fail("has a different name in its local header");
  entry.data = local + localBytes + names + extras;
  return true;
}

/// Returns true if no byte belongs to two entries. Some zip bombs contain overlapping entries.
bool disjoint(std::vector<std::pair<uint64_t, uint64_t>> &ranges) {
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      return false;
  return true;
}

uint32_t checksumOf(std::string_view bytes) {
  return uint32_t(crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
}

/// Decompresses the raw deflate stream `packed`. The result must have exactly `size` bytes.
bool inflateInto(std::string &result, std::string_view packed, uint64_t size) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  char piece[1 << 16];
  int status = Z_OK;
  while (status == Z_OK && result.size() <= size) {
    if (stream.avail_in == 0) {
      size_t part = std::min<size_t>(packed.size(), 1 << 30);
      stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
      stream.avail_in = uInt(part);
      packed.remove_prefix(part);
    }
    stream.next_out = reinterpret_cast<Bytef *>(piece);
    stream.avail_out = sizeof piece;
    status = inflate(&stream, Z_NO_FLUSH);
    result.append(piece, sizeof piece - stream.avail_out);
  }
  bool whole = status == Z_STREAM_END && stream.avail_in == 0 && packed.empty();
  inflateEnd(&stream);
  return whole && result.size() == size;
}

} // namespace

std::optional<ZipArchive> ZipArchive::open(std::string_view file, std::string &error) {
  std::optional<Directory> directory = findDirectory(file, error);
  if (!directory)
    return std::nullopt;
  auto fail = [&](const std::string &why) {
    error = why;
    return std::nullopt;
  };
  ZipArchive archive;
  archive.file = file;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  uint64_t at = directory->offset, end = at + directory->size;
  for (uint64_t i = 0; i < directory->count; ++i) {
    if (end - at < directoryBytes || numberAt<uint32_t>(file, at) != directorySignature)
      return fail("its directory is damaged at entry " + std::to_string(i));
    uint16_t flags = numberAt<uint16_t>(file, at + 8), method = numberAt<uint16_t>(file, at + 10);
    uint64_t nameBytes = numberAt<uint16_t>(file, at + 28), extraBytes = numberAt<uint16_t>(file, at + 30);
    uint64_t commentBytes = numberAt<uint16_t>(file, at + 32), local = numberAt<uint32_t>(file, at + 42);
    if (nameBytes + extraBytes + commentBytes > end - at - directoryBytes)
      return fail("its directory is damaged at entry " + std::to_string(i));
    Entry entry;
    entry.name = file.substr(at + directoryBytes, nameBytes);
    entry.checksum = numberAt<uint32_t>(file, at + 16);
    entry.packedSize = numberAt<uint32_t>(file, at + 20);
    entry.size = numberAt<uint32_t>(file, at + 24);
    entry.deflated = method == deflatedMethod;
    if (!readZip64(file.substr(at + directoryBytes + nameBytes, extraBytes), entry, local))
      return fail("the ZIP64 sizes of the entry '" + entry.name + "' are missing");
    if (flags & encryptedFlag)
      return fail("the entry '" + entry.name + "' is encrypted");
    if (method != storedMethod && method != deflatedMethod)
      return fail("the entry '" + entry.name + "' has the compression method " + std::to_string(method) +
                  "; only stored and deflated entries are supported");
    if (method == storedMethod && entry.size != entry.packedSize)
      return fail("the entry '" + entry.name + "' is stored, but its compressed and uncompressed sizes differ");
    if (!locate(file, directory->offset, local, entry, error))
      return std::nullopt;
    if (!archive.index.emplace(entry.name, archive.list.size()).second)
      return fail("two entries are named '" + entry.name + "'");
    ranges.push_back({local, entry.data + entry.packedSize});
    archive.list.push_back(std::move(entry));
    at += directoryBytes + nameBytes + extraBytes + commentBytes;
  }
  if (!disjoint(ranges))
    return fail("two of its entries overlap");
  return archive;
}

const ZipArchive::Entry *ZipArchive::find(std::string_view name) const {
  auto found = index.find(name);
  return found == index.end() ? nullptr : &list[found->second];
}

std::optional<Bytes> ZipArchive::read(const Entry &entry, uint64_t limit, std::string &error) const {
  std::string_view packed = file.substr(entry.data, entry.packedSize);
  Bytes bytes{packed, nullptr};
  if (entry.deflated) {
    if (entry.size > limit) {
      error = "the entry '" + entry.name + "' would inflate to " + std::to_string(entry.size) + " bytes, more than " +
              std::to_string(limit) + "; store it without compression";
      return std::nullopt;
    }
    auto inflated = std::make_shared<std::string>();
    if (!inflateInto(*inflated, packed, entry.size)) {
      error = "the entry '" + entry.name + "' does not inflate to the size that the directory says";
      return std::nullopt;
    }
    bytes = {*inflated, inflated};
  }
  if (checksumOf(bytes.view) != entry.checksum) {
    error = "the checksum of the entry '" + entry.name + "' is wrong: the file is damaged";
    return std::nullopt;
  }
  return bytes;
}

} // namespace tilewright::exported

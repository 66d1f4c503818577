//===- NpyFile.cpp - read and write tensors in NumPy files ---------------------------===//
//
// A .npy file consists of:
//   - the magic string "\x93NUMPY", and one byte each for the major and the minor version
//   - the length of the header in bytes, as u16, or as u32 in version 2.0 and later
//   - the header {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, padded with spaces, and a newline
//   - the elements
//
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Test: test/Python/test_exported.py, test/Python/test_narrow_elements.py
//
//===----------------------------------------------------------------------===//
#include "NpyFile.h"

#include "dialects/Graph/Dtype.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;

namespace tilewright::driver {
namespace {

constexpr llvm::StringLiteral magic = "\x93NUMPY";

struct NpyDtype {
  std::string name, descr;
};

/// Returns the number of bytes of one element in a file. An element smaller than a byte takes a whole byte.
unsigned fileWidth(const HostTensor &tensor) { return std::max(1u, tensor.bits() / 8); }

NpyDtype npyDtypeOf(mlir::Type element) {
  if (std::optional<ScalarType> type = scalarTypeOf(element))
    return {scalarTypeName(*type).str(), infoOf(*type).npy.str()};
  // No dtype corresponds to the element type, for example to an integer of 12 bits in a fixed-point model.
  const unsigned width = fileWidth(HostTensor{element, {}, {}});
  return {dtypeName(element), (width > 1 ? "<i" : "|i") + std::to_string(width)};
}

/// Returns the part of `header` that begins after `'key':`.
StringRef valueOf(StringRef header, StringRef key) {
  size_t at = header.find(("'" + key + "'").str());
  return at == StringRef::npos ? "" : header.substr(at).split(':').second.ltrim();
}

/// Returns the sizes in "(3, 4), ..."; nullopt if the text is invalid, or the elements have more than `most` bytes.
std::optional<std::vector<int64_t>> sizesIn(StringRef text, uint64_t width, uint64_t most) {
  std::vector<int64_t> sizes;
  uint64_t total = width;
  if (!text.consume_front("(") || !text.contains(')'))
    return std::nullopt;
  llvm::SmallVector<StringRef> parts;
  text.split(')').first.split(parts, ',');
  for (StringRef part : parts) {
    part = part.trim();
    if (part.empty())
      continue;
    int64_t size;
    if (part.getAsInteger(10, size) || size < 0 || size > INT32_MAX * int64_t(1024))
      return std::nullopt;
    sizes.push_back(size);
  }
  if (llvm::is_contained(sizes, 0))
    return sizes;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(total, uint64_t(size), &total))
      return std::nullopt;
  return total <= most ? std::optional(sizes) : std::nullopt;
}

/// Sets the elements of `tensor` from a file's elements, which are in row-major or column-major order.
llvm::Error copyElements(HostTensor &tensor, StringRef from, bool columnMajor) {
  const unsigned width = fileWidth(tensor), rank = tensor.sizes.size();
  std::vector<int64_t> indices(rank, 0), strides(rank, 1);
  for (unsigned i = 1; i < rank; ++i) {
    const unsigned dim = columnMajor ? i : rank - 1 - i, inner = columnMajor ? dim - 1 : dim + 1;
    strides[dim] = strides[inner] * tensor.sizes[inner];
  }
  for (int64_t i = 0, count = tensor.count(); i < count; ++i) {
    int64_t at = 0;
    for (unsigned dim = 0; dim < rank; ++dim)
      at += indices[dim] * strides[dim];
    uint64_t value = 0;
    memcpy(&value, from.data() + at * width, width);
    tensor.setBits(i, value);
    for (int dim = int(rank) - 1; dim >= 0 && ++indices[dim] == tensor.sizes[dim]; --dim)
      indices[dim] = 0;
    if (tensor.bits() < 8 && tensor.fileByte(i) != value)
      return llvm::createStringError("the element " + std::to_string(i) + " is not a number of " +
                                     std::to_string(tensor.bits()) + " bits");
  }
  return llvm::Error::success();
}

} // namespace

std::string dtypeNameOf(mlir::Type element) { return npyDtypeOf(element).name; }

llvm::Expected<HostTensor> readNpy(StringRef path, mlir::Type element) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createStringError("cannot open '" + path + "': " + file.getError().message());
  auto fail = [&](const llvm::Twine &why) { return llvm::createStringError("'" + path + "' " + why); };
  StringRef bytes = (*file)->getBuffer();
  if (!bytes.starts_with(magic) || bytes.size() < 12)
    return fail("is not a .npy file; write it with numpy.save");
  bool isLong = bytes[6] != 1;
  uint64_t begin = isLong ? 12 : 10, size = isLong ? llvm::support::endian::read32le(bytes.data() + 8)
                                                   : llvm::support::endian::read16le(bytes.data() + 8);
  if (size > bytes.size() - begin)
    return fail("has a truncated header");
  StringRef header = bytes.substr(begin, size), elements = bytes.drop_front(begin + size);
  NpyDtype wanted = npyDtypeOf(element);
  StringRef descr = valueOf(header, "descr");
  descr = descr.consume_front("'") ? descr.take_until([](char c) { return c == '\''; }) : descr.take_front(20);
  // Ignore the byte-order character of raw bytes (V), because NumPy writes '|', '<' or '>' for them.
  bool same =
      descr == wanted.descr || (wanted.descr[1] == 'V' && descr.drop_front(!descr.empty()) == wanted.descr.substr(1));
  if (!same)
    return fail("has the dtype '" + descr + "'; " + wanted.name + " ('" + wanted.descr + "') is expected");
  HostTensor tensor{element, {}, {}};
  std::optional<std::vector<int64_t>> sizes = sizesIn(valueOf(header, "shape"), fileWidth(tensor), elements.size());
  if (!sizes)
    return fail("has no valid shape in its header, or fewer elements than its shape requires");
  tensor.sizes = std::move(*sizes);
  if (llvm::Error failed = tensor.allocate(/*least=*/1))
    return std::move(failed);
  const bool columnMajor = valueOf(header, "fortran_order").starts_with("True");
  if (!columnMajor && tensor.bits() >= 8)
    memcpy(tensor.bytes.data(), elements.data(), tensor.byteCount());
  else if (llvm::Error failed = copyElements(tensor, elements, columnMajor))
    return fail("cannot be read as " + wanted.name + ": " + llvm::toString(std::move(failed)));
  return tensor;
}

llvm::Error writeNpy(StringRef path, const HostTensor &tensor) {
  std::string header = "{'descr': '" + npyDtypeOf(tensor.element).descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t size : tensor.sizes)
    header += std::to_string(size) + ", ";
  header += "), }";
  constexpr size_t prefix = 10, alignment = 64;
  header.append(alignment - (prefix + header.size() + 1) % alignment, ' ');
  header += '\n';
  std::error_code problem;
  llvm::raw_fd_ostream out(path, problem);
  if (!problem) {
    out << magic << '\1' << '\0' << char(header.size() & 255) << char(header.size() >> 8) << header;
    if (tensor.bits() >= 8) // without a copy
      out.write(reinterpret_cast<const char *>(tensor.bytes.data()), tensor.byteCount());
    else
      out << tensor.fileBytes();
    out.close();
    problem = out.error();
    out.clear_error();
  }
  if (problem)
    return llvm::createStringError("cannot write '" + path + "': " + problem.message());
  return llvm::Error::success();
}

} // namespace tilewright::driver

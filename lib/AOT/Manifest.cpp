//===- Manifest.cpp - description of a library as JSON -------------------------------===//
#include "lib/AOT/Manifest.h"
#include "lib/Interfaces/NumberText.h"
#include "lib/Runtime/Host/InstructionSets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/JSON.h"

namespace tilewright::library {

std::vector<uint8_t> hashOf(llvm::ArrayRef<uint8_t> bytes) {
  auto hash = llvm::BLAKE3::hash<32>(bytes);
  return {hash.begin(), hash.end()};
}

static void writeTensors(llvm::json::OStream &json, llvm::StringRef what, llvm::ArrayRef<InterfaceTensor> tensors) {
  json.attributeArray(what, [&] {
    for (const InterfaceTensor &tensor : tensors)
      json.object([&] {
        json.attribute("name", llvm::json::fixUTF8(tensor.name));
        json.attribute("dtype", dtypes[int(tensor.dtype)].name);
        json.attributeArray("sizes", [&] {
          for (auto [text, size] : llvm::zip_equal(tensor.sizeTexts, tensor.fixedSizes))
            size >= 0 ? json.value(size) : json.value(llvm::json::fixUTF8(text));
        });
        if (tensor.inPlace)
          json.attribute("written", true);
      });
  });
}

static void writeVariant(llvm::json::OStream &json, const VariantContents &variant) {
  json.attribute("cpu", variant.cpu);
  json.attributeArray("instruction_sets", [&] {
    int bit = 0;
    for (const runtime::InstructionSet &set : runtime::instructionSets())
      if (variant.instructionSets >> bit++ & 1)
        json.value(set.name);
  });
  json.attribute("weights_packed", variant.packed);
  json.attributeArray("kernels", [&] {
    for (const LibraryManifest::Kernel &kernel : variant.kernels)
      json.object([&] {
        json.attribute("name", kernel.name);
        json.attribute("operations", llvm::json::fixUTF8(kernel.operations));
        json.attribute("schedule", kernel.schedule);
        json.attribute("calls", kernel.calls);
      });
  });
}

std::string writeManifest(const Interface &interface, const Contents &contents, llvm::ArrayRef<ManifestFile> files,
                          llvm::StringRef target, llvm::StringRef module, int threads) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  PlainNumbers numbers;
  llvm::json::OStream json(stream, 2);
  json.object([&] {
    json.attribute("format", manifestFormat);
    json.attribute("model", interface.model);
    json.attributeObject("versions", [&] {
      json.attribute("tilewright", TILEWRIGHT_VERSION_STRING);
      json.attribute("llvm", LLVM_VERSION_STRING);
      json.attribute("plan", TILEWRIGHT_ABI_VERSION);
    });
    json.attribute("target", target);
    json.attribute("threads_planned_for", threads);
    json.attributeArray("symbols", [&] {
      for (const plan::Symbol &symbol : interface.symbols)
        json.object([&] {
          json.attribute("name", llvm::json::fixUTF8(symbol.name));
          json.attribute("min", symbol.min);
          json.attribute("max", symbol.max == INT64_MAX ? llvm::json::Value(nullptr) : llvm::json::Value(symbol.max));
        });
    });
    writeTensors(json, "inputs", interface.inputs);
    writeTensors(json, "outputs", interface.outputs);
    json.attributeArray("variants", [&] {
      for (const VariantContents &variant : contents.variants)
        json.object([&] { writeVariant(json, variant); });
    });
    json.attribute("weight_bytes", contents.weightData.size());
    json.attribute("graph_blake3", module);
    json.attributeArray("files", [&] {
      for (const ManifestFile &file : files)
        json.object([&] {
          json.attribute("role", file.role);
          json.attribute("name", llvm::json::fixUTF8(file.name));
          json.attribute("bytes", file.bytes);
          json.attribute("blake3", file.blake3);
        });
    });
  });
  return text + "\n";
}

} // namespace tilewright::library

//===- Conversions.cpp - dtype conversions and ops that change nothing -------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

Results sameTensor(Node &n) { return n.tensor(0, "self"); }

Results convert(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  return n.convert(x, n.element());
}

/// Imports copy(self, src): casts `src` to the result's dtype, and broadcasts it to the result's shape.
Results copyInto(Node &n) {
  Value source = n.tensor(1, "src");
  if (n.failed())
    return n.refused();
  return n.broadcast(n.cast(source, n.element()), sizesOf(n.type()));
}

/// Imports an assertion on the metadata of a tensor. No op is emitted, because torch has checked the assertion when it
/// traced the graph, and the types of the inputs, which are checked at each call, imply it.
Results nothing(Node &n) { return Results::none(); }

} // namespace

void registerConversions(Table &t) {
  for (llvm::StringRef op : {"clone", "lift_fresh_copy", "alias_copy", "detach_copy"})
    t[("aten." + op + ".default").str()] = sameTensor;
  // The schema of lift declares a new tensor.
  for (llvm::StringRef op : {"alias", "detach", "lift", "lift_fresh", "positive"})
    t.add(("aten." + op + ".default").str(), Aliasing::Alias, sameTensor);
  // The aliasing differs from the schemas, which declare views, or a new tensor for conj_physical.
  for (llvm::StringRef op : {"contiguous", "conj", "resolve_conj", "resolve_neg", "conj_physical"})
    t.add(("aten." + op + ".default").str(), Aliasing::Conversion, sameTensor);
  t.add("aten._conj.default", Aliasing::Reinterpret, sameTensor);
  t.add("aten.pin_memory.default", Aliasing::Unclear); // the operand itself if it is pinned
  t["aten._to_copy.default"] = convert;
  t["prims.convert_element_type.default"] = convert;
  t.add("prims.device_put.default", Aliasing::Unclear, sameTensor); // the operand itself if it is on that device
  t["aten.copy.default"] = copyInto;
  t["aten._assert_tensor_metadata.default"] = nothing;
}

} // namespace tilewright

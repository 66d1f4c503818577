//===- KernelSpace.cpp - the search space of a kernel, by the kind of its schedule ------------===//
#include "lib/Codegen/GPU/Schedule/KernelSpace.h"
#include "lib/Codegen/GPU/Schedule/ProductSpace.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupProduct.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"

using namespace mlir;

namespace tilewright::gpu {

Schedule KernelSpace::at(const SchedulePoint &point) const {
  std::vector<std::pair<std::string, int64_t>> values;
  for (auto [knob, value] : llvm::zip_equal(space.knobs, point))
    values.emplace_back(knob.name, value);
  std::optional<Schedule> made = schedule::withKnobs(initial, values);
  assert(made && "the knobs of a space are those of its kind of schedule");
  return *made;
}

void KernelSpace::addKnob(std::vector<int64_t> values, bool reorders) {
  const schedule::NamedKnob knob = schedule::knobsOf(initial)[space.knobs.size()];
  space.knobs.push_back({knob.first.str(), sortedWith(std::move(values), knob.second), knob.second, reorders});
}

void KernelSpace::addLimit(int64_t limit, std::vector<Constraint::Term> terms, std::string why) {
  space.constraints.push_back(sumAtMost(limit, std::move(terms), std::move(why)));
}

/// Returns the search space of a kernel with several products that warp groups compute. It is the space of one of these
/// products. whyNot() rejects the points that are not possible for the others.
static KernelSpace spaceOfProducts(SmallVector<Contraction, 1> products, const Schedule &initial, const Arch &arch) {
  const auto ordered =
      llvm::map_to_vector<1>(products, [&](const Contraction &product) { return inOrderOf(initial, product); });
  KernelSpace made;
  made.initial = initial;
  made.space = spaceOfWgmma(mostRestricted(ordered), arch, initial);
  made.whyNot = [=](const Schedule &schedule) {
    for (const Contraction &product : products)
      if (std::string reason = whyNotWgmma(schedule, product, arch.sharedBytes); !reason.empty())
        return reason;
    return std::string();
  };
  made.nanoseconds = [=](const Schedule &schedule) { return nanosecondsOfWgmmaForAll(schedule, products, arch); };
  return made;
}

/// Returns the space of a product on tensor cores.
static KernelSpace spaceOfProduct(Contraction product, const Schedule &initial, const Arch &arch) {
  const bool isWgmma = initial.kind == Schedule::Kind::Wgmma;
  KernelSpace made;
  made.initial = initial;
  made.space = isWgmma ? spaceOfWgmma(product, arch, initial) : spaceOfMma(product, arch, initial);
  made.whyNot = [=](const Schedule &schedule) {
    return isWgmma ? whyNotWgmma(schedule, product, arch.sharedBytes) : whyNotMma(schedule, product, arch.sharedBytes);
  };
  made.nanoseconds = [=](const Schedule &schedule) {
    return isWgmma ? nanosecondsOfWgmma(schedule, product, arch) : nanosecondsOfMma(schedule, product, arch);
  };
  return made;
}

std::optional<KernelSpace> spaceOf(func::FuncOp kernel, const Schedule &initial, const Arch &arch) {
  using Kind = Schedule::Kind;
  std::string reason;
  switch (initial.kind) {
  case Kind::Elements:
  case Kind::Scatter:
    return spaceOfElements(initial);
  case Kind::Rows:
    return spaceOfRows(initial);
  case Kind::Windows:
    return spaceOfWindows(kernel, initial);
  case Kind::Attention:
    return spaceOfAttention(kernel, initial, arch);
  case Kind::Fma:
  case Kind::Mma:
  case Kind::Wgmma:
    break;
  }
  SmallVector<Contraction, 1> products = matchContractions(kernel, reason);
  if (products.empty())
    return std::nullopt;
  if (products.size() > 1)
    return spaceOfProducts(products, initial, arch);
  return initial.kind == Kind::Fma ? spaceOfFma(products.front(), initial)
                                   : spaceOfProduct(inOrderOf(initial, products.front()), initial, arch);
}

} // namespace tilewright::gpu

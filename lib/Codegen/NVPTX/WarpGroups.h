//===- WarpGroups.h - warp-group code for emitters with another base class -------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_WARPGROUPS_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_WARPGROUPS_H

#include "lib/Codegen/NVPTX/WarpGroupCode.h"

namespace tilewright::cuda {

/// Gives an emitter with a different base class access to the TMA, mbarriers and wgmma of WarpGroupCode.
struct WarpGroups : WarpGroupCode {
  explicit WarpGroups(ThreadKernel &kernel) : WarpGroupCode(kernel) {}
  using WarpGroupCode::arrive, WarpGroupCode::arriveExpecting, WarpGroupCode::arriveNamed, WarpGroupCode::first,
      WarpGroupCode::initialise, WarpGroupCode::inSlot, WarpGroupCode::load, WarpGroupCode::Matrix,
      WarpGroupCode::multiply, WarpGroupCode::multiplyWords, WarpGroupCode::next, WarpGroupCode::PipelineState,
      WarpGroupCode::syncNamed, WarpGroupCode::wait, WarpGroupCode::waitForGroups;
  using WarpGroupCode::divideRoles;
};

} // namespace tilewright::cuda

#endif

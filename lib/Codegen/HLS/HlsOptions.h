//===- HlsOptions.h - options of the target hls -------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_HLSOPTIONS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_HLSOPTIONS_H

#include "tilewright/Compiler.h"

namespace tilewright::hls {

struct HlsOptions {
  std::string part;    ///< name of the device; configure() sets the default
  std::string budget;  ///< a text such as "dsp=2560,bram=2016"
  std::string ports;   ///< a text such as "x=stream s=axi_lite"
  std::string weights; ///< "embedded" or "external"; if empty, their size decides
  bool rtl = false;
};

inline llvm::ArrayRef<OptionField<HlsOptions>> hlsOptions() {
  static const OptionField<HlsOptions> table[] = {
      {{"part", TargetOption::Text, "name", "the device (default: `xcu280`)", InCompile | InTune}, &HlsOptions::part},
      {{"budget", TargetOption::Text, "dsp=N,bram=N,uram=N",
        "the resources that the design may use (default: all resources of the part)", InCompile | InTune},
       &HlsOptions::budget},
      {{"port", TargetOption::List, "name=protocol",
        "the protocol of a port: `axi_master`, `axi_lite` or `stream` (default: `axi_master`); may be repeated",
        InCompile},
       &HlsOptions::ports},
      {{"rtl", TargetOption::Flag, "",
        "also write the design and a test bench in Verilog to the folder `rtl`; supports only models without floats",
        InCompile},
       &HlsOptions::rtl},
      // The flag --weights is declared by the command `tilewright compile`, because the libraries of other targets also
      // use it.
      {{"weights", TargetOption::Text, "place",
        "store weights in ROMs, or read them through ports (default: depends on their size)", 0},
       &HlsOptions::weights},
  };
  return table;
}

inline HlsOptions readHls(const Options &options) { return readOptions(hlsOptions(), options.own); }

} // namespace tilewright::hls

#endif

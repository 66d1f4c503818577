// Made by Tilewright. A stand-in for the vendor's header of this name, for checks by ordinary compilers: 16-bit floats,
// each operation rounded once.
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_HLS_HALF_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_HLS_HALF_H

typedef _Float16 half;

#endif

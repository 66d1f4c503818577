// Made by Tilewright. Replaces the vendor's header of this name, so that ordinary compilers can check a design: 16-bit
// floats, each operation rounded once.
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_HLS_HALF_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_HLS_HALF_H

typedef _Float16 half;

#endif

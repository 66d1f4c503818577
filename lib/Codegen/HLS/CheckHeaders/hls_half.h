// This file is part of Tilewright. It replaces the vendor's header of the same name, so that ordinary compilers can
// compile and run a design. It defines `half` as the compiler's type of 16-bit floats.
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_HLS_HALF_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_HLS_HALF_H

typedef _Float16 half;

#endif

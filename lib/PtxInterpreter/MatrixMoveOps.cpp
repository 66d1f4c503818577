//===- MatrixMoveOps.cpp - ldmatrix and stmatrix ------------------------------------===//
//
// The instructions ldmatrix and stmatrix load and store matrices of 8 rows with 16 bytes each. Lane 8 * m + r provides
// the address of row r of matrix m. Register m of lane t holds the elements 2 * (t % 4) and 2 * (t % 4) + 1 of row t
// / 4, or, with .trans, these elements of the transposed matrix.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

namespace tilewright::ptx {
namespace {

/// Computes the position of the matrix element in the low half (`half` = 0) or the high half of a lane's register.
void rowAndColumn(uint32_t lane, uint32_t half, bool transposed, uint32_t &row, uint32_t &column) {
  row = lane / 4;
  column = lane % 4 * 2 + half;
  if (transposed)
    std::swap(row, column);
}

void loadMatrix(Exec &e, const Instr &in) {
  uint64_t addresses[kLanes];
  std::fill_n(addresses, kLanes, ~uint64_t(0));
  uint16_t rows[kLanes][8] = {};
  for (uint32_t lane = 0; lane < 8u * in.count; ++lane) {
    addresses[lane] = e.address(in, in.results, lane);
    if (const uint8_t *data = e.reach(lane, in.space, addresses[lane], 16, Access::Read, false))
      std::memcpy(rows[lane], data, 16);
  }
  for (uint32_t matrix = 0; matrix < in.count; ++matrix) {
    uint32_t *to = e.row<uint32_t>(in, matrix);
    forLanes(e.mask, [&](uint32_t lane) {
      uint32_t value = 0;
      for (uint32_t half = 0; half < 2; ++half) {
        uint32_t row, column;
        rowAndColumn(lane, half, in.mods & ModHigh, row, column);
        value |= uint32_t(rows[8 * matrix + row][column]) << (16 * half);
      }
      to[lane] = value;
    });
  }
  for (uint64_t &address : addresses)
    if (address != ~uint64_t(0))
      address &= ~kWindowMask;
  e.countShared(addresses, 16);
}

void storeMatrix(Exec &e, const Instr &in) {
  uint64_t addresses[kLanes];
  std::fill_n(addresses, kLanes, ~uint64_t(0));
  uint16_t rows[kLanes][8] = {};
  for (uint32_t matrix = 0; matrix < in.count; ++matrix) {
    const uint32_t *from = e.row<uint32_t>(in, 1 + matrix);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t half = 0; half < 2; ++half) {
        uint32_t row, column;
        rowAndColumn(lane, half, in.mods & ModHigh, row, column);
        rows[8 * matrix + row][column] = uint16_t(from[lane] >> (16 * half));
      }
  }
  for (uint32_t lane = 0; lane < 8u * in.count; ++lane) {
    addresses[lane] = e.address(in, 0, lane);
    if (uint8_t *data = e.reach(lane, in.space, addresses[lane], 16, Access::Write, false))
      std::memcpy(data, rows[lane], 16);
    addresses[lane] &= ~kWindowMask;
  }
  e.countShared(addresses, 16);
}

} // namespace

void addMatrixMoveForms(Table &table) {
  for (uint8_t count : {1, 2, 4})
    for (bool transposed : {false, true})
      for (const char *space : {".shared", ".shared::cta", ""}) {
        std::string tail =
            ".sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") + space + ".b16";
        Form form;
        form.flags = FlagAligned;
        form.count = count;
        form.mods = transposed ? ModHigh : 0;
        form.space = *space ? Space::Shared : Space::Generic;
        std::string vector = std::to_string(count) + "w";
        form.run = loadMatrix;
        form.signature = vector + "=m";
        table.add("ldmatrix" + tail, form);
        form.run = storeMatrix;
        form.signature = "m" + vector;
        table.add("stmatrix" + tail, form);
      }
}

} // namespace tilewright::ptx

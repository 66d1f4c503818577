//===- Library.h - ahead-of-time libraries in the Python module -----------------------===//
#ifndef TILEWRIGHT_PYTHON_MODULE_LIBRARY_H
#define TILEWRIGHT_PYTHON_MODULE_LIBRARY_H

#include <pybind11/pybind11.h>

namespace tilewright::python {

/// Adds the class Library to the module. python/tilewright/library.py uses this class.
void addLibrary(pybind11::module_ &m);

} // namespace tilewright::python

#endif

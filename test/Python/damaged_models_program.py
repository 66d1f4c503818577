"""Imports a .pt2 file many times, each time with another change of its graph, and with correct checksums.

    python damaged_models_program.py FILE SCRATCH COUNT [SEED]

Every import must return a module or be refused with a reason; the last line counts both. The caller detects
crashes and hangs: SCRATCH is then the file that was imported.
"""

import json
import random
import sys
import zipfile

from tilewright import _tilewright, operators

INTEGERS = (0, 1, -1, 2, 3, -2, 7, 64, -64, 2**31, 2**40, 2**62, -(2**63), 2**63 - 1)
IN_PLACE = ["relu_.default", "add_.Tensor", "gelu_.default", "copy_.default", "fill_.Scalar", "t_.default", "detach_.default", "index_put_.default"]
NOT_READ = {"metadata", "module_call_graph"}


def paths_in(value, path, found):
    found.append(path)
    if isinstance(value, dict):
        for key in value.keys() - NOT_READ:
            paths_in(value[key], (*path, key), found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            paths_in(item, (*path, index), found)


def at(value, path):
    for key in path:
        value = value[key]
    return value


class Damager:
    def __init__(self, text):
        self.text = text
        self.good = json.loads(text)
        self.paths = []
        for top in (("graph_module", "graph"), ("range_constraints",)):
            paths_in(at(self.good, top), top, self.paths)
        self.paths.sort(key=str)  # an order that does not depend on hashes
        self.integers = [p for p in self.paths if type(at(self.good, p)) is int]
        self.names = [p for p in self.paths if p[-1] == "name"]
        self.targets = [p for p in self.paths if p[-1] == "target"]
        # The operators in `apart` occur only in exports without decompositions. They are operators with a decomposition, and some operators
        # that write in place. The operators in `apart` are repeated, so that they are chosen more often.
        apart = sorted(operators.of_kind("composite")) + [f"aten.{op}" for op in IN_PLACE] * 3
        self.known = sorted(operators.of_kind("import")) + apart * 2

    def damage(self, choose: random.Random) -> str:
        model = json.loads(self.text)
        for _ in range(choose.choice((1, 1, 2, 4))):
            kind = choose.choice(("integer", "name", "target", "target", "swap", "drop"))
            path = choose.choice({"integer": self.integers, "name": self.names, "target": self.targets}.get(kind, self.paths[1:]))
            other = choose.choice(self.names if kind == "name" else self.paths)
            try:
                place = at(model, path[:-1])
                if kind == "drop":
                    del place[path[-1]]
                elif kind == "integer":
                    place[path[-1]] = choose.choice(INTEGERS)
                elif kind == "target":
                    place[path[-1]] = "torch.ops." + choose.choice(self.known)
                else:
                    place[path[-1]] = at(self.good, other)
            except (KeyError, IndexError, TypeError):
                pass  # an earlier change has removed this element
        return json.dumps(model)


def main(file, scratch, count, first):
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in parts if name.endswith("/models/model.json"))
    damager = Damager(parts[name])
    imported = refused = 0
    for seed in range(first, first + count):
        parts[name] = damager.damage(random.Random(seed))
        with zipfile.ZipFile(scratch, "w") as archive:
            for entry, content in parts.items():
                archive.writestr(entry, content)
        try:
            _tilewright.import_exported(scratch)
            imported += 1
        except _tilewright.Refused as error:
            assert str(error)
            refused += 1
    print(f"{imported} imported, {refused} refused")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 0)

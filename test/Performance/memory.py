"""Memory of one model after its first call, each way in a fresh process: python test/Performance/memory.py

    way                 before the call   steady    peak     (MiB: VmRSS, VmRSS, VmHWM)

`--way` runs one in this process. The cache of compiled code is off, so that compiling counts.
"""

import argparse
import os
import subprocess
import sys

WAYS = ["eager", "inductor", "inductor-freeze", "tilewright", "tilewright-freeze"]


def mebibytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name + ":")) / 1024


def run(way):
    if way == "inductor-freeze":
        os.environ["TORCHINDUCTOR_FREEZING"] = "1"
    import torch
    import transformers

    torch.set_num_threads(2)
    imported = mebibytes("VmRSS")
    model = transformers.BertModel(transformers.BertConfig()).eval()
    tokens = torch.randint(0, 30522, (1, 128))
    loaded = mebibytes("VmRSS")
    call = model
    if way.startswith("inductor"):
        call = torch.compile(model)
    elif way.startswith("tilewright"):
        call = torch.compile(model, backend="tilewright", options={"freeze": way.endswith("freeze"), "cache": False})
    with torch.no_grad():
        call(tokens)
        first = mebibytes("VmHWM")
        for _ in range(3):
            call(tokens)
    print(f"{way:18} torch {imported:6.0f}  with model {loaded:6.0f}  steady {mebibytes('VmRSS'):6.0f}  "
          f"peak of the first call {first:6.0f}  peak {mebibytes('VmHWM'):6.0f} MiB", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", choices=WAYS)
    way = parser.parse_args().way
    if way:
        return run(way)
    for each in WAYS:
        subprocess.run([sys.executable, __file__, "--way", each], check=True)


if __name__ == "__main__":
    main()

"""One of two gloo processes of test_distributed.py: runs a case with torch.distributed, compiled and in eager, and
writes the results. All cases except `collectives` and `broken` train a model. In these cases, both processes begin with
the same parameters.

    RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=... python distributed_program.py CASE RESULT
"""

import faulthandler
import os
import sys
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

import tilewright

STEPS, BATCH, WIDTH = 3, 6, 24


class Block(nn.Module):
    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH, dtype=dtype)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, dtype=dtype)
        self.down = nn.Linear(4 * WIDTH, WIDTH, dtype=dtype)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dtype) for _ in range(2))
        self.head = nn.Linear(WIDTH, 5, dtype=dtype)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def data(dtype, rank: int | None):
    """Returns the batches of one rank, or of all ranks if `rank` is None."""
    generator = torch.Generator().manual_seed(7)
    inputs = torch.randn(STEPS, dist.get_world_size(), BATCH, WIDTH, generator=generator)
    targets = torch.randint(0, 5, (STEPS, dist.get_world_size(), BATCH), generator=generator)
    if rank is None:
        return inputs.flatten(1, 2).to(dtype), targets.flatten(1, 2)
    return inputs[:, rank].to(dtype), targets[:, rank]


def full(tensor) -> torch.Tensor:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def train(model, inputs, targets, run) -> list[torch.Tensor]:
    """Returns the losses, the last step's gradients and the parameters."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    results = []
    for x, target in zip(inputs, targets):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(run(x), target)
        loss.backward()
        optimizer.step()
        results.append(loss.detach())
    results += [full(p.grad) for p in model.parameters()]
    return [r.detach().clone() for r in results + [full(p) for p in model.parameters()]]


def make(dtype) -> Model:
    torch.manual_seed(0)
    return Model(dtype)


def compiled(module, **options):
    return torch.compile(module, backend="tilewright", **options)


def ddp(dtype, door):
    model = nn.parallel.DistributedDataParallel(make(dtype))
    return train(model, *data(dtype, dist.get_rank()), run=door(model))


def fsdp(dtype, door):
    from torch.distributed.fsdp import fully_shard

    model = make(dtype)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return train(model, *data(dtype, dist.get_rank()), run=door(model))


def tensor_parallel(dtype, door):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    model = make(dtype)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return train(model, *data(dtype, None), run=door(model))


def pipeline(dtype, door):
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    rank, whole = dist.get_rank(), make(dtype)
    part = nn.Sequential(whole.blocks[0]) if rank == 0 else nn.Sequential(whole.blocks[1], whole.head)
    stage = PipelineStage(door(part), rank, dist.get_world_size(), torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=nn.functional.cross_entropy)
    inputs, targets = data(dtype, None)
    optimizer = torch.optim.SGD(part.parameters(), lr=0.05, momentum=0.9)
    results = []
    for x, target in zip(inputs, targets):
        optimizer.zero_grad(set_to_none=True)
        losses: list = []
        schedule.step(x) if rank == 0 else schedule.step(target=target, losses=losses)
        optimizer.step()
        results += [torch.stack(losses).detach()] if losses else []
    results += [p.grad for p in part.parameters()]
    return [r.detach().clone() for r in results + list(part.parameters())]


def collectives(dtype, door):
    """Runs functional collectives inside the graph."""
    import torch.distributed._functional_collectives as functional

    def step(x, w):
        y = functional.wait_tensor(functional.all_reduce(x @ w, "sum", dist.group.WORLD))
        z = functional.all_gather_tensor(x.relu(), 0, dist.group.WORLD)
        return y.tanh(), functional.reduce_scatter_tensor(z * 2, "sum", 0, dist.group.WORLD) + x

    torch.manual_seed(dist.get_rank())
    x, w = torch.randn(6, 8, dtype=dtype), torch.randn(8, 8, dtype=dtype)
    return list(door(step)(x, w))


CASES = {"ddp": ddp, "fsdp": fsdp, "tensor_parallel": tensor_parallel, "pipeline": pipeline, "collectives": collectives}


def broken(_dtype, door):
    """Ends rank 1 before its second collective: rank 0 must get an error instead of waiting forever."""
    from datetime import timedelta

    import torch.distributed._functional_collectives as functional

    group = dist.new_group(timeout=timedelta(seconds=10))
    step = door(lambda x: functional.all_reduce(x.relu() * 2, "sum", group).tanh())
    step(torch.ones(4))
    if dist.get_rank() == 1:
        os._exit(3)
    step(torch.ones(4))


def main(case: str, path: str) -> None:
    faulthandler.enable()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    if case == "broken":
        return broken(torch.float32, compiled)
    run = CASES[case]
    eager, exact = run(torch.float32, lambda module: module), run(torch.float64, lambda module: module)
    tilewright.report(clear=True)
    ours = run(torch.float32, compiled)
    graphs = [(g.kind, g.segments, [(r.target, r.reason) for r in g.refusals]) for g in tilewright.report()]
    torch.save({"ours": ours, "eager": eager, "exact": exact, "graphs": graphs}, path)
    dist.destroy_process_group()
    # Gloo's threads continue to run, because torch holds a reference to the process group. A thread that drops a tensor
    # while the interpreter ends aborts the process (pytorch's pull request 179291). test_pack_ahead.py tests
    # how compiling processes end.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

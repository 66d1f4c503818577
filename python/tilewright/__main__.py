"""python -m tilewright explain SCRIPT [ARGUMENT...]: runs a program and reports what torch.compile and Tilewright
compiled."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

import torch

import tilewright


def _every_compile_is_ours():
    """Makes each call of torch.compile use the backend Tilewright, and ignore the backend, mode and options that the call specifies."""
    original = torch.compile

    def compile(model=None, **arguments):
        arguments["backend"] = "tilewright"
        arguments.pop("mode", None)
        arguments.pop("options", None)
        return original(model, **arguments)

    torch.compile = compile


def explain(arguments) -> int:
    if arguments.html:
        os.environ["TILEWRIGHT_RECORD"] = "1"
    torch._dynamo.utils.set_compilation_metrics_limit(10_000)
    if arguments.force:
        _every_compile_is_ours()
    sys.argv = [arguments.script, *arguments.arguments]
    code = 0
    try:
        runpy.run_path(arguments.script, run_name="__main__")
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        report = tilewright.report()
        explanation = report.explanation()
        text = explanation.to_json() if arguments.json else str(explanation)
        if not report and not explanation.left:
            text = "nothing was compiled by Tilewright: pass backend=\"tilewright\" to torch.compile, or the flag --force to this command"
        print(text)
        if arguments.html and any(graph.records for graph in report):
            report.html(arguments.html)
        elif arguments.html:
            print(f"'{arguments.html}' was not written: no graph was compiled", file=sys.stderr)
    return code


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tilewright", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("explain", help="run a program, then report how each of its functions was compiled")
    command.add_argument("--json", action="store_true", help="print the report as JSON")
    command.add_argument("--html", metavar="FILE", help="also write a page with every stage of every graph")
    command.add_argument("--force", action="store_true", help="use Tilewright in every call of torch.compile")
    command.add_argument("script")
    command.add_argument("arguments", nargs=argparse.REMAINDER)
    command.set_defaults(run=explain)
    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())

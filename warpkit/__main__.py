"""`python -m warpkit info` and `python -m warpkit tour [FILE]`."""

import argparse
import sys

from ._versions import __version__


def main(arguments: list[str] | None = None) -> int:
    """Run the command that the arguments name, and return its exit status; without one print the help."""
    parser = argparse.ArgumentParser(prog="warpkit", description="Warp and block collectives for Numba CUDA kernels.")
    parser.add_argument("--version", action="version", version=f"warpkit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("info", help="versions, the GPU or simulator that kernels run on, and what is missing")
    tour = commands.add_parser("tour", help="take ten small steps over a file and compare each with NumPy")
    tour.add_argument("file", nargs="?", metavar="FILE", help="default: a text that comes with Python")
    chosen = parser.parse_args(arguments)
    if chosen.command == "info":
        from .cli.info import info

        return info()
    if chosen.command == "tour":
        from .cli.tour import tour as run

        return run(chosen.file)
    parser.print_help()
    return 0


if __name__ == "__main__":
    sys.exit(main())

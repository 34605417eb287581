"""`python -m warpkit info`, `tour [FILE]`, `examples [NAME]`, `explain NAME` and `bench [SUITE …]`."""

import argparse
import sys

from ._versions import __version__
from .cli.explain.command import add_options, command


def main(arguments: list[str] | None = None) -> int:
    """Run the command that the arguments name, and return its exit status; without one print the help."""
    parser = argparse.ArgumentParser(prog="warpkit", description="Warp and block collectives for Numba CUDA kernels.")
    parser.add_argument("--version", action="version", version=f"warpkit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("info", help="versions, the GPU or simulator that kernels run on, and what is missing")
    tour = commands.add_parser("tour", help="take small steps over a file and compare each with NumPy")
    tour.add_argument("file", nargs="?", metavar="FILE", help="default: a text that comes with Python")
    gallery = commands.add_parser("examples", help="run the small programs of the gallery, all or one of them")
    gallery.add_argument("name", nargs="?", metavar="NAME", help="default: all, a line for each")
    gallery.add_argument("--list", action="store_true", help="only say what each of them shows")
    gallery.add_argument("--picture", metavar="FILE", help="have example NAME draw its picture to this file")
    explained = commands.add_parser("explain", help="say which lowering a function gets and why; needs no GPU")
    add_options(explained)
    commands.add_parser("bench", add_help=False, help="measure, beside what else is installed; see bench --help")
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["bench"]:  # which has many options of its own
        from .cli.bench import bench

        return bench(arguments[1:])
    chosen = parser.parse_args(arguments)
    if chosen.command == "info":
        from .cli.info import info

        return info()
    if chosen.command == "tour":
        from .cli.tour import tour as run

        return run(chosen.file)
    if chosen.command == "explain":
        return command(chosen, arguments)
    if chosen.command == "examples":
        if chosen.picture is not None and chosen.name is None:
            gallery.error("--picture needs the NAME of an example")
        from .cli.examples import run_all, run_one, show_list

        if chosen.list:
            return show_list()
        return run_all() if chosen.name is None else run_one(chosen.name, chosen.picture)
    parser.print_help()
    return 0


if __name__ == "__main__":
    sys.exit(main())

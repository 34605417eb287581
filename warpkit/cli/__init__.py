"""The command line: `info`, `tour`, `examples`, `explain` and `bench`, each in a module or folder of its name."""

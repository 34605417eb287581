"""The command line: what this machine offers (`info`), and warpkit at work on a real file (`tour`)."""

"""Policies of transposes, softmax and elementwise functions beside the default ones: what these are chosen from."""

from . import device_maps, device_maps_items


def run(report):
    """Fill the report; one half that fails is an error of the report."""
    for part in report.cases((device_maps_items, device_maps), lambda part: part.__name__.rpartition(".")[2]):
        with report.attempt(part.__name__):
            part.policies(report)

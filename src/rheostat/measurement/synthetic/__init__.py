"""Generated sites whose truth is known."""

from rheostat.measurement.synthetic.world import World as World

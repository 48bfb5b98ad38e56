"""Generated sites whose truth is known, and trace files in the published schemas."""

from rheostat.measure.synthetic.world import World as World

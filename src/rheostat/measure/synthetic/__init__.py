"""Generated sites whose truth is known, and trace files in the published schemas."""

from rheostat.measure.synthetic.fugaku import write_fdata as write_fdata
from rheostat.measure.synthetic.marconi import write_pm100 as write_pm100
from rheostat.measure.synthetic.mi250 import write_adastra as write_adastra
from rheostat.measure.synthetic.world import World as World

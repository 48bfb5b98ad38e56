"""Generated sites whose truth is known, and trace files in the published schemas."""

from rheostat.measurement.synthetic.fugaku import write_fdata as write_fdata
from rheostat.measurement.synthetic.marconi import write_pm100 as write_pm100
from rheostat.measurement.synthetic.mi250 import write_adastra as write_adastra
from rheostat.measurement.synthetic.world import World as World

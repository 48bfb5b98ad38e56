"""Tables in the layout of published job logs, with known truth, to test readers of them with."""

from .fugaku import write_fdata as write_fdata
from .marconi import write_pm100 as write_pm100
from .mi250 import write_adastra as write_adastra

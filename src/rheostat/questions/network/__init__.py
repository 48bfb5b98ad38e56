"""Questions about applications on a shared network: what a run holds, its next iterations."""

from rheostat.questions.network.fit import fit as fit
from rheostat.questions.network.forecast import forecast as forecast
from rheostat.questions.network.generate import generate as generate
from rheostat.questions.network.read import read as read
from rheostat.questions.network.serve import serve as serve

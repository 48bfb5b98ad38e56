"""Questions about serving language models: configuration, law, order of requests, a server."""

from rheostat.questions.llm.calibrate import calibrate as calibrate
from rheostat.questions.llm.example import demo as demo
from rheostat.questions.llm.fit import fit as fit
from rheostat.questions.llm.formula import formula as formula
from rheostat.questions.llm.plan import plan as plan
from rheostat.questions.llm.rank import rank as rank
from rheostat.questions.llm.simulate import simulate as simulate
from rheostat.questions.serving_proxy import proxy as proxy

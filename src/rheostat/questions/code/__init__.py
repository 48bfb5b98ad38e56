"""Questions about programs: is a changed one right, and which variant is faster or thriftier?"""

from rheostat.questions.code.found import Wanted as Wanted
from rheostat.questions.code.models import ModelAddress as ModelAddress
from rheostat.questions.code.refactor import refactor as refactor
from rheostat.questions.code.search import search as search
from rheostat.questions.code.suite import suite as suite
from rheostat.questions.code.translate import translate as translate
from rheostat.questions.code.verify import verify as verify

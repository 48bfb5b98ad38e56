"""Questions about a power budget: which caps, when, what would change; set them, put them back."""

from rheostat.decision.actuate.actuators import DeviceAddress as DeviceAddress
from rheostat.questions.budget.example import demo as demo
from rheostat.questions.budget.fleets import devices as devices
from rheostat.questions.budget.follow import follow as follow
from rheostat.questions.budget.hooks import hooks as hooks
from rheostat.questions.budget.hooks import run as run
from rheostat.questions.budget.plan import plan as plan
from rheostat.questions.budget.set_caps import apply as apply
from rheostat.questions.budget.set_caps import diff as diff
from rheostat.questions.budget.set_caps import restore as restore

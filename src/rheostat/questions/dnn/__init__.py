"""Questions about training a network: how long, in which memory, on which GPU, at which batch."""

from rheostat.questions.dnn.front import front as front
from rheostat.questions.dnn.graphs import read as read
from rheostat.questions.dnn.runs import fit as fit
from rheostat.questions.dnn.step import predict as predict

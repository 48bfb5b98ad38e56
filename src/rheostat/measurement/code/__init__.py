"""Source code under test: a sandbox, compilers, and the rungs of evidence for a candidate."""

from rheostat.measurement.code.ladder import Verifier as Verifier
from rheostat.measurement.code.ladder import verifier as verifier
from rheostat.measurement.code.ladder import verify as verify
from rheostat.measurement.code.parsing.compare_output import Tolerance as Tolerance
from rheostat.measurement.code.programs.manifest import read_manifest as read_manifest
from rheostat.measurement.code.programs.program import Program as Program
from rheostat.measurement.code.programs.program import read_program as read_program
from rheostat.measurement.code.programs.program_inputs import InputRange as InputRange
from rheostat.measurement.code.programs.program_inputs import ProgramInputs as ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import sandbox as sandbox
from rheostat.measurement.code.verdict import Evidence as Evidence
from rheostat.measurement.code.verdict import Finding as Finding
from rheostat.measurement.code.verdict import Verdict as Verdict

"""Words for schedules: runs of a trace, comparisons of policies, trees and trainings."""

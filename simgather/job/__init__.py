"""From a Scenario to a Job: everything resolved, every contradiction found."""

from simgather.job.job import Job, make_job

__all__ = ["Job", "make_job"]

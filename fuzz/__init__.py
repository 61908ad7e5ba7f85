"""Hostile input and unlucky moments, generated: seeded mutations of every kind of file that Tremula reads, kills and
interrupts, tried in child processes.

    python -m fuzz [--minutes N | --cases N] [--seed S] [--targets a,b]

A target (`fuzz/targets/`) makes valid files, mutates them with knowledge of their structure, and reads them as the
product does. A case survives if it is read, or refused with the error that the target names; anything else fails:
another exception, the end of the process, a write outside of the case's folder, a program or pickle that is started.
Targets of events kill or interrupt processes at random moments; a case survives if results are whole, training goes on
as if nothing had happened, and no process is left.
"""

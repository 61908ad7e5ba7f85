"""Analysis of logs: who took how long, how fast all ranks were together, and what is wrong with a run.

It reads the logs of this program and those of the original, whole poprun logs as well as files of single processes.
Nothing here needs torch.
"""

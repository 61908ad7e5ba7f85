"""Traces of what a program does on the host: spans of time, moments, counters and heat maps, in a file per process.

`channels` and `points` are what a program calls; they only append to lists. `writer` drains these in a thread of its
own and writes a `.pvti` file. `reader` reads such files, and `several` puts several of them on one clock. PVTI_OPTIONS
switches all of it on; without it, a point costs the look at a flag.
"""

import os

if os.environ.get("PVTI_OPTIONS"):
    from tremula.settings.environment import env
    from tremula.trace import writer

    writer.switch_on(env.get("PVTI_OPTIONS"))

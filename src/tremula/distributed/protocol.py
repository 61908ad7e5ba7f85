"""The launcher's protocol: the environment variables that it sets for each instance, and the keys of their store."""

from __future__ import annotations

#: says that there is a launcher, and how many replicas the run has
TOTAL_REPLICAS = "POPDIST_NUM_TOTAL_REPLICAS"
LOCAL_REPLICAS = "POPDIST_NUM_LOCAL_REPLICAS"
IPUS_PER_REPLICA = "POPDIST_NUM_IPUS_PER_REPLICA"
REPLICA_OFFSET = "POPDIST_REPLICA_INDEX_OFFSET"
LOCAL_INSTANCE = "POPDIST_LOCAL_INSTANCE_INDEX"
UNIFORM = "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE"
NODE_DEVICE = "POPDIST_NODE_DEVICE_ID"
EXECUTABLE_CACHE = "POPDIST_EXECUTABLE_CACHE_PATH"

#: what torch's launcher sets: ranks, and the address of the store
RANK = "RANK"
WORLD_SIZE = "WORLD_SIZE"
LOCAL_RANK = "LOCAL_RANK"
LOCAL_WORLD_SIZE = "LOCAL_WORLD_SIZE"
STORE_ADDRESS = "MASTER_ADDR"
STORE_PORT = "MASTER_PORT"
#: the store of a run on one host: port and token
LOCAL_STORE = "TREMULA_STORE"
#: the launcher holds the store, so instance 0 does not open one
STORE_OF_LAUNCHER = "TORCHELASTIC_USE_AGENT_STORE"

#: what mpirun sets
MPI_RANK = "OMPI_COMM_WORLD_RANK"
MPI_SIZE = "OMPI_COMM_WORLD_SIZE"
MPI_LOCAL_RANK = "OMPI_COMM_WORLD_LOCAL_RANK"
MPI_LOCAL_SIZE = "OMPI_COMM_WORLD_LOCAL_SIZE"

#: the launcher's process
LAUNCHER = "TREMULA_POPRUN"
#: lets an instance attach to the devices that the launcher reserved
RESERVATION = "TREMULA_RESERVATION"

#: what all keys of ours in the store begin with
STORE_PREFIX = "tremula"
#: notes that an instance leaves for the launcher: `<name>/<rank>`
NOTE_INDEPENDENT = "independent"
NOTE_ADVICE = "advice"
NOTE_REASON = "reason"
NOTE_DISTRIBUTED = "popdist"
#: characters of a note
LONGEST_NOTE = 200

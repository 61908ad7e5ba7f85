"""Several processes (instances) that train one model: launch environment, rendezvous, collectives, consistency."""

"""Several processes (instances) that train one model: who they are, how they meet, talk and agree."""

"""How a model scales over IPUs: modelled sizes and layouts, measured replicas, and reports."""

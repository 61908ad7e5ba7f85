"""How a model scales over IPUs: modelled sizes and layouts, measured replicas, and what they are shown with."""

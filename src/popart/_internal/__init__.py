"""The bindings of PopART's graph, on which PopXL, `popxl_addons` and their tests rest."""

"""Operations that torch does not have: host implementations of what the device's libraries offer.

Those with data-dependent loops or side effects are torch.library ops in the namespace `tremula`, so that a
capture on fake tensors sees one op with static shapes.
"""

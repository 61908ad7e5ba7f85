"""Operations that torch does not have. Those with data-dependent loops or side effects are torch.library ops in the
namespace `tremula`, so that a capture sees one op with static shapes.
"""

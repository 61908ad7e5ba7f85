"""A captured program in the words of the planners: each op becomes work, or the reason why it is none."""

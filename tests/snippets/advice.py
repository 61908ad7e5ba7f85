"""A compiled model, for questions about it."""

training_model = poptorch.trainingModel(model, options, optimizer)  # noqa: F821
training_model.compile(images, labels)  # noqa: F821

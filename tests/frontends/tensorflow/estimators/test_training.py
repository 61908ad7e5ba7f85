"""Training with an estimator: the numbers, the steps, what is saved, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

IPUEstimator = ipu.ipu_estimator.IPUEstimator


class CountedRuns(tf.compat.v1.train.SessionRunHook):
    """Counts the runs of a session."""

    runs = 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.runs += 1


class TestNumbers:
    @pytest.mark.parametrize("iterations", [1, 3])
    def test_weights_and_losses_are_those_of_plain_gradient_descent(
        self, regression: Any, config: Any, summaries: Any, iterations: int
    ) -> None:
        estimator = IPUEstimator(regression.model_fn(), config=config(iterations))
        counted = CountedRuns()
        estimator.train(regression.input_fn(), steps=6, hooks=[counted])
        weights, losses = regression.trained(6)
        np.testing.assert_allclose(estimator.get_variable_value("model/w"), weights, rtol=1e-5)
        # a loop reports the mean of its losses
        expected = np.mean(np.reshape(losses, (-1, iterations)), axis=1)
        np.testing.assert_allclose(summaries(estimator.model_dir), expected, rtol=1e-5)
        assert counted.runs == 6 // iterations
        assert estimator.get_variable_value("global_step") == 6

    def test_the_same_as_a_stock_estimator(self, regression: Any, config: Any, tmp_path: Any) -> None:
        def plain_model(features: Any, labels: Any, mode: str) -> Any:
            spec = regression.model_fn()(features, labels, mode)
            step = tf.compat.v1.train.get_global_step()
            return spec._replace(train_op=tf.group(spec.train_op, step.assign_add(1)))

        stock = tf.estimator.Estimator(plain_model, str(tmp_path / "stock"))
        ours = IPUEstimator(regression.model_fn(), config=config(5))
        for each in (stock, ours):
            each.train(regression.input_fn(), steps=10)
        np.testing.assert_allclose(
            ours.get_variable_value("model/w"), stock.get_variable_value("model/w"), rtol=1e-6
        )

    def test_training_that_was_interrupted_goes_on_as_if_it_had_not_been(
        self, regression: Any, config: Any, tmp_path: Any
    ) -> None:
        model = regression.model_fn(lambda _: tf.compat.v1.train.MomentumOptimizer(0.05, 0.9))
        whole = IPUEstimator(model, config=config(2, model_dir=str(tmp_path / "whole")))
        whole.train(regression.input_fn(), steps=8)
        IPUEstimator(model, config=config(2)).train(regression.input_fn(), steps=4)
        resumed = IPUEstimator(model, config=config(2))
        resumed.train(regression.input_fn(skip=4), steps=4)
        assert resumed.get_variable_names() == whole.get_variable_names()
        for name in whole.get_variable_names():
            np.testing.assert_array_equal(resumed.get_variable_value(name), whole.get_variable_value(name))

    def test_the_same_under_a_distribution_strategy_of_one_device(self, regression: Any, config: Any) -> None:
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        run_config = config(train_distribute=strategy, eval_distribute=strategy)
        estimator = IPUEstimator(regression.model_fn(), config=run_config)
        estimator.train(regression.input_fn(), steps=4)
        weights, _ = regression.trained(4)
        np.testing.assert_allclose(estimator.get_variable_value("model/w"), weights, rtol=1e-5)
        error = np.mean(np.abs(regression.x @ weights - regression.y))
        assert estimator.evaluate(regression.input_fn(), steps=24)["error"] == pytest.approx(error, rel=1e-5)

    def test_a_warm_start_takes_weights_and_not_the_step(
        self, regression: Any, config: Any, tmp_path: Any
    ) -> None:
        first = IPUEstimator(regression.model_fn(), config=config(2))
        first.train(regression.input_fn(), steps=4)
        second = IPUEstimator(
            regression.model_fn(),
            config=config(2, model_dir=str(tmp_path / "second")),
            warm_start_from=first.model_dir,
        )
        second.train(regression.input_fn(skip=4), steps=2)
        weights, _ = regression.trained(6)
        np.testing.assert_allclose(second.get_variable_value("model/w"), weights, rtol=1e-5)
        assert second.get_variable_value("global_step") == 2


class TestSteps:
    def test_max_steps_is_rounded_up_to_a_whole_loop(self, regression: Any, config: Any) -> None:
        estimator = IPUEstimator(regression.model_fn(), config=config(4))
        estimator.train(regression.input_fn(), max_steps=5)
        assert estimator.get_variable_value("global_step") == 8
        counted = CountedRuns()
        estimator.train(regression.input_fn(), max_steps=8, hooks=[counted])
        assert counted.runs == 0

    def test_a_checkpoint_holds_the_weights_of_its_step(self, regression: Any, config: Any) -> None:
        estimator = IPUEstimator(regression.model_fn(), config=config(2, save_checkpoints_steps=4))
        estimator.train(regression.input_fn(), steps=10)
        saved = tf.train.get_checkpoint_state(estimator.model_dir).all_model_checkpoint_paths
        steps = [int(path.rpartition("-")[2]) for path in saved]
        assert steps == [0, 4, 8, 10]
        for path, step in zip(saved, steps, strict=True):
            checkpoint = tf.train.load_checkpoint(path)
            assert checkpoint.get_tensor("global_step") == step
            np.testing.assert_allclose(
                checkpoint.get_tensor("model/w"), regression.trained(step)[0], rtol=1e-5
            )

    def test_train_and_evaluate_takes_turns(self, regression: Any, config: Any, summaries: Any) -> None:
        estimator = IPUEstimator(regression.model_fn(), config=config(2, save_checkpoints_steps=4))
        metrics, _ = tf.estimator.train_and_evaluate(
            estimator,
            tf.estimator.TrainSpec(regression.input_fn(), max_steps=8),
            tf.estimator.EvalSpec(regression.input_fn(), steps=24, throttle_secs=0),
        )
        weights, _ = regression.trained(8)
        np.testing.assert_allclose(estimator.get_variable_value("model/w"), weights, rtol=1e-5)
        error = np.mean(np.abs(regression.x @ weights - regression.y))
        assert metrics["error"] == pytest.approx(error, rel=1e-5)
        # at the steps 4 and 8; stock estimators write the first at the start as well
        assert len(summaries(estimator.eval_dir(), "error")) >= 2

    @pytest.mark.parametrize("steps", [1, 4])
    def test_steps_that_end_amid_a_loop_are_refused(self, regression: Any, config: Any, steps: int) -> None:
        estimator = IPUEstimator(regression.model_fn(), config=config(3))
        with pytest.raises(ValueError, match=rf"steps \({steps}\) must be a multiple of iterations_per_loop"):
            estimator.train(regression.input_fn(), steps=steps)
        with pytest.raises(ValueError, match="must be a multiple of iterations_per_loop"):
            estimator.evaluate(regression.input_fn(), steps=steps)

    def test_a_number_of_steps_is_needed(self, regression: Any, config: Any) -> None:
        estimator = IPUEstimator(regression.model_fn(), config=config())
        with pytest.raises(ValueError, match="how many steps to run"):
            estimator.train(regression.input_fn())
        with pytest.raises(ValueError, match="how many steps to run"):
            estimator.evaluate(regression.input_fn())
        with pytest.raises(ValueError, match="steps > 0"):
            estimator.evaluate(regression.input_fn(), steps=0)


class TestModels:
    def test_a_model_may_read_the_global_step(self, regression: Any, config: Any) -> None:
        def wrap(_: Any) -> Any:
            step = tf.cast(tf.compat.v1.train.get_global_step(), tf.float32)
            return tf.compat.v1.train.GradientDescentOptimizer(tf.where(step < 2.0, 0.1, 0.0))

        estimator = IPUEstimator(regression.model_fn(wrap), config=config(2))
        estimator.train(regression.input_fn(), steps=6)
        # the step changes between loops
        np.testing.assert_allclose(
            estimator.get_variable_value("model/w"), regression.trained(2)[0], rtol=1e-5
        )

    @pytest.mark.parametrize("iterations", [1, 2])
    def test_a_model_may_not_advance_the_global_step(
        self, regression: Any, config: Any, iterations: int
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            loss = tf.reduce_mean(regression.predicted(features) - labels)
            step = tf.compat.v1.train.get_global_step()
            train_op = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

        with pytest.raises(ValueError, match="Illegal increment of the `global_step`"):
            IPUEstimator(model_fn, config=config(iterations)).train(regression.input_fn(), steps=2)

    def test_layers_of_keras_train(self, regression: Any, config: Any, summaries: Any) -> None:
        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            hidden = tf.keras.layers.Dense(4, "relu")(features)
            loss = tf.reduce_mean(tf.square(tf.keras.layers.Dense(1)(hidden) - labels))
            train_op = tf.compat.v1.train.AdamOptimizer(0.05).minimize(loss)
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

        regression.y = regression.x @ np.array([[1.0], [2.0], [3.0]], np.float32)
        estimator = IPUEstimator(model_fn, config=config(8, tf_random_seed=1))
        estimator.train(lambda: regression.input_fn()().repeat(), steps=160)
        losses = summaries(estimator.model_dir)
        assert losses[-1] < 0.5 * losses[0]
        assert "dense/kernel" in estimator.get_variable_names()

    def test_hooks_and_scaffold_of_the_model_are_used(self, regression: Any, config: Any) -> None:
        counted, filled = CountedRuns(), []

        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            spec = regression.model_fn()(features, labels, mode)
            scaffold = tf.compat.v1.train.Scaffold(init_fn=lambda *_: filled.append(True))
            return spec._replace(training_hooks=[counted], scaffold=scaffold)

        IPUEstimator(model_fn, config=config(2)).train(regression.input_fn(), steps=4)
        assert counted.runs == 2
        assert filled == [True]

    def test_functions_get_what_they_name(self, regression: Any, config: Any) -> None:
        seen: dict[str, Any] = {}

        def input_fn(mode: str, params: Any, config: Any) -> Any:
            seen["input_fn"] = mode, params, config.ipu_run_config.iterations_per_loop
            return regression.input_fn()()

        def model_fn(features: Any, labels: Any, mode: str, params: Any, config: Any) -> Any:
            seen["model_fn"] = mode, params, config.ipu_run_config.iterations_per_loop
            return regression.model_fn()(features, labels, mode)

        estimator = IPUEstimator(model_fn, config=config(2), params={"depth": 3})
        estimator.train(input_fn, steps=2)
        assert seen["input_fn"] == seen["model_fn"] == ("train", {"depth": 3}, 2)

    def test_a_model_must_return_a_spec(self, regression: Any, config: Any) -> None:
        estimator = IPUEstimator(lambda features, labels: None, config=config())
        with pytest.raises(ValueError, match="must return IPUEstimatorSpec or EstimatorSpec"):
            estimator.train(regression.input_fn(), steps=1)

    def test_a_summary_of_a_model_says_that_it_is_not_written(
        self, regression: Any, config: Any, capfd: Any
    ) -> None:
        from tremula import log

        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            tf.compat.v1.summary.scalar("first", features[0, 0])
            return regression.model_fn()(features, labels, mode)

        log.forget_once()
        IPUEstimator(model_fn, config=config()).train(regression.input_fn(), steps=1)
        assert "tf.summary inside a model_fn has no effect" in capfd.readouterr().err


class TestArguments:
    def test_the_configuration_must_be_ours(self, regression: Any) -> None:
        for wrong in (None, tf.estimator.RunConfig()):
            with pytest.raises(ValueError, match="needs a configuration of this package"):
                IPUEstimator(regression.model_fn(), config=wrong)

    def test_params_must_be_a_dictionary_without_reserved_names(self, config: Any) -> None:
        def model_fn(features: Any, params: Any) -> None:
            pass

        with pytest.raises(ValueError, match="has to be a dictionary"):
            IPUEstimator(model_fn, config=config(), params=[1])
        with pytest.raises(ValueError, match=r"uses the names \['input_fn'\] itself"):
            IPUEstimator(model_fn, config=config(), params={"input_fn": 1})

    def test_batch_sizes_are_divided_among_the_replicas(self, regression: Any, config: Any) -> None:
        seen = []

        def input_fn(params: Any) -> Any:
            seen.append(params.get("batch_size"))
            return tf.data.Dataset.from_tensor_slices((regression.x, regression.y)).batch(
                params.get("batch_size", 1), drop_remainder=True
            )

        estimator = IPUEstimator(
            regression.model_fn(ipu.optimizers.CrossReplicaOptimizer),
            config=config(1, replicas=2),
            train_batch_size=8,
            eval_batch_size=12,
        )
        estimator.train(input_fn, steps=1)
        estimator.evaluate(input_fn, steps=1)
        next(estimator.predict(input_fn))
        assert seen == [4, 6, None]
        assert estimator.params == {}

    def test_batch_sizes_that_do_not_fit_are_refused(self, regression: Any, config: Any) -> None:
        def make(**kwargs: Any) -> Any:
            return IPUEstimator(regression.model_fn(), config=config(1, replicas=2), **kwargs)

        with pytest.raises(ValueError, match=r"eval_batch_size \(got 0\) must be positive"):
            make(eval_batch_size=0)
        with pytest.raises(
            ValueError, match=r"divisible by num_workers \* num_replicas \(1 \* 2\).*all of them together"
        ):
            make(train_batch_size=3)
        with pytest.raises(ValueError, match="batch_size cannot be passed in params"):
            IPUEstimator(
                lambda features, params: None,
                config=config(),
                params={"batch_size": 2},
                predict_batch_size=2,
            )
        estimator = make(train_batch_size=2, predict_batch_size=2)
        with pytest.raises(ValueError, match=r"must have params argument to receive params\['batch_size'\]"):
            estimator.train(regression.input_fn(), steps=1)
        with pytest.raises(ValueError, match="must have params argument"):
            estimator.predict(regression.input_fn())

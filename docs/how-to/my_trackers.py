"""Trackers for `training.trackers`: W&B, MLflow and Aim."""

from contextlib import contextmanager

from nmt.trackers.following import numbers


@contextmanager
def wandb_run(folder, config, update):  # noqa: ARG001
    import wandb

    with wandb.init(project="nmt", id=folder.name, resume="allow", config=config) as run:
        yield lambda event: run.log(numbers(event), step=event["update"])


@contextmanager
def mlflow_run(folder, config, update):  # noqa: ARG001
    import mlflow

    with mlflow.start_run(run_name=folder.name):  # a resumed training is another run
        mlflow.log_dict(config, "config.yaml")
        yield lambda event: mlflow.log_metrics(numbers(event), step=event["update"])


@contextmanager
def aim_run(folder, config, update):  # noqa: ARG001
    import aim

    run = aim.Run(experiment=folder.name)
    run["config"] = config
    try:
        yield lambda event: [run.track(value, name, step=event["update"]) for name, value in numbers(event).items()]
    finally:
        run.close()

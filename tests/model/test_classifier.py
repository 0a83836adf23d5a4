"""The classifier that is monotone in the evidence."""

import math

import torch

from acid_causal.model.classifier import Evidence, MonotoneClassifier


def classifier() -> MonotoneClassifier:
    torch.manual_seed(0)
    made = MonotoneClassifier(statistics=3, facts=2).eval()
    with torch.no_grad():  # other than as initialised
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made


def evidence(t: float, n: int = 200, effect: float = -1.0) -> Evidence:
    return Evidence(torch.full((1, 3), t), torch.full((1, 3), effect), torch.zeros(1, 2), n)


@torch.no_grad()
def test_more_evidence_is_never_less() -> None:
    model, generator = classifier(), torch.Generator().manual_seed(1)
    t = 10 * torch.randn(500, 3, generator=generator)
    effect, facts = (
        torch.randn(500, 3, generator=generator),
        torch.randn(500, 2, generator=generator),
    )
    before = model(Evidence(t, effect, facts, 100))
    for k in range(3):
        more_t, more_effect = t.clone(), effect.clone()
        more_t[:, k] += 1
        more_effect[:, k] += 1
        assert (model(Evidence(more_t, effect, facts, 100)) >= before - 1e-5).all()
        assert (model(Evidence(t, more_effect, facts, 100)) >= before - 1e-5).all()


@torch.no_grad()
def test_the_logit_grows_with_the_root_of_the_evidence() -> None:
    model = classifier()
    logits = [float(model(evidence(t, n=round(2 * t)))) for t in (1e3, 1e4, 1e5)]
    # The same effect on a hundred times as many rows.
    assert logits[2] - logits[1] > 0.5 * math.sqrt(1e5)
    assert logits[0] > 10


@torch.no_grad()
def test_in_training_no_question_rules() -> None:
    assert float(classifier().train()(evidence(1e6))) <= 10

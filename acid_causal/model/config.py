"""The architecture of a model, as given in recipes and stored in weights files."""

from dataclasses import dataclass

from acid_causal.errors import OptionError

HEADS = ("cross-covariance", "paper")
TRANSFORMS = ("rank-normal", "standardise", "values")
# Upper bounds of sizes, so that a damaged file or recipe cannot request terabytes of memory.
_MAX_SIZE = {
    "e": 4096,
    "layers": 64,
    "attention_heads": 256,
    "smoother_rank": 4096,
    "head_count": 256,
    "head_width": 1024,
}


@dataclass(frozen=True)
class ModelConfig:
    """Sizes and choices of the model.

    Attributes:
        e: width of a token.
        layers: encoder layers.
        attention_heads: heads of each attention block.
        dropout: dropout probability in attention blocks.
        residual_channels: embed each entry together with its regression residuals given Z.
        smoother_rank: maximal number of basis functions of a kernel smoother.
        sample_attention: attention over samples (SoS) in each layer.
        head: "cross-covariance" (studentised, residualised) or "paper" (squared dot products).
        head_count: number of interdependence heads, h.
        head_width: number of features of a head.
        classifier_facts: give the classifier n, d_z, the explained variances and the correlations
            of residuals, beside the head's statistics; the paper's classifier has none of these.
        transform: the transform of each column: "rank-normal", "standardise" (the paper's), or
            "values". "values" keeps the scale of the data: regressions use values and ranks, all
            components of a variable are compared together, and the classifier is monotone in its
            statistics.
        category_facts: give the classifier of "values" also the number of pairs of components, and
            how many of X and Y are categories, as models trained on categories need them.
        learned_directions: with "values" and two or more conditioning variables, regress each
            target also along the directions in which it varies.
    """

    e: int = 32
    layers: int = 2
    attention_heads: int = 4
    dropout: float = 0.0
    residual_channels: bool = True
    smoother_rank: int = 64
    sample_attention: bool = False
    head: str = "cross-covariance"
    head_count: int = 8
    head_width: int = 16
    classifier_facts: bool = True
    transform: str = "rank-normal"
    category_facts: bool = False
    learned_directions: bool = False

    def __post_init__(self) -> None:
        for name, largest in _MAX_SIZE.items():
            if not 1 <= getattr(self, name) <= largest:
                raise OptionError(f"{name} must be from 1 to {largest}, not {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise OptionError(f"dropout must be in [0, 1), not {self.dropout}")
        if self.e % self.attention_heads:
            raise OptionError(
                f"e = {self.e} must be a multiple of attention_heads = {self.attention_heads}"
            )
        if self.head not in HEADS:
            raise OptionError(f"head must be one of {HEADS}, not {self.head!r}")
        if self.transform not in TRANSFORMS:
            raise OptionError(f"transform must be one of {TRANSFORMS}, not {self.transform!r}")
        if self.learned_directions and not self.keeps_values:
            raise OptionError('learned_directions needs transform = "values"')
        if self.keeps_values and not (
            self.residual_channels and self.classifier_facts and self.head == HEADS[0]
        ):
            raise OptionError(
                'transform = "values" needs residual_channels, classifier_facts and the '
                f"head {HEADS[0]!r}"
            )

    @property
    def keeps_values(self) -> bool:
        """Whether the network sees values and not only ranks or standardised columns."""
        return self.transform == "values"

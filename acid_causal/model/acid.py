"""ACID: a transformer that takes a dataset and predicts whether X and Y are dependent given Z.

The model has three parts, so that encodings can be cached and shared. `encode_conditioning` encodes
Z, `encode_targets` encodes variables given Z (targets), and `score` compares two encoded targets.
X and Y do not interact before `score`. `forward` calls all three.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from acid_causal.model import numerics
from acid_causal.model.attention import FeedForward
from acid_causal.model.classifier import Evidence, MonotoneClassifier
from acid_causal.model.config import ModelConfig
from acid_causal.model.encoder import Encoder, ZContext
from acid_causal.model.heads import (
    CrossCovarianceHead,
    Lifted,
    joint_correlations,
    make_head,
    residual_correlations,
    squared_norms,
)
from acid_causal.model.layout import Layout
from acid_causal.model.regression.directions import Knots
from acid_causal.model.regression.neighbours import Neighbours
from acid_causal.model.regression.regressions import (
    COMPARED_RANKS,
    COMPARED_VALUES,
    SMOOTHERS,
    Channels,
    LeastSquares,
    Regressed,
    regress_ranks,
    regress_values,
)
from acid_causal.model.regression.smoothers import (
    Smoother,
    fit_fine_smoothers,
    fit_smoothers,
    residualise,
    residualise_,
)
from acid_causal.model.transform import rank_normal, robust, standardise, tame, tie_chance

# Input channels of an entry: see `Channels`.
_CHANNELS = 2 + 2 * SMOOTHERS
# Number of residual statistics in models with `keeps_values`; see `_compare_residuals`.
_RESIDUAL_STATISTICS = 7
# Tokens per encoder call on a CPU; chosen to fit its cache.
_TOKENS = 8192
# Bound on n * d_z^2 per encoder call. Attention within Z may keep a few numbers for each pair of
# variables, head and row; this limits them to about a quarter of a GiB.
_Z_PAIRS = 6_000_000


@dataclass(frozen=True)
class Conditioning:
    """An encoded conditioning set: everything that encoding targets given it requires.

    Attributes:
        z: the conditioning variables, as `ACIDModel.transform` returns them; of categories
            indicators of their levels.
        d_z: number of variables.
        tokens: the inputs of their embedding.
        contexts: keys and values of Z in each layer; None if they are too large to keep, and then
            recomputed for each row block.
        smoothers: closed-form regressions on Z; none if d_z = 0.
        least_squares: least squares on values; None if d_z = 0 or without `keeps_values`.
        neighbours: rows with similar Z; None likewise.
        order: rows sorted by each conditioning variable.
        knots: for smoothers of each target's own; None without `learned_directions` or with fewer
            than two variables.
    """

    z: Float[Tensor, "batch n columns"]
    d_z: int
    tokens: Float[Tensor, "batch n d_z"]
    contexts: tuple[ZContext, ...] | None
    smoothers: tuple[Smoother, ...]
    least_squares: LeastSquares | None
    neighbours: Neighbours | None
    order: Int[Tensor, "batch columns n"]
    knots: Knots | None

    def __getitem__(self, sets: slice) -> "Conditioning":
        """Selects some of a batch of sets, without a copy."""
        # A smoother that occurs twice stays the same object.
        selected = {smoother: smoother[sets] for smoother in self.smoothers}
        contexts = self.contexts and tuple(context[sets] for context in self.contexts)
        smoothers = tuple(selected[smoother] for smoother in self.smoothers)
        least_squares = self.least_squares and self.least_squares[sets]
        neighbours = self.neighbours and self.neighbours[sets]
        return Conditioning(
            self.z[sets],
            self.d_z,
            self.tokens[sets],
            contexts,
            smoothers,
            least_squares,
            neighbours,
            self.order[sets],
            self.knots and self.knots[sets],
        )


@dataclass(frozen=True)
class TargetEncoding(Lifted):
    """Encodings of m targets of equally many components each.

    Features have as many, except for those of categories (`ACIDModel._encode_categories`).

    Attributes:
        residuals: residuals given Z, see `Regressed.compared`; none if the classifier does not use
            them.
        explained: share of each component's variance that Z explains, by the best smoother.
        nonlinear: share of the least-squares residual that the best smoother explains; 0 without
            `keeps_values`.
        determined: which components are functions of Z up to numerical error.
        ties: the chance that two rows have equal values, of each component; see
            `acid_causal.model.transform.tie_chance`.
        d_z: size of the conditioning set.
        categories: the targets are categories, and components indicators of their levels.
    """

    residuals: Float[Tensor, "m components regressions n"]
    explained: Float[Tensor, "m components"]
    nonlinear: Float[Tensor, "m components"]
    determined: Bool[Tensor, "m components"]
    ties: Float[Tensor, "m components"]
    d_z: int
    categories: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors."""
        return sum(tensor.nbytes for tensor in self.tensors().values())

    def __getitem__(self, index: Tensor | slice) -> "TargetEncoding":
        """Selects targets; a slice copies nothing."""
        return self.holding({name: tensor[index] for name, tensor in self.tensors().items()})

    def side_by_side(self, t: int) -> "TargetEncoding":
        """Joins each run of t targets into one target with t times the components; a view."""
        tensors = self.tensors().items()
        joined = {name: tensor.unflatten(0, (-1, t)).flatten(1, 2) for name, tensor in tensors}
        return self.holding(joined)

    def holding(self, tensors: Mapping[str, Tensor]) -> "TargetEncoding":
        """Builds an encoding of the same kind of targets from other tensors."""
        return TargetEncoding(**tensors, d_z=self.d_z, categories=self.categories)

    def tensors(self) -> dict[str, Tensor]:
        """Returns the tensors by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}


class ACIDModel(nn.Module):
    """The network of the paper's section "Model architecture", as configured.

    Inputs are columns transformed by `transform`, of about unit variance.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        channels = _CHANNELS if config.residual_channels else 1
        shows_residuals = config.residual_channels and config.classifier_facts
        self.regressions = 0
        if shows_residuals:
            self.regressions = COMPARED_VALUES if config.keeps_values else COMPARED_RANKS
        self.embed_target = FeedForward(channels, 2 * config.e, config.e)
        self.embed_z = FeedForward(1, 2 * config.e, config.e)
        self.encoder = Encoder(config)
        self.head = make_head(config)
        self.classifier: nn.Module
        if config.keeps_values:
            self.classifier = MonotoneClassifier(
                config.head_count + _RESIDUAL_STATISTICS, facts=8 if config.category_facts else 6
            )
        else:
            facts = 4 if config.classifier_facts else 0
            inputs = self.head.statistics + 2 * self.regressions + facts
            self.classifier = nn.Sequential(nn.Linear(inputs, 64), nn.GELU(), nn.Linear(64, 1))

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return next(self.parameters()).device

    def transform(self, columns: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
        """Transforms raw columns into inputs of the network."""
        transforms = {"rank-normal": rank_normal, "standardise": standardise, "values": robust}
        return transforms[self.config.transform](columns)

    @property
    def reads(self) -> torch.dtype:
        """Precision of the input columns."""
        return torch.float64 if self.config.keeps_values else torch.float32

    def encode_conditioning(
        self, z: Float[Tensor, "batch n columns"], layout: Layout | None = None
    ) -> Conditioning:
        """Encodes conditioning sets.

        Args:
            z: the columns, of which there may be none; those of categories are indicators.
            layout: which columns are numbers; None: all. Only for models with `keeps_values`:
                others take indicators for numbers.
        """
        with torch.no_grad(), _full_precision(z):
            tokens, smoothers, least_squares, neighbours, knots = self._regressions_on(z, layout)
        # Without attention over samples rows are independent in the encoder: blocks are possible.
        at_once = self.config.sample_attention or z.shape[1] <= _row_block(z.shape[2])
        contexts = self._contexts(tokens) if at_once else None
        order = z.mT.argsort(dim=2)
        return Conditioning(
            z, tokens.shape[2], tokens, contexts, smoothers, least_squares, neighbours, order, knots
        )

    def encode_targets(
        self,
        x: Float[Tensor, "batch t n d"],
        conditioning: Conditioning,
        *,
        categories: bool = False,
    ) -> TargetEncoding:
        """Encodes t targets of d components for each conditioning set.

        Args:
            x: the targets.
            conditioning: the conditioning sets.
            categories: the targets are categories of d levels each, as indicators; only for models
                with `keeps_values`.

        Returns:
            An encoding of batch * t targets, in that order.
        """
        if categories:
            return self._encode_categories(x, conditioning)
        _, t, _, d = x.shape
        columns = x.mT.flatten(1, 2)  # (batch, t * d, n)
        with torch.no_grad(), _full_precision(x):
            channels, regressed = self._regress(columns, conditioning)
        if conditioning.contexts is not None and not _in_parts(x):
            features = self._features(channels, d, conditioning.contexts)
        else:
            features = self._features_in_parts(channels, d, conditioning)
        del channels  # of a million rows they are 30 MB
        with _full_precision(x):
            features = features.float()
            if self.config.head == "cross-covariance":
                features = self._without_z(features, conditioning, regressed.own)
            features = _by_target(features, t, d).unflatten(2, (self.head.heads, -1))
            if self.config.keeps_values and isinstance(self.head, CrossCovarianceHead):
                spread = self.head.joint_spread(features)
            else:
                spread = self.head.spread(features)
            compared = regressed.compared
            if not self.config.keeps_values:
                compared = _unit(compared)
            return TargetEncoding(
                features=features,
                norms=squared_norms(features),
                spread=spread,
                residuals=_by_target(compared[:, : self.regressions], t, d),
                explained=_of_targets(regressed.explained, t),
                nonlinear=_of_targets(regressed.nonlinear, t),
                determined=_of_targets(regressed.determined, t),
                ties=_of_targets(tie_chance(columns), t),
                d_z=conditioning.d_z,
            )

    def _encode_categories(
        self, x: Float[Tensor, "batch t n levels"], conditioning: Conditioning
    ) -> TargetEncoding:
        """Encodes targets that are categories, given as indicators of their levels.

        Features are the residuals of the indicators, the same in every head. Their inner product is
        the kernel that tells only whether two rows have the same level. So a category costs little
        more than its regressions, and the order of levels makes no difference. With more levels
        than a head is wide, they are spread over several components.
        """
        assert isinstance(self.head, CrossCovarianceHead)
        _, t, _, levels = x.shape
        columns = x.mT.flatten(1, 2)
        with torch.no_grad(), _full_precision(x):
            regressed = _without_rounding_errors(self._regress(columns, conditioning)[1], columns)
            residual = residualise(columns.float(), conditioning.smoothers, closer=True)
            by_target = residual.unflatten(1, (t, levels)).flatten(0, 1)  # (m, levels, n)
            width = self.config.head_width
            padded = nn.functional.pad(by_target, (0, 0, 0, -levels % width))
            of_one_head = padded.unflatten(1, (-1, 1, width))
            heads = self.head.heads
            return TargetEncoding(
                features=of_one_head.expand(-1, -1, heads, -1, -1),
                norms=squared_norms(of_one_head).expand(-1, -1, heads, -1),
                spread=self.head.joint_spread(of_one_head).expand(-1, -1, heads),
                residuals=_by_target(regressed.compared[:, : self.regressions], t, levels),
                explained=_of_targets(regressed.explained, t),
                nonlinear=_of_targets(regressed.nonlinear, t),
                determined=_of_targets(regressed.determined, t),
                ties=_ties_of_levels(x),
                d_z=conditioning.d_z,
                categories=True,
            )

    def score(self, x: TargetEncoding, y: TargetEncoding) -> Float[Tensor, " m"]:
        """Computes the logit of dependence for m pairs: the test statistic."""
        return self.score_grid(x, y, 1, 1)[:, 0, 0]

    def score_grid(
        self, x: TargetEncoding, y: TargetEncoding, r: int, c: int
    ) -> Float[Tensor, "sets r c"]:
        """Scores each of r targets with each of c others, for each conditioning set.

        Args:
            x: sets * r targets, set by set.
            y: sets * c targets given the same sets.
            r: number of targets per set in x.
            c: number of targets per set in y.
        """
        if self.config.keeps_values:
            return self._score_jointly(x, y, r, c)
        d_x, d_y = x.explained.shape[1], y.explained.shape[1]
        of_components = self._compare(x.side_by_side(r), y.side_by_side(c))
        statistics = of_components.unflatten(1, (r, d_x)).unflatten(3, (c, d_y)).amax(dim=(2, 4))
        if self.config.classifier_facts:
            explained_x = x.explained.amax(dim=1).view(-1, r, 1).expand(-1, -1, c)
            explained_y = y.explained.amax(dim=1).view(-1, 1, c).expand(-1, r, -1)
            low = torch.minimum(explained_x, explained_y)
            high = torch.maximum(explained_x, explained_y)
            size = low.new_tensor([x.n / 100.0, (1 + x.d_z) / 4.0]).log()
            facts = [low[..., None], high[..., None], size.expand(*low.shape, 2)]
            statistics = torch.cat([statistics, *facts], dim=3)
        return self.classifier(statistics)[..., 0]

    def _compare(
        self, x: TargetEncoding, y: TargetEncoding
    ) -> Float[Tensor, "m d_x d_y statistics"]:
        with _full_precision(x.features):
            statistics = self.head.compare(x, y)
            if self.regressions:
                correlations = residual_correlations(x.residuals, y.residuals)
                statistics = torch.cat([statistics, correlations], dim=-1)
        return statistics

    def _score_jointly(
        self, x: TargetEncoding, y: TargetEncoding, r: int, c: int
    ) -> Float[Tensor, "sets r c"]:
        """Does the same as `score_grid` with joint components and the monotone classifier."""
        assert isinstance(self.head, CrossCovarianceHead)
        rows, columns = x.side_by_side(r), y.side_by_side(c)
        with _full_precision(x.features):
            of_heads = self.head.compare_jointly(rows, columns, r, c)
            of_residuals = _compare_residuals(rows.residuals, columns.residuals, r, c)
        t, effect = (torch.cat(parts, dim=3) for parts in zip(of_heads, of_residuals, strict=True))
        facts = []
        for name in ("explained", "nonlinear"):
            of_x = getattr(x, name).amax(dim=1).view(-1, r, 1).expand(-1, -1, c)
            of_y = getattr(y, name).amax(dim=1).view(-1, 1, c).expand(-1, r, -1)
            facts += [torch.minimum(of_x, of_y), torch.maximum(of_x, of_y)]
        same = t.new_tensor([x.n / 300.0, (1 + x.d_z) / 4.0]).log()
        if self.config.category_facts:
            pairs = math.sqrt(x.explained.shape[1] * y.explained.shape[1])
            kinds = t.new_tensor([math.log(pairs), float(x.categories + y.categories)])
            same = torch.cat([same, kinds])
        all_facts = torch.cat([torch.stack(facts, dim=3), same.expand(*t.shape[:3], -1)], dim=3)
        return self.classifier(Evidence(t, effect, all_facts, x.n))

    def forward(
        self,
        x: Float[Tensor, "batch n d_x"],
        y: Float[Tensor, "batch n d_y"],
        z: Float[Tensor, "batch n d_z"],
    ) -> Float[Tensor, " batch"]:
        """Scores one question for each dataset of a batch."""
        conditioning = self.encode_conditioning(z)
        encode = self.encode_targets
        return self.score(encode(x[:, None], conditioning), encode(y[:, None], conditioning))

    def _regressions_on(
        self, z: Float[Tensor, "batch n columns"], layout: Layout | None
    ) -> tuple[
        Float[Tensor, "batch n d_z"],
        tuple[Smoother, ...],
        LeastSquares | None,
        Neighbours | None,
        Knots | None,
    ]:
        """Returns the inputs of Z's embedding, the regressions on Z, neighbours and knots in Z."""
        rank = self.config.smoother_rank
        if not self.config.keeps_values:
            return z, fit_smoothers(z, rank) if z.shape[2] else (), None, None, None
        ranks = rank_normal(z).float()
        if not z.shape[2]:
            return ranks, (), None, None, None
        values, tokens = tame(z).float(), None
        if layout is not None:
            tokens = layout.tokens(ranks, z)
            values, ranks = (layout.keep_indicators(part, z) for part in (values, ranks))
        smoothers, centres = fit_fine_smoothers(values, ranks, rank, layout)
        both = torch.cat([values, ranks], dim=2)
        if tokens is None:
            tokens = both[..., z.shape[2] :]  # the ranks, without a copy
        neighbours = Neighbours.find(z, both, layout)
        learns = self.config.learned_directions and tokens.shape[2] > 1
        knots = Knots(both, centres) if learns else None
        return tokens, smoothers, LeastSquares.fit(z), neighbours, knots

    def _regress(
        self, columns: Float[Tensor, "batch columns n"], given: Conditioning
    ) -> tuple[Channels, Regressed]:
        if self.config.keeps_values:
            return regress_values(
                columns,
                given.z,
                given.smoothers,
                given.least_squares,
                given.neighbours,
                given.order,
                given.knots,
            )
        channels = self.config.residual_channels
        return regress_ranks(columns, given.z, given.smoothers, given.order, channels=channels)

    def _contexts(self, z: Float[Tensor, "batch n d_z"]) -> tuple[ZContext, ...]:
        """Runs Z through the encoder."""
        sets, n, d_z = z.shape
        step = max(1, _TOKENS // max(1, n * d_z)) if _in_parts(z) else sets
        step = max(1, min(step, _Z_PAIRS // max(1, n * d_z**2)))
        parts = [self.encoder.encode_z(self.embed_z(some.mT[:, None])) for some in z.split(step)]
        return tuple(ZContext.concatenate(of_layer) for of_layer in zip(*parts, strict=True))

    def _without_z(
        self,
        features: Float[Tensor, "batch features columns n"],
        given: Conditioning,
        own: Smoother | None,
    ) -> Float[Tensor, "batch features columns n"]:
        """Subtracts the regression of each feature on Z, also by the column's own smoother."""
        without_z = residualise if features.requires_grad else residualise_
        closer = self.config.keeps_values
        if own is None:
            return without_z(features.flatten(1, 2), given.smoothers, closer=closer).view_as(
                features
            )
        columns = features.shape[2]
        # Column by column, since a batch of all would hold the shared smoothers once for each.
        left = [
            without_z(features[:, :, k], [*given.smoothers, own[k::columns]], closer=closer)
            for k in range(columns)
        ]
        return torch.stack(left, dim=2) if features.requires_grad else features

    def _features(
        self,
        channels: Float[Tensor, "batch channels columns n"],
        d: int,
        contexts: tuple[ZContext, ...],
    ) -> Float[Tensor, "batch features columns n"]:
        tokens = self.embed_target(channels)
        return self.head.features(self.encoder.encode_targets(tokens, d, contexts))

    def _features_in_parts(
        self,
        channels: Float[Tensor, "batch channels columns n"],
        d: int,
        conditioning: Conditioning,
    ) -> Float[Tensor, "batch features columns n"]:
        """Does the same as `_features` in parts: few sets and targets, and row blocks."""
        batch, _, columns, n = channels.shape
        width = self.head.heads * self.config.head_width
        features = torch.empty(
            batch, width, columns, n, dtype=torch.float32, device=channels.device
        )
        kept = conditioning.contexts
        block = n if kept is not None else _row_block(conditioning.d_z)
        row_blocks = list(numerics.row_blocks(n, block))
        longest = row_blocks[0].stop
        few_sets = max(1, _TOKENS // (longest * columns))
        few_columns = max(1, _TOKENS // (longest * d)) * d
        for first in range(0, batch, few_sets):
            sets = slice(first, first + few_sets)
            for rows in row_blocks:
                if kept is not None:
                    contexts = tuple(context[sets] for context in kept)
                else:
                    contexts = self._contexts(conditioning.tokens[sets, rows])
                for start in range(0, columns, few_columns):
                    some = slice(start, start + few_columns)
                    features[sets, :, some, rows] = self._features(
                        channels[sets, :, some, rows], d, contexts
                    )
        return features


def _compare_residuals(
    x: Float[Tensor, "sets rows regressions n"],
    y: Float[Tensor, "sets columns regressions n"],
    r: int,
    c: int,
) -> tuple[Float[Tensor, "sets r c compared"], Float[Tensor, "sets r c compared"]]:
    """Computes t and the log effect size of four residual statistics.

    A smoother that fits poorly leaves traces of Z in both residuals, which look like dependence. A
    true dependence remains after every smoother. So the statistics are: the minimum over all
    smoothers, the minimum of the joint and the best smoother, the best smoother, the best
    smoother's residuals divided by their conditional scale, its closer fit, its residuals compared
    with neighbours, and the minimum of the last three.
    """
    linear, additive, joint, best, even, close, deviations = range(COMPARED_VALUES)
    t, effect = joint_correlations(x, y, r, c, deviations_of=best)
    groups = (
        [linear, additive, joint, best],
        [joint, best],
        [best],
        [even],
        [close],
        [deviations],
        [even, close, deviations],
    )
    return (
        torch.stack([t[..., group].amin(-1) for group in groups], dim=-1),
        torch.stack([effect[..., group].amin(-1) for group in groups], dim=-1),
    )


def _in_parts(like: Tensor) -> bool:
    """Says whether to encode in parts that fit a CPU cache: on a CPU, without gradients."""
    return like.device.type == "cpu" and not torch.is_grad_enabled()


def _row_block(d_z: int) -> int:
    """Returns the number of rows of Z per encoder call."""
    return min(numerics.ROW_BLOCK, max(1, _Z_PAIRS // max(1, d_z) ** 2))


def _by_target(
    columns: Float[Tensor, "batch channels columns n"], t: int, d: int
) -> Float[Tensor, "m d channels n"]:
    """Reorders t * d columns into m = batch * t targets of d components."""
    return columns.unflatten(2, (t, d)).permute(0, 2, 3, 1, 4).flatten(0, 1)


def _without_rounding_errors(
    regressed: Regressed, columns: Float[Tensor, "batch columns n"]
) -> Regressed:
    """Sets the residuals of levels that no row has, or that Z determines, to 0."""
    there = (columns.amax(dim=2) > columns.amin(dim=2)) & ~regressed.determined
    return replace(
        regressed,
        compared=regressed.compared * there[:, None, :, None],
        explained=regressed.explained * there,
        nonlinear=regressed.nonlinear * there,
    )


def _ties_of_levels(x: Float[Tensor, "batch t n levels"]) -> Float[Tensor, "m levels"]:
    """Computes the chance that two rows have the same level, once for each level."""
    chance = x.mean(dim=2).square().sum(dim=2, keepdim=True)
    return chance.expand(-1, -1, x.shape[3]).flatten(0, 1)


def _of_targets(columns: Shaped[Tensor, "batch columns"], t: int) -> Shaped[Tensor, "m d"]:
    """Reorders the columns of t targets into m = batch * t targets of d components."""
    return columns.unflatten(1, (t, -1)).flatten(0, 1)


def _unit(columns: Float[Tensor, "*columns n"]) -> Float[Tensor, "*columns n"]:
    """Standardises over rows."""
    # A residual far below the unit variance of the inputs is rounding error, and stays small.
    centred = columns - columns.mean(dim=-1, keepdim=True)
    return centred / centred.square().mean(dim=-1, keepdim=True).sqrt().clamp(min=1e-4)


def _full_precision(like: Tensor) -> torch.autocast:
    """Disables autocast: regressions and differences of near-equal sums need full precision."""
    return torch.autocast(like.device.type, enabled=False)

"""The keys of each stage: conf/<stage>.yaml."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from pipeline.config.adapt import Adapt
from pipeline.config.base import (
    BOUND,
    Above0,
    Amount,
    Count,
    Float,
    InFolder,
    Int,
    Keys,
    Name,
    OptionalFile,
    OutFile,
    OutFolder,
    Positive,
    RunName,
    Seed,
    Text,
)
from pipeline.config.claims import Claim, Epochs, Falling, Incomparable, Pair
from pipeline.config.corpus import Corpus
from pipeline.config.network import Architecture
from pipeline.config.ngram import Mix, Ngram
from pipeline.config.recipe import Recipe
from pipeline.config.replication import Comparison, Control
from pipeline.config.streams import Interpretation
from pipeline.config.tables import Table


def _device(value: str) -> str:
    if not re.fullmatch(r"cpu|mps|cuda(:\d+)?", value):
        raise ValueError("choose cpu, cuda, cuda:N or mps")
    return value


class Stage(Keys):
    """What every stage has."""

    out: OutFolder = Field(
        description="the folder that is written; by hand a new one below outputs/, named by the time"
    )
    timing: OutFile = Field(description="a file for the time and memory it took; DVC does not hash it")


class OnCorpus(Stage):
    """A stage that reads a preprocessed corpus."""

    data: InFolder = Field(description="what preprocess wrote")


class OnModels(OnCorpus):
    """A stage that reads what models have left."""

    predictions: list[Text] = Field(description="folders with <model>/<seed>/ in them: the first that has it counts")


class Named(Keys):
    """A stage whose run has a name of its own."""

    name: RunName


class OnNetwork(Named, OnModels):
    """A stage that reads a trained network."""

    network: Text = Field(description="a network: its folder below one of `predictions`")


class Download(Stage):
    """conf/download.yaml."""

    corpus: Corpus
    out: OutFolder = Field(description="the folder that is written; what is there and right is kept")


class Preprocess(Stage):
    """conf/preprocess.yaml."""

    corpus: Corpus
    most_unknown: Annotated[Float, Field(gt=0, le=1, description="share of training's words that may be unknown")]


def _all_or_some(value: object) -> object:
    if not isinstance(value, bool) and not (isinstance(value, int) and 1000 <= value <= BOUND):
        raise ValueError("should be true, false, or how many tokens, 1,000 or more")
    return value


class Train(Named, OnCorpus):
    """conf/train.yaml."""

    model: Architecture
    recipe: Recipe
    seed: Seed
    device: Annotated[Text, AfterValidator(_device)] = Field(description="cpu, cuda, cuda:1 or mps")
    parallel: Literal["none", "threads", "data", "parameters"] = Field(
        description="none: one thread; threads: one process with a thread on each core; data or parameters: one "
        "network on the processes that torchrun starts"
    )
    score_train: Annotated[bool | int, BeforeValidator(_all_or_some)] = Field(
        description="true, false or a number of tokens: exact perplexity of the training part too, of all of it or of "
        "so many tokens in blocks spread evenly, with its standard error; only seed 0 does it"
    )
    features: Text = Field(description="an .npy file with C (V, m) at the start; empty: random features")
    checkpoints: OutFolder = Field(description="the folder from which a killed run goes on")
    checkpoint_seconds: Amount = Field(description="how often a checkpoint is written")
    keep_state: bool = Field(description="leave state.pt in out, from which a training with more epochs can go on")
    resume: Text = Field(description="a folder with state.pt: go on from there, with the bits of one training")


class NgramStage(Named, OnCorpus):
    """conf/ngram.yaml."""

    ngram: Ngram
    clusters: InFolder = Field(description="<classes>/classes.csv below it: what cluster wrote")
    export: OptionalFile = Field(
        description="an ARPA file to write beside the arrays, .gz or not; empty: none. KenLM gives the raw figures if "
        "it scores without <s> and </s>, with `. <p> <text>` before the first word"
    )
    memory: Amount = Field(
        description="GB that the counts of Kneser-Ney may take; if they could need more, they lie in files beside "
        "`out`, and what is worked on takes 2 GB. 0: what is free"
    )


class Cluster(Named, OnCorpus):
    """conf/cluster.yaml."""

    classes: Int = Field(ge=2, description="how many")
    tolerance: Above0 = Field(description="of the log-likelihood a word: a pass that gains less is the last")
    passes: Positive = Field(description="at most so many")
    thorough: bool = Field(description="annealing first")
    annealing: Positive = Field(description="thorough: its passes")
    temperature: Above0 = Field(description="thorough: at the start, in nats of the whole likelihood; falls to zero")
    seed: Seed


class MixStage(OnModels):
    """conf/mix.yaml."""

    name: Name = Field(description="what the run is called; empty: its components' names with + between them")
    network: Text = Field(description="${network} in conf/mixtures.yaml")
    mix: Mix
    seed: Seed

    @model_validator(mode="after")
    def _named(self) -> "MixStage":
        self.name = self.name or "+".join(part.split("/")[0] for part in self.mix.components)
        return self


class AdaptStage(OnNetwork):
    """conf/adapt.yaml."""

    adapt: Adapt
    seed: Seed


class Features(Named, OnCorpus):
    """conf/features.yaml."""

    m: Positive = Field(description="features a word")
    contexts: Positive = Field(description="how many of the most frequent contexts count, each a word at a place")
    reach: Positive = Field(description="a context is a word up to so many places before or behind")

    @model_validator(mode="after")
    def _fewer(self) -> "Features":
        if self.m >= self.contexts:
            raise ValueError(f"m={self.m} with contexts={self.contexts}: fewer features than contexts, please")
        return self


class Shortlist(OnNetwork):
    """conf/shortlist.yaml."""

    size: Positive = Field(description="words that the network scores after each context: the trigram's likeliest")
    ngram: Ngram


class OutOfVocabulary(OnNetwork):
    """conf/out_of_vocabulary.yaml."""

    csv: OutFile = Field(description="a file for the table of perplexities")


class WordMap(OnModels):
    """conf/word_map.yaml."""

    plane: Text = Field(description="the network that is drawn, one with m = 2: its folder below `predictions`")
    drawn: Positive = Field(description="how many words are drawn, the most frequent")
    neighbours: Text = Field(description="the network whose nearest words are listed: its folder below `predictions`")
    words: list[Text] = Field(description="whose neighbours are listed")
    count: Positive = Field(description="how many neighbours of each")
    seen: Count = Field(description="how often training must show a word that is listed as neighbour")


class Report(OnCorpus):
    """conf/report.yaml."""

    name: Annotated[RunName, Field(pattern="^[^/]*$", description="what the table's files are called")]
    table: Table
    clusters: Text = Field(description="the classes.csv whose classes are shown; empty: none")


class Claims(OnCorpus):
    """conf/claims.yaml."""

    claims: list[Claim] = Field(description="what the papers say of perplexities")
    exploratory: list[Pair] = Field(description="what the papers do not compare")
    table: Table
    epochs: list[Epochs] = Field([], description="claims that one network needs fewer epochs than another")
    falling: list[Falling] = Field([], description="claims that a network does not overfit")
    incomparable: list[Incomparable] = Field([], description="what can't be judged here, and why")

    @model_validator(mode="after")
    def _once(self) -> "Claims":
        said = [each.says for each in (*self.claims, *self.epochs, *self.falling, *self.exploratory)]
        if twice := {says for says in said if said.count(says) > 1}:
            raise ValueError(f"claims: {' and '.join(map(repr, sorted(twice)))} stands there twice")
        return self


class Replication(Stage):
    """conf/replication.yaml."""

    trainings: list[Text] = Field(min_length=1, description="tables whose networks stand side by side")
    answer: list[Text] = Field(description="rows of the short table")
    over: dict[str, Text] = Field(description="n-grams to which ratios are counted, by what their columns are called")
    comparisons: list[Comparison] = Field(description="that the paper makes in words")
    controls: dict[str, Control] = Field(description="what one change does, by what it is called")
    more: list[Text] = Field(description="rows that the paper does not print")
    tables: InFolder = Field(description="the folder of the lists of tables")
    reports: InFolder = Field(description="the folder in which the stage report writes them")


class Timeline(Named, Stage):
    """conf/timeline.yaml."""

    of: list[Text] = Field(min_length=1, description="the tables whose rows with a year stand in it")
    yardstick: Text = Field(description="the model over whose perplexity the ratios are")
    tables: InFolder = Field(description="the folder of the lists of tables")
    reports: InFolder = Field(description="the folder in which the stage report writes them")


class Streams(Stage):
    """conf/streams.yaml."""

    corpus: Corpus
    interpretations: list[Interpretation] = Field(min_length=1, description="the streams that are counted")
    checked: Count = Field(description="how many get perplexities: those whose counts are nearest to the paper's")
    also: list[Text] = Field(description="names of more that get perplexities")
    ngrams: list[Text] = Field(description="entries of conf/ngrams.yaml that give them, each a row of `printed`")
    printed: Text = Field(description="the table of conf/table that has what the paper prints of these n-grams")
    tables: InFolder = Field(description="the folder of the lists of tables")

    @model_validator(mode="after")
    def _unique(self) -> "Streams":
        names = [chosen.name for chosen in self.interpretations]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"interpretations: {' and '.join(map(repr, repeated))} stands there twice")
        if unknown := sorted(set(self.also) - set(names)):
            raise ValueError(f"also: no interpretation is called {' or '.join(map(repr, unknown))}")
        return self


class Page(Stage):
    """conf/page.yaml."""

    best_ngram: Text = Field(description="the n-gram to which differences are shown beside Kneser-Ney 5")
    genres: list[Text] = Field(description="the models drawn genre by genre")
    imaginative: list[Text] = Field(description="the genres of imaginative prose")
    grids: dict[str, Text] = Field(description="maps by n and h: title and file in `reports`")
    words: dict[str, Text] = Field(description="of pages what stands between two marks, which this one says too")
    prose: list[Text] = Field(description="pages between whose marks tables of `reports` are put")
    tables: InFolder = Field(description="the folder of the lists of tables")
    reports: InFolder = Field(description="the folder of tables and figures that is read")


STAGES: dict[str, type[Keys]] = {
    "download": Download,
    "preprocess": Preprocess,
    "train": Train,
    "ngram": NgramStage,
    "cluster": Cluster,
    "mix": MixStage,
    "adapt": AdaptStage,
    "features": Features,
    "shortlist": Shortlist,
    "out_of_vocabulary": OutOfVocabulary,
    "word_map": WordMap,
    "report": Report,
    "claims": Claims,
    "replication": Replication,
    "timeline": Timeline,
    "streams": Streams,
    "page": Page,
}

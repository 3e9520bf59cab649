"""Models used on new text: by name they give the numbers that their stages wrote, and the commands show them."""

import html
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from conftest import run
from tiny import FEW, tables, words

import nplm
from pipeline.commands.__main__ import main
from pipeline.core.common.errors import InputError
from pipeline.data import weights as saved
from pipeline.data.corpus import read_corpus
from pipeline.data.predictions import read_predictions
from pipeline.data.record import Record, read
from pipeline.models import by_name
from pipeline.models import model as model_module
from pipeline.models.model import Model
from pipeline.models.tokeniser import Tokeniser
from pipeline.running import paper
from pipeline.running.app import ROOT

NAMES = ["mlp9", "mlp9/1", "recurrent", "cycling3", "interpolated3", "kn3", "class150-3"]
NAMES += ["mlp9-mixed", "mlp9-learned", "mlp9-by-frequency"]


@pytest.mark.parametrize("name", NAMES)
def test_a_model_by_name_gives_what_its_stage_wrote(results, few, name):
    """And the next word has the same probabilities, which sum to one."""
    corpus = read_corpus(few)
    model = Model(name, corpus, tables(results), results / "clusters" / "brown")
    log_p = model.raw.log_probabilities(corpus.valid, corpus.test)
    for array, own in {"raw/test": log_p, "test": model.correct(log_p, corpus.test)}.items():
        assert own == pytest.approx(read_predictions(model.folder, array, len(corpus.test)), abs=1e-5)
    before = corpus.valid[:1000].astype(np.int64)
    every = model.raw.next(before)
    assert np.exp(every.astype(np.float64)).sum() == pytest.approx(1, abs=1e-5)
    for word in (0, 7, int(corpus.valid[1000]), len(every) - 1):
        assert every[word] == pytest.approx(model.raw.log_probabilities(before, np.array([word]))[0], abs=1e-5)


def test_a_model_is_taken_from_the_first_folder_that_has_it(results, few, tmp_path):
    """Only run.json says what a result is: of another corpus, or of a stage that makes no model, it has no name."""
    corpus, table1 = read_corpus(few), tables(results)[0]
    read(table1 / "kn3" / "0").write(tmp_path / "kn3" / "0")
    Record("shortlist", "short", 0, {"network": "cycling5/0"}, corpus.counts["digest"]).write(tmp_path / "kn5" / "0")
    Record("ngram", "kn3", 0, {}, "d" * 64).write(tmp_path / "kn4" / "0")
    assert by_name.find("kn3", corpus, [tmp_path, table1])[0] == tmp_path / "kn3" / "0"
    assert by_name.find("kn3/0", corpus, [table1, tmp_path])[0] == table1 / "kn3" / "0"
    assert by_name.find(str(tmp_path / "kn3" / "0"), corpus, [table1])[0] == tmp_path / "kn3" / "0"
    assert by_name.find("MLP9/1", corpus, [table1]) == by_name.find("mlp9/1", corpus, [table1])
    assert (paper.model_of("mlp2/1"), paper.model_of("MLP10")) == ("mlp1-mixed/1", "mlp9-mixed")
    assert paper.model_of("Kneser-Ney back-off") == "Kneser-Ney back-off", "several rows"
    faults = {
        "kn5": "of the stage shortlist",
        "kn4": "another corpus",
        "mlp7": "no model 'mlp7' .*; there are: kn3, kn4$",
        "k3": "did you mean kn3",
    }
    for name, why in faults.items():
        with pytest.raises(InputError, match=why):
            by_name.find(name, corpus, [tmp_path])
    with pytest.raises(InputError, match=r"there are: none, run `make repro`"):
        by_name.find("kn3", corpus, [tmp_path / "nowhere"])


def test_a_mixture_has_the_components_of_its_own_table(results, few, tmp_path):
    """A mixture named by its folder, such as one of `make published`, takes no network from another table."""
    corpus = read_corpus(few)
    mixture, network, trigram = by_name.folders("mlp9-mixed", corpus, tables(results)).values()
    copies = [tmp_path / folder.parent.name / folder.name for folder in (mixture, network)]
    for folder, copy in zip((mixture, network), copies, strict=True):
        shutil.copytree(folder, copy)
    assert [*by_name.folders(str(copies[0]), corpus, tables(results)).values()] == [*copies, trigram]


@pytest.fixture
def command(results, few, monkeypatch, capsys):
    """Runs a command of `nplm` in this process; exit code, standard output and error."""
    where = [word for table in tables(results) for word in ("--predictions", table)]
    where += ["--data", few, "--clusters", results / "clusters" / "brown"]

    def call(verb, *arguments, text="", where=where):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogateescape"))))
        try:
            code = main([*filter(None, [verb]), *map(str, [*arguments, *where])])
        except SystemExit as end:
            code = end.code
        return subprocess.CompletedProcess(verb, code, *capsys.readouterr())

    return call


def test_each_command_explains_itself(command):
    """A file beside the others is a command, and the list shows it; a stage is a command too."""
    overview = command("--help", where=[]).stdout
    names = [file.stem for file in (ROOT / "pipeline/commands").glob("[!_]*.py")]
    for name in names:
        ended = command(name, "--help", where=[])
        assert f"    {name}" in overview and (ended.returncode, ended.stderr) == (0, "")
        usage, example = ended.stdout.split("example:")
        assert usage.startswith(f"usage: nplm {name} ") and f"nplm {name}" in example
    assert "score" in names and "recipe.rate=0.02" in command("train", "--help", where=[]).stdout


def test_tab_completes_commands_models_keys_and_files(tmp_path):
    (tmp_path / "predictions" / "table1" / "mlp1").mkdir(parents=True)

    def completed(line: str) -> set[str]:
        asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": f"{tmp_path}/said"}
        asked |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9", "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-m", "pipeline.commands"], cwd=tmp_path, env=os.environ | asked)
        return {word.strip() for word in (tmp_path / "said").read_text().split("\n")}

    assert {"score", "train", "ui"} <= completed("nplm ")
    assert "mlp1" in completed("nplm score ")
    assert completed("nplm train recipe.rat") == {"recipe.rate=", "recipe.rate_decay="}
    assert completed("nplm train +search=con") == {"+search=context-direct", "+search=context-hidden"}


IMPORTED = """
import sys
from pipeline.commands.__main__ import main
sys.argv[1:] and main(sys.argv[1:])
print([name for name in ("torch", "mlflow", "hydra", "numba", "pandas") if name in sys.modules])
"""


NEEDED = {"": [], "train --help": ["hydra"], "score kn3": ["pandas"], "neighbours mlp9 said": ["pandas"]}


@pytest.mark.parametrize("given", NEEDED)
def test_a_command_imports_only_what_it_needs(results, few, given):
    """What costs a second or more: torch is for networks, MLflow for a store, and help waits for neither."""
    places = ["--data", few, "--predictions", tables(results)[0], "--format", "csv"]
    where = places if NEEDED[given] == ["pandas"] else []
    called = [sys.executable, "-c", IMPORTED, *map(str, [*given.split(), *where])]
    ended = subprocess.run(called, cwd=ROOT, input="The jury said so.", capture_output=True, text=True)
    assert ended.stdout.splitlines()[-1] == str(NEEDED[given]), ended.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "arguments are required: COMMAND"),
        (["scor"], "invalid choice: 'scor'"),
        (["score"], "arguments are required: MODEL; `nplm score --help`"),
        (["score", "kn3", "--data", "nowhere"], "no preprocessed corpus in nowhere"),
        (["score", "kn9"], "no model 'kn9' in "),
        (["score", "kn3", "nowhere.txt"], "nowhere.txt: No such file"),
        (["score", "kn3"], "standard input: '\\udce9' is half a character, or a byte that is not UTF-8"),
        (["generate", "mlp9", "--temperature", "inf"], "choose from"),
        (["neighbours", "mlp9", "said", "--count", "-2"], "not a whole number"),
        (["neighbours", "mlp9", "Xylophonist"], "'Xylophonist' is not in the vocabulary"),
        (["neighbours", "kn3", "said"], "holds no network's weights; networks there: cycling3, "),
    ],
)
def test_a_mistake_is_one_line(command, words, says):
    where = {"where": []} if len(words) < 2 or "--data" in words else {}
    ended = command(*(words or [""]), text="caf\udce9\n", **where)
    assert ended.returncode == 2 and ended.stdout == ""
    assert says in ended.stderr and ended.stderr.startswith("error: ") and ended.stderr.count("\n") == 1


def test_score_marks_unknown_words_and_sums_up(command):
    """Nonsense is likely, since the symbol for unknown words is: then it says that the perplexity says little."""
    ended = command("score", "kn3", "-", "--format", "json", text="\ufeffThe jury said xylophonist .\n")
    sums = json.loads(ended.stdout)
    rows = pd.DataFrame(sums["rows"])
    assert rows["word"].tolist() == ["The", "jury", "said", "xylophonist", ".", "<p>", "<text>"]
    assert rows["unknown"].tolist() == [False, False, False, True, False, False, False]
    assert (sums["words"], sums["marks"], sums["unknown words"]) == (5, 2, 1)
    assert sums["perplexity"] == pytest.approx(np.exp(-rows["log_probability"].mean()), rel=1e-4)
    known = rows["log_probability"][~rows["unknown"]]
    assert sums["perplexity without unknown words"] == pytest.approx(np.exp(-known.mean()), rel=1e-4)
    assert ended.stderr == ""
    ended = command("score", "kn3", "--summary", text="Zorblax quimmled the vextrill .\n")
    assert ended.stdout.splitlines()[0] == "words: 5" and len(ended.stdout.splitlines()) == 6
    assert "3 of 5 words are unknown" in ended.stderr


def test_commands_and_python_give_the_same_figures(command, results, few, tmp_path, monkeypatch):
    """Raw, without marks and line by line; in Python from any folder."""
    text = "The jury said so .\nThe election was fair .\n"
    (tmp_path / "text.txt").write_text(text)
    monkeypatch.chdir(tmp_path)
    each = json.loads(command("score", "mlp9", "--by-line", "--no-marks", "--format", "json", "text.txt").stdout)
    assert [row["words"] for row in each["rows"]] == [5, 5] and each["figures"] == "corrected, without marks"
    given = ("mlp9", "kn3", "--by-line", "--no-marks", "--format", "json", "--count", "4")
    both = json.loads(command("compare", *given, text=text).stdout)
    assert both["perplexity of mlp9"] == each["perplexity"] and both["words"] == 10
    table = pd.DataFrame(both["rows"])
    assert len(table) == 4 and table["difference"].abs().is_monotonic_decreasing and set(table["text"]) <= {1, 2}
    assert table["difference"].to_numpy() == pytest.approx((table["mlp9"] - table["kn3"]).to_numpy(), abs=1e-5)
    model = nplm.load("mlp9", few, tables(results)[0])
    lines = [model.score(line, marks=False) for line in text.splitlines()]
    own = [np.exp(-line["log_probability"].mean()) for line in lines]
    assert [row["perplexity"] for row in each["rows"]] == pytest.approx(own, rel=1e-4)
    assert each["perplexity"] == pytest.approx(np.exp(-pd.concat(lines)["log_probability"].mean()), rel=1e-4)
    raw = json.loads(command("score", "mlp9", "--raw", "--format", "json", text=text).stdout)
    assert raw["perplexity"] == pytest.approx(model.perplexity("text.txt", raw=True), rel=1e-4)
    assert raw["figures"] == "raw, with marks" and model.perplexity("text.txt") != raw["perplexity"]


def test_capitals_score_as_small_letters(command):
    """The corpus is in lower case: a text is read so too, "Mr." as one word, and all words with a digit are one."""
    text = 'MR. SMITH SAID $100 WAS "FAIR" IN (1961), NOT 10%.\n'
    shouted, told = (
        json.loads(command("score", "kn3", "--format", "json", text=t).stdout) for t in (text, text.lower())
    )
    rows, others = pd.DataFrame(shouted.pop("rows")), pd.DataFrame(told.pop("rows"))
    assert shouted == told and rows["log_probability"].tolist() == others["log_probability"].tolist()
    assert rows["word"].str.lower().tolist() == others["word"].tolist() and rows["word"][0] == "MR."
    other = json.loads(command("score", "kn3", "--format", "json", text=text.replace("1961", "7")).stdout)
    assert other["perplexity"] == told["perplexity"]


def test_lower_case_is_said_once_and_only_where_it_is_so(command, brown_raw, tmp_path, monkeypatch):
    """On standard error, where words of a model are printed; not of a corpus that keeps case."""
    monkeypatch.setattr(model_module, "_EXPLAINED", set())
    first, again, near = (
        command(*given) for given in (("generate", "mlp9"), ("generate", "kn3"), ("neighbours", "mlp9", "Said"))
    )
    assert first.stderr == "words are in lower case, as in the corpus, and <number> stands for each word with a digit\n"
    assert again.stderr == near.stderr == "" and near.stdout == command("neighbours", "mlp9", "said").stdout
    cased = ["corpus=brown-cased", f"corpus.raw={brown_raw}", *FEW, f"out={tmp_path}/cased"]
    run("preprocess", *cased)
    tokeniser = Tokeniser(read_corpus(tmp_path / "cased"))
    assert tokeniser.note == "" and tokeniser.folded(["The", "1961"]) == ["The", "1961"]


@pytest.mark.parametrize("name", ["mlp9", "cycling3", "kn3", "class150-3", "best-ngram"])
def test_many_texts_at_once_have_the_figures_of_each_by_itself(results, few, name):
    """Of any length, the first no longer than the context."""
    texts = ["It", "The jury said that it was fair.", "said\n\nsaid said", "It is the said election of the county ."]
    model = nplm.load(name, few, tables(results)[0], results / "clusters" / "brown")
    together = model.log_probabilities([model.tokeniser.words(text) for text in texts])
    for text, log_p in zip(texts, together, strict=True):
        assert log_p == pytest.approx(model.score(text)["log_probability"].to_numpy(), abs=1e-5)


def test_a_model_in_python(results, few):
    model = nplm.load("mlp9", few, tables(results)[0])
    assert model.score("The jury said xylophonist .")["unknown"].sum() == 1
    following = model.next("It was one of", k=3)
    assert len(following) == 3 and following["probability"].is_monotonic_decreasing
    assert model.features("said").shape == model.features("xylophonist").shape == (3,)
    near = model.neighbours("said", k=4)["word"].tolist()
    assert len(near) == 4 and "said" not in near
    with pytest.raises(nplm.InputError, match="no network's weights"):
        nplm.load("kn3", few, tables(results)[0]).features("said")


def test_generate_is_seeded_and_draws_from_the_likeliest(command):
    """Cold it repeats the likeliest words; hot it draws among all of them."""
    first, again, other = (command("generate", "mlp9", "--words", "30", "--seed", seed).stdout for seed in (1, 1, 2))
    assert first == again != other and first.split()
    greedy = [command("generate", "kn3", "--words", "8", "--top", "1", "--seed", seed).stdout for seed in (1, 2)]
    assert greedy[0] == greedy[1]
    hows = (["--temperature", heat] for heat in ("0.01", "1", "10"))
    cold, warm, hot = (command("generate", "kn3", "--words", "60", *how).stdout.split() for how in hows)
    assert len(set(cold)) < len(set(warm)) < len(set(hot))


def test_the_stage_words_draws_the_plane_and_lists_neighbours(results, few, tmp_path):
    """Each word at its two features, as written in the network's weights; the nearest words with their cosines."""
    run("word_map", *words(results, "word_map", tmp_path), "count=3", "seen=2", "drawn=20")
    drawn = (tmp_path / "plane.svg").read_text(encoding="utf-8")
    vocabulary = read_corpus(few).vocabulary
    assert sum(f">{html.escape(word, quote=False)}</text>" in drawn for word in vocabulary) >= 20
    line = pd.read_csv(tmp_path / "neighbours.csv").set_index("word")["nearest"]["said"]
    near = re.findall(r"(\S+) \(?(-?[01]\.\d+)", line)
    features = saved.read_features(tables(results)[0] / "mlp9" / "0")
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    of_word = dict(zip(vocabulary, unit @ unit[vocabulary.index("said")], strict=True))
    assert len(near) == 3 and all(float(cosine) == pytest.approx(of_word[word], abs=0.01) for word, cosine in near)


@pytest.mark.parametrize(
    "text", ["({}zzz){}", "a{}b", "a {} b", "\u2014{}"], ids=["around", "inside", "spaces", "dash"]
)
def test_text_of_many_signs_takes_time_in_proportion(few, text):
    """A user's text, and so the server's: what took the cube of its length was an easy way to stop it."""
    tokeniser, sign = Tokeniser(read_corpus(few)), {"a {} b": " ", "\u2014{}": "\u2013"}.get(text, ")")
    start = time.process_time()
    tokeniser.words(text.format(sign * 100_000, sign * 100_000))
    assert time.process_time() - start < 60  # the cube takes days


def test_printed_text_is_read_as_brown_has_it(brown):
    """After marks alone, which training never shows, Kneser-Ney gave The at the beginning e^-6 in place of e^-2."""
    tokeniser = Tokeniser(brown)
    assert [brown.vocabulary[k] for k in tokeniser.before] == [".", "<p>", "<text>"]
    printed = '"Well," she said, “it’s two-thirds of $100—the 10%.” Mr. Smith\'s (U.S.) 1914–18'
    words = "`` Well , '' she said , `` it's two-thirds of $100 -- the 10% . '' Mr. Smith's ( U.S. ) 1914–18"
    assert tokeniser.words(printed) == tokeniser.words(words) == [*words.split(), "<p>", "<text>"]
    asked = tokeniser.words("Who is he? He is here; so! What??")
    assert " ".join(asked) == "Who is he ? ? He is here ; ; so ! ! What ? ? <p> <text>"  # as the corpus has these signs
    assert tokeniser.printed(asked[:5]) == "Who is he ?" and tokeniser.doubled == {"?", "!", ";"}
    assert "mr." in tokeniser.known_words and "it." not in tokeniser.known_words
    with pytest.raises(InputError, match="no words in the text"):
        tokeniser.words(" \n\n")


@pytest.mark.thorough
def test_exported_features_are_read_by_an_independent_reader(command, results, few, tmp_path):
    from gensim.models import KeyedVectors

    assert command("export", "mlp9", tmp_path).returncode == 0
    vocabulary = read_corpus(few).vocabulary
    features = saved.read_features(tables(results)[0] / "mlp9" / "0")
    vectors = KeyedVectors.load_word2vec_format(str(tmp_path / "features.txt"))
    assert vectors.index_to_key == vocabulary and vectors.vectors == pytest.approx(features, rel=1e-5)
    # the projector's two files, as its configuration names them
    named = dict(re.findall(r'(\w+): "([^"]+)"', (tmp_path / "projector_config.pbtxt").read_text()))
    metadata = (tmp_path / named["metadata_path"]).read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[0] for line in metadata[1:]] == vocabulary
    assert np.loadtxt(tmp_path / named["tensor_path"], delimiter="\t") == pytest.approx(features, rel=1e-5)

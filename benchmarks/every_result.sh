# bash benchmarks/every_result.sh CHECKOUT FOLDER: a small result of each kind, on twenty texts, by the code of a checkout.
# To show that an edit changes no result: call it for both versions, in the activated environment, and compare with
# diff -rq --exclude=state.pt; run.json of data and of `frozen` differ in the paths that they name.
set -eu
cd "$1"; D=$2/data; P=$2/predictions
run() { python -m pipeline.$1 hydra.run.dir=$2/run hydra/job_logging=disabled timing=$2/t.json "${@:3}"; }
S=$2
python -m pipeline.download corpus=brown out=$S/raw hydra.run.dir=$S/run timing=$S/t.json
run preprocess $S corpus.raw=$S/raw corpus.texts=20 corpus.train=0.7 corpus.valid=0.15 out=$D
tiny="model.m=8 recipe.batch=64 checkpoints=$S/ck data=$D"
for m in mlp1 mlp3 mlp9; do run train $S model=$m recipe=paper recipe.epochs=2 $tiny keep_state=true out=$P/$m-paper/0; done
run train $S model=mlp1 recipe=paper recipe.epochs=3 $tiny resume=$P/mlp1-paper/0 out=$P/mlp1-on/0
for m in mlp1 mlp3 mlp9 recurrent plane; do run train $S model=$m recipe.samples=200 recipe.epochs=2 $tiny out=$P/$m/0 $( [ $m = plane ] && echo model.m=2 ); done
for m in cycling3 energy5; do run train $S model=$m recipe=energy recipe.samples=100 recipe.epochs=2 $tiny out=$P/$m/0; done
run train $S model=large recipe=large recipe.epochs=2 $tiny score_train=false out=$P/large/0
run features $S m=8 contexts=200 data=$D out=$S/features
run train $S model=direct5-h40 recipe.frozen=true recipe.epochs=2 features=$S/features/features.npy $tiny out=$P/frozen/0
for n in interpolated3 kn3 kn5 kn5-backoff kn5-srilm; do run ngram $S ngram=$n ngram.undefined=fixed data=$D out=$P/$n/0; done
run cluster $S classes=150 data=$D out=$S/clusters/150
run ngram $S ngram=class150-3 clusters=$S/clusters data=$D out=$P/class150-3/0
for w in mixed learned by-frequency with-kn5; do run mix $S mix=$w network=mlp1 name=mlp1-$w data=$D predictions=[$P] out=$P/mlp1-$w/0; done
run shortlist $S network=cycling3/0 size=50 data=$D predictions=[$P] out=$P/short/0
run out_of_vocabulary $S network=mlp1/0 csv=$S/oov.csv data=$D predictions=[$P] out=$S/unknown/mlp1
run word_map $S plane=plane neighbours=mlp1 words=[said] data=$D predictions=[$P] out=$S/words

rm -rf $S/run $S/t.json $S/ck

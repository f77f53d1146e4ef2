import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** What a file prints that runs kernels, or why it ran none: a machine without an adapter reads the chapter all the same. */
const orNoAdapter = (says: RegExp) => new RegExp(`${says.source}|^nothing was run: .+$`, 'm');

/** Dawn says this of every Mesa adapter, and has no option to keep quiet. */
const DAWN_LIMITS = /^Warning: maxDynamic(Uniform|Storage)BuffersPerPipelineLayout artificially reduced .*\n/gm;

const CHAPTERS = new URL('../chapters/', import.meta.url);

/** What each file must have said in quick mode; a numbered file without a line here fails. */
const SAYS: Readonly<Record<string, RegExp>> = {
  'ch01-baseline/00-start.ts': /^Once upon a time, there was a little fox named \S+/,
  'ch01-baseline/01-load.ts':
    /parameters {4}15\.7M in 74 tensors[\s\S]*F16: 31\.5 MB stored, 62\.9 MB[\s\S]*decoded {7}"Hello, world!"/,
  'ch01-baseline/02-sampling.ts':
    /greedy, first run +(.+)\ngreedy, second run +\1\n[\s\S]*seed 7 +(.+)\nthe same seed again +\2\n[\s\S]*top-k 1 +\1\n/,
  'ch01-baseline/03-contracts.ts':
    /RXLLM_INVALID_REQUEST: topP must be[\s\S]*chapter 1: \{"throughput":98\.8,"input_tokens":11,"output_tokens":40\}\n/,
  'ch01-baseline/04-engine.ts':
    /\[output, ended by length\]\n {2}Sunny\. Sunny lived[\s\S]* {2}queued\n {2}finished\n {2}queued, and gone/,
  'ch01-baseline/05-server.ts': /GET \/health: 200[\s\S]*"object": "chat\.completion"[\s\S]*"completion_tokens": 4/,
  'ch01-baseline/06-benchmark-offline.ts':
    /baseline — offline[\s\S]*Tok\/s +: \d+\.\d\n[\s\S]*Tokens out +: 4 \(avg over 2 runs\)/,
  'ch01-baseline/06-benchmark-online.ts':
    /baseline — online[\s\S]*Tok\/s +: \d+\.\d\n[\s\S]*Tokens out +: 4 \(avg over 2 runs\)/,
  'ch02-generate-loop/01-box-opened.ts':
    /ms {2}prefill\n[\s\S]*token 1795 " Sunny"[\s\S]*the ids are the same: 1795 17/,
  'ch02-generate-loop/02-by-hand.ts':
    /prefill +11 tokens in[\s\S]*decodeStep +14 tokens in[\s\S]*named Sunny\. Sunny lived\n$/,
  'ch02-generate-loop/03-stages.ts':
    /0 {2}schedule +rows: prefill of 11 tokens[\s\S]*1 {2}settle +events: token, finished/,
  'ch02-generate-loop/04-expand.ts': /named Sunny\. Sunny lived\n\n4 tokens, a forward pass each/,
  'ch02-generate-loop/05-expand-overflow.ts':
    /at turn \d+: RangeError: Maximum call stack size exceeded\n.*reaches 20000\n.*reaches 20000\n$/,
  'ch03-transformer/01-embedding.ts': /hidden {2}\[6, 384\][\s\S]*fox +1\.00 +0\.53/,
  'ch03-transformer/02-rms-norm.ts': /before +13\.84 +1384\.27 +13\.84\n +after +19\.60 +19\.60 +19\.60/,
  'ch03-transformer/03-rope.ts':
    /query at {3}2, key at {3}0, apart {2}2: ([\d.]+)\n.*query at {2}12, key at {2}10, apart {2}2: \1\n/,
  'ch03-transformer/04-attention.ts': /query head 1[\s\S]* 0\.97 +0\.03 +\. +\. +\.\n/,
  'ch03-transformer/05-swiglu.ts': /1 → 0\.731\n[\s\S]*gate\(x\) {2}\[1, 1024\]/,
  'ch03-transformer/06-lm-head.ts': /logits \[3, 8192\][\s\S]*fox".*\n {2}" named" +35\.8\d {2}1\.000/,
  'ch03-transformer/07-whole-model.ts': /plain-story +11 +\d\.\de-[5-9] +4 of 4/,
  'ch03-transformer/08-sampler.ts': /top-k 5 +formula +0\.434 +0\.376 +0\.082 +0\.057 +0\.050 +0\.000/,
  'ch04-kv-cache/01-quadratic.ts': /512 +139008 +527 +263\.8\n[\s\S]*64 tokens +[\d.]+ ms/,
  'ch04-kv-cache/02-what-is-cached.ts': /= 8192 bytes a token[\s\S]*storyteller-12m +8 +2048 +16\n/,
  'ch04-kv-cache/03-copied-or-in-place.ts':
    /copied \(stock\) {2}in place \(native\)\n +128 +[\d.]+ +[\d.]+\n +512 +[\d.]+ +[\d.]+\n/,
  'ch04-kv-cache/04-same-ids.ts': /kv-cache +[\d.]+ +[\d.]+\n\nthe ids are the same/,
  'ch04-kv-cache/05-tpot-against-length.ts': /from 8 to 24 tokens: transformer × [\d.]+, kv-cache × [\d.]+/,
  'ch04-kv-cache/measure.ts': /\| 24 \| [\d.]+ \| [\d.]+ \|\n\nFrom token 8 to 24/,
  'ch12-int4/01-groups.ts': /symmetric: scale [-\d.]+, zero 8;[\s\S]*32 +4 +4\.63 +15\.6%[\s\S]*channel +8 +8\.02/,
  'ch12-int4/02-rounding.ts': /float16 .*█.*\n[\s\S]*int4, groups of 32 .*█/,
  'ch12-int4/03-feedback.ts': /act-order\n(self_attn\.|mlp\.)\w_proj( +\d+\.\d{3}%){3}\n/,
  'ch12-int4/04-engine.ts':
    /continuous-batching: Once[\s\S]*int4: Once[\s\S]*\nint4 +[\d.]+ +[\d.]+\n[\s\S]*int8 by rows +[\d.]+ +[\d.]+\n/,
  'ch05-static-batching/01-padding.ts':
    /20 tokens in 33 places: 39% padding[\s\S]*alone:\n {2}0\.000000 .*\n {2}0\.000000 .*\n {2}0\.000000 /,
  'ch05-static-batching/02-throughput.ts':
    /batch {2}ms a step {2}tokens\/s\n +1 [\s\S]*\n\neach of them the same text\n\nquick: too small to judge times\n$/,
  'ch05-static-batching/03-timeline.ts':
    / 3 {2}P###-{20}\n 4 {5}\.{21}P#{11}\n[\s\S]*44 steps for 85 tokens: 1\.93 of 4 rows[\s\S]*request 5 waited 19 steps to run 6/,
  'ch05-static-batching/04-head-of-line.ts': /alone +[\d.]+ +[\d.]+\nbehind +[\d.]+ +[\d.]+\n\nIt waited \d+ times/,
  'ch05-static-batching/measure.ts':
    /58 steps, 2\.03 of 4 rows[\s\S]*\| `static-batching` \| [\d.]+ \|[\s\S]*loguniform/,
  'ch06-profiling/01-stage-times.ts':
    /delay +4 [\s\S]*map +4 [\s\S]*\nprefill +\d+ [\s\S]*\n {2}forward pass +\d+ [\s\S]*self times [\d.]+ ms, wall [\d.]+ ms: /,
  'ch06-profiling/02-op-types.ts':
    /continuous-batching, prefill: [\s\S]*\nGemm +41 [\s\S]*continuous-batching, decode: [\s\S]*int4, decode: [\s\S]*MatMulNBits +/,
  'ch06-profiling/03-ceilings.ts': /a copy over 63 MB +[\d.]+ GB\/s\n[\s\S]*float32 +[\d.]+ +[\d.]+\n[\s\S]*row-int8/,
  'ch06-profiling/04-counting.ts':
    /8 × \(393216 \+ 3 × 384 × 1024\) \+ 384 × 8192 weights\n= 15\.7 M, .* 31\.5 MFLOP[\s\S]*\ndecode, 1 rows at 256 +\d/,
  'ch06-profiling/05-roofline.ts':
    /prefill of 16 +[\d.]+ +[\d.]+ [\s\S]*decode of 1 +[\d.]+ +0\.5 [\s\S]*FLOPs a byte\n/,
  'ch06-profiling/06-batch-sizes.ts':
    /continuous-batching\n\nrows [\s\S]*\n +1 +[\d.]+ +\d+ +6\d\.?\d* +0\.5 [\s\S]*\nint4\n/,
  'ch06-profiling/measure.ts': /\| `int4` \| \d+ \|[\s\S]*\| prefill of 16 \|[\s\S]*\| decode, 2 rows \|/,
  'ch07-kernels/01-naive-gemm.ts': orNoAdapter(
    /naive +8192 +1 \/ 1 [\s\S]*each number 4096 times\n[\s\S]*37 × 53 × 29 +error \de-7 /,
  ),
  'ch07-kernels/02-tiled-gemm.ts': orNoAdapter(
    /tiled by 32 +256 +1 \/ 32 +1 \/ 1\n[\s\S]*tiles of 16, 2048 bytes +error \de-7 /,
  ),
  'ch07-kernels/03-register-gemm.ts': orNoAdapter(
    /128 × 128 by 16 × 8 +64 +1 \/ 128 +1 \/ 10\.7\n[\s\S]*32 × 16 by 8 × 4 +error \de-7 /,
  ),
  'ch07-kernels/04-int4-gemv.ts': orNoAdapter(
    /8 rows at once +0\.625 +0\.5 +0\.563\n[\s\S]*a word a lane +error \de-[67] [\s\S]*15 → 1\.9375/,
  ),
  'ch07-kernels/05-your-own-kernel.ts': orNoAdapter(
    /rms norm +error \de-[678] [\s\S]*in line 12: for [\s\S]*without weight is wrong: error [\d.]+, and 0\.00001 is allowed\n$/,
  ),
  'ch08-flash-attention/01-online-softmax.ts':
    /weighted mean 40\.0929\n[\s\S]*\n {4}5 +40 +5 +0\.1353 +1\.2034 +44\.3835\n[\s\S]*sum 40\.0929, as above\n.*merged: 40\.0929\n/,
  'ch08-flash-attention/02-tile-walk.ts': /100 +10000 +672 +16 of 28 +below 1e-12\n/,
  'ch08-flash-attention/03-loop-in-graph.ts':
    /a tile of them \[2,4\], 3 times\n[\s\S]*by tiles +(\[2, 4\] .+)\nat once +\1\nthey differ by less than 1e-6\n/,
  'ch08-flash-attention/04-memory.ts':
    /512 +[\d.]+ +[\d.]+\n\n2 times the tokens: naive × [34]\.\d, flash × [12]\.\d\n/,
  'ch08-flash-attention/05-same-ids.ts': /flash-attention +[\d.]+ +[\d.]+\n\n.*the ids are the same\n/,
  'ch08-flash-attention/06-online-softmax.ts': orNoAdapter(
    /\(100, 1\.3679\)\n[\s\S]*three passes +3 [\s\S]*softmax online vec4 +error \de-[67] /,
  ),
  'ch08-flash-attention/07-flash-attention.ts': orNoAdapter(
    /workgroup 1 {2}1 {2}2 {2}3 {2}4 {2}·[\s\S]* 4096 +4096 MiB +0 [\s\S]*75 tokens[^\n]*\n.*\n {2}flash +error \de-7 /,
  ),
  'ch08-flash-attention/08-paged-decode.ts': orNoAdapter(
    /90 tokens: blocks 3 17 19 2 10 11; its last token is place 9 of block 11\n[\s\S]*moved +error \de-7 .*\n +the same bits\n$/,
  ),
  'ch08-flash-attention/measure.ts':
    /\| 256 \| [\d.]+ \| [\d.]+ \| [\d.]+ \|\n[\s\S]*\| `flash-attention` \| [\d.]+ \|/,
  'ch09-continuous-batching/01-timeline.ts':
    /static-batching +44 +1\.93 +54 +[\d.]+\ncontinuous-batching +29 +2\.93 +0 +[\d.]+\n\n1\.52 times fewer steps/,
  'ch09-continuous-batching/02-late-arrival.ts':
    /static-batching +[\d.]+ +22\ncontinuous-batching +[\d.]+ +\d\n\nIt joins the next step/,
  'ch09-continuous-batching/03-chunked-prefill.ts':
    /prompt of 200 tokens[\s\S]*\n +256 .*\n +32 +[\d.]+ +[\d.]+\n\nquick: too small to judge times\n$/,
  'ch09-continuous-batching/04-preemption.ts': /plenty +\d+ +0\nscarce +\d+ +[1-9]\d*\n\nthe texts are the same/,
  'ch09-continuous-batching/measure.ts':
    /`continuous-batching` \| 33 \| 3\.58 \| 0 \|[\s\S]*\| `continuous-batching` \| [\d.]+ \|/,
  'ch10-paged-attention/01-block-map.ts':
    /contiguous +4 +4 +1024 +435 +42%\npaged +11 +10 +928 +845 +91%\n\n.*has 56, 57, 58, 59, 60, 61, 62, 63, 9\n/,
  'ch10-paged-attention/02-how-many-fit.ts':
    /regions +4 +7471 [\s\S]*blocks of 16 +39 +265 [\s\S]*continuous-batching +4 +6 +\d+\npaged-attention +6 +5 +\d+\n$/,
  'ch10-paged-attention/03-block-tables.ts':
    /step 3 {2}sequence 0 {2}8 \+ 1 tokens {2}blocks 1 2 6\n[\s\S]*row 0 {2}7:0 7:1 7:2 7:3 2:0 2:1 {2}padding 0:0 0:0 0:0\n[\s\S]*padded (.+), alone \1\. /,
  'ch10-paged-attention/04-copy-on-write.ts':
    /answer-3 {2}prefill of 1 {2}blocks 1 2 3 7 {2}\(4 copied to 7\)\n[\s\S]*at most 11 blocks in use; 4 × 5 = 20 /,
  'ch10-paged-attention/05-preemption.ts':
    /sequence 2 is preempted; its blocks 5 6 9 go back\n[\s\S]*10 blocks: 17 steps, preempted 1 times, 13 tokens computed again\nthe ids are the same/,
  'ch10-paged-attention/06-unequal-rows.ts': /one long +2420 +16000 +2420 +1 \+ 7 +[\d.]+ +[\d.]+ +[\d.]+\n/,
  'ch10-paged-attention/measure.ts':
    /`paged-attention` \| 39 \| 7 \| 6 \| 5 \| \d+ \|\n[\s\S]*\| 1 \| 128 \| [\d.]+ \| [\d.]+ \| [\d.]+ \(/,
  'ch11-prefix-caching/01-hash-chain.ts':
    /another end, 23 tokens\n[\s\S]* 0236f5b12d5327 \+ " little fox[^\n]*→ 123134f369983f\n {4}16 tokens found; blocks 1 2 5\n[\s\S]*they find 0, 0, 0, 0 tokens/,
  'ch11-prefix-caching/02-shared-tree.ts':
    /1: "Tell me a story" {2}held by A B C D\n[\s\S]*16 of 60 tokens found; 13 blocks in use, 17 without sharing\n/,
  'ch11-prefix-caching/03-chat.ts': /\n {3}2 +68 +32 +47% +[\d.]+ +[\d.]+\n\nthe replies are the same\n/,
  'ch11-prefix-caching/04-system-prompt.ts':
    /2 +1076 +1024 [\s\S]*2064 of 3219 tokens found: 64%\n[\s\S]*the texts are the same\n/,
  'ch11-prefix-caching/05-salt.ts':
    /anna, no salt +(\d+) +0 .*\neve, no salt +\1 +[1-9]\d+ .*\nanna +\1 +0 .*\neve +\1 +0 .*\nanna again +\1 +[1-9]\d+ /,
  'ch11-prefix-caching/06-eviction.ts':
    /block 4 +A: "\."[\s\S]*block 7 +C: "The old clock on" +A 12, B 4, C 0\n[\s\S]*block 1 +A: "Tell me a story" +A 0, B 0, C 0\n/,
  'ch11-prefix-caching/measure.ts': /\| storyteller-12m \| 1091 \| 1024 \| [\s\S]*\| 2 \| 56 \| 16 \| 29% \| /,
  'ch13-speculative-decoding/01-verifying-is-cheap.ts': /tokens +ms[\s\S]*\n +5 +[\d.]+ +[\d.]+ +[\d.]+\n/,
  'ch13-speculative-decoding/02-accept-or-reject.ts':
    /house +0\.3 +0\.1 +0\.333 +0 +0\.[01]\d*\n[\s\S]*of the drafts stood; the sum of min\(p, q\) is 0\.75\n/,
  'ch13-speculative-decoding/03-draft-and-verify.ts':
    /decode +big\| garden\|,\| and +small\n[\s\S]*12 tokens, 3 drafts, 3\.67 tokens a verify pass/,
  'ch13-speculative-decoding/04-same-ids.ts': /nonsense +1 +1\n\nthe ids are the same/,
  'ch13-speculative-decoding/05-acceptance-against-k.ts': /chat +2 +1 +1 +3 +\d+\nprose +1/,
  'ch13-speculative-decoding/06-when-it-loses.ts': /prose +always 4 +\d+ +0\.\d+ +\d+ +[\d.]+\n/,
  'ch13-speculative-decoding/measure.ts': /\| long context \| `speculative` \| [\d.–]+ \|/,
  'examples/second-best.ts': /^0: Once .* named Sunny\. Sunny lived.*\n0\.2: Once upon a time.*\n/,
  'examples/without-e.ts': /^Long ago[\s\S]*\n\n\d+ characters, 0 of them an "e"\n$/,
};

const numbered = readdirSync(CHAPTERS)
  .filter((folder) => /^ch\d\d-/.test(folder))
  .flatMap((folder) => readdirSync(new URL(folder, CHAPTERS)).map((name) => `${folder}/${name}`))
  .filter((file) => /\/\d\d-.+\.ts$/.test(file));
const files = [...new Set([...numbered, ...Object.keys(SAYS)])];

async function runQuick(file: string, env = process.env) {
  const path = fileURLToPath(new URL(file, CHAPTERS));
  const child = spawn(process.execPath, ['--import', 'tsx', path, '--quick'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { stdout, stderr: stderr.replace(DAWN_LIMITS, ''), code };
}

// Each is a process that loads the model, and several run at once.
describe.concurrent('in quick mode', { timeout: 180_000 }, () => {
  it.each(files)('%s runs and says what it should', async (file) => {
    const { stdout, stderr, code } = await runQuick(file);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(stdout).toMatch(SAYS[file] ?? `an expectation for ${file} in SAYS`);
  });
});

it('without an adapter a kernel’s file says so in one line', async () => {
  const { stdout, code } = await runQuick('ch07-kernels/05-your-own-kernel.ts', {
    ...process.env,
    RXLLM_GPU: 'abacus',
  });
  expect(stdout).toMatch(/^nothing was run: no adapter is called "abacus".*\n$/);
  expect(code).toBe(0);
});

it.each(numbered)('%s has 20 to 120 lines and is in its chapter’s text', (file) => {
  const lines = readFileSync(new URL(file, CHAPTERS), 'utf8').trimEnd().split('\n').length;
  expect(lines).toBeGreaterThanOrEqual(20);
  expect(lines).toBeLessThanOrEqual(120);
  const [folder, name] = file.split('/') as [string, string];
  const texts = readdirSync(new URL(folder, CHAPTERS)).filter((other) => other.endsWith('.md'));
  expect(texts.map((text) => readFileSync(new URL(`${folder}/${text}`, CHAPTERS), 'utf8')).join()).toContain(
    `(${name})`,
  );
});

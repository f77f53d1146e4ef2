import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ErrorCode } from '../errors.ts';
import { loadModel } from './load-model.ts';

interface Json {
  model?: object;
  chat_template?: unknown;
  added_tokens?: object[];
}
type Header = Record<string, { dtype: string; shape: number[]; data_offsets: number[] }>;
interface Damage {
  readonly what: string;
  readonly code: ErrorCode;
  readonly message: RegExp;
  readonly damage: (folder: Folder) => void;
}

const WEIGHTS = 'model.safetensors';
const NORM = 'model.norm.weight';

class Folder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }
  file(name: string): string {
    return join(this.path, name);
  }
  edit(name: string, change: (json: Json) => void): void {
    const json = JSON.parse(readFileSync(this.file(name), 'utf8')) as Json;
    change(json);
    writeFileSync(this.file(name), JSON.stringify(json));
  }
  /** The header is written anew; the weights stay as they are. */
  editHeader(change: (header: Header) => void): void {
    const bytes = readFileSync(this.file(WEIGHTS));
    const end = 8 + Number(bytes.readBigUInt64LE());
    const header = JSON.parse(bytes.toString('utf8', 8, end)) as Header;
    change(header);
    this.writeWeights(JSON.stringify(header), bytes.subarray(end));
  }
  writeWeights(header: string, data: Uint8Array): void {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(Buffer.byteLength(header)));
    writeFileSync(this.file(WEIGHTS), Buffer.concat([length, Buffer.from(header), data]));
  }
  shard(index: object): void {
    renameSync(this.file(WEIGHTS), this.file('part-1.safetensors'));
    writeFileSync(this.file('model.safetensors.index.json'), JSON.stringify(index));
  }
}

const invalid = (what: string, message: RegExp, damage: Damage['damage']): Damage => ({
  what,
  code: 'RXLLM_MODEL_FILE_INVALID',
  message,
  damage,
});
const missing = (file: string): Damage => ({
  what: `${file} missing`,
  code: 'RXLLM_MODEL_FILE_MISSING',
  message: new RegExp(`^${file} is missing from the model folder .+`),
  damage: (folder) => rmSync(folder.file(file)),
});

const damages: Damage[] = [
  missing('config.json'),
  missing('model.safetensors'),
  missing('tokenizer.json'),
  invalid('config.json is not JSON', /^config\.json is not JSON/, (folder) =>
    writeFileSync(folder.file('config.json'), '{"vocab_size": 8192,'),
  ),
  invalid('config.json is a list', /^config\.json: \(top level\) must be object, found \[\]/, (folder) =>
    writeFileSync(folder.file('config.json'), '[]'),
  ),
  invalid(
    'a field of config.json has the wrong type',
    /^config\.json: vocab_size must be integer, found "8k"/,
    (folder) => folder.edit('config.json', (json) => Object.assign(json, { vocab_size: '8k' })),
  ),
  {
    what: 'an architecture that is not supported',
    code: 'RXLLM_MODEL_UNSUPPORTED',
    message: /^config\.json: architecture GPT2LMHeadModel is not supported; supported: LlamaForCausalLM/,
    damage: (folder) =>
      folder.edit('config.json', (json) => Object.assign(json, { architectures: ['GPT2LMHeadModel'] })),
  },
  invalid('weights of 5 bytes', /^model\.safetensors: the file has 5 bytes;/, (folder) =>
    truncateSync(folder.file(WEIGHTS), 5),
  ),
  invalid(
    'a header longer than the file',
    /^model\.safetensors: the header claims 18446744073709551615 bytes/,
    (folder) => writeFileSync(folder.file(WEIGHTS), Buffer.alloc(64, 0xff)),
  ),
  invalid('a header that is not JSON', /^model\.safetensors: the header is not JSON \(/, (folder) =>
    folder.writeWeights('{"a": ', Buffer.alloc(4)),
  ),
  invalid('a header that is a list', /^model\.safetensors: the header is not a JSON object/, (folder) =>
    folder.writeWeights('[]', Buffer.alloc(0)),
  ),
  invalid(
    'weights cut short',
    /^model\.safetensors: the file is cut short: tensor \S+ needs bytes up to \d+, the file has 2000000/,
    (folder) => truncateSync(folder.file(WEIGHTS), 2_000_000),
  ),
  invalid('a folder in place of the weights', /^model\.safetensors: cannot be read: /, (folder) => {
    rmSync(folder.file(WEIGHTS));
    mkdirSync(folder.file(WEIGHTS));
  }),
  invalid('bytes after the last tensor', /^model\.safetensors: 3 bytes follow the last tensor/, (folder) =>
    writeFileSync(folder.file(WEIGHTS), 'abc', { flag: 'a' }),
  ),
  invalid(
    'an unknown dtype',
    /^model\.safetensors: tensor model\.norm\.weight has the unknown dtype "F17", expected F32, F16, BF16, I32/,
    (folder) => folder.editHeader((header) => Object.assign(header[NORM]!, { dtype: 'F17' })),
  ),
  {
    what: 'a dtype that is not supported',
    code: 'RXLLM_MODEL_UNSUPPORTED',
    message:
      /^model\.safetensors: dtype F8_E4M3 of tensor model\.norm\.weight is not supported; supported: F32, F16, BF16, I32/,
    damage: (folder) => folder.editHeader((header) => Object.assign(header[NORM]!, { dtype: 'F8_E4M3' })),
  },
  invalid(
    'a shape that does not fill its bytes',
    /^model\.safetensors: tensor model\.norm\.weight: .* hold 256 bytes, but F16 \[129\] takes 258/,
    (folder) => folder.editHeader((header) => Object.assign(header[NORM]!, { shape: [129] })),
  ),
  invalid('a shape with a fraction', /^model\.safetensors: tensor model\.norm\.weight has shape \[1\.5\]/, (folder) =>
    folder.editHeader((header) => Object.assign(header[NORM]!, { shape: [1.5] })),
  ),
  invalid(
    "a shape that is not the configuration's",
    /^model\.safetensors has tensor model\.norm\.weight with shape \[2,64\]; config\.json asks for \[128\]/,
    (folder) => folder.editHeader((header) => Object.assign(header[NORM]!, { shape: [2, 64] })),
  ),
  invalid(
    'a tensor missing',
    /^model\.safetensors has no tensor model\.norm\.weight; config\.json asks for it with shape \[128\]/,
    (folder) =>
      folder.editHeader((header) => {
        Object.assign(header, { other: header[NORM] });
        delete header[NORM];
      }),
  ),
  invalid('negative offsets', /^model\.safetensors: tensor model\.norm\.weight has data_offsets \[-256,0\]/, (folder) =>
    folder.editHeader((header) => Object.assign(header[NORM]!, { data_offsets: [-256, 0] })),
  ),
  invalid('tensors that overlap', /^model\.safetensors: tensor \S+ overlaps the tensor before it/, (folder) =>
    folder.editHeader((header) => Object.assign(header[NORM]!, { data_offsets: [0, 256] })),
  ),
  invalid('a gap between tensors', /^model\.safetensors: tensor \S+ leaves a gap before it/, (folder) =>
    folder.editHeader((header) => {
      const first = Object.keys(header).find((name) => header[name]?.data_offsets?.[0] === 0);
      delete header[first!];
    }),
  ),
  {
    what: 'an index that names a missing shard',
    code: 'RXLLM_MODEL_FILE_MISSING',
    message: /^part-2\.safetensors is missing .*, though model\.safetensors\.index\.json names it/,
    damage: (folder) => folder.shard({ weight_map: { [NORM]: 'part-2.safetensors' } }),
  },
  invalid(
    'an index that names a tensor its shard lacks',
    /^model\.safetensors\.index\.json puts tensor x\.weight into part-1\.safetensors, which/,
    (folder) => folder.shard({ weight_map: { 'x.weight': 'part-1.safetensors' } }),
  ),
  invalid(
    'an index that leaves the folder',
    /^model\.safetensors\.index\.json names the shard \.\.\/x\.safetensors/,
    (folder) => folder.shard({ weight_map: { [NORM]: '../x.safetensors' } }),
  ),
  invalid('an index without a map', /^model\.safetensors\.index\.json: weight_map is missing/, (folder) =>
    folder.shard({}),
  ),
  invalid('tokenizer.json is not JSON', /^tokenizer\.json is not JSON/, (folder) =>
    truncateSync(folder.file('tokenizer.json'), 1000),
  ),
  invalid('tokenizer.json without a model', /^tokenizer\.json: model is missing/, (folder) =>
    folder.edit('tokenizer.json', (json) => delete json.model),
  ),
  invalid('tokenizer.json of an unknown kind', /^tokenizer\.json cannot be used: .*Sorcery/, (folder) =>
    folder.edit('tokenizer.json', (json) => Object.assign(json, { decoder: { type: 'Sorcery' } })),
  ),
  invalid(
    'a tokenizer larger than the vocabulary',
    /^tokenizer\.json has 9001 tokens, but vocab_size in config\.json is 8192/,
    (folder) => folder.edit('tokenizer.json', (json) => json.added_tokens?.push({ id: 9000, content: '<more>' })),
  ),
  invalid('tokenizer_config.json with a wrong template', /^tokenizer_config\.json: chat_template /, (folder) =>
    folder.edit('tokenizer_config.json', (json) => Object.assign(json, { chat_template: 5 })),
  ),
  invalid(
    'generation_config.json with a wrong field',
    /^generation_config\.json: top_p must be <= 1, found 95/,
    (folder) => folder.edit('generation_config.json', (json) => Object.assign(json, { top_p: 95 })),
  ),
];

describe('a damaged model folder', () => {
  let folder: Folder;
  beforeEach(() => {
    folder = new Folder(mkdtempSync(join(tmpdir(), 'rxllm-damaged-')));
    cpSync('models/storyteller-draft', folder.path, { recursive: true });
  });
  afterEach(() => rmSync(folder.path, { recursive: true }));

  it.each(damages)('$what: $code', async ({ code, message, damage }) => {
    damage(folder);
    const error = { name: 'RxllmError', code, message: expect.stringMatching(message) };
    await expect(loadModel(folder.path)).rejects.toMatchObject(error);
  });

  it('a folder that does not exist', async () => {
    const error = { code: 'RXLLM_MODEL_FILE_MISSING', message: expect.stringContaining('config.json is missing') };
    await expect(loadModel(folder.file('nowhere'))).rejects.toMatchObject(error);
  });

  it('no chat template: the model loads, the template fails when it is used', async () => {
    folder.edit('tokenizer_config.json', (json) => delete json.chat_template);
    const { tokenizer } = await loadModel(folder.path);
    const use = () => tokenizer.applyChatTemplate([{ role: 'user', content: 'Hi' }], { addGenerationPrompt: true });
    expect(use).toThrow(expect.objectContaining({ code: 'RXLLM_CHAT_TEMPLATE_MISSING', status: 400 }));
  });

  it('chat_template.jinja wins over tokenizer_config.json, a list is read by the name default', async () => {
    const chat = async () =>
      (await loadModel(folder.path)).tokenizer.applyChatTemplate([], { addGenerationPrompt: false });
    const templates = ['tool_use', 'default'].map((name) => ({ name, template: `from ${name}` }));
    folder.edit('tokenizer_config.json', (json) => Object.assign(json, { chat_template: templates }));
    expect(await chat()).toBe('from default');
    writeFileSync(folder.file('chat_template.jinja'), 'from file');
    expect(await chat()).toBe('from file');
  });
});

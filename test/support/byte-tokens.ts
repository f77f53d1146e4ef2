import type { TokenId } from '../../src/core/contracts/index.ts';

/** The embedded model's token of each byte, one by one, however its tokenizer would join them: ids from 4, in GPT-2's order. */
export function byteTokens(bytes: string | readonly number[]): TokenId[] {
  const list = typeof bytes === 'string' ? [...Buffer.from(bytes)] : bytes;
  return list.map((byte) => 4 + BYTE_ORDER.indexOf(byte));
}

const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
const ALL_BYTES = Array.from({ length: 256 }, (_, byte) => byte);
const BYTE_ORDER = [...ALL_BYTES.filter(isPrintable), ...ALL_BYTES.filter((byte) => !isPrintable(byte))];

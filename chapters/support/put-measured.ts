import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const START = '<!-- measured:start -->';
const END = '<!-- measured:end -->';

/** Puts `body` between the markers of a Markdown file. @throws Error where it has none */
export function putMeasured(file: URL, body: string): void {
  const text = readFileSync(file, 'utf8');
  const [from, to] = [text.indexOf(START), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${fileURLToPath(file)} has no ${START} … ${END} to write between`);
  writeFileSync(file, `${text.slice(0, from)}${START}\n\n${body}\n\n${text.slice(to)}`);
}

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const options = {
  /** Short enough for a smoke test; nothing is written. */
  quick: { type: 'boolean', default: false },
  model: { type: 'string', default: fileURLToPath(new URL('../../models/storyteller-12m', import.meta.url)) },
  prompt: { type: 'string', default: 'Once upon a time, there was a little fox named' },
  port: { type: 'string' },
} as const;

/** The options that a chapter's files share. A wrong one ends the file with a line and code 2. */
export const args = parsed();

function parsed() {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!code?.startsWith('ERR_PARSE_ARGS_')) throw error;
    const names = Object.keys(options).map((name) => `--${name}`);
    // Node goes on about what positional arguments are.
    process.stderr.write(`error: ${message.split(/[.\n]/, 1)[0]}. Allowed: ${names.join(', ')}.\n`);
    process.exit(2);
  }
}

/** The second value in quick mode. */
export const size = (full: number, quick: number): number => (args.quick ? quick : full);

/** What the times of a file show, which those of a quick run don't. */
export function judge(times: string): void {
  console.log(`\n${args.quick ? 'quick: too small to judge times' : times}`);
}

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** The options that a chapter's files share. A wrong one ends the file with node's message. */
export const { values: args } = parseArgs({
  options: {
    /** Short enough for a smoke test; nothing is written. */
    quick: { type: 'boolean', default: false },
    model: { type: 'string', default: fileURLToPath(new URL('../../models/storyteller-12m', import.meta.url)) },
    prompt: { type: 'string', default: 'Once upon a time, there was a little fox named' },
    port: { type: 'string' },
  },
});

/** The second value in quick mode. */
export const size = (full: number, quick: number): number => (args.quick ? quick : full);

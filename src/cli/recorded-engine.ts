import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Engine, EngineOptions, Model, StagedRecipe } from '../core/contracts/index.ts';
import { type RecordLine, recordedOptions } from '../core/recording/lines.ts';
import { createRandom } from '../core/sampling/random.ts';
import { createEngine, observe } from '../engines/index.ts';
import { record } from '../operators/record.ts';

/** An engine that writes its recording to `file`, over what stands there. The first line says how to replay it. */
export async function recordedEngine(
  file: string,
  recipe: StagedRecipe,
  model: Model,
  given: Partial<EngineOptions>,
): Promise<Engine> {
  const out = createWriteStream(file);
  await once(out, 'open');
  const write = (line: RecordLine) => out.write(`${JSON.stringify(line)}\n`);
  const seed = randomInt(2 ** 32);
  const engine = await createEngine(observe(recipe, record(write)), model, { ...given, random: createRandom(seed) });
  write({
    type: 'engine',
    engine: recipe.name,
    model: model.directory,
    seed,
    options: recordedOptions(engine.options),
  });
  return {
    ...engine,
    close: async () => {
      await engine.close();
      out.end();
      await once(out, 'finish');
    },
  };
}

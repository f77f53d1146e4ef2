import { firstValueFrom } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { allowed, openingGrammars, wanted } from '../../../test/support/opened-grammars.ts';
import { embeddedModel } from '../../../test/support/real-server.ts';
import { eventually } from '../../../test/support/waiting.ts';
import type { GrammarMatcher } from '../contracts/index.ts';
import type { Grammars } from './grammars.ts';

const { tokenizer } = await embeddedModel();
const opened = openingGrammars();
const regex = (pattern: string) => wanted({ type: 'regex', pattern });

describe('the cache', () => {
  it('compiles a grammar once, keeps those used last, and never drops one in use', async () => {
    const grammars = opened({ capacity: 2 });
    const [a, again] = await Promise.all([
      firstValueFrom(grammars.matcher(regex('a'))),
      firstValueFrom(grammars.matcher(regex('a'))),
    ]);
    expect(grammars.size).toBe(1);
    const b = await firstValueFrom(grammars.matcher(regex('b')));
    b.dispose();
    b.dispose();
    const c = await firstValueFrom(grammars.matcher(regex('c')));
    expect(grammars.size).toBe(2);
    expect((await allowed(a)).length).toBeGreaterThan(0);

    // Both are in use: the next waits until one is not.
    let d: GrammarMatcher | undefined;
    grammars.matcher(regex('d')).subscribe((matcher) => {
      d = matcher;
    });
    await allowed(c);
    expect(d).toBeUndefined();
    a.dispose();
    await allowed(again);
    expect(d).toBeUndefined();
    again.dispose();
    await eventually(() => expect(d).toBeDefined());
    expect(grammars.size).toBe(2);
  });

  it('the source of what is compiled is not asked for', async () => {
    const grammars = opened();
    const asked = vi.fn(regex('a').source);
    for (let i = 0; i < 2; i++) (await firstValueFrom(grammars.matcher({ key: 'a', source: asked }))).dispose();
    expect(asked).toHaveBeenCalledOnce();
  });

  it('who waits is bounded, and may leave', async () => {
    const grammars = opened({ capacity: 1, maxWaiting: 2 });
    const a = await firstValueFrom(grammars.matcher(regex('a')));
    const waiting = [regex('b'), regex('c')].map((one) => grammars.matcher(one).subscribe());
    await expect(firstValueFrom(grammars.matcher(regex('d')))).rejects.toMatchObject({ code: 'RXLLM_QUEUE_FULL' });
    for (const one of waiting) one.unsubscribe();
    const next = firstValueFrom(grammars.matcher(regex('d')));
    a.dispose();
    (await next).dispose();
    expect(grammars.size).toBe(1);
  });

  it('what is compiled for nobody is ended, and makes room', async () => {
    const grammars = opened({ maxCompiling: 1 });
    const schema = { type: 'array', items: { type: 'string', maxLength: 60 }, minItems: 60, maxItems: 60 };
    const large = grammars.matcher(wanted({ type: 'json_schema', schema }));
    const [first, second] = [large.subscribe(), large.subscribe()];
    const next = firstValueFrom(grammars.matcher(regex('e')));
    first.unsubscribe();
    expect(grammars.size).toBe(1);
    second.unsubscribe();
    (await next).dispose();
    // Compiled to its end, the first would be kept too.
    expect(grammars.size).toBe(1);
  });

  it('who comes after that begins anew', async () => {
    const grammars = opened({ maxCompiling: 1 });
    grammars.matcher(regex('f')).subscribe().unsubscribe();
    expect(grammars.size).toBe(0);
    (await firstValueFrom(grammars.matcher(regex('f')))).dispose();
    expect(grammars.size).toBe(1);
  });

  it('closing ends what waits and what is followed', async () => {
    const grammars = opened({ capacity: 1 });
    const a = await firstValueFrom(grammars.matcher(regex('a')));
    const waiting = firstValueFrom(grammars.matcher(regex('b')));
    grammars.close();
    await expect(waiting).rejects.toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
    a.accept(tokenizer.encode('a')[0]!);
    await expect(allowed(a)).rejects.toMatchObject({ code: 'RXLLM_RUNTIME_FAILED' });
    await expect(firstValueFrom(grammars.matcher(regex('a')))).rejects.toMatchObject({ code: 'RXLLM_ENGINE_CLOSED' });
  });
});

describe('fairness', () => {
  const open = (grammars: Grammars, pattern: string) => firstValueFrom(grammars.matcher(regex(pattern)));
  const schema = { type: 'array', items: { type: 'string', maxLength: 60 }, minItems: 60, maxItems: 60 };
  const slow = wanted({ type: 'json_schema', schema });

  it('who asks for what is compiled waits neither for a compiler nor in the queue', async () => {
    const grammars = opened({ maxCompiling: 1, maxWaiting: 1 });
    (await open(grammars, 'a')).dispose();
    const waiting = grammars.matcher(slow).subscribe();
    let a: GrammarMatcher | undefined;
    grammars.matcher(regex('a')).subscribe((matcher) => {
      a = matcher;
    });
    expect(a).toBeDefined();
    expect((await allowed(a!)).length).toBeGreaterThan(0);
    waiting.unsubscribe();
    a!.dispose();
  });

  it('what has been compiled for someone is not dropped before they have it', async () => {
    const grammars = opened({ capacity: 1, maxCompiling: 1 });
    const given: string[] = [];
    const ask = (pattern: string) =>
      grammars.matcher(regex(pattern)).subscribe((matcher) => {
        given.push(pattern);
        matcher.dispose();
      });
    const first = ask('a');
    ask('b');
    ask('a');
    first.unsubscribe();
    await eventually(() => expect(given).toHaveLength(2));
    expect(given).toEqual(['a', 'b']);
  });

  it('a new grammar gets its turn though those that are kept are always in use', async () => {
    const grammars = opened({ capacity: 2 });
    let [a, b] = [await open(grammars, 'a'), await open(grammars, 'b')];
    let hadTurn = false;
    grammars.matcher(regex('c')).subscribe((matcher) => {
      hadTurn = true;
      matcher.dispose();
    });
    // Whoever leaves is followed, before that, by another.
    const next = async (pattern: string, left: GrammarMatcher) => {
      const following = open(grammars, pattern);
      setTimeout(() => left.dispose(), 10);
      return following;
    };
    for (let i = 0; i < 3; i++) [a, b] = await Promise.all([next('a', a), next('b', b)]);
    expect(hadTurn).toBe(true);
    for (const matcher of [a, b]) matcher.dispose();
  });

  it('one that was to make room is given again when nobody needs it any more', async () => {
    const grammars = opened({ capacity: 1 });
    const a = await open(grammars, 'a');
    const waiting = grammars.matcher(regex('b')).subscribe();
    const again = open(grammars, 'a');
    waiting.unsubscribe();
    (await again).dispose();
    a.dispose();
  });
});

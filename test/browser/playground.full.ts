import { expect, it, onTestFinished } from 'vitest';
import { engines } from '../../src/engines/index.ts';
import { chromiumPath, launchChromium, NO_CHROMIUM, say, visit } from '../support/chromium.ts';
import { embeddedModel } from '../support/real-server.ts';
import { swappingServer } from '../support/swapping-server.ts';

const SECONDS = 30;
const timeout = 240_000;
const reason = chromiumPath === undefined ? ` (skipped: ${NO_CHROMIUM})` : '';
const names = engines.map(({ recipe }) => recipe.name);

/** The playground, its replies no longer than 32 tokens. */
async function open(streams: string) {
  const server = await swappingServer(await embeddedModel(), 'prefix-caching', names);
  onTestFinished(server.close);
  const browser = await launchChromium();
  onTestFinished(() => browser.close());
  const { page, problems } = await visit(browser, server.address);
  page.setDefaultTimeout(timeout);
  await page.locator('summary').click();
  await page.getByLabel('Max tokens').fill('32');
  await page.getByLabel('Streams').selectOption(streams);
  return {
    server,
    page,
    problems,
    run: () => page.getByRole('button', { name: 'Run' }).click(),
    hasRun: () => expect.poll(() => page.locator('#start-load').isVisible(), { timeout }).toBe(true),
  };
}

it.skipIf(chromiumPath === undefined)(
  `every engine chats and is drawn, each swapped in under load${reason}`,
  async () => {
    const { server, page, problems, run, hasRun } = await open('4');
    for (const name of names) {
      await run();
      await page.getByRole('combobox', { name: 'Engine' }).selectOption(name);
      await expect.poll(() => server.engine().name, { timeout }).toBe(name);
      const reply = await say(page, 'Tell me a story.');
      await expect.poll(() => page.locator('.message.pending').count(), { timeout }).toBe(0);
      const meta = await reply.locator('.meta').textContent();
      expect([name, meta]).toEqual([name, expect.stringMatching(/^\d+.*tokens\/s/)]);
      await hasRun();
      await page.getByRole('button', { name: 'New chat' }).click();
    }
    expect(problems).toEqual([]);
  },
);

it.skipIf(chromiumPath === undefined)(`its memory is bounded while the engine runs on${reason}`, async () => {
  const { page, problems, run, hasRun } = await open('16');
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize;
  };
  const runFor = async (seconds: number) => {
    for (const until = Date.now() + seconds * 1000; Date.now() < until; ) {
      await run();
      await hasRun();
    }
  };
  await runFor(SECONDS);
  const before = await heap();
  await runFor(SECONDS);
  expect((await heap()) / before).toBeLessThan(1.2);
  expect(problems).toEqual([]);
});

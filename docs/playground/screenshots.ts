/**
 * Takes the README's pictures of the playground, in a real Chromium on the embedded model: `npm run screenshots`.
 */
import { fileURLToPath } from 'node:url';
import { EMBEDDED_MODEL, loadModel, engines as registry } from 'rxllm';
import { launchChromium, say, visit } from '../../test/support/chromium.ts';
import { swappingServer } from '../../test/support/swapping-server.ts';

const SIZE = { width: 1280, height: 860 };
const file = (name: string) => fileURLToPath(new URL(`${name}.png`, import.meta.url));

const names = registry.map(({ recipe }) => recipe.name);
const server = await swappingServer(await loadModel(EMBEDDED_MODEL), 'prefix-caching', names);
const browser = await launchChromium();

const { page: idle } = await visit(browser, server.address, { viewport: SIZE, colorScheme: 'light' });
await idle.locator('#engine-choice').waitFor();
await idle.locator('#blocks').waitFor();
await idle.screenshot({ path: file('idle') });
await idle.close();

const { page } = await visit(browser, server.address, { viewport: SIZE, colorScheme: 'light' });
await page.getByRole('combobox', { name: 'Engine' }).selectOption('speculative');
await page.getByText('Now serving with speculative.').waitFor({ state: 'attached' });
await page.getByLabel('Streams').selectOption('16');
await say(page, 'Tell me a story about a fox who could not sleep.');
await page.getByRole('button', { name: 'Run' }).click();
// Some have ended by then, and others have taken their place.
await page.waitForFunction(() => (document.querySelector('#step') as HTMLInputElement).valueAsNumber > 120);
await page.screenshot({ path: file('load') });
await page.emulateMedia({ colorScheme: 'dark' });
await page.screenshot({ path: file('load-dark') });

await browser.close();
await server.close();

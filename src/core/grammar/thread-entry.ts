/**
 * The URL of the thread's file, for a Worker. In a checkout that is TypeScript, which a thread does not read by itself
 * even where its process does: there it comes by way of tsx.
 */
export function threadEntry(): URL {
  if (!import.meta.url.endsWith('.ts')) return new URL('./grammar-worker.js', import.meta.url);
  const entry = new URL('./grammar-worker.ts', import.meta.url).href;
  const tsx = import.meta.resolve('tsx/esm/api');
  const code = `import { register } from '${tsx}'; register(); await import('${entry}');`;
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}

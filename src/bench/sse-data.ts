/**
 * Cuts a stream of server-sent events, however it is chopped up, into the data of its events. Data of several lines is
 * not joined: no OpenAI-compatible server writes it.
 */
export function sseData(): (chunk: string) => string[] {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    return lines.filter((line) => line.startsWith('data:')).map((line) => line.slice('data:'.length).trim());
  };
}
